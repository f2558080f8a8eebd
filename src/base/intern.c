#include "base/intern.h"

#include <stdlib.h>

#define FIRST_ENTRIES 64u
#define MOST_ENTRIES  (1u << 30)

void intern_init(struct intern *intern, struct arena *arena)
{
    *intern = (struct intern){.arena = arena};
}

void intern_finish(struct intern *intern)
{
    free(intern->entries);
    free(intern->slots);
    *intern = (struct intern){.arena = intern->arena};
}

static uint64_t load64(const char *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof(word));
    return word;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

#define SEED 0x243f6a8885a308d3u

/* What is left of a text of `len` bytes behind its whole words, 1 to 7 bytes; `end` is the text's end. */
static uint64_t last_bytes(const char *end, size_t len)
{
    size_t left = len % 8;
    if (len >= 8) {
        return load64(end - 8) >> (64 - 8 * left);
    }
    const unsigned char *at = (const unsigned char *)end - left;
    if (left >= 4) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + left - 4, 4);
        return low | (uint64_t)high << 8 * (left - 4);
    }
    return at[0] | (uint64_t)at[left / 2] << 8 * (left / 2) | (uint64_t)at[left - 1] << 8 * (left - 1);
}

/* `hash` is of the whole words of s. */
static uint32_t finish_hash(uint64_t hash, struct slice s)
{
    if (s.len % 8 != 0) {
        hash = mix(hash, last_bytes(s.ptr + s.len, s.len));
    }
    return (uint32_t)(mix(hash, s.len) * 0xbf58476d1ce4e5b9u >> 32);
}

uint32_t intern_hash(struct slice s)
{
    uint64_t hash = SEED;
    for (size_t at = 0; at + 8 <= s.len; at += 8) {
        hash = mix(hash, load64(s.ptr + at));
    }
    return finish_hash(hash, s);
}

void intern_prefix_hash_start(struct intern_prefix_hash *state)
{
    *state = (struct intern_prefix_hash){SEED, 0};
}

uint32_t intern_prefix_hash_of(struct intern_prefix_hash *state, struct slice prefix)
{
    for (; state->words * 8 + 8 <= prefix.len; state->words++) {
        state->hash = mix(state->hash, load64(prefix.ptr + state->words * 8));
    }
    return finish_hash(state->hash, prefix);
}

/* The slot that holds s, or the free one where it belongs. There is always a free slot. */
static uint32_t slot_of(const struct intern *intern, struct slice s, uint32_t hash)
{
    for (uint32_t slot = hash & intern->slots_mask;; slot = (slot + 1) & intern->slots_mask) {
        uint32_t id = intern->slots[slot];
        if (id == 0) {
            return slot;
        }
        const struct intern_entry *entry = &intern->entries[id - 1];
        if (entry->hash == hash && slice_eq((struct slice){entry->ptr, entry->len}, s)) {
            return slot;
        }
    }
}

/* Makes room for one entry more; slots stay at most half full. */
static bool grow(struct intern *intern)
{
    if (intern->count < intern->entries_cap) {
        return true;
    }
    if (intern->count >= MOST_ENTRIES) {
        return false;
    }
    uint32_t cap = FIRST_ENTRIES;
    while (cap <= intern->count) {
        cap *= 2;
    }
    struct intern_entry *entries = realloc(intern->entries, cap * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    intern->entries = entries;
    uint32_t *slots = calloc((size_t)cap * 2, sizeof(*slots));
    if (slots == NULL) {
        return false; /* the longer entries are kept, but not counted as room */
    }
    free(intern->slots);
    intern->slots = slots;
    intern->slots_mask = cap * 2 - 1;
    intern->entries_cap = cap;
    for (uint32_t id = 1; id <= intern->count; id++) {
        uint32_t slot = entries[id - 1].hash & intern->slots_mask;
        while (slots[slot] != 0) {
            slot = (slot + 1) & intern->slots_mask;
        }
        slots[slot] = id;
    }
    return true;
}

uint32_t intern_add(struct intern *intern, struct slice s)
{
    if (s.len > UINT32_MAX || !grow(intern)) {
        return 0;
    }
    uint32_t hash = intern_hash(s);
    uint32_t slot = slot_of(intern, s, hash);
    if (intern->slots[slot] != 0) {
        return intern->slots[slot];
    }
    struct slice copy = arena_copy(intern->arena, s);
    if (copy.ptr == NULL) {
        return 0;
    }
    intern->entries[intern->count] = (struct intern_entry){hash, (uint32_t)copy.len, copy.ptr};
    intern->slots[slot] = ++intern->count;
    return intern->count;
}

void intern_trim(struct intern *intern)
{
    struct intern_entry *entries = realloc(intern->entries, (intern->count + 1u) * sizeof(*entries));
    if (entries != NULL) {
        intern->entries = entries;
        intern->entries_cap = intern->count;
    }
}

uint32_t intern_find(const struct intern *intern, struct slice s)
{
    return intern_find_hashed(intern, s, intern_hash(s));
}

uint32_t intern_find_hashed(const struct intern *intern, struct slice s, uint32_t hash)
{
    if (intern->slots == NULL || s.len > UINT32_MAX) {
        return 0;
    }
    return intern->slots[slot_of(intern, s, hash)];
}

struct slice intern_text(const struct intern *intern, uint32_t id)
{
    if (id == 0 || id > intern->count) {
        return (struct slice){"", 0};
    }
    const struct intern_entry *entry = &intern->entries[id - 1];
    return (struct slice){entry->ptr, entry->len};
}
