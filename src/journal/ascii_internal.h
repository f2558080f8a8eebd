/* Letters and tables for the search for secrets. Inside this room. */
#ifndef JOURNAL_ASCII_INTERNAL_H
#define JOURNAL_ASCII_INTERNAL_H

#include <stdint.h>

#include "base/slice.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* An array and its length, as the initialiser of a list. */
#define LIST(array) {(array), COUNT(array)}

/* A letter's bit in a set of 32. */
#define BIT(c) (UINT32_C(1) << ((c) & 31))

/* What stands for something redacted begins with this. */
#define REDACTED_MARK SLICE("[redacted")

/* And what stands for the rest of something cut, with this. */
#define TRUNCATED_MARK "\xE2\x80\xA6[truncated"

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool is_alnum(char c)
{
    return is_digit(c) || is_upper(c) || is_lower(c);
}

static inline char lower(char c)
{
    if (is_upper(c)) {
        return (char)(c | 0x20);
    }
    return c;
}

#endif
