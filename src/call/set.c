/* Texts that a call names, each once, in the order in which they are met. */
#include <stdlib.h>
#include <string.h>

#include "call/internal.h"

#define SLOTS_LEAST 64u

/* A polynomial over the prime 2^61 - 1 in a secret point: whoever writes the paths can't make them collide. */
static uint64_t hash_text(uint64_t seed, struct slice text)
{
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    uint64_t point = (seed & prime) | 1, hash = text.len;
    while (text.len > 0) {
        uint64_t word = 0;
        size_t part = text.len < 7 ? text.len : 7;
        memcpy(&word, text.ptr, part);
        text = slice_from(text, part);
        unsigned __int128 product = (unsigned __int128)hash * point;
        hash = (uint64_t)(product & prime) + (uint64_t)(product >> 61) + word;
        hash = (hash & prime) + (hash >> 61);
    }
    return (hash * point) * 0x9E3779B97F4A7C15u >> 16;
}

void set_finish(struct text_set *set)
{
    free(set->slots);
    *set = (struct text_set){.slots = NULL};
}

void set_clear(struct text_set *set)
{
    if (set->used > SET_KEPT) {
        set_finish(set);
        return;
    }
    set->used = 0;
    set->generation++;
    if (set->generation == 0 && set->slots != NULL) {
        memset(set->slots, 0, (set->mask + 1) * sizeof(*set->slots));
    }
    if (set->generation == 0) {
        set->generation = 1;
    }
}

static void put_slot(struct text_slot *slots, size_t mask, struct text_slot slot)
{
    size_t at = slot.hash & mask;
    while (slots[at].generation == slot.generation) {
        at = (at + 1) & mask;
    }
    slots[at] = slot;
}

static bool grow(struct text_set *set)
{
    size_t size = set->slots == NULL ? 0 : set->mask + 1;
    if (set->used < size / 2) {
        return true;
    }
    size_t more = size == 0 ? SLOTS_LEAST : size * 2;
    struct text_slot *slots = calloc(more, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (set->slots[i].generation == set->generation) {
            put_slot(slots, more - 1, set->slots[i]);
        }
    }
    if (set->generation == 0) {
        set->generation = 1;
    }
    free(set->slots);
    set->slots = slots;
    set->mask = more - 1;
    return true;
}

struct text_slot *set_find(struct text_set *set, uint64_t seed, struct slice text)
{
    struct text_slot *slot;
    if (set->used == 0) {
        return NULL;
    }
    uint64_t hash = hash_text(seed, text);
    for (size_t at = hash & set->mask; (slot = &set->slots[at])->generation == set->generation;
         at = (at + 1) & set->mask) {
        if (slot->hash == hash && slice_eq(slot->text, text)) {
            return slot;
        }
    }
    return NULL;
}

struct text_slot *set_add(struct text_set *set, uint64_t seed, struct arena *arena, struct slice text,
                          bool *ret_new)
{
    struct text_slot *slot = NULL;
    if (!grow(set)) {
        return NULL;
    }
    uint64_t hash = hash_text(seed, text);
    for (size_t at = hash & set->mask; (slot = &set->slots[at])->generation == set->generation;
         at = (at + 1) & set->mask) {
        if (slot->hash == hash && slice_eq(slot->text, text)) {
            *ret_new = false;
            return slot;
        }
    }
    struct slice copy = arena_copy(arena, text);
    if (copy.ptr == NULL) {
        return NULL;
    }
    set->used++;
    *slot = (struct text_slot){.generation = set->generation, .hash = hash, .text = copy};
    *ret_new = true;
    return slot;
}
