/* Patterns over the text of a shell command, as Claude Code and opencode have them, and lists of words, as Codex has
 * them: what of these a match can say. There a pattern is compared with a text; here words are compared with words,
 * so that quoting makes no difference. */
#include "import/internal.h"

#include <string.h>

#include "command/command.h"

static const char *const blanks = " \t";

bool import_is_shell(struct slice program)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "ash", "mksh", "rbash", "fish"};
    for (size_t i = program.len; i > 0; i--) {
        if (program.ptr[i - 1] == '/') {
            program = slice_from(program, i);
            break;
        }
    }
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (slice_is(program, shells[i])) {
            return true;
        }
    }
    return false;
}

static struct slice kept(struct importer *im, struct buf *text)
{
    struct slice copy = buf_ok(text) ? arena_copy(&im->arena, buf_slice_of(text)) : (struct slice){0};
    im->failed = im->failed || copy.ptr == NULL;
    buf_finish(text);
    return copy;
}

/* A word of nothing but what stands for itself in every shell. */
static bool is_simple(struct slice word)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        bool simple = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      (c != '\0' && strchr("_-./:@%+,", c) != NULL) || (c == '=' && i > 0);
        if (!simple) {
            return false;
        }
    }
    return word.len > 0;
}

static void append_word(struct buf *text, struct slice word)
{
    if (text->len > 0 && is_simple(word)) {
        buf_byte(text, ' ');
        buf_slice(text, word);
        return;
    }
    if (text->len > 0) {
        buf_byte(text, ' ');
    }
    command_append_word(text, word);
}

/* Whether a text is one command whose words are all known, and no more: what a pattern can be. */
static bool is_plain(const struct command_list *list)
{
    return list->count == 1 && list->document_count == 0 &&
           (list->commands[0].flags &
            (COMMAND_UNREADABLE | COMMAND_OPEN | COMMAND_ASSIGNED | COMMAND_REDIRECTION)) == 0;
}

/* The pattern of one plain command's text: its words, quoted as they must be. ptr NULL: it is none. */
static struct slice plain_words(struct importer *im, struct slice text, struct slice *ret_program)
{
    struct command_reader *reader = command_reader_create();
    struct command_list list;
    struct slice words = {0};
    if (reader == NULL || !command_read_text(reader, text, NULL, &list)) {
        im->failed = true;
    } else if (list.count == 1 && is_plain(&list)) {
        const struct command *command = &list.commands[0];
        struct buf out;
        bool home = false;
        buf_init(&out, 1u << 20);
        for (uint32_t i = 0; i < command->count; i++) {
            const struct command_word *word = command_word_at(command, i);
            home = home || (word->flags & COMMAND_WORD_HOME) != 0;
            append_word(&out, word->text);
        }
        words = kept(im, &out);
        /* A `~` of the text is the home directory: quoted it would be a name, so the text stands as it is. */
        words = home ? text : words;
        *ret_program = arena_copy(&im->arena, command->first->text);
    }
    command_reader_destroy(reader);
    return words;
}

struct slice import_command_words(struct importer *im, const struct slice *words, size_t count)
{
    struct buf out;
    struct slice program, text;
    buf_init(&out, 1u << 20);
    for (size_t i = 0; i < count; i++) {
        if (words[i].len == 0) {
            buf_text(&out, i > 0 ? " ''" : "''");
        } else {
            append_word(&out, words[i]);
        }
    }
    text = kept(im, &out);
    return text.ptr != NULL && plain_words(im, text, &program).ptr != NULL ? text : (struct slice){0};
}

/* ---- Wildcards ---- */

static bool is_wild(char c, bool one)
{
    return c == '*' || (one && c == '?');
}

static size_t first_wild(struct slice text, bool one)
{
    size_t i = 0;
    while (i < text.len && !is_wild(text.ptr[i], one)) {
        i++;
    }
    return i;
}

/* What of a text stands before an operator of the shell or a character that begins an expansion. */
static size_t before_syntax(struct slice text)
{
    size_t i = 0;
    while (i < text.len && strchr(";&|<>()$`\n#{}", text.ptr[i]) == NULL) {
        i++;
    }
    return i;
}

static struct slice without_last_word(struct slice text)
{
    while (text.len > 0 && strchr(blanks, text.ptr[text.len - 1]) == NULL) {
        text.len--;
    }
    while (text.len > 0 && strchr(blanks, text.ptr[text.len - 1]) != NULL) {
        text.len--;
    }
    return text;
}

static struct slice around(struct importer *im, const char *before, struct slice word, const char *behind)
{
    struct buf out;
    buf_init(&out, 1u << 20);
    buf_text(&out, before);
    buf_slice(&out, word);
    buf_text(&out, behind);
    return kept(im, &out);
}

/* A later word that each text of the pattern has: the last one, when the pattern ends in it, or the one that a `*`
 * continues. */
static struct slice later_word(struct importer *im, struct slice pattern, bool one)
{
    size_t wild = first_wild(pattern, one);
    size_t begin = pattern.len;
    while (begin > 0 && strchr(blanks, pattern.ptr[begin - 1]) == NULL) {
        begin--;
    }
    struct slice last = slice_from(pattern, begin);
    if (begin > 0 && is_simple(last)) {
        return around(im, "*", last, "");
    }
    begin = wild;
    while (begin > 0 && strchr(blanks, pattern.ptr[begin - 1]) == NULL) {
        begin--;
    }
    struct slice head = {pattern.ptr + begin, wild - begin};
    return begin > 0 && is_simple(head) ? around(im, "", head, "*") : (struct slice){0};
}

/* A deny or an ask: the words before the first wildcard or the first thing that is no word, as a prefix. */
static enum import_command_kind say_more(struct importer *im, struct slice pattern, bool one,
                                         struct import_command *ret)
{
    size_t wild = first_wild(pattern, one);
    size_t syntax = before_syntax(pattern);
    size_t end = wild < syntax ? wild : syntax;
    bool cut = end < pattern.len && end > 0 && strchr(blanks, pattern.ptr[end - 1]) == NULL;
    struct slice head = {pattern.ptr, end};
    if (cut) {
        head = without_last_word(head);
    }
    /* A quote that is left open begins at some word: the words before it are the text's words all the same. */
    for (; head.len > 0 && ret->prefix.ptr == NULL; head = without_last_word(head)) {
        ret->prefix = plain_words(im, head, &ret->program);
    }
    if (ret->prefix.ptr != NULL && import_is_shell(ret->program)) {
        ret->prefix = (struct slice){0}; /* what it is told to run is judged in its stead */
    }
    if (wild < pattern.len && syntax == pattern.len) {
        ret->word = later_word(im, pattern, one);
    }
    if (ret->prefix.ptr == NULL && ret->word.ptr == NULL) {
        ret->note = "every command: which of them these are cannot be told here";
        return IMPORT_COMMAND_ALL;
    }
    ret->note = ret->word.ptr != NULL ? "every command that begins so and has such a word"
                                      : "every command that begins so";
    return IMPORT_COMMAND_MORE;
}

/* An allow with a wildcard that is no whole beginning: `*` as one word, or the pattern's own text. */
static enum import_command_kind say_less(struct importer *im, struct slice pattern, bool open, bool one,
                                         struct import_command *ret)
{
    size_t wild = first_wild(pattern, one);
    bool glued = wild + 1 == pattern.len && pattern.ptr[wild] == '*' && wild > 0 &&
                 strchr(blanks, pattern.ptr[wild - 1]) == NULL;
    if (memchr(pattern.ptr, '\\', pattern.len) != NULL && wild < pattern.len) {
        ret->note = "whether a backslash takes the wildcard away is not sure";
        return IMPORT_COMMAND_NONE;
    }
    if (glued && !open) {
        ret->prefix = plain_words(im, (struct slice){pattern.ptr, wild}, &ret->program);
        ret->note = "commands that begin with these whole words";
        if (ret->prefix.ptr != NULL) {
            return IMPORT_COMMAND_LESS;
        }
    }
    if (open) {
        ret->note = "a beginning that is not made of whole words can't be said exactly";
        return IMPORT_COMMAND_NONE;
    }
    ret->text = pattern;
    ret->note = wild < pattern.len ? "this very text, as it is written, not within another command"
                                   : "this very text, not within another command";
    return IMPORT_COMMAND_LESS;
}

enum import_command_kind import_command_read(struct importer *im, struct slice pattern, bool widen, bool one,
                                             struct import_command *ret)
{
    *ret = (struct import_command){.note = ""};
    size_t wild = first_wild(pattern, one);
    bool open =
        pattern.len > 2 && slice_ends_with(pattern, SLICE(" *")) && pattern.ptr[pattern.len - 3] != '\\';
    if (pattern.len == 0 || (!widen && (pattern.ptr[0] == ' ' || pattern.ptr[pattern.len - 1] == ' '))) {
        ret->note = "it is empty, or begins or ends with a blank";
        return IMPORT_COMMAND_NONE;
    }
    if (slice_is(pattern, "*")) {
        return IMPORT_COMMAND_ALL;
    }
    bool whole = wild == pattern.len || (open && wild + 1 == pattern.len);
    struct slice head = {pattern.ptr, open ? pattern.len - 2 : pattern.len};
    struct slice words = whole ? plain_words(im, head, &ret->program) : (struct slice){0};
    if (words.ptr == NULL) {
        return widen ? say_more(im, pattern, one, ret) : say_less(im, pattern, open, one, ret);
    }
    if (!open) {
        ret->command = words;
        return IMPORT_COMMAND_EXACT;
    }
    ret->prefix = words;
    /* A shell with a script's name is a command like any other; one with an option, or alone, may be told to run a text. */
    const char *second = memchr(words.ptr, ' ', words.len);
    if (!import_is_shell(ret->program) || (second != NULL && second[1] != '-')) {
        return IMPORT_COMMAND_EXACT;
    }
    if (widen) {
        ret->prefix = (struct slice){0};
        ret->note = "every command: what a shell is told to run is judged in its stead here";
        return IMPORT_COMMAND_ALL;
    }
    ret->note = "what a shell is told to run with -c is judged by itself";
    return IMPORT_COMMAND_LESS;
}
