/* A reader of TOML for settings. */
#include "import/toml_internal.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "json/json.h"

#define DEPTH_MOST 16u

void toml_reader_init(struct toml_reader *reader, struct slice text, struct arena *arena)
{
    *reader = (struct toml_reader){.text = text, .arena = arena};
}

bool toml_key_is(const struct toml_key *key, const char *dotted)
{
    for (size_t i = 0; i < key->count; i++) {
        const char *dot = strchr(dotted, '.');
        size_t len = dot != NULL ? (size_t)(dot - dotted) : strlen(dotted);
        if (!slice_eq(key->parts[i], (struct slice){dotted, len}) || (dot == NULL) != (i + 1 == key->count)) {
            return false;
        }
        dotted += dot != NULL ? len + 1 : len;
    }
    return key->count > 0;
}

static bool fail(struct toml_reader *in, const char *why)
{
    in->error = in->error != NULL ? in->error : why;
    return false;
}

static int look(const struct toml_reader *in)
{
    return in->at < in->text.len ? (unsigned char)in->text.ptr[in->at] : -1;
}

static void skip_blank(struct toml_reader *in)
{
    while (look(in) == ' ' || look(in) == '\t') {
        in->at++;
    }
}

/* Blanks, comments and line ends. */
static void skip_lines(struct toml_reader *in)
{
    for (;;) {
        skip_blank(in);
        if (look(in) == '#') {
            while (look(in) != -1 && look(in) != '\n') {
                in->at++;
            }
        } else if (look(in) == '\n' || look(in) == '\r') {
            in->at++;
        } else {
            return;
        }
    }
}

static bool take(struct toml_reader *in, const char *what)
{
    size_t len = strlen(what);
    bool there = in->text.len - in->at >= len && memcmp(in->text.ptr + in->at, what, len) == 0;
    in->at += there ? len : 0;
    return there;
}

/* ---- Strings ---- */

static bool take_code(struct toml_reader *in, size_t digits, struct buf *text)
{
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++, in->at++) {
        int c = look(in);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return fail(in, "an escape that cannot be read");
        }
        code = code * 16 + (uint32_t)digit;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        return fail(in, "an escape that is no character");
    }
    utf8_append(text, code);
    return true;
}

static bool take_escape(struct toml_reader *in, bool lines, struct buf *text)
{
    static const char from[] = "btnfr\"\\e", to[] = "\b\t\n\f\r\"\\\033";
    int c = look(in);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (known != NULL) {
        in->at++;
        buf_byte(text, to[known - from]);
        return true;
    }
    if (c == 'u' || c == 'U') {
        in->at++;
        return take_code(in, c == 'u' ? 4 : 8, text);
    }
    if (lines && (c == '\n' || c == '\r' || c == ' ' || c == '\t')) {
        while (look(in) == '\n' || look(in) == '\r' || look(in) == ' ' || look(in) == '\t') {
            in->at++;
        }
        return true;
    }
    return fail(in, "an escape that is not known");
}

/* The quote is next. */
static bool take_string(struct toml_reader *in, struct buf *text)
{
    bool basic = look(in) == '"';
    const char *three = basic ? "\"\"\"" : "'''";
    bool lines = take(in, three);
    char quote = basic ? '"' : '\'';
    if (lines) {
        (void)take(in, "\r");
        (void)take(in, "\n");
    } else {
        in->at++;
    }
    for (;;) {
        int c = look(in);
        if (c == -1 || (!lines && c == '\n')) {
            return fail(in, "a string without its end");
        }
        if (c == quote && (!lines || take(in, three))) {
            in->at += !lines;
            for (int more = 0; lines && more < 2 && look(in) == quote; more++, in->at++) {
                buf_byte(text, quote); /* one or two quotes may stand directly before the end */
            }
            return true;
        }
        in->at++;
        if (c == '\\' && basic) {
            if (!take_escape(in, lines, text)) {
                return false;
            }
        } else {
            buf_byte(text, (char)c);
        }
    }
}

/* ---- Names ---- */

static bool is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool take_part(struct toml_reader *in, struct slice *ret)
{
    struct buf text;
    size_t begin = in->at;
    bool good = true;
    buf_init(&text, 1u << 16);
    if (look(in) == '"' || look(in) == '\'') {
        good = take_string(in, &text);
    } else {
        while (is_bare(look(in))) {
            buf_byte(&text, in->text.ptr[in->at++]);
        }
        good = in->at > begin || fail(in, "a name is missing");
    }
    *ret = good && text.len > 0 ? arena_copy(in->arena, buf_slice_of(&text)) : SLICE("");
    good = good && (ret->ptr != NULL || fail(in, "no memory")) && (buf_ok(&text) || fail(in, "a long name"));
    buf_finish(&text);
    return good;
}

static bool take_key(struct toml_reader *in, struct toml_key *ret)
{
    *ret = (struct toml_key){0};
    do {
        skip_blank(in);
        if (ret->count == TOML_KEYS) {
            return fail(in, "a name of too many parts");
        }
        if (!take_part(in, &ret->parts[ret->count])) {
            return false;
        }
        ret->count++;
        skip_blank(in);
    } while (take(in, "."));
    return true;
}

/* ---- Values ---- */

static bool take_value(struct toml_reader *in, unsigned depth, struct buf *out);

static bool take_array(struct toml_reader *in, unsigned depth, struct buf *out)
{
    buf_byte(out, '[');
    for (bool first = true;; first = false) {
        skip_lines(in);
        if (take(in, "]")) {
            break;
        }
        buf_text(out, first ? "" : ",");
        if (!take_value(in, depth + 1, out)) {
            return false;
        }
        skip_lines(in);
        if (!take(in, ",") && look(in) != ']') {
            return fail(in, "an array without its end");
        }
    }
    buf_byte(out, ']');
    return true;
}

static bool take_inline(struct toml_reader *in, unsigned depth, struct buf *out)
{
    buf_byte(out, '{');
    for (bool first = true;; first = false) {
        struct toml_key key;
        skip_lines(in);
        if (take(in, "}")) {
            break;
        }
        if (!take_key(in, &key) || key.count != 1 || !take(in, "=")) {
            return fail(in, "a table in a line that cannot be read here");
        }
        buf_text(out, first ? "" : ",");
        json_write_string(out, key.parts[0]);
        buf_byte(out, ':');
        skip_blank(in);
        if (!take_value(in, depth + 1, out)) {
            return false;
        }
        skip_lines(in);
        if (!take(in, ",") && look(in) != '}') {
            return fail(in, "a table without its end");
        }
    }
    buf_byte(out, '}');
    return true;
}

/* Numbers and dates stand as strings of their text, but for whole numbers. */
static bool take_bare(struct toml_reader *in, struct buf *out)
{
    size_t begin = in->at;
    bool whole = true;
    while (look(in) != -1 && strchr(",]}#\n\r\t", look(in)) == NULL) {
        in->at++;
    }
    struct slice word = {in->text.ptr + begin, in->at - begin};
    while (word.len > 0 && word.ptr[word.len - 1] == ' ') {
        word.len--;
    }
    for (size_t i = 0; i < word.len; i++) {
        whole = whole && ((word.ptr[i] >= '0' && word.ptr[i] <= '9') ||
                          (i == 0 && word.len > 1 && word.ptr[i] == '-'));
    }
    bool leading = word.len > 1 && word.ptr[word.ptr[0] == '-'] == '0';
    if (word.len == 0) {
        return fail(in, "a value is missing");
    }
    if ((whole && !leading) || slice_is(word, "true") || slice_is(word, "false")) {
        buf_slice(out, word);
    } else if ((word.ptr[0] >= '0' && word.ptr[0] <= '9') || strchr("+-in", word.ptr[0]) != NULL) {
        json_write_bytes(out, word);
    } else {
        in->at = begin;
        return fail(in, "a value that is not TOML");
    }
    return true;
}

static bool take_value(struct toml_reader *in, unsigned depth, struct buf *out)
{
    int c = look(in);
    if (depth > DEPTH_MOST) {
        return fail(in, "values too deep inside one another");
    }
    if (c == '"' || c == '\'') {
        struct buf text;
        buf_init(&text, 1u << 20);
        bool good = take_string(in, &text) && (buf_ok(&text) || fail(in, "a string that is too long"));
        json_write_string(out, buf_slice_of(&text));
        buf_finish(&text);
        return good;
    }
    if (take(in, "[")) {
        return take_array(in, depth, out);
    }
    return take(in, "{") ? take_inline(in, depth, out) : take_bare(in, out);
}

/* ---- Lines ---- */

static bool line_ends(struct toml_reader *in)
{
    skip_blank(in);
    if (look(in) != -1 && look(in) != '\n' && look(in) != '\r' && look(in) != '#') {
        return fail(in, "something behind the end of a line's value");
    }
    return true;
}

static bool take_header(struct toml_reader *in)
{
    in->element = take(in, "[[");
    in->at += !in->element;
    return take_key(in, &in->table) &&
           (take(in, in->element ? "]]" : "]") || fail(in, "a header without its end")) && line_ends(in);
}

bool toml_reader_next(struct toml_reader *in, struct toml_item *ret_item)
{
    skip_lines(in);
    if (look(in) == -1) {
        return false;
    }
    struct toml_item item = {.offset = in->at};
    bool good;
    if (look(in) == '[') {
        good = take_header(in);
    } else {
        struct buf value;
        buf_init(&value, 4u << 20);
        good = take_key(in, &item.key) && (take(in, "=") || fail(in, "a name without a value"));
        skip_blank(in);
        good = good && take_value(in, 0, &value) && line_ends(in) &&
               (buf_ok(&value) || fail(in, "a long value"));
        item.value = good ? arena_copy(in->arena, buf_slice_of(&value)) : (struct slice){0};
        good = good && (item.value.ptr != NULL || fail(in, "no memory"));
        buf_finish(&value);
    }
    item.table = in->table;
    item.element = in->element;
    *ret_item = item;
    return good;
}
