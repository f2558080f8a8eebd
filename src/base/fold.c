/* Folded names compared. */
#include "base/fold.h"

int fold_cmp(struct slice a, struct slice b)
{
    size_t i = 0, j = 0;
    while (i < a.len && j < b.len) {
        unsigned char x = fold_next(a, &i), y = fold_next(b, &j);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return (i < a.len) - (j < b.len);
}

bool fold_eq(struct slice a, struct slice b)
{
    return slice_eq(a, b) || fold_cmp(a, b) == 0;
}

uint32_t fold_hash(struct slice text)
{
    uint32_t hash = 2166136261u;
    for (size_t at = 0; at < text.len;) {
        hash = (hash ^ fold_next(text, &at)) * 16777619u;
    }
    return hash;
}
