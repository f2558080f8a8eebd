/* An interner: equal byte strings get equal small numbers.
 *
 * Numbers count from 1; 0 is "no such string". The interner owns copies of the strings. Looking up never
 * allocates, so that evaluation may do it. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdint.h>

#include "base/arena.h"

struct intern_entry {
    uint32_t hash, len;
    const char *ptr;
};

struct intern {
    struct arena *arena;          /* where the copies live; not owned */
    struct intern_entry *entries; /* entries[id - 1] */
    uint32_t *slots;              /* open addressing, ids; 0 is free */
    uint32_t count, entries_cap, slots_mask;
};

/* Does not allocate yet. */
void intern_init(struct intern *intern, struct arena *arena);
void intern_finish(struct intern *intern);

/* The number of s, which is added when new; 0 only when there is no memory. */
MUST_USE uint32_t intern_add(struct intern *intern, struct slice s);

/* The number of s, or 0. */
uint32_t intern_find(const struct intern *intern, struct slice s);

/* The same when its intern_hash is known. */
uint32_t intern_find_hashed(const struct intern *intern, struct slice s, uint32_t hash);

/* Gives back what the next strings would have had; for when none will come. */
void intern_trim(struct intern *intern);

/* The string of a number that the interner gave. */
struct slice intern_text(const struct intern *intern, uint32_t id);

/* The hash that the interner uses. Not keyed: only over strings of the operator's documents. */
uint32_t intern_hash(struct slice s);

/* The same for several prefixes of one text, from the shortest to the longest: each costs what it adds. */
struct intern_prefix_hash {
    uint64_t hash;
    size_t words; /* how many words of eight bytes the hash covers */
};
void intern_prefix_hash_start(struct intern_prefix_hash *state);
uint32_t intern_prefix_hash_of(struct intern_prefix_hash *state, struct slice prefix);

#endif
