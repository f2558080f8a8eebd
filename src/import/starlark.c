/* A reader for the part of Starlark that Codex's rules are written in. */
#include "import/starlark_internal.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define ITEMS_MOST 4096u
#define NAMES_MOST 256u
#define LISTS_DEEP 8u

void starlark_init(struct starlark *reader, struct slice text, struct arena *arena)
{
    *reader = (struct starlark){.text = text, .arena = arena};
}

static bool fail(struct starlark *in, const char *why)
{
    in->error = in->error != NULL ? in->error : why;
    return false;
}

static int look(const struct starlark *in)
{
    return in->at < in->text.len ? (unsigned char)in->text.ptr[in->at] : -1;
}

static void skip_blank(struct starlark *in)
{
    for (int c = look(in); c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#' || c == '\\';
         c = look(in)) {
        if (c == '\\' && (in->at + 1 >= in->text.len || in->text.ptr[in->at + 1] != '\n')) {
            return;
        }
        while (c == '#' && look(in) != -1 && look(in) != '\n') {
            in->at++;
        }
        in->at += look(in) != -1;
    }
}

static bool take(struct starlark *in, char c)
{
    skip_blank(in);
    bool there = look(in) == (unsigned char)c;
    in->at += there;
    return there;
}

static bool is_name(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct slice take_name(struct starlark *in)
{
    skip_blank(in);
    size_t begin = in->at;
    if (look(in) >= '0' && look(in) <= '9') {
        return (struct slice){0};
    }
    while (is_name(look(in))) {
        in->at++;
    }
    return in->at > begin ? (struct slice){in->text.ptr + begin, in->at - begin} : (struct slice){0};
}

/* ---- Strings ---- */

static bool hex(struct starlark *in, size_t digits, uint32_t *ret)
{
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        int c = look(in);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return fail(in, "an escape that cannot be read");
        }
        value = value * 16 + (uint32_t)digit;
        in->at++;
    }
    *ret = value;
    return true;
}

static bool take_escape(struct starlark *in, struct buf *text)
{
    static const char from[] = "ntr0abfv", to[] = "\n\t\r\0\a\b\f\v";
    int c = look(in);
    uint32_t code;
    in->at += c != -1;
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (c == '\n') {
        return true;
    }
    if (known != NULL) {
        buf_byte(text, to[known - from]);
        return true;
    }
    if (c == '\\' || c == '\'' || c == '"') {
        buf_byte(text, (char)c);
        return true;
    }
    if (c != 'x' && c != 'u' && c != 'U') {
        return fail(in, "an escape that is not known here");
    }
    if (!hex(in, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code)) {
        return false;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (c == 'x' && code > 0x7f)) {
        return fail(in, "an escape that is no character");
    }
    utf8_append(text, code);
    return true;
}

/* One string; `raw` without escapes. The quote is next. */
static bool take_string(struct starlark *in, bool raw, struct buf *text)
{
    char quote = in->text.ptr[in->at];
    size_t left = in->text.len - in->at;
    bool triple = left >= 3 && in->text.ptr[in->at + 1] == quote && in->text.ptr[in->at + 2] == quote;
    size_t quotes = triple ? 3 : 1;
    in->at += quotes;
    for (;;) {
        int c = look(in);
        bool ends =
            c == quote && (!triple || (in->text.len - in->at >= 3 && in->text.ptr[in->at + 1] == quote &&
                                       in->text.ptr[in->at + 2] == quote));
        if (c == -1 || (c == '\n' && !triple)) {
            return fail(in, "a string without its end");
        }
        in->at++;
        if (ends) {
            in->at += quotes - 1;
            return true;
        }
        if (c == '\\' && !raw) {
            if (!take_escape(in, text)) {
                return false;
            }
        } else {
            buf_byte(text, (char)c);
            if (c == '\\' && look(in) != -1) {
                buf_byte(text, in->text.ptr[in->at++]);
            }
        }
    }
}

/* ---- Values ---- */

static bool take_value(struct starlark *in, unsigned depth, struct starlark_value *ret);

/* Room for one more item; NULL without memory or beyond the most. */
static struct starlark_value *grown(struct starlark *in, struct starlark_value *items, size_t count,
                                    size_t *cap)
{
    if (count < *cap) {
        return items;
    }
    size_t wanted = *cap > 0 ? *cap * 2 : 8;
    struct starlark_value *more = wanted <= ITEMS_MOST ? arena_array(in->arena, wanted, sizeof(*more)) : NULL;
    if (more != NULL) {
        memcpy(more, items, count * sizeof(*items));
        *cap = wanted;
    }
    return more;
}

static bool take_list(struct starlark *in, char end, unsigned depth, struct starlark_value *ret)
{
    struct starlark_value none, *items = &none;
    size_t count = 0, cap = 0;
    if (depth > LISTS_DEEP) {
        return fail(in, "lists too deep inside one another");
    }
    while (!take(in, end)) {
        items = grown(in, items, count, &cap);
        if (items == NULL) {
            return fail(in, "a list that is too long, or no memory");
        }
        if (!take_value(in, depth + 1, &items[count])) {
            return false;
        }
        count++;
        if (!take(in, ',')) {
            if (!take(in, end)) {
                return fail(in, "a list without its end");
            }
            break;
        }
    }
    *ret = (struct starlark_value){.is_list = true, .items = count > 0 ? items : NULL, .count = count};
    return true;
}

static bool take_text(struct starlark *in, bool raw, struct starlark_value *ret)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    bool good = take_string(in, raw, &text);
    /* Adjacent strings and those with a `+` between are one. */
    while (good) {
        skip_blank(in);
        size_t before = in->at;
        bool plus = take(in, '+');
        skip_blank(in);
        if (look(in) != '"' && look(in) != '\'') {
            in->at = plus ? in->at : before;
            good = !plus || fail(in, "a `+` without a string behind it");
            break;
        }
        good = take_string(in, false, &text);
    }
    *ret = (struct starlark_value){.text =
                                       text.len > 0 ? arena_copy(in->arena, buf_slice_of(&text)) : SLICE("")};
    good = good && (ret->text.ptr != NULL || fail(in, "no memory"));
    good = good && (buf_ok(&text) || fail(in, "a string that is too long"));
    buf_finish(&text);
    return good;
}

static bool take_value(struct starlark *in, unsigned depth, struct starlark_value *ret)
{
    skip_blank(in);
    int c = look(in);
    if (c == '[' || c == '(') {
        in->at++;
        return take_list(in, c == '[' ? ']' : ')', depth, ret);
    }
    if (c == '"' || c == '\'') {
        return take_text(in, false, ret);
    }
    struct slice name = take_name(in);
    if (slice_is(name, "r") && (look(in) == '"' || look(in) == '\'')) {
        return take_text(in, true, ret);
    }
    for (size_t i = in->name_count; name.ptr != NULL && i > 0; i--) {
        if (slice_eq(in->names[i - 1].name, name)) {
            *ret = in->names[i - 1].value;
            return true;
        }
    }
    return fail(in, "a value that is neither a string nor a list");
}

/* ---- Statements ---- */

static bool take_arguments(struct starlark *in, struct starlark_call *call)
{
    struct starlark_argument *arguments = arena_array(in->arena, 32, sizeof(*arguments));
    if (arguments == NULL) {
        return fail(in, "no memory");
    }
    call->arguments = arguments;
    while (!take(in, ')')) {
        skip_blank(in);
        size_t begin = in->at;
        struct slice name = take_name(in);
        if (call->count == 32) {
            return fail(in, "too many arguments");
        }
        if (name.ptr == NULL || !take(in, '=')) {
            in->at = begin;
            name = (struct slice){0};
        }
        arguments[call->count].name = name;
        if (!take_value(in, 0, &arguments[call->count].value)) {
            return false;
        }
        call->count++;
        if (!take(in, ',')) {
            if (!take(in, ')')) {
                return fail(in, "a call without its end");
            }
            break;
        }
    }
    call->end = in->at;
    return true;
}

static bool take_assignment(struct starlark *in, struct slice name)
{
    if (in->names == NULL) {
        in->names = arena_array(in->arena, NAMES_MOST, sizeof(*in->names));
    }
    if (in->names == NULL || in->name_count == NAMES_MOST) {
        return fail(in, "too many names");
    }
    struct starlark_argument *kept = &in->names[in->name_count];
    kept->name = name;
    if (!take_value(in, 0, &kept->value)) {
        return false;
    }
    in->name_count++;
    return true;
}

bool starlark_next(struct starlark *in, struct starlark_call *ret_call)
{
    for (;;) {
        while (take(in, ';')) {
        }
        skip_blank(in);
        if (look(in) == -1) {
            return false;
        }
        struct starlark_call call = {.offset = in->at};
        call.function = take_name(in);
        if (call.function.ptr != NULL && take(in, '=')) {
            if (!take_assignment(in, call.function)) {
                return false;
            }
        } else if (call.function.ptr != NULL && take(in, '(')) {
            if (!take_arguments(in, &call)) {
                return false;
            }
            *ret_call = call;
            return true;
        } else {
            return fail(in, "neither a call nor a name that is given a value");
        }
    }
}

const struct starlark_value *starlark_argument(const struct starlark_call *call, const char *name)
{
    for (size_t i = 0; i < call->count; i++) {
        if (call->arguments[i].name.ptr != NULL && slice_is(call->arguments[i].name, name)) {
            return &call->arguments[i].value;
        }
    }
    return NULL;
}
