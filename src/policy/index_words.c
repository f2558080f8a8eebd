/* The strings that rules have, by role. */
#include <stdlib.h>

#include "policy/index.h"

#define CACHE_LINE 64u

static uint32_t atom_hash(uint32_t value_hash, uint32_t key)
{
    return (uint32_t)(index_mix((uint64_t)key << 32 | value_hash) >> 32);
}

static struct slice text_of(const struct policy *policy, const struct policy_index *index, enum role role,
                            uint32_t id)
{
    struct slice text;
    switch (role) {
    case ROLE_PREFIX:
        return policy->prefixes->list[id - 1].path;
    case ROLE_ATOM:
        return policy_text(policy, index->atoms[id - 1].value);
    case ROLE_STARTS:
        text = policy_text(policy, id);
        return (struct slice){text.ptr, text.len - 1};
    case ROLE_ENDS:
        return slice_from(policy_text(policy, id), 1);
    default:
        return policy_text(policy, id);
    }
}

/* ---- Asking ---- */

/* `key` is the key's symbol of an atom, else 0. */
static const struct word *find(const struct policy *policy, enum role role, struct slice text, uint32_t key,
                               uint32_t hash)
{
    const struct policy_index *index = policy->index;
    const struct words *words = &index->words[role];
    uint32_t block = words->blocks == 0 ? 0 : index_block(hash, words->blocks);
    while (words->blocks != 0) {
        const struct word *list = words->list + (size_t)block * WORDS_IN_BLOCK;
        for (unsigned i = 0; i < WORDS_IN_BLOCK; i++) {
            if (list[i].id == 0) {
                return NULL;
            }
            if (list[i].hash == hash && (key == 0 || index->atoms[list[i].id - 1].key == key) &&
                slice_eq(text_of(policy, index, role, list[i].id), text)) {
                return &list[i];
            }
        }
        block = block + 1 == words->blocks ? 0 : block + 1;
    }
    return NULL;
}

const struct word *words_find_hashed(const struct policy *policy, enum role role, struct slice text,
                                     uint32_t hash)
{
    return find(policy, role, text, 0, hash);
}

/* A text that is longer than all of a role is not even hashed. */
const struct word *words_find(const struct policy *policy, enum role role, struct slice text)
{
    const struct words *words = &policy->index->words[role];
    bool may = words->blocks != 0 && text.len <= words->longest;
    return may ? find(policy, role, text, 0, intern_hash(text)) : NULL;
}

const struct word *words_find_atom(const struct policy *policy, uint32_t key, struct slice value)
{
    const struct words *words = &policy->index->words[ROLE_ATOM];
    bool may = words->blocks != 0 && value.len <= words->longest;
    return may ? find(policy, ROLE_ATOM, value, key, atom_hash(intern_hash(value), key)) : NULL;
}

/* ---- Making ---- */

static void put(struct words *words, struct word word)
{
    uint32_t at = index_block(word.hash, words->blocks) * WORDS_IN_BLOCK;
    while (words->list[at].id != 0) {
        at = at + 1 == words->blocks * WORDS_IN_BLOCK ? 0 : at + 1;
    }
    words->list[at] = word;
}

static uint32_t hash_of(const struct policy *policy, const struct policy_index *index, enum role role,
                        uint32_t id, struct slice text)
{
    if (role == ROLE_ATOM) {
        const struct match_arg *atom = &index->atoms[id - 1];
        return atom_hash(policy->symbols.entries[atom->value - 1].hash, atom->key);
    }
    if (role == ROLE_PREFIX || role == ROLE_STARTS || role == ROLE_ENDS) {
        return intern_hash(text);
    }
    return policy->symbols.entries[id - 1].hash;
}

bool words_build(const struct policy *policy, struct policy_index *index, enum role role,
                 const uint64_t *masks, const uint32_t *ids, uint32_t count)
{
    struct words *words = &index->words[role];
    if (count == 0) {
        return true;
    }
    /* Three slots in five are used, and one is free at the least. */
    words->blocks = (uint32_t)((uint64_t)count * 5 / (3 * WORDS_IN_BLOCK)) + 1;
    size_t bytes = (size_t)words->blocks * WORDS_IN_BLOCK * sizeof(*words->list);
    words->memory = calloc(1, bytes + CACHE_LINE);
    if (words->memory == NULL) {
        return false;
    }
    index->bytes += bytes + CACHE_LINE;
    words->list = (struct word *)(((uintptr_t)words->memory + CACHE_LINE) / CACHE_LINE * CACHE_LINE);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = ids == NULL ? i + 1 : ids[i];
        struct slice text = text_of(policy, index, role, id);
        put(words, (struct word){hash_of(policy, index, role, id, text), id, masks[id]});
        words->longest = text.len > words->longest ? (uint32_t)text.len : words->longest;
    }
    return true;
}

void words_finish(struct words *words)
{
    free(words->memory);
    *words = (struct words){.list = NULL};
}
