/* The loose form of arguments. */
#include "policy/loose.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "base/intern.h"
#include "base/utf8.h"
#include "policy/policy.h"

void loose_write_key(struct buf *buf, struct slice name)
{
    buf_byte(buf, MATCH_LOOSE_KEY);
    for (size_t at = 0; at < name.len;) {
        buf_byte(buf, (char)fold_next(name, &at));
    }
}

/* One form for all that is taken for true, or for false. No JSON text begins so. */
static const char true_form[] = "T", false_form[] = "F";

static void write_number(struct buf *buf, const struct json_doc *doc, const struct json_value *value)
{
    size_t from = buf->len;
    json_write_canonical(buf, doc, value, JSON_NUMBER_EXACT);
    if (!buf_ok(buf)) {
        return;
    }
    struct slice text = slice_from(buf_slice_of(buf), from);
    bool one = slice_is(text, "1e0"), zero = slice_starts_with(text, SLICE("0e"));
    if (one || zero) {
        buf->len = from;
        buf_text(buf, one ? true_form : false_form);
    }
}

/* ---- Strings ---- */

static bool is_white(uint32_t c)
{
    return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

static struct slice trimmed(struct slice text)
{
    size_t from = text.len, to = 0;
    for (size_t at = 0; at < text.len;) {
        size_t begin = at;
        if (!is_white(utf8_next(text, &at))) {
            from = from < begin ? from : begin;
            to = at;
        }
    }
    return from < to ? (struct slice){text.ptr + from, to - from} : (struct slice){text.ptr, 0};
}

static bool is_any(struct slice text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (slice_eq_ascii_case(text, slice_of(words[i]))) {
            return true;
        }
    }
    return false;
}

static size_t skip_digits(struct slice text, size_t at)
{
    size_t from = at;
    while (at < text.len && ((text.ptr[at] >= '0' && text.ptr[at] <= '9') ||
                             (text.ptr[at] == '_' && at > from && text.ptr[at - 1] != '_'))) {
        at++;
    }
    return at > from && text.ptr[at - 1] == '_' ? from : at;
}

/* Whether a text is a number as servers' languages read one: a sign, digits with single `_` between digits, a fraction,
 * an exponent. On one side of the point there may be no digits. */
static bool is_number(struct slice text)
{
    size_t at = text.len != 0 && (text.ptr[0] == '+' || text.ptr[0] == '-');
    size_t end = skip_digits(text, at);
    bool digits = end > at;
    at = end;
    if (at < text.len && text.ptr[at] == '.') {
        end = skip_digits(text, at + 1);
        digits = digits || end > at + 1;
        at = end;
    }
    if (!digits) {
        return false;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        bool sign = at + 1 < text.len && (text.ptr[at + 1] == '+' || text.ptr[at + 1] == '-');
        at += sign ? 2 : 1;
        end = skip_digits(text, at);
        if (end == at) {
            return false;
        }
        at = end;
    }
    return at == text.len;
}

static const struct json_options text_options = {.max_depth = LIMIT_JSON_DEPTH,
                                                 .max_bytes = LIMIT_MESSAGE_BYTES};

static bool is_digit_at(struct slice text, size_t at)
{
    return at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9';
}

/* Appends such a number as JSON spells it, without the sign `+`, `_` and zeros at its start, with digits on both sides of
 * its point. */
static bool spell_number(struct buf *buf, struct slice text)
{
    size_t at = 0;
    if (text.ptr[0] == '-') {
        buf_byte(buf, '-');
    }
    at += text.ptr[0] == '-' || text.ptr[0] == '+';
    while (at + 1 < text.len && (text.ptr[at] == '0' || text.ptr[at] == '_') &&
           ((text.ptr[at + 1] >= '0' && text.ptr[at + 1] <= '9') || text.ptr[at + 1] == '_')) {
        at++;
    }
    if (at < text.len && text.ptr[at] == '.') {
        buf_byte(buf, '0');
    }
    for (; at < text.len; at++) {
        if (text.ptr[at] != '_' && !(text.ptr[at] == '.' && !is_digit_at(text, at + 1))) {
            buf_byte(buf, text.ptr[at]);
        }
    }
    return buf_ok(buf);
}

static void write_number_text(struct buf *buf, struct slice text, struct json_doc *scratch)
{
    struct buf spelt;
    struct json_error error;
    buf_init(&spelt, LIMIT_MESSAGE_BYTES);
    if (spell_number(&spelt, text) && json_parse(scratch, buf_slice_of(&spelt), &text_options, &error)) {
        write_number(buf, scratch, json_root(scratch));
    } else {
        buf->failed = true;
    }
    buf_finish(&spelt);
}

static void write_value(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                        struct json_doc *scratch);

/* Whether a text may be that of a JSON value other than a string, by its first byte. */
static bool may_be_json(struct slice text)
{
    return text.len != 0 && strchr("{[-0123456789tfn", text.ptr[0]) != NULL && text.ptr[0] != '\0';
}

/* Whether none of eight bytes is a capital, a control character, or beyond ASCII. Of sums of bytes below 0x80 none reaches
 * into the next. */
static inline bool is_plain_word(uint64_t word)
{
    const uint64_t high = 0x8080808080808080u;
    uint64_t low = word & ~high;
    uint64_t from_a = low + 0x3f3f3f3f3f3f3f3fu, behind_z = low + 0x2525252525252525u;
    uint64_t printable = low + 0x6060606060606060u, erased = low + 0x0101010101010101u;
    return ((word | (from_a & ~behind_z) | ~printable | erased) & high) == 0;
}

/* Words of at least six small letters or digits and what stands between such, none of which is white space at an end, a
 * number, or a text of JSON. */
bool loose_is_itself(struct slice text)
{
    if (text.len < 6 || !((text.ptr[0] >= 'a' && text.ptr[0] <= 'z') || text.ptr[0] == '/') ||
        text.ptr[text.len - 1] == ' ') {
        return false;
    }
    uint64_t last = intern_last_word(text); /* of six and seven bytes its two highest, or one, are none */
    bool plain = is_plain_word(text.len < 8 ? last | 0x2020202020202020u : last);
    for (size_t at = 0; at + 8 < text.len && plain; at += 8) {
        plain = is_plain_word(intern_load64(text.ptr + at));
    }
    return plain;
}

/* `scratch` is NULL within what a string was replaced by: that happens once. */
static void write_string(struct buf *buf, struct slice text, struct json_doc *scratch)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "on", NULL};
    static const char *const no[] = {"false", "f", "no", "n", "off", NULL};
    struct json_error error = {0};
    text = trimmed(text);
    if (scratch != NULL && may_be_json(text) && json_parse(scratch, text, &text_options, &error)) {
        write_value(buf, scratch, json_root(scratch), NULL);
        return;
    }
    buf->failed = buf->failed || error.code == JSON_ERROR_MEMORY;
    if (is_any(text, yes) || is_any(text, no)) {
        buf_text(buf, is_any(text, yes) ? true_form : false_form);
        return;
    }
    if (is_number(text)) {
        struct json_doc own;
        json_init(&own);
        write_number_text(buf, text, &own);
        json_finish(&own);
        return;
    }
    buf_byte(buf, '"');
    size_t from = buf->len;
    json_write_escaped(buf, text);
    for (size_t at = from; buf_ok(buf) && at < buf->len; at++) {
        char c = buf->ptr[at];
        buf->ptr[at] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    buf_byte(buf, '"');
}

/* ---- Objects ---- */

static int by_name(const void *a, const void *b)
{
    const struct json_value *left = *(const struct json_value *const *)a,
                            *right = *(const struct json_value *const *)b;
    int order = fold_cmp(json_str(left), json_str(right));
    return order != 0 ? order : slice_cmp(json_str(left), json_str(right));
}

#define FEW_MEMBERS  16u  /* more than this are sorted in memory of their own */
#define FOLDED_BYTES 128u /* and so is a longer name */

/* Appends the folded form of a name as a JSON string. */
static void write_folded(struct buf *buf, struct slice name)
{
    char few[FOLDED_BYTES];
    char *folded = name.len <= sizeof(few) ? few : malloc(name.len);
    size_t len = 0;
    if (folded == NULL) {
        buf->failed = true;
        return;
    }
    for (size_t at = 0; at < name.len;) {
        folded[len++] = (char)fold_next(name, &at);
    }
    json_write_string(buf, (struct slice){folded, len});
    if (folded != few) {
        free(folded);
    }
}

static void write_object(struct buf *buf, const struct json_doc *doc, const struct json_value *object,
                         struct json_doc *scratch)
{
    const struct json_value *few[FEW_MEMBERS];
    const struct json_value **keys =
        object->count <= FEW_MEMBERS ? few : calloc(object->count, sizeof(*keys));
    if (keys == NULL) {
        buf->failed = true;
        return;
    }
    size_t count = 0;
    for (const struct json_value *key = json_first(doc, object); key != NULL;
         key = json_right(doc, object, key)) {
        size_t at = count++;
        for (; object->count <= FEW_MEMBERS && at > 0 && by_name(&keys[at - 1], &key) > 0; at--) {
            keys[at] = keys[at - 1];
        }
        keys[at] = key;
    }
    if (object->count > FEW_MEMBERS) {
        qsort(keys, count, sizeof(*keys), by_name);
    }
    buf_byte(buf, '{');
    for (size_t i = 0; i < count; i++) {
        buf_text(buf, i == 0 ? "" : ",");
        write_folded(buf, json_str(keys[i]));
        buf_byte(buf, ':');
        write_value(buf, doc, json_member_value(keys[i]), scratch);
    }
    buf_byte(buf, '}');
    if (keys != few) {
        free(keys);
    }
}

static void write_array(struct buf *buf, const struct json_doc *doc, const struct json_value *array,
                        struct json_doc *scratch)
{
    const struct json_value *first = json_first(doc, array);
    buf_byte(buf, '[');
    for (const struct json_value *value = first; value != NULL; value = json_right(doc, array, value)) {
        buf_text(buf, value == first ? "" : ",");
        write_value(buf, doc, value, scratch);
    }
    buf_byte(buf, ']');
}

/* As deep as JSON may be. */
static void write_value(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                        struct json_doc *scratch)
{
    switch ((enum json_type)value->type) {
    case JSON_TRUE:
        buf_text(buf, true_form);
        break;
    case JSON_FALSE:
        buf_text(buf, false_form);
        break;
    case JSON_NUMBER:
        write_number(buf, doc, value);
        break;
    case JSON_STRING:
        write_string(buf, json_str(value), scratch);
        break;
    case JSON_ARRAY:
        write_array(buf, doc, value, scratch);
        break;
    case JSON_OBJECT:
        write_object(buf, doc, value, scratch);
        break;
    default:
        buf_text(buf, "null");
        break;
    }
}

void loose_write(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                 struct json_doc *scratch)
{
    write_value(buf, doc, value, scratch);
}
