/* Texts for shells, made from pieces that hurt; the same ones for the same beginning. */
#ifndef TESTS_SHELLS_MAKE_TEXT_H
#define TESTS_SHELLS_MAKE_TEXT_H

#include <stdint.h>

#include "base/slice.h"

struct maker {
    uint64_t state; /* not 0 */
    size_t len;
    char text[4096];
};

/* The next text, which lies in the maker until the one after it. It may have any byte but NUL. */
struct slice make_text(struct maker *maker);

#endif
