/* Patterns over commands: compiling them, what they match, and how they stand to one another. */
#include "command/pattern.h"

#include <string.h>

#include "base/buffer.h"
#include "command/internal.h"

/* ---- Compiling ---- */

/* The words of a pattern's text on the reader's stack. `>` or `<` may be the first. */
static bool read_pattern(struct sink *sink, struct slice text)
{
    struct command_reader *reader = sink->reader;
    struct scan scan = {.sink = sink, .text = text.ptr, .len = text.len};
    reader->word_count = reader->redirection_count = reader->command_count = reader->document_count = 0;
    if (text.len > COMMAND_TEXT_BYTES) {
        return sink_refuse(sink, COMMAND_TEXT_BYTES, "a text that is too long");
    }
    scan_blanks(&scan);
    if (scan_is(&scan, '>') || scan_is(&scan, '<')) {
        const struct command_word word = {.text = {text.ptr + scan.at, 1}, .at = (uint32_t)scan.at};
        scan.at++;
        if (!stack_room((void **)&reader->words, 0, &reader->word_cap, sizeof(*reader->words))) {
            return sink_no_memory(sink);
        }
        reader->words[reader->word_count++] = word;
        if (scan.at < scan.len && scan_char(&scan) != CHAR_END) {
            return sink_refuse(sink, scan.at, "a redirection that is not followed by a blank");
        }
    }
    return scan_pattern_words(&scan);
}

/* A copy of the texts of words in the arena, in one piece. */
static struct command_pattern_word *keep_words(struct arena *arena, const struct command_word *words,
                                               uint32_t count)
{
    size_t len = 0;
    for (uint32_t i = 0; i < count; i++) {
        len += words[i].text.len;
    }
    struct command_pattern_word *kept = arena_array(arena, count, sizeof(*kept));
    char *text = arena_alloc(arena, len + 1);
    if (kept == NULL || text == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(text, words[i].text.ptr, words[i].text.len);
        kept[i] =
            (struct command_pattern_word){.text = {text, words[i].text.len}, .any = is_opaque(&words[i])};
        text += words[i].text.len;
    }
    return kept;
}

static enum command_pattern_result bad_pattern(const struct sink *sink, const char **ret_why,
                                               uint32_t *ret_at)
{
    if (sink->no_memory) {
        return COMMAND_PATTERN_NO_MEMORY;
    }
    *ret_why = sink->reason;
    *ret_at = sink->at;
    return COMMAND_PATTERN_BAD;
}

/* Whether the words of a pattern are a command that can be read at all. */
static bool check_pattern(struct sink *sink)
{
    struct command_reader *reader = sink->reader;
    if (reader->word_count == 0) {
        return sink_refuse(sink, 0, "no word");
    }
    if (reader->word_count > COMMAND_PATTERN_WORDS) {
        return sink_refuse(sink, reader->words[COMMAND_PATTERN_WORDS].at, "more than 32 words");
    }
    return sink_stands_for_itself(sink, reader->words, (uint32_t)reader->word_count);
}

enum command_pattern_result command_pattern_compile(struct command_reader *reader, struct arena *arena,
                                                    struct slice text, bool exact, bool loose,
                                                    struct command_pattern *ret_pattern, const char **ret_why,
                                                    uint32_t *ret_at)
{
    struct sink sink = {.reader = reader};
    if (!read_pattern(&sink, text) || !check_pattern(&sink)) {
        return bad_pattern(&sink, ret_why, ret_at);
    }
    struct command_pattern pattern = {.exact = exact, .count = (uint32_t)reader->word_count};
    pattern.words = keep_words(arena, reader->words, pattern.count);
    if (pattern.words == NULL) {
        return COMMAND_PATTERN_NO_MEMORY;
    }
    struct slice first = pattern.words[0].text;
    pattern.loose = loose && (first.len == 0 || memchr(first.ptr, '/', first.len) == NULL);
    *ret_pattern = pattern;
    return COMMAND_PATTERN_OK;
}

/* ---- Matching ---- */

enum command_answer command_pattern_match(const struct command_pattern *pattern,
                                          const struct command *command)
{
    if ((command->flags & COMMAND_UNREADABLE) != 0) {
        return COMMAND_UNKNOWN;
    }
    uint32_t count = command->known < pattern->count ? command->known : pattern->count;
    for (uint32_t i = 0; i < count; i++) {
        struct slice word = command_word_at(command, i)->text;
        if (i == 0 && pattern->loose) {
            word = name_base(word);
        }
        if (!pattern->words[i].any && !slice_eq(word, pattern->words[i].text)) {
            return COMMAND_NO;
        }
    }
    bool open = (command->flags & COMMAND_OPEN) != 0;
    if (command->known < pattern->count) {
        return open ? COMMAND_UNKNOWN : COMMAND_NO;
    }
    if (!pattern->exact) {
        return COMMAND_YES;
    }
    if (command->known > pattern->count) {
        return COMMAND_NO;
    }
    return open ? COMMAND_UNKNOWN : COMMAND_YES;
}

bool command_pattern_equal(const struct command_pattern *a, const struct command_pattern *b)
{
    if (a->exact != b->exact || a->loose != b->loose || a->count != b->count) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->words[i].any != b->words[i].any || !slice_eq(a->words[i].text, b->words[i].text)) {
            return false;
        }
    }
    return true;
}

/* ---- As sets of commands ---- */

/* Whether every first word of `part` is one of `whole`. */
static bool first_subset(const struct command_pattern *part, const struct command_pattern *whole)
{
    struct slice word = part->words[0].text;
    if (part->loose && !whole->loose) {
        return false;
    }
    return slice_eq(part->loose || !whole->loose ? word : name_base(word), whole->words[0].text);
}

bool command_pattern_subset(const struct command_pattern *part, const struct command_pattern *whole)
{
    bool long_enough =
        whole->exact ? part->exact && part->count == whole->count : part->count >= whole->count;
    if (!long_enough || !first_subset(part, whole)) {
        return false;
    }
    for (uint32_t i = 1; i < whole->count; i++) {
        const struct command_pattern_word *one = &part->words[i], *all = &whole->words[i];
        if (!all->any && (one->any || !slice_eq(one->text, all->text))) {
            return false;
        }
    }
    return true;
}

enum command_answer command_pattern_meet(struct arena *arena, const struct command_pattern *a,
                                         const struct command_pattern *b, struct command_pattern *ret_meet)
{
    const struct command_pattern *longer = a->count >= b->count ? a : b, *shorter = longer == a ? b : a;
    bool first = first_subset(a, b), second = first_subset(b, a);
    if ((shorter->exact && longer->count > shorter->count) || (!first && !second)) {
        return COMMAND_NO;
    }
    for (uint32_t i = 1; i < shorter->count; i++) {
        const struct command_pattern_word *one = &a->words[i], *other = &b->words[i];
        if (!one->any && !other->any && !slice_eq(one->text, other->text)) {
            return COMMAND_NO;
        }
    }
    if (ret_meet == NULL) {
        return COMMAND_YES;
    }
    struct command_pattern_word *words = arena_array(arena, longer->count, sizeof(*words));
    if (words == NULL) {
        return COMMAND_UNKNOWN;
    }
    for (uint32_t i = 0; i < longer->count; i++) {
        bool from_shorter = i < shorter->count && longer->words[i].any;
        words[i] = from_shorter ? shorter->words[i] : longer->words[i];
    }
    words[0] = first ? a->words[0] : b->words[0];
    *ret_meet = (struct command_pattern){
        .exact = a->exact || b->exact, .loose = a->loose && b->loose, .count = longer->count, .words = words};
    return COMMAND_YES;
}

void command_pattern_append(struct buf *buf, const struct command_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->count; i++) {
        struct slice word = pattern->words[i].text;
        buf_text(buf, i > 0 ? " " : "");
        if (pattern->words[i].any) {
            buf_byte(buf, '*');
        } else {
            append_word(buf, word, i == 0);
        }
    }
}

/* ---- commandWord ---- */

/* The one `*` of a word that begins or ends with it, taken away. */
static bool take_star(struct sink *sink, struct slice *text, enum command_word_kind *ret_kind)
{
    *ret_kind = COMMAND_WORD_IS;
    if (text->len > 1 && text->ptr[0] == '*') {
        *text = slice_from(*text, 1);
        *ret_kind = COMMAND_WORD_ENDS;
    } else if (text->len > 1 && text->ptr[text->len - 1] == '*') {
        text->len--;
        *ret_kind = COMMAND_WORD_BEGINS;
    }
    return text->len > 0 || sink_refuse(sink, 0, "no word");
}

/* The text of a `commandWord`, read as a word of a command. */
static bool read_later_word(struct sink *sink, struct slice text, struct slice *ret_word)
{
    struct command_reader *reader = sink->reader;
    struct scan scan = {.sink = sink, .text = text.ptr, .len = text.len};
    reader->word_count = reader->redirection_count = reader->command_count = reader->document_count = 0;
    if (text.len == 0 || text.len > COMMAND_TEXT_BYTES) {
        return sink_refuse(sink, 0, text.len == 0 ? "no word" : "a text that is too long");
    }
    struct read_word word = {.quoted = false};
    if (scan_char(&scan) == CHAR_END || !scan_word(&scan, &word)) {
        return sink_refuse(sink, 0, "no single word");
    }
    if (scan.at < scan.len) {
        return sink_refuse(sink, scan.at, "more than one word");
    }
    if ((word.word.flags & COMMAND_WORD_OPAQUE) != 0) {
        return sink_refuse(sink, 0, "an expansion, or a '*' or '?' that is not at its start or its end");
    }
    *ret_word = word.word.text;
    return true;
}

enum command_pattern_result command_word_compile(struct command_reader *reader, struct arena *arena,
                                                 struct slice text, struct command_word_pattern *ret_pattern,
                                                 const char **ret_why, uint32_t *ret_at)
{
    struct sink sink = {.reader = reader};
    struct command_word_pattern pattern = {.letter = 0};
    struct slice word = {NULL, 0};
    if (!take_star(&sink, &text, &pattern.kind) || !read_later_word(&sink, text, &word)) {
        return bad_pattern(&sink, ret_why, ret_at);
    }
    if (word.len == 0) {
        (void)sink_refuse(&sink, 0, "no word");
        return bad_pattern(&sink, ret_why, ret_at);
    }
    pattern.text = arena_copy(arena, word);
    if (pattern.text.ptr == NULL) {
        return COMMAND_PATTERN_NO_MEMORY;
    }
    if (pattern.kind == COMMAND_WORD_IS && word.len == 2 && is_letter_option(word)) {
        pattern.letter = word.ptr[1];
    }
    *ret_pattern = pattern;
    return COMMAND_PATTERN_OK;
}

bool command_word_meets(const struct command_word_pattern *pattern, struct slice word)
{
    if (pattern->kind == COMMAND_WORD_BEGINS) {
        return slice_starts_with(word, pattern->text);
    }
    if (pattern->kind == COMMAND_WORD_ENDS) {
        return slice_ends_with(word, pattern->text);
    }
    if (pattern->letter != 0 && is_letter_option(word) &&
        memchr(word.ptr + 1, pattern->letter, word.len - 1) != NULL) {
        return true;
    }
    return slice_eq(word, pattern->text);
}

enum command_answer command_word_match(const struct command_word_pattern *pattern,
                                       const struct command *command)
{
    if ((command->flags & COMMAND_UNREADABLE) != 0) {
        return COMMAND_UNKNOWN;
    }
    for (uint32_t i = 1; i < command->known; i++) {
        if (command_word_meets(pattern, command_word_at(command, i)->text)) {
            return COMMAND_YES;
        }
    }
    return (command->flags & COMMAND_OPEN) != 0 ? COMMAND_UNKNOWN : COMMAND_NO;
}

bool command_word_equal(const struct command_word_pattern *a, const struct command_word_pattern *b)
{
    return a->kind == b->kind && slice_eq(a->text, b->text);
}

bool command_word_subset(const struct command_word_pattern *part, const struct command_word_pattern *whole)
{
    if (command_word_equal(part, whole)) {
        return true;
    }
    switch (part->kind) {
    case COMMAND_WORD_BEGINS:
        return whole->kind == COMMAND_WORD_BEGINS && slice_starts_with(part->text, whole->text);
    case COMMAND_WORD_ENDS:
        return whole->kind == COMMAND_WORD_ENDS && slice_ends_with(part->text, whole->text);
    default:
        /* A letter stands for words that have little in common but their `-`. */
        return part->letter == 0 ? command_word_meets(whole, part->text)
                                 : whole->kind == COMMAND_WORD_BEGINS && slice_is(whole->text, "-");
    }
}

void command_word_append(struct buf *buf, const struct command_word_pattern *pattern)
{
    buf_text(buf, pattern->kind == COMMAND_WORD_ENDS ? "*" : "");
    append_word(buf, pattern->text, false);
    buf_text(buf, pattern->kind == COMMAND_WORD_BEGINS ? "*" : "");
}
