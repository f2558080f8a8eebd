/* An arena: memory that is taken piece by piece and given back all at once.
 *
 * Whoever initialises an arena owns it and everything taken from it; arena_finish gives all of it back.
 * Pieces are aligned for any type and start zeroed. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena_block;

struct arena {
    struct arena_block *first; /* the newest block; blocks double in size */
    char *at, *end;            /* what is left of it */
    size_t total;              /* bytes taken from the system */
    size_t least;              /* how large the next block is at least */
    size_t ceiling;            /* never more than this many; 0 for ARENA_CEILING */
};

/* Enough for a policy of a million rules; a larger one is refused, not swapped. */
#define ARENA_CEILING ((size_t)8 << 30)

void arena_init(struct arena *arena, size_t ceiling);
void arena_finish(struct arena *arena);

/* Forgets every piece. A loop settles on one block for all that a round needs, and then on no allocations at
 * all. */
void arena_reset(struct arena *arena);

/* A zeroed piece of `size` bytes; NULL when memory or the ceiling is exhausted. */
MUST_USE void *arena_alloc(struct arena *arena, size_t size);

/* The same for an array; NULL also when count * size overflows. */
MUST_USE void *arena_array(struct arena *arena, size_t count, size_t size);

/* A copy of s in the arena, followed by a NUL that its length does not count; ptr is NULL when there is no
 * memory. */
MUST_USE struct slice arena_copy(struct arena *arena, struct slice s);

#endif
