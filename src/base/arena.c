/* Arenas: blocks that are filled from the front and freed together. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK ((size_t)4096)
#define ALIGNMENT   _Alignof(max_align_t)

struct arena_block {
    struct arena_block *older;
    size_t size; /* of the whole block, this header included */
    max_align_t bytes[];
};

void arena_init(struct arena *arena, size_t ceiling)
{
    *arena = (struct arena){.ceiling = ceiling == 0 ? ARENA_CEILING : ceiling};
}

void arena_finish(struct arena *arena)
{
    struct arena_block *block = arena->first;
    while (block != NULL) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
    *arena = (struct arena){.ceiling = arena->ceiling};
}

static void use_block(struct arena *arena, struct arena_block *block)
{
    arena->first = block;
    arena->at = (char *)block->bytes;
    arena->end = (char *)block + block->size;
}

void arena_reset(struct arena *arena)
{
    if (arena->first == NULL) {
        return;
    }
    if (arena->first->older != NULL) {
        /* One block for all that was needed: beside a smaller one the next round would need another again. */
        size_t needed = arena->total;
        arena_finish(arena);
        arena->least = needed;
        return;
    }
    use_block(arena, arena->first);
}

/* A new block with room for at least `size` bytes. */
static bool add_block(struct arena *arena, size_t size)
{
    size_t ceiling = arena->ceiling == 0 ? ARENA_CEILING : arena->ceiling;
    size_t left = ceiling > arena->total ? ceiling - arena->total : 0;
    if (size > SIZE_MAX - sizeof(struct arena_block) || size + sizeof(struct arena_block) > left) {
        return false;
    }
    size_t least = size + sizeof(struct arena_block);
    /* As much again as there is: the number of blocks stays logarithmic, the waste below one half. */
    size_t want = arena->total > FIRST_BLOCK ? arena->total : FIRST_BLOCK;
    if (want < arena->least) {
        want = arena->least;
    }
    if (want < least) {
        want = least;
    }
    if (want > left) {
        want = left;
    }
    struct arena_block *block = malloc(want);
    if (block == NULL) {
        return false;
    }
    block->older = arena->first;
    block->size = want;
    arena->total += want;
    use_block(arena, block);
    return true;
}

/* A piece at a multiple of `align`, which is a power of two; its bytes are whatever they are. */
static char *take(struct arena *arena, size_t size, size_t align)
{
    if (size > SIZE_MAX - ALIGNMENT) {
        return NULL;
    }
    size_t pad = -(uintptr_t)arena->at & (align - 1);
    if ((size_t)(arena->end - arena->at) < size + pad) {
        if (!add_block(arena, size)) {
            return NULL;
        }
        pad = 0; /* a block begins aligned for anything */
    }
    char *piece = arena->at + pad;
    arena->at = piece + size;
    return piece;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    /* A piece of no bytes still has an address of its own. */
    char *piece = take(arena, size == 0 ? 1 : size, ALIGNMENT);
    return piece == NULL ? NULL : memset(piece, 0, size);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return NULL;
    }
    return arena_alloc(arena, total);
}

struct slice arena_copy(struct arena *arena, struct slice s)
{
    char *copy = s.len == SIZE_MAX ? NULL : take(arena, s.len + 1, 1);
    if (copy == NULL) {
        return (struct slice){NULL, 0};
    }
    if (s.len != 0) {
        memcpy(copy, s.ptr, s.len);
    }
    copy[s.len] = '\0';
    return (struct slice){copy, s.len};
}
