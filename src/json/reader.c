/* The strict reader: one pass over the text, no recursion, no allocation for each value.
 *
 * While a container is open its `next` holds the index of the container around it, so that the values array
 * is its own stack. Functions take the place in the text and return the place behind what they read, or NULL
 * after they have set the error. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json/internal.h"

#define NONE UINT32_MAX

/* So much memory a document keeps for the next text, however short that is. */
#define KEEP_BYTES ((size_t)1 << 20)

_Static_assert(sizeof(size_t) >= 8, "sizes of values arrays are computed without overflow checks");

struct reader {
    struct json_doc *doc;
    const char *start, *end;
    uint32_t open; /* the innermost open container, or NONE */
    uint32_t depth, max_depth;
    uint32_t first_duplicate;
    struct json_error *error;
};

static const char *fail(struct reader *r, enum json_error_code code, const char *at, const char *detail)
{
    if (code == JSON_ERROR_SYNTAX && at < r->end && utf8_char_len(at, (size_t)(r->end - at)) == 0) {
        code = JSON_ERROR_UTF8;
        detail = "not valid UTF-8";
    }
    *r->error = (struct json_error){code, (uint32_t)(at - r->start), detail};
    return NULL;
}

static bool grow_values(struct json_doc *doc)
{
    uint32_t cap = doc->cap == 0 ? 64 : doc->cap * 2;
    if (cap <= doc->cap) {
        return false;
    }
    struct json_value *values = realloc(doc->values, cap * sizeof(*values));
    if (values == NULL) {
        return false;
    }
    doc->values = values;
    doc->cap = cap;
    return true;
}

/* A new value that begins at `at`; NULL without memory. */
static inline struct json_value *add_value(struct reader *r, const char *at, enum json_type type)
{
    struct json_doc *doc = r->doc;
    if (doc->count == doc->cap && !grow_values(doc)) {
        (void)fail(r, JSON_ERROR_MEMORY, at, "no memory");
        return NULL;
    }
    struct json_value *v = &doc->values[doc->count++];
    v->type = (uint8_t)type;
    v->duplicate = 0;
    v->offset = (uint32_t)(at - r->start);
    v->length = 0;
    v->next = doc->count;
    v->count = 0;
    v->str_len = 0;
    v->str = NULL;
    return v;
}

static inline const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The four hex digits at `at`, which have been checked. */
static uint32_t hex4(const char *at)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        unit = unit << 4 | (uint32_t)hex_value(at[i]);
    }
    return unit;
}

/* Checks the four hex digits at `at`. */
static const char *check_hex4(struct reader *r, const char *at)
{
    for (int i = 0; i < 4; i++, at++) {
        if (at == r->end || hex_value(*at) < 0) {
            return fail(r, JSON_ERROR_SYNTAX, at, "expected four hex digits after \\u");
        }
    }
    return at;
}

static const char half_pair[] = "half of a surrogate pair";

/* Behind the first half of a surrogate pair, whose backslash is given: the second is to follow at once. */
static const char *check_second_half(struct reader *r, const char *backslash, const char *at)
{
    for (const char *c = "\\u"; *c != 0; c++, at++) {
        if (at == r->end) {
            return fail(r, JSON_ERROR_SYNTAX, at, "the text ends within a string");
        }
        if (*at != *c) {
            return fail(r, JSON_ERROR_SURROGATE, backslash, half_pair);
        }
    }
    const char *behind = check_hex4(r, at);
    if (behind != NULL && (hex4(at) < 0xDC00 || hex4(at) > 0xDFFF)) {
        return fail(r, JSON_ERROR_SURROGATE, backslash, half_pair);
    }
    return behind;
}

static const char *check_escape(struct reader *r, const char *backslash)
{
    const char *at = backslash + 1;
    if (at == r->end || *at == 0 || strchr("\"\\/bfnrtu", *at) == NULL) {
        return fail(r, JSON_ERROR_SYNTAX, at, "not an escape of JSON");
    }
    if (*at++ != 'u') {
        return at;
    }
    const char *behind = check_hex4(r, at);
    if (behind == NULL) {
        return NULL;
    }
    uint32_t unit = hex4(at);
    if (unit < 0xD800 || unit > 0xDFFF) {
        return behind;
    }
    if (unit >= 0xDC00) {
        return fail(r, JSON_ERROR_SURROGATE, backslash, half_pair);
    }
    return check_second_half(r, backslash, behind);
}

/* Checks a string's content; returns the place of its closing quote. */
static inline const char *check_string(struct reader *r, const char *at, bool *ret_escaped)
{
    for (;;) {
        at = json_skip_plain(at, r->end);
        if (at == r->end) {
            return fail(r, JSON_ERROR_SYNTAX, at, "the text ends within a string");
        }
        unsigned char c = (unsigned char)*at;
        if (c == '"') {
            return at;
        }
        if (c == '\\') {
            *ret_escaped = true;
            at = check_escape(r, at);
            if (at == NULL) {
                return NULL;
            }
        } else if (c < 0x20) {
            return fail(r, JSON_ERROR_SYNTAX, at, "a control character within a string");
        } else {
            do {
                size_t len = utf8_char_len(at, (size_t)(r->end - at));
                if (len == 0) {
                    return fail(r, JSON_ERROR_UTF8, at, "not valid UTF-8");
                }
                at += len;
            } while (at < r->end && (unsigned char)*at >= 0x80);
        }
    }
}

static char *put_code_point(char *to, uint32_t code_point)
{
    if (code_point < 0x80) {
        *to++ = (char)code_point;
        return to;
    }
    if (code_point < 0x800) {
        *to++ = (char)(0xC0 | code_point >> 6);
    } else {
        if (code_point < 0x10000) {
            *to++ = (char)(0xE0 | code_point >> 12);
        } else {
            *to++ = (char)(0xF0 | code_point >> 18);
            *to++ = (char)(0x80 | (code_point >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (code_point >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (code_point & 0x3F));
    return to;
}

/* Decodes a checked string. What is decoded is never longer than what was written. */
static bool decode_string(struct json_doc *doc, struct json_value *v, const char *at, const char *end)
{
    char *to = arena_alloc(&doc->strings, (size_t)(end - at));
    if (to == NULL) {
        return false;
    }
    v->str = to;
    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((backslash == NULL ? end : backslash) - at);
        memcpy(to, at, plain);
        to += plain;
        at += plain;
        if (backslash == NULL) {
            break;
        }
        char kind = at[1];
        at += 2;
        if (kind == 'u') {
            uint32_t code_point = hex4(at);
            at += 4;
            if (code_point >= 0xD800 && code_point <= 0xDFFF) {
                code_point = 0x10000 + ((code_point - 0xD800) << 10) + (hex4(at + 2) - 0xDC00);
                at += 6;
            }
            to = put_code_point(to, code_point);
        } else {
            *to++ = kind == 'b'   ? '\b'
                    : kind == 'f' ? '\f'
                    : kind == 'n' ? '\n'
                    : kind == 'r' ? '\r'
                    : kind == 't' ? '\t'
                                  : kind;
        }
    }
    v->str_len = (uint32_t)(to - v->str);
    return true;
}

static inline const char *read_string(struct reader *r, const char *quote)
{
    bool escaped = false;
    const char *from = quote + 1;
    const char *to = check_string(r, from, &escaped);
    struct json_value *v = to == NULL ? NULL : add_value(r, quote, JSON_STRING);
    if (v == NULL) {
        return NULL;
    }
    v->length = (uint32_t)(to + 1 - quote);
    if (!escaped) {
        v->str = from;
        v->str_len = (uint32_t)(to - from);
    } else if (!decode_string(r->doc, v, from, to)) {
        return fail(r, JSON_ERROR_MEMORY, quote, "no memory");
    }
    return to + 1;
}

static inline bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *read_digits(struct reader *r, const char *at)
{
    if (!is_digit(at, r->end)) {
        return fail(r, JSON_ERROR_SYNTAX, at, "expected a digit");
    }
    while (is_digit(at, r->end)) {
        at++;
    }
    return at;
}

static const char *read_number(struct reader *r, const char *from)
{
    const char *at = from + (*from == '-');
    if (at < r->end && *at == '0') {
        at++;
        if (is_digit(at, r->end)) {
            return fail(r, JSON_ERROR_SYNTAX, at, "a number does not begin with 0 and a digit");
        }
    } else {
        at = read_digits(r, at);
    }
    if (at != NULL && at < r->end && *at == '.') {
        at = read_digits(r, at + 1);
    }
    if (at != NULL && at < r->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < r->end && (*at == '+' || *at == '-')) {
            at++;
        }
        at = read_digits(r, at);
    }
    struct json_value *v = at == NULL ? NULL : add_value(r, from, JSON_NUMBER);
    if (v == NULL) {
        return NULL;
    }
    v->str = from;
    v->length = v->str_len = (uint32_t)(at - from);
    return at;
}

static const char *read_literal(struct reader *r, const char *from, const char *name, enum json_type type)
{
    const char *at = from;
    for (const char *c = name; *c != 0; c++, at++) {
        if (at == r->end || *at != *c) {
            return fail(r, JSON_ERROR_SYNTAX, at, "expected a value");
        }
    }
    struct json_value *v = add_value(r, from, type);
    if (v == NULL) {
        return NULL;
    }
    v->length = (uint32_t)(at - from);
    return at;
}

/* Reads a member's key and the colon; returns the place of its value. */
static inline const char *read_key(struct reader *r, const char *at)
{
    at = skip_space(at, r->end);
    if (at == r->end || *at != '"') {
        return fail(r, JSON_ERROR_SYNTAX, at, "expected a key in double quotes");
    }
    at = read_string(r, at);
    if (at == NULL) {
        return NULL;
    }
    at = skip_space(at, r->end);
    if (at == r->end || *at != ':') {
        return fail(r, JSON_ERROR_SYNTAX, at, "expected ':'");
    }
    return skip_space(at + 1, r->end);
}

/* Opens a container at `at`; returns the place of its first value, or of its closing bracket. */
static inline const char *open_container(struct reader *r, const char *at, enum json_type type)
{
    if (r->depth == r->max_depth) {
        return fail(r, JSON_ERROR_DEPTH, at, "nested too deep");
    }
    struct json_value *v = add_value(r, at, type);
    if (v == NULL) {
        return NULL;
    }
    v->next = r->open;
    r->open = r->doc->count - 1;
    r->depth++;
    at = skip_space(at + 1, r->end);
    if (at < r->end && *at == (type == JSON_ARRAY ? ']' : '}')) {
        return at;
    }
    v->count = 1;
    return type == JSON_ARRAY ? at : read_key(r, at);
}

/* Closes the innermost container, whose bracket is at `at`. */
static inline bool close_container(struct reader *r, const char *at)
{
    struct json_doc *doc = r->doc;
    uint32_t index = r->open;
    struct json_value *v = &doc->values[index];
    v->length = (uint32_t)(at + 1 - r->start) - v->offset;
    r->open = v->next;
    v->next = doc->count;
    r->depth--;
    if (v->type == JSON_OBJECT && v->count > 1 && !json_keys_check(doc, index, &r->first_duplicate)) {
        (void)fail(r, JSON_ERROR_MEMORY, at, "no memory");
        return false;
    }
    return true;
}

/* Reads a value that is no container; sets *ret_whole when it is one and was opened instead, and has values.
 */
static inline const char *read_value(struct reader *r, const char *at, bool *ret_opened)
{
    *ret_opened = false;
    if (at == r->end) {
        return fail(r, JSON_ERROR_SYNTAX, at, "expected a value");
    }
    switch (*at) {
    case '"':
        return read_string(r, at);
    case '{':
    case '[':
        at = open_container(r, at, *at == '[' ? JSON_ARRAY : JSON_OBJECT);
        *ret_opened = at != NULL && r->doc->values[r->open].count != 0;
        return at;
    case 't':
        return read_literal(r, at, "true", JSON_TRUE);
    case 'f':
        return read_literal(r, at, "false", JSON_FALSE);
    case 'n':
        return read_literal(r, at, "null", JSON_NULL);
    default:
        if (*at == '-' || is_digit(at, r->end)) {
            return read_number(r, at);
        }
        return fail(r, JSON_ERROR_SYNTAX, at, "expected a value");
    }
}

/* Behind a value: closes every container that ends here. Returns the place of the next value; sets *ret_done
 * and returns the place behind the document when nothing is open any more. */
static inline const char *after_value(struct reader *r, const char *at, bool *ret_done)
{
    while (r->open != NONE) {
        struct json_value *v = &r->doc->values[r->open];
        bool array = v->type == JSON_ARRAY;
        at = skip_space(at, r->end);
        char c = at == r->end ? 0 : *at;
        if (c == ',') {
            v->count++;
            return array ? skip_space(at + 1, r->end) : read_key(r, at + 1);
        }
        if (c != (array ? ']' : '}')) {
            return fail(r, JSON_ERROR_SYNTAX, at, array ? "expected ',' or ']'" : "expected ',' or '}'");
        }
        if (!close_container(r, at)) {
            return NULL;
        }
        at++;
    }
    *ret_done = true;
    return at;
}

static const char *read_document(struct reader *r, const char *at)
{
    at = skip_space(at, r->end);
    for (bool done = false; !done;) {
        bool opened;
        at = read_value(r, at, &opened);
        if (at != NULL && !opened) {
            at = after_value(r, at, &done);
        }
        if (at == NULL) {
            return NULL;
        }
    }
    at = skip_space(at, r->end);
    if (at != r->end) {
        return fail(r, JSON_ERROR_SYNTAX, at, "something follows the document");
    }
    return at;
}

void json_init(struct json_doc *doc)
{
    *doc = (struct json_doc){.count = 0};
    arena_init(&doc->strings, 0);
}

void json_finish(struct json_doc *doc)
{
    if (doc == NULL) {
        return;
    }
    free(doc->values);
    free(doc->scratch);
    arena_finish(&doc->strings);
    json_init(doc);
}

/* Whether memory is far beyond what a text of `len` bytes can need: a value for every other byte, 32 bytes
 * each. */
static bool too_much(size_t bytes, size_t len)
{
    return bytes > KEEP_BYTES && bytes / (16 * sizeof(struct json_value)) > len;
}

/* Gives back what an earlier, larger text has left. */
static void give_back(struct json_doc *doc, size_t len)
{
    if (too_much(doc->cap * sizeof(struct json_value), len)) {
        free(doc->values);
        doc->values = NULL;
        doc->cap = 0;
    }
    if (too_much(doc->scratch_cap, len)) {
        free(doc->scratch);
        doc->scratch = NULL;
        doc->scratch_cap = 0;
    }
    if (too_much(doc->strings.total, len)) {
        arena_finish(&doc->strings);
    }
    arena_reset(&doc->strings);
}

bool json_parse(struct json_doc *doc, struct slice text, const struct json_options *options,
                struct json_error *ret_error)
{
    *ret_error = (struct json_error){JSON_OK, 0, ""};
    doc->text = text.ptr == NULL ? SLICE("") : text;
    doc->count = 0;
    doc->duplicates = 0;
    give_back(doc, text.len);
    if (text.len > options->max_bytes) {
        *ret_error = (struct json_error){JSON_ERROR_SIZE, options->max_bytes, "too long"};
        return false;
    }
    if (slice_starts_with(text, SLICE("\xEF\xBB\xBF"))) {
        *ret_error = (struct json_error){JSON_ERROR_BOM, 0, "begins with a byte order mark"};
        return false;
    }
    const char *start = doc->text.ptr;
    struct reader reader = {
        .doc = doc,
        .start = start,
        .end = start + doc->text.len,
        .open = NONE,
        .max_depth = options->max_depth,
        .first_duplicate = NONE,
        .error = ret_error,
    };
    const char *at = read_document(&reader, start);
    if (at != NULL && doc->duplicates != 0 && !options->keep_duplicates) {
        at = fail(&reader, JSON_ERROR_DUPLICATE, start + reader.first_duplicate, "a key is repeated");
    }
    if (at == NULL) {
        doc->count = 0;
        return false;
    }
    return true;
}
