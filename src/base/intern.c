/* A hash table from byte strings to small numbers. */
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
static struct intern_slot *slot_of(const struct intern *intern, struct slice s, uint32_t hash)
{
    for (uint32_t at = hash & intern->slots_mask;; at = (at + 1) & intern->slots_mask) {
        struct intern_slot *slot = &intern->slots[at];
        if (slot->id == 0) {
            return slot;
        }
        const struct intern_entry *entry = &intern->entries[slot->id - 1];
        if (slot->hash == hash && slice_eq((struct slice){entry->ptr, entry->len}, s)) {
            return slot;
        }
    }
}

/* A new table of so many slots, a power of two, in place of the old. The old one stays without memory. */
static bool make_slots(struct intern *intern, uint32_t count)
{
    struct intern_slot *slots = calloc(count, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (uint32_t id = 1; id <= intern->count; id++) {
        uint32_t hash = intern->entries[id - 1].hash, at = hash & (count - 1);
        while (slots[at].id != 0) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct intern_slot){hash, id};
    }
    free(intern->slots);
    intern->slots = slots;
    intern->slots_mask = count - 1;
    return true;
}

/* Makes room for `count` entries; slots stay at most half full. */
bool intern_reserve(struct intern *intern, uint32_t count)
{
    if (count <= intern->entries_cap) {
        return true;
    }
    if (count > MOST_ENTRIES) {
        return false;
    }
    uint32_t cap = FIRST_ENTRIES;
    while (cap < count) {
        cap *= 2;
    }
    struct intern_entry *entries = realloc(intern->entries, cap * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    intern->entries = entries;
    if (!make_slots(intern, cap * 2)) {
        return false; /* the longer entries are kept, but not counted as room */
    }
    intern->entries_cap = cap;
    return true;
}

void intern_prefetch(const struct intern *intern, struct slice s)
{
    if (intern->slots != NULL) {
        __builtin_prefetch(&intern->slots[intern_hash(s) & intern->slots_mask]);
    }
}

uint32_t intern_add(struct intern *intern, struct slice s)
{
    if (s.len > UINT32_MAX || !intern_reserve(intern, intern->count + 1)) {
        return 0;
    }
    uint32_t hash = intern_hash(s);
    struct intern_slot *slot = slot_of(intern, s, hash);
    if (slot->id != 0) {
        return slot->id;
    }
    struct slice copy = arena_copy(intern->arena, s);
    if (copy.ptr == NULL) {
        return 0;
    }
    intern->entries[intern->count] = (struct intern_entry){hash, (uint32_t)copy.len, copy.ptr};
    *slot = (struct intern_slot){hash, ++intern->count};
    return intern->count;
}

void intern_trim(struct intern *intern)
{
    uint32_t slots = 16;
    while (slots / 4 * 3 < intern->count) {
        slots *= 2;
    }
    if (intern->slots != NULL && slots <= intern->slots_mask && !make_slots(intern, slots)) {
        return;
    }
    struct intern_entry *entries = realloc(intern->entries, (intern->count + 1u) * sizeof(*entries));
    if (entries != NULL) {
        intern->entries = entries;
    }
    intern->entries_cap = intern->count;
}

uint32_t intern_find(const struct intern *intern, struct slice s)
{
    if (intern->slots == NULL || s.len > UINT32_MAX) {
        return 0;
    }
    return slot_of(intern, s, intern_hash(s))->id;
}

struct slice intern_text(const struct intern *intern, uint32_t id)
{
    if (id == 0 || id > intern->count) {
        return (struct slice){"", 0};
    }
    const struct intern_entry *entry = &intern->entries[id - 1];
    return (struct slice){entry->ptr, entry->len};
}
