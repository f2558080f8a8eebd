/* Reading one word: its quotes, its expansions, the commands inside it. */
#include <stdlib.h>
#include <string.h>

#include "command/internal.h"

#define B CHAR_BAD
#define P CHAR_PLAIN
#define E CHAR_END
/* clang-format off */
const uint8_t word_chars[256] = {
    B, B, B, B, B, B, B, B, B, E, E, B, B, B, B, B, /* tab and line feed */
    B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,
    E, P, CHAR_DOUBLE, B, CHAR_DOLLAR, P, E, CHAR_SINGLE, E, E, CHAR_GLOB, P, P, P, P, P, /* blank ! " # $ % & ' ( ) * + , - . / */
    P, P, P, P, P, P, P, P, P, P, CHAR_COLON, E, E, CHAR_EQUALS, E, CHAR_GLOB, /* 0-9 : ; < = > ? */
    P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
    P, P, P, P, P, P, P, P, P, P, P, B, CHAR_BACKSLASH, B, CHAR_CARET, P, /* X Y Z [ \ ] ^ _ */
    B, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
    P, P, P, P, P, P, P, P, P, P, P, B, E, B, CHAR_TILDE, B, /* x y z { | } ~ */
};
/* clang-format on */
#undef B
#undef P
#undef E

/* A word that is more than a run of plain characters, while it is read. */
struct builder {
    struct scan *scan;
    struct read_word *word;
    char *out; /* where its text goes */
    size_t len;
    bool begun;       /* something stands before, if only an empty pair of quotes */
    bool after_plain; /* the character before is an unquoted plain one, and no part of an expansion */
    bool no_tilde;    /* an unquoted `=` or `:` stands before */
    bool simple;      /* unquoted plain characters alone so far */
};

static void put(struct builder *builder, const char *bytes, size_t len)
{
    memcpy(builder->out + builder->len, bytes, len);
    builder->len += len;
}

static void put_byte(struct builder *builder, char c)
{
    builder->out[builder->len++] = c;
}

/* Where a word without its quotes goes. It is never longer than the text that it is read from, so that the words
 * of one text fit beside one another where they stand. */
static bool prepare_out(struct scan *scan)
{
    if (scan->out == NULL) {
        scan->out = arena_alloc(&scan->sink->reader->arena, scan->len + 1);
    }
    return scan->out != NULL || sink_no_memory(scan->sink);
}

static void put_plain(struct builder *builder)
{
    struct scan *scan = builder->scan;
    size_t begin = scan->at;
    while (scan_char(scan) == CHAR_PLAIN) {
        scan->at++;
    }
    put(builder, scan->text + begin, scan->at - begin);
    builder->after_plain = true;
}

/* An unquoted `=`: whether it makes NAME=W of the word, and what it may not stand before. */
static bool put_equals(struct builder *builder)
{
    struct scan *scan = builder->scan;
    if (builder->len == 0) {
        return scan_refuse(scan, scan->at, "a word that begins with '='");
    }
    if (!builder->word->equals && builder->simple) {
        size_t end = builder->out[builder->len - 1] == '+' ? builder->len - 1 : builder->len;
        bool name = end > 0 && !is_ascii_digit(builder->out[0]);
        for (size_t i = 0; i < end; i++) {
            name = name && is_name_char(builder->out[i]);
        }
        builder->word->assigned_at = name ? builder->len + 1 : 0;
    }
    builder->word->equals = true;
    put_byte(builder, '=');
    scan->at++;
    builder->after_plain = builder->no_tilde = true;
    return true;
}

static bool put_tilde(struct builder *builder)
{
    struct scan *scan = builder->scan;
    size_t at = scan->at++;
    if (!builder->begun) {
        scan_continuations(scan);
        if (!scan_is(scan, '/') && scan_char(scan) != CHAR_END) {
            return scan_refuse(scan, at, "the home directory of a user");
        }
        builder->word->word.flags |= COMMAND_WORD_HOME;
    } else if (!builder->after_plain || builder->no_tilde) {
        return scan_refuse(scan, at, "a '~' inside a word");
    }
    put_byte(builder, '~');
    builder->after_plain = builder->simple = false;
    return true;
}

static bool put_escape(struct builder *builder)
{
    struct scan *scan = builder->scan;
    char c = scan->at + 1 < scan->len ? scan->text[scan->at + 1] : '\0';
    if (c < ' ' || c > '~') {
        return scan_refuse(scan, scan->at, "a backslash before a character that it does not quote");
    }
    put_byte(builder, c);
    scan->at += 2;
    builder->word->quoted = true;
    builder->after_plain = builder->simple = false;
    return true;
}

static bool put_single(struct builder *builder)
{
    struct scan *scan = builder->scan;
    size_t begin = scan->at + 1, at = begin;
    for (; at < scan->len && scan->text[at] != '\''; at++) {
        if (is_control(scan->text[at])) {
            return scan_refuse(scan, at, "a control character");
        }
        if (scan->text[at] == '\n') {
            scan->at = at;
            if (!scan_inner_line(scan)) {
                return false;
            }
        }
    }
    if (at == scan->len) {
        return scan_refuse(scan, begin - 1, "a quote that does not end");
    }
    put(builder, scan->text + begin, at - begin);
    scan->at = at + 1;
    builder->word->quoted = true;
    builder->after_plain = builder->simple = false;
    return true;
}

static void put_expansion(struct builder *builder)
{
    builder->word->word.flags |= COMMAND_WORD_OPAQUE | COMMAND_WORD_EXPANDED;
    builder->after_plain = builder->simple = false;
    put_byte(builder, '$');
}

/* NAME at scan->at, continuation lines left out. */
static void put_name(struct builder *builder)
{
    struct scan *scan = builder->scan;
    for (; scan->at < scan->len && is_name_char(scan->text[scan->at]); scan_continuations(scan)) {
        put_byte(builder, scan->text[scan->at++]);
    }
}

/* `${NAME}`, `${NAME-W}` and the like, behind their `{`. */
static bool put_braces(struct builder *builder, size_t begin)
{
    struct scan *scan = builder->scan;
    scan_continuations(scan);
    if (scan->at == scan->len || !is_name_char(scan->text[scan->at]) ||
        is_ascii_digit(scan->text[scan->at])) {
        return scan_refuse(scan, begin, "an expansion");
    }
    put_expansion(builder);
    put_name(builder);
    bool colon = scan_is(scan, ':');
    if (colon) {
        scan->at++;
        scan_continuations(scan);
    }
    if (scan_is(scan, '-') || scan_is(scan, '+')) {
        do {
            scan->at++;
            scan_continuations(scan);
        } while (scan_char(scan) == CHAR_PLAIN || scan_char(scan) == CHAR_EQUALS ||
                 scan_char(scan) == CHAR_COLON);
    } else if (colon) {
        return scan_refuse(scan, begin, "an expansion");
    }
    if (!scan_is(scan, '}')) {
        return scan_refuse(scan, begin, "an expansion");
    }
    scan->at++;
    return true;
}

/* `$(LIST)`, behind its `$` at `begin`. */
static bool put_substitution(struct builder *builder, size_t begin)
{
    struct scan *scan = builder->scan;
    scan->at++;
    scan_continuations(scan);
    if (scan_is(scan, '(')) {
        return scan_refuse(scan, begin, "arithmetic");
    }
    if (++scan->depth > COMMAND_DEPTH) {
        return scan_refuse(scan, begin, "parentheses too deep");
    }
    scan->substitutions++;
    if (!scan_list(scan)) {
        return false;
    }
    if (!scan_is(scan, ')')) {
        return scan_refuse(scan, begin, "a substitution that does not end");
    }
    scan->at++;
    scan->depth--;
    scan->substitutions--;
    put_expansion(builder);
    return true;
}

static bool put_dollar(struct builder *builder, bool in_quotes)
{
    struct scan *scan = builder->scan;
    size_t begin = scan->at++;
    scan_continuations(scan);
    char c = scan->at < scan->len ? scan->text[scan->at] : '\0';
    if (c == '(') {
        return put_substitution(builder, begin);
    }
    if (c == '{') {
        scan->at++;
        return put_braces(builder, begin);
    }
    if (is_name_char(c) && !is_ascii_digit(c)) {
        put_expansion(builder);
        put_name(builder);
        return true;
    }
    if (is_ascii_digit(c) || (c != '\0' && strchr("?#$@*", c) != NULL)) {
        put_expansion(builder);
        scan->at++;
        return true;
    }
    if (in_quotes && (c == '"' || c == ' ' || c == '\t')) {
        put_byte(builder, '$');
        return true;
    }
    return scan_refuse(scan, begin, "an expansion");
}

/* A backslash between double quotes. */
static bool put_double_escape(struct builder *builder)
{
    struct scan *scan = builder->scan;
    char c = scan->at + 1 < scan->len ? scan->text[scan->at + 1] : '\0';
    if (c == '\n') {
        scan_continuations(scan);
        return true;
    }
    if (c != '$' && c != '`' && c != '"' && c != '\\') {
        put_byte(builder, '\\');
        scan->at++;
        return true;
    }
    put_byte(builder, c);
    scan->at += 2;
    return true;
}

static bool put_double(struct builder *builder)
{
    struct scan *scan = builder->scan;
    size_t begin = scan->at++;
    builder->word->quoted = true;
    builder->simple = false;
    while (scan->at < scan->len) {
        char c = scan->text[scan->at];
        bool done = true;
        if (c == '"') {
            scan->at++;
            builder->after_plain = false;
            return true;
        }
        if (c == '$') {
            done = put_dollar(builder, true);
        } else if (c == '\\') {
            done = put_double_escape(builder);
        } else if (c == '`' || is_control(c)) {
            done = scan_refuse(scan, scan->at, c == '`' ? "a backquote" : "a control character");
        } else {
            done = c != '\n' || scan_inner_line(scan);
            put_byte(builder, c);
            scan->at++;
        }
        if (!done) {
            return false;
        }
    }
    return scan_refuse(scan, begin, "a quote that does not end");
}

static const char *why_bad(char c)
{
    static const struct {
        char c;
        const char *reason;
    } reasons[] = {{'`', "a backquote"},
                   {'#', "a '#' outside quotes"},
                   {'{', "a brace outside quotes"},
                   {'}', "a brace outside quotes"},
                   {'[', "a '[' outside quotes"},
                   {']', "a ']' outside quotes"}};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        if (reasons[i].c == c) {
            return reasons[i].reason;
        }
    }
    return is_control(c) ? "a control character" : "a character outside ASCII without quotes";
}

/* One piece of the word at scan->at. */
static bool put_piece(struct builder *builder)
{
    struct scan *scan = builder->scan;
    switch (scan_char(scan)) {
    case CHAR_PLAIN:
        put_plain(builder);
        return true;
    case CHAR_EQUALS:
        return put_equals(builder);
    case CHAR_COLON:
        put_byte(builder, ':');
        scan->at++;
        builder->after_plain = builder->no_tilde = true;
        return true;
    case CHAR_CARET:
        if (!builder->begun) {
            return scan_refuse(scan, scan->at, "a word that begins with '^'");
        }
        put_byte(builder, '^');
        scan->at++;
        builder->after_plain = builder->simple = false;
        return true;
    case CHAR_TILDE:
        return put_tilde(builder);
    case CHAR_BACKSLASH:
        return put_escape(builder);
    case CHAR_SINGLE:
        return put_single(builder);
    case CHAR_DOUBLE:
        return put_double(builder);
    case CHAR_DOLLAR:
        return put_dollar(builder, false);
    case CHAR_GLOB:
        put_byte(builder, scan->text[scan->at++]);
        builder->word->word.flags |= COMMAND_WORD_OPAQUE | COMMAND_WORD_GLOB;
        builder->after_plain = builder->simple = false;
        return true;
    default:
        return scan_refuse(scan, scan->at, why_bad(scan->text[scan->at]));
    }
}

bool scan_word(struct scan *scan, struct read_word *ret_word)
{
    size_t begin = scan->at;
    while (scan_char(scan) == CHAR_PLAIN) {
        scan->at++;
    }
    struct read_word word = {.word = {.text = {scan->text + begin, scan->at - begin}, .at = (uint32_t)begin}};
    word.dash = scan->at > begin && (scan->text[begin] == '-' || scan->text[begin] == '!');
    if (scan_char(scan) == CHAR_END) {
        *ret_word = word;
        return true;
    }
    if (!prepare_out(scan)) {
        return false;
    }
    struct builder builder = {.scan = scan,
                              .word = &word,
                              .out = scan->out + begin,
                              .begun = scan->at > begin,
                              .after_plain = scan->at > begin,
                              .simple = true};
    put(&builder, scan->text + begin, scan->at - begin);
    for (;;) {
        scan_continuations(scan);
        if (scan_char(scan) == CHAR_END) {
            break;
        }
        word.dash = word.dash || (!builder.begun && (scan_is(scan, '-') || scan_is(scan, '!')));
        if (!put_piece(&builder)) {
            return false;
        }
        builder.begun = true;
    }
    word.word.text = (struct slice){builder.out, builder.len};
    *ret_word = word;
    return true;
}
