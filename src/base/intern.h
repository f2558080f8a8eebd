/* An interner: equal byte strings get equal small numbers.
 *
 * Numbers count from 1; 0 is "no such string". The interner owns copies of the strings. Looking up never
 * allocates, so that evaluation may do it. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdint.h>
#include <string.h>

#include "base/arena.h"

struct intern_entry {
    uint32_t hash, len;
    const char *ptr;
};

struct intern_slot {
    uint32_t hash, id; /* id 0: free */
};

struct intern {
    struct arena *arena;          /* where the copies live; not owned */
    struct intern_entry *entries; /* entries[id - 1] */
    struct intern_slot *slots;    /* open addressing */
    uint32_t count, entries_cap, slots_mask;
};

/* Does not allocate yet. */
void intern_init(struct intern *intern, struct arena *arena);
void intern_finish(struct intern *intern);

/* The number of s, which is added when new; 0 only when there is no memory. */
MUST_USE uint32_t intern_add(struct intern *intern, struct slice s);

/* Makes room for so many strings in all at once, which is quicker than growing to it. */
MUST_USE bool intern_reserve(struct intern *intern, uint32_t count);

/* Asks memory for the place where s is or belongs, for when it will be added soon. */
void intern_prefetch(const struct intern *intern, struct slice s);

/* The number of s, or 0. */
uint32_t intern_find(const struct intern *intern, struct slice s);

/* Gives back what the next strings would have had; for when none will come. */
void intern_trim(struct intern *intern);

/* The string of a number that the interner gave. */
struct slice intern_text(const struct intern *intern, uint32_t id);

/* ---- The hash that the interner uses. Not keyed: only over strings of the operator's documents. ---- */

static inline uint64_t intern_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static inline uint64_t intern_load64(const char *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof(word));
    return word;
}

/* The last eight bytes of s; of a shorter one all, each at least once. */
static inline uint64_t intern_last_word(struct slice s)
{
    if (s.len >= 8) {
        return intern_load64(s.ptr + s.len - 8);
    }
    if (s.len >= 4) {
        uint32_t low, high;
        memcpy(&low, s.ptr, 4);
        memcpy(&high, s.ptr + s.len - 4, 4);
        return low | (uint64_t)high << 32;
    }
    const unsigned char *at = (const unsigned char *)s.ptr;
    return s.len == 0 ? 0 : at[0] | (uint64_t)at[s.len / 2] << 8 | (uint64_t)at[s.len - 1] << 16;
}

static inline uint32_t intern_finish_hash(uint64_t hash, struct slice s)
{
    hash = intern_mix(hash, intern_last_word(s)) ^ s.len;
    return (uint32_t)(hash * 0xbf58476d1ce4e5b9u >> 32);
}

#define INTERN_SEED 0x243f6a8885a308d3u

static inline uint32_t intern_hash(struct slice s)
{
    uint64_t hash = INTERN_SEED;
    for (size_t at = 0; at + 8 < s.len; at += 8) {
        hash = intern_mix(hash, intern_load64(s.ptr + at));
    }
    return intern_finish_hash(hash, s);
}

/* The same for several prefixes of one text, from the shortest to the longest: each costs what it adds. */
struct intern_prefix_hash {
    uint64_t hash;
    size_t covered; /* how many bytes it covers, in whole words */
};

static inline void intern_prefix_hash_start(struct intern_prefix_hash *state)
{
    *state = (struct intern_prefix_hash){INTERN_SEED, 0};
}

static inline uint32_t intern_prefix_hash_of(struct intern_prefix_hash *state, struct slice prefix)
{
    for (; state->covered + 8 < prefix.len; state->covered += 8) {
        state->hash = intern_mix(state->hash, intern_load64(prefix.ptr + state->covered));
    }
    return intern_finish_hash(state->hash, prefix);
}

#endif
