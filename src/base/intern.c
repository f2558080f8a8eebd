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
