/* Byte slices: a pointer and a length, borrowed from whoever owns the bytes.
 *
 * A NUL is a byte like any other; nothing here is terminated by one. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
    const char *ptr;
    size_t len;
};

#define MUST_USE __attribute__((warn_unused_result))

/* A slice of a string literal. */
#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

/* Arguments for "%.*s". Only for text whose length is known to be small. */
#define SLICE_FMT(s) (int)(s).len, (s).ptr

static inline struct slice slice_of(const char *cstr)
{
    return (struct slice){cstr, strlen(cstr)};
}

static inline bool slice_eq(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool slice_is(struct slice a, const char *cstr)
{
    return slice_eq(a, slice_of(cstr));
}

static inline bool slice_starts_with(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool slice_ends_with(struct slice s, struct slice suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/* The rest of s from byte `from`, which must not be beyond its end. */
static inline struct slice slice_from(struct slice s, size_t from)
{
    return (struct slice){s.ptr + from, s.len - from};
}

/* Byte order; a shorter slice that begins the longer one comes first. */
int slice_cmp(struct slice a, struct slice b);

/* Equal but for the case of ASCII letters. */
bool slice_eq_ascii_case(struct slice a, struct slice b);

#endif
