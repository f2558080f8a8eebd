/* Reading a text: lists, parentheses, the words of a command. */
#include <stdlib.h>

#include "command/internal.h"

bool stack_room(void **items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) {
        return true;
    }
    size_t more = *cap * 2 + 32;
    void *grown = realloc(*items, more * size);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *cap = more;
    return true;
}

bool scan_refuse(struct scan *scan, size_t at, const char *reason)
{
    return sink_refuse(scan->sink, scan->inside ? scan->origin : at, reason);
}

void scan_continuations(struct scan *scan)
{
    while (scan->at + 1 < scan->len && scan->text[scan->at] == '\\' && scan->text[scan->at + 1] == '\n') {
        if (!scan_inner_line(scan)) {
            scan->at = scan->len; /* the reason is kept: nothing more is read */
            return;
        }
        scan->at += 2;
    }
}

void scan_blanks(struct scan *scan)
{
    for (;;) {
        while (scan->at < scan->len && (scan->text[scan->at] == ' ' || scan->text[scan->at] == '\t')) {
            scan->at++;
        }
        if (!scan_is(scan, '\\')) {
            return;
        }
        size_t at = scan->at;
        scan_continuations(scan);
        if (scan->at == at) {
            return;
        }
    }
}

/* Passes over blanks and line feeds. */
static bool skip_lines(struct scan *scan)
{
    for (;;) {
        scan_blanks(scan);
        if (!scan_is(scan, '\n')) {
            return true;
        }
        if (!scan_line_end(scan)) {
            return false;
        }
    }
}

static bool push_word(struct scan *scan, const struct command_word *word)
{
    struct command_reader *reader = scan->sink->reader;
    if (!stack_room((void **)&reader->words, reader->word_count, &reader->word_cap, sizeof(*reader->words))) {
        return sink_no_memory(scan->sink);
    }
    reader->words[reader->word_count++] = *word;
    return true;
}

/* NAME and a colon: ksh93 takes it for a label, and what follows for the command. */
static bool is_label(const struct read_word *word)
{
    struct slice text = word->word.text;
    bool label =
        !word->quoted && text.len > 1 && text.ptr[text.len - 1] == ':' && !is_ascii_digit(text.ptr[0]);
    for (size_t i = 0; i + 1 < text.len && label; i++) {
        label = is_name_char(text.ptr[i]);
    }
    return label;
}

static bool is_first_word(struct scan *scan, const struct read_word *word)
{
    size_t at = word->word.at;
    if ((word->word.flags & COMMAND_WORD_OPAQUE) != 0) {
        return scan_refuse(scan, at, "a command whose name is not known");
    }
    if (word->dash) {
        return scan_refuse(scan, at, "a command that begins with '-' or '!'");
    }
    if (word->equals) {
        return scan_refuse(scan, at, "a command with '=' in its name");
    }
    if (is_label(word)) {
        return scan_refuse(scan, at, "a command that ends in ':'");
    }
    if (!word->quoted && (name_flags(word->word.text) & NAME_RESERVED) != 0) {
        return scan_refuse(scan, at, "a reserved word");
    }
    return true;
}

/* NAME=W before a command's first word. */
static bool is_assignment(struct scan *scan, const struct read_word *word, bool *ret_is)
{
    *ret_is = word->assigned_at != 0;
    if (!*ret_is) {
        return true;
    }
    struct slice value = slice_from(word->word.text, word->assigned_at);
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '$' || value.ptr[i] == '`' || value.ptr[i] == '[') {
            return scan_refuse(scan, word->word.at, "an assignment of what a shell may evaluate");
        }
    }
    return true;
}

/* In a substitution the words without their quotes stand where the word around it will be written. */
static bool keep_text(struct scan *scan, struct slice *text)
{
    if (scan->out != NULL && text->ptr >= scan->out && text->ptr < scan->out + scan->len) {
        *text = arena_copy(&scan->sink->reader->arena, *text);
    }
    return text->ptr != NULL || sink_no_memory(scan->sink);
}

static bool keep_texts(struct scan *scan, size_t words, size_t redirections)
{
    struct command_reader *reader = scan->sink->reader;
    bool kept = true;
    for (size_t i = words; i < reader->word_count && kept && scan->substitutions > 0; i++) {
        kept = keep_text(scan, &reader->words[i].text);
    }
    for (size_t i = redirections; i < reader->redirection_count && kept && scan->substitutions > 0; i++) {
        kept = keep_text(scan, &reader->redirections[i].target.text);
    }
    return kept;
}

/* Makes commands of the words and redirections above the marks. */
static bool finish_command(struct scan *scan, size_t words, size_t redirections, size_t begin)
{
    struct sink *sink = scan->sink;
    struct command_reader *reader = sink->reader;
    uint32_t count = (uint32_t)(reader->word_count - words);
    if (!keep_texts(scan, words, redirections)) {
        return false;
    }
    scan->last = (struct last_command){
        .mark = {.cd = sink->cd, .flags = sink->flags, .command_count = reader->command_count},
        .count = count};
    if (count > 0) {
        const struct command_word *copy = sink_copy_words(sink, reader->words + words, count);
        scan->last.words = copy;
        uint32_t at = scan->inside ? scan->origin : (uint32_t)begin;
        if (copy == NULL || !sink_add(sink, copy, count, false, at, scan->shells)) {
            return false;
        }
    }
    for (size_t i = redirections; i < reader->redirection_count; i++) {
        if (!sink_add_redirection(sink, &reader->redirections[i])) {
            return false;
        }
    }
    reader->word_count = words;
    reader->redirection_count = redirections;
    return true;
}

/* A word of plain characters alone, which most are; false when it is another, and nothing is passed. */
static bool plain_word(struct scan *scan, bool first)
{
    struct command_reader *reader = scan->sink->reader;
    const char *text = scan->text;
    size_t begin = scan->at, at = begin;
    while (at < scan->len && word_chars[(unsigned char)text[at]] == CHAR_PLAIN) {
        at++;
    }
    if ((at < scan->len && word_chars[(unsigned char)text[at]] != CHAR_END) || at == begin ||
        reader->word_count == reader->word_cap) {
        return false;
    }
    struct slice word = {text + begin, at - begin};
    if (first && (text[begin] == '-' || text[begin] == '!' || (name_flags(word) & NAME_RESERVED) != 0)) {
        return false;
    }
    reader->words[reader->word_count++] = (struct command_word){.text = word, .at = (uint32_t)begin};
    scan->word_total++;
    scan->at = at;
    return true;
}

/* A word of a command, or an assignment before it. */
static bool read_word(struct scan *scan, bool first, bool *assigned)
{
    struct read_word word;
    bool assigns = false;
    if (plain_word(scan, first)) {
        return true;
    }
    if (!scan_word(scan, &word)) {
        return false;
    }
    scan->word_total++;
    if (first && (!is_assignment(scan, &word, &assigns) || (!assigns && !is_first_word(scan, &word)))) {
        return false;
    }
    if (assigns) {
        *assigned = true;
        scan->sink->flags |= COMMAND_ASSIGNED;
        return true;
    }
    return push_word(scan, &word.word);
}

/* A command, up to the separator behind it. */
static bool read_command(struct scan *scan)
{
    struct command_reader *reader = scan->sink->reader;
    size_t words = reader->word_count, redirections = reader->redirection_count, begin = scan->at;
    bool assigned = false;
    for (;; scan_blanks(scan)) {
        bool first = reader->word_count == words;
        enum word_char kind = scan_char(scan);
        bool may_redirect = kind == CHAR_END || (kind == CHAR_PLAIN && is_ascii_digit(scan->text[scan->at]));
        if (may_redirect && scan->at < scan->len && scan_at_redirection(scan)) {
            if (first) {
                return scan_refuse(scan, scan->at, "a redirection before a command");
            }
            if (!scan_redirection(scan, true)) {
                return false;
            }
            continue;
        }
        if (kind == CHAR_END) {
            break;
        }
        if (!read_word(scan, first, &assigned)) {
            return false;
        }
    }
    if (reader->word_count == words && !assigned) {
        return scan_refuse(scan, scan->at, "no command where one must stand");
    }
    return finish_command(scan, words, redirections, begin);
}

/* `( LIST )` and the redirections behind it. */
static bool read_subshell(struct scan *scan)
{
    size_t begin = scan->at++;
    scan_continuations(scan);
    if (scan_is(scan, '(')) {
        return scan_refuse(scan, begin, "arithmetic");
    }
    if (++scan->depth > COMMAND_DEPTH) {
        return scan_refuse(scan, begin, "parentheses too deep");
    }
    if (!scan_list(scan)) {
        return false;
    }
    if (!scan_is(scan, ')')) {
        return scan_refuse(scan, begin, "a parenthesis that does not end");
    }
    scan->at++;
    scan->depth--;
    scan->last = (struct last_command){.count = 0};
    for (scan_blanks(scan); scan_at_redirection(scan); scan_blanks(scan)) {
        if (!scan_redirection(scan, false)) {
            return false;
        }
    }
    return scan_char(scan) == CHAR_END || scan_refuse(scan, scan->at, "a word behind a parenthesis");
}

enum separator {
    SEPARATOR_BAD,
    SEPARATOR_NONE, /* the end of the list */
    SEPARATOR_END,  /* a list may end behind it */
    SEPARATOR_JOIN, /* a command must follow it */
};

static enum separator read_separator(struct scan *scan)
{
    if (scan->at == scan->len) {
        return SEPARATOR_NONE;
    }
    char c = scan->text[scan->at];
    if (c == ')') {
        return SEPARATOR_NONE;
    }
    if (c == '\n') {
        return SEPARATOR_END; /* passed with the lines */
    }
    if (c != ';' && c != '&' && c != '|') {
        return scan_refuse(scan, scan->at, "a parenthesis behind a word") ? SEPARATOR_END : SEPARATOR_BAD;
    }
    scan->at++;
    scan_continuations(scan);
    if (c != ';' && scan_is(scan, c)) {
        scan->at++;
        return SEPARATOR_JOIN;
    }
    return c == '|' ? SEPARATOR_JOIN : SEPARATOR_END;
}

bool scan_list(struct scan *scan)
{
    if (!skip_lines(scan)) {
        return false;
    }
    if (scan->at == scan->len && scan->depth == 0) {
        return true; /* no command */
    }
    for (;;) {
        if (!(scan_is(scan, '(') ? read_subshell(scan) : read_command(scan))) {
            return false;
        }
        scan->last.last = scan->at == scan->len;
        enum separator separator = read_separator(scan);
        if (separator == SEPARATOR_BAD || (separator != SEPARATOR_NONE && !skip_lines(scan))) {
            return false;
        }
        bool closed = scan_is(scan, ')');
        if (separator == SEPARATOR_NONE ||
            (separator == SEPARATOR_END && (scan->at == scan->len || closed))) {
            if (closed ? scan->depth == 0 : scan->depth > 0) {
                return scan_refuse(scan, scan->at,
                                   closed ? "a ')' that closes nothing" : "a '(' that does not end");
            }
            if (scan->document.name.len != 0 && scan->document.depth == scan->depth) {
                return scan_refuse(scan, scan->at, "a here-document that does not end");
            }
            return true;
        }
    }
}

bool scan_text(struct sink *sink, struct slice text, uint32_t origin, unsigned shells, struct scan *ret_scan)
{
    *ret_scan = (struct scan){.sink = sink,
                              .text = text.ptr,
                              .len = text.len,
                              .origin = origin,
                              .inside = shells > 0,
                              .shells = shells};
    if (text.len > COMMAND_TEXT_BYTES) {
        return scan_refuse(ret_scan, COMMAND_TEXT_BYTES, "a text that is too long");
    }
    return scan_list(ret_scan) && sink->reason == NULL && !sink->no_memory;
}

bool scan_pattern_words(struct scan *scan)
{
    struct command_reader *reader = scan->sink->reader;
    for (scan_blanks(scan); scan_char(scan) != CHAR_END; scan_blanks(scan)) {
        struct read_word word;
        if (!scan_word(scan, &word)) {
            return false;
        }
        bool first = reader->word_count == 0;
        bool star = !word.quoted && slice_is(word.word.text, "*");
        if (first && !is_first_word(scan, &word)) {
            return false;
        }
        if ((word.word.flags & COMMAND_WORD_OPAQUE) != 0 && !star) {
            return scan_refuse(scan, word.word.at, "an expansion or part of a word with '*' or '?'");
        }
        if (!push_word(scan, &word.word)) {
            return false;
        }
    }
    return scan->sink->reason == NULL && !scan->sink->no_memory &&
           (scan->at == scan->len || scan_refuse(scan, scan->at, "a redirection or a second command"));
}
