/* The one strict JSON reader, and the RFC 8785 writer. SPEC.md sections 2, 5, 9, 12.
 *
 * Strict: RFC 8259 text in UTF-8 without a byte order mark; no duplicate keys at any depth (compared after
 * decoding), no lone surrogate escapes, nothing after the document but white space. Numbers are kept as text.
 *
 * A document owns its values and its decoded strings until json_finish or the next json_parse; the text is
 * the caller's and must outlive it. A document that is parsed into again and again settles on no allocations.
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/limits.h"
#include "base/slice.h"

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* Values stand in one array in the order of the text. An object's members are a key (JSON_STRING) followed by
 * its value. A value's neighbour to the right is at values[next], whatever the value holds. */
struct json_value {
    uint8_t type;      /* enum json_type */
    uint8_t duplicate; /* a key that repeats an earlier one of its object */
    uint32_t offset;   /* byte offset in the text */
    uint32_t length;   /* bytes in the text, as written */
    uint32_t next;     /* index of the value after this one and all that it holds */
    uint32_t count;    /* elements of an array, members of an object */
    uint32_t str_len;
    const char *str; /* a string decoded, a number as written */
};

enum json_error_code {
    JSON_OK = 0,
    JSON_ERROR_SYNTAX,    /* not RFC 8259, or something after the document, or no document */
    JSON_ERROR_UTF8,      /* not valid UTF-8 */
    JSON_ERROR_BOM,       /* begins with a byte order mark */
    JSON_ERROR_SURROGATE, /* a lone surrogate escape */
    JSON_ERROR_DUPLICATE, /* a repeated key, in a text with no other error; offset is the first repeat's */
    JSON_ERROR_DEPTH,     /* nested deeper than the limit; offset is the first bracket too deep */
    JSON_ERROR_SIZE,      /* longer than the limit; offset is the limit */
    JSON_ERROR_MEMORY,    /* no memory, or no random bytes for the hash */
};

struct json_error {
    enum json_error_code code;
    uint32_t offset;    /* of the offending byte, or the end of the text */
    const char *detail; /* a constant phrase for people: "expected ',' or ']'" */
};

struct json_options {
    uint32_t max_depth; /* containers inside one another; a scalar has depth 0, `[]` depth 1 */
    uint32_t max_bytes;
    bool keep_duplicates; /* go on after a repeated key; json_doc.duplicates counts them */
};

struct json_doc {
    struct slice text;
    struct json_value *values; /* values[0] is the document */
    uint32_t count, cap;
    uint32_t duplicates;
    struct arena strings; /* decoded strings that are not a part of the text */
    /* The rest is the reader's own. */
    void *scratch;
    size_t scratch_cap;
    uint64_t seed[2]; /* of the hash of large objects' keys; drawn when first needed */
    bool seeded;
};

void json_init(struct json_doc *doc);
void json_finish(struct json_doc *doc);

/* Reads text into doc. On failure doc holds no values. Linear in the text's length (keys are hashed).
 * Takes about a nanosecond a byte. */
MUST_USE bool json_parse(struct json_doc *doc, struct slice text, const struct json_options *options,
                         struct json_error *ret_error);

/* Walking: for (v = json_first(doc, parent); v; v = json_right(doc, parent, v)).
 * For an object, v is the key and json_member_value(v) its value. */
static inline const struct json_value *json_root(const struct json_doc *doc)
{
    return doc->count ? doc->values : NULL;
}
static inline struct slice json_str(const struct json_value *v)
{
    return (struct slice){v->str, v->str_len};
}
static inline struct slice json_text_of(const struct json_doc *doc, const struct json_value *v)
{
    return (struct slice){doc->text.ptr + v->offset, v->length};
}
const struct json_value *json_first(const struct json_doc *doc, const struct json_value *parent);
const struct json_value *json_right(const struct json_doc *doc, const struct json_value *parent,
                                    const struct json_value *v);
static inline const struct json_value *json_member_value(const struct json_value *key)
{
    return key + 1;
}

/* The value of a member by its decoded name, or NULL; NULL too when `object` is no object. */
const struct json_value *json_get(const struct json_doc *doc, const struct json_value *object,
                                  const char *key);
const struct json_value *json_get_slice(const struct json_doc *doc, const struct json_value *object,
                                        struct slice key);

/* Whether no more than max_depth containers stand inside one another in v, itself included. For a part of a
 * document that has a limit of its own. max_depth is LIMIT_JSON_DEPTH at most. */
bool json_within_depth(const struct json_doc *doc, const struct json_value *v, uint32_t max_depth);

static inline bool json_is(const struct json_value *v, enum json_type type)
{
    return v != NULL && v->type == type;
}

/* "an object", "a number": for messages. */
const char *json_type_name(enum json_type type);

/* ---- Numbers (SPEC.md section 5): text as written, compared by value, exactly; nothing overflows. ---- */

/* Equal by value: 1, 1.0 and 1e0 are; 9007199254740992 and 9007199254740993 are not; -0 is 0. Both must be
 * JSON numbers. Allocates nothing. */
bool json_number_equal(struct slice a, struct slice b);

enum json_int_result {
    JSON_INT_OK,
    JSON_INT_FRACTION, /* not whole */
    JSON_INT_RANGE,    /* whole, beyond 64 bits */
};

/* The value of a number as an integer; 5e0 and 5.0 are 5. */
MUST_USE enum json_int_result json_number_int(struct slice number, int64_t *ret_value);

/* Appends what ECMAScript's Number::toString prints for a finite double (RFC 8785 section 3.2.2.3). */
void json_write_double(struct buf *buf, double d);

/* ---- Writing ---- */

enum json_number_form {
    JSON_NUMBER_CALL,    /* RFC 8785 where that keeps the value; else significant digits, `e` and the power of
                            ten    (9007199254740993e0): for the call hash and other digests. SPEC.md section 9
                          */
    JSON_NUMBER_JOURNAL, /* the same, but the second form as a string, so that the line is RFC 8785 for any
                            reader */
    JSON_NUMBER_EXACT,   /* always the second form: equal texts if and only if equal values, and quick */
};

/* Appends the RFC 8785 form of a value of doc: no white space, members sorted by UTF-16 code units, strings
 * with the shortest escapes, numbers in the form asked for. Fails (buf->failed) only for memory or the
 * ceiling. */
void json_write_canonical(struct buf *buf, const struct json_doc *doc, const struct json_value *v,
                          enum json_number_form form);

/* Appends s as a JSON string with RFC 8785's escapes. s must be valid UTF-8. */
void json_write_string(struct buf *buf, struct slice s);

/* The same without the quotes. */
void json_write_escaped(struct buf *buf, struct slice s);

/* json_write_string for bytes that may not be UTF-8, such as a path: each invalid byte stands as U+FFFD. */
void json_write_bytes(struct buf *buf, struct slice s);

/* RFC 8785's order of member names: by UTF-16 code units. */
int json_key_cmp(struct slice a, struct slice b);

/* ---- Places in a text, for messages ---- */

/* Line and column of a byte offset, both from 1; columns count characters, a tab is one, CRLF one line end, a
 * lone CR none. O(offset); for many places use a json_lines. */
void json_place(struct slice text, uint32_t offset, uint32_t *ret_line, uint32_t *ret_column);

/* The same for many places of one text: reads the text once, then a few kilobytes for each place. Owns a
 * table of a byte for every 500 of the text; the text is the caller's and must outlive it. */
struct json_lines {
    struct slice text;
    struct json_mark *marks; /* a place for every few kilobytes */
    uint32_t count;
};

/* False without memory, and lines is empty then; an empty one still gives places, slowly. */
MUST_USE bool json_lines_init(struct json_lines *lines, struct slice text);
void json_lines_finish(struct json_lines *lines);
void json_lines_place(const struct json_lines *lines, uint32_t offset, uint32_t *ret_line,
                      uint32_t *ret_column);

#endif
