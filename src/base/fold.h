/* Folded names: how names of arguments are compared where their case does not matter. SPEC.md section 5.
 *
 * ASCII letters are lower-cased, U+212A (the Kelvin sign) is `k` and U+017F (the long s) is `s`: what case folding
 * makes ASCII. All else is itself. */
#ifndef BASE_FOLD_H
#define BASE_FOLD_H

#include <stdint.h>

#include "base/slice.h"

/* The folded byte at *at of a text, which must not end there; moves *at behind what it stands for. */
static inline unsigned char fold_next(struct slice text, size_t *at)
{
    unsigned char byte = (unsigned char)text.ptr[*at];
    size_t left = text.len - *at;
    if (byte == 0xE2 && left >= 3 && memcmp(text.ptr + *at, "\xE2\x84\xAA", 3) == 0) {
        *at += 3;
        return 'k';
    }
    if (byte == 0xC5 && left >= 2 && (unsigned char)text.ptr[*at + 1] == 0xBF) {
        *at += 2;
        return 's';
    }
    ++*at;
    return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte | 0x20) : byte;
}

/* Whether two texts have one folded form. */
bool fold_eq(struct slice a, struct slice b);

/* The order of the folded forms, byte by byte, the shorter one first where it begins the other. */
int fold_cmp(struct slice a, struct slice b);

/* A hash of the folded form, the same for all texts that have it. Not keyed. */
uint32_t fold_hash(struct slice text);

#endif
