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

uint32_t intern_hash(struct slice s)
{
    uint64_t h = mix(0x243f6a8885a308d3u, s.len);
    const char *ptr = s.ptr;
    size_t left = s.len;
    for (; left >= 8; ptr += 8, left -= 8) {
        h = mix(h, load64(ptr));
    }
    if (left != 0) {
        uint64_t word = 0;
        memcpy(&word, ptr, left);
        h = mix(h, word);
    }
    h *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
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
    uint32_t cap = intern->entries_cap == 0 ? FIRST_ENTRIES : intern->entries_cap * 2;
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
    uint32_t found = intern_find(intern, s);
    if (found != 0) {
        return found;
    }
    if (s.len > UINT32_MAX || !grow(intern)) {
        return 0;
    }
    struct slice copy = arena_copy(intern->arena, s);
    if (copy.ptr == NULL) {
        return 0;
    }
    uint32_t hash = intern_hash(s);
    uint32_t slot = slot_of(intern, s, hash);
    intern->entries[intern->count] = (struct intern_entry){hash, (uint32_t)copy.len, copy.ptr};
    intern->slots[slot] = ++intern->count;
    return intern->count;
}

uint32_t intern_find(const struct intern *intern, struct slice s)
{
    if (intern->slots == NULL || s.len > UINT32_MAX) {
        return 0;
    }
    return intern->slots[slot_of(intern, s, intern_hash(s))];
}

struct slice intern_text(const struct intern *intern, uint32_t id)
{
    if (id == 0 || id > intern->count) {
        return (struct slice){"", 0};
    }
    const struct intern_entry *entry = &intern->entries[id - 1];
    return (struct slice){entry->ptr, entry->len};
}
