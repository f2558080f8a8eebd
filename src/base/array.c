/* Growing arrays: the one place that doubles. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_CAP 8u

void *array_grow(void *array, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap && array != NULL) {
        return array;
    }
    size_t larger = *cap > SIZE_MAX / 2 ? want : *cap * 2;
    larger = larger < FIRST_CAP ? FIRST_CAP : larger;
    larger = larger < want ? want : larger;
    if (size != 0 && larger > SIZE_MAX / size) {
        return NULL;
    }
    void *moved = realloc(array, larger * size);
    if (moved != NULL) {
        *cap = larger;
    }
    return moved;
}
