/* Growing arrays of malloc'd memory. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

#include "base/slice.h"

/* Returns `array` with room for `want` elements of `size` bytes, moved when it had to grow, and *cap raised to
 * how many fit now; doubles, so that adding one element at a time is linear. NULL when there is no memory or
 * the size overflows: then `array` and *cap are as they were. The caller owns the result (free). */
MUST_USE void *array_grow(void *array, size_t *cap, size_t want, size_t size);

#endif
