/* The tables of the strings that rules have, by role. */
#include <stdlib.h>

#include "index/index_internal.h"

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
    case ROLE_LOOSE_KEY:
    case ROLE_BELOW:
        return slice_from(policy_text(policy, id), 1);
    default:
        return policy_text(policy, id);
    }
}

static void put(struct words *words, struct word word, uint64_t high)
{
    uint32_t at = index_slot(word.hash, words->slots);
    while (words->list[at].text != NULL) {
        at = at + 1 == words->slots ? 0 : at + 1;
    }
    words->list[at] = word;
    if (words->high != NULL) {
        words->high[at] = high;
    }
}

bool words_build(const struct policy *policy, struct policy_index *index, enum role role,
                 const struct facts_mask *masks, const uint32_t *ids, uint32_t count)
{
    struct words *words = &index->words[role];
    if (count == 0) {
        return true;
    }
    words->slots = index_slots_for(count);
    words->list = calloc(words->slots, sizeof(*words->list));
    words->high = index->all.high != 0 ? calloc(words->slots, sizeof(*words->high)) : NULL;
    if (words->list == NULL || (words->high == NULL && index->all.high != 0)) {
        return false;
    }
    index->bytes += words->slots * (sizeof(*words->list) + (words->high != NULL ? sizeof(*words->high) : 0));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = ids == NULL ? i + 1 : ids[i];
        struct slice text = text_of(policy, index, role, id);
        uint32_t key = role == ROLE_ATOM ? index->atoms[id - 1].key : 0;
        uint32_t hash = key == 0 ? intern_hash(text) : words_atom_hash(intern_hash(text), key);
        put(words, (struct word){text.ptr, masks[id].low, (uint32_t)text.len, hash, id, key}, masks[id].high);
        words->longest = text.len > words->longest ? (uint32_t)text.len : words->longest;
        words->filter |= (uint64_t)1 << words_filter_bit(text);
    }
    return true;
}
