/* The tables of the strings that rules have, by role. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/fold.h"
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

static bool words_reserve(struct policy_index *index, enum role role, uint32_t count)
{
    struct words *words = &index->words[role];
    words->slots = index_slots_for(count);
    words->list = calloc(words->slots, sizeof(*words->list));
    words->high = index->all.high != 0 ? calloc(words->slots, sizeof(*words->high)) : NULL;
    index->bytes += words->slots * (sizeof(*words->list) + (words->high != NULL ? sizeof(*words->high) : 0));
    return words->list != NULL && (words->high != NULL || index->all.high == 0);
}

static void note_text(struct words *words, struct slice text)
{
    words->longest = text.len > words->longest ? (uint32_t)text.len : words->longest;
    words->filter |= (uint64_t)1 << words_filter_bit(text);
}

bool words_build(const struct policy *policy, struct policy_index *index, enum role role,
                 const struct facts_mask *masks, const uint32_t *ids, uint32_t count)
{
    struct words *words = &index->words[role];
    if (count == 0) {
        return true;
    }
    if (!words_reserve(index, role, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = ids == NULL ? i + 1 : ids[i];
        struct slice text = text_of(policy, index, role, id);
        uint32_t key = role == ROLE_ATOM ? index->atoms[id - 1].key : 0;
        uint32_t hash = key == 0 ? intern_hash(text) : words_atom_hash(intern_hash(text), key);
        put(words, (struct word){text.ptr, masks[id].low, (uint32_t)text.len, hash, id, key}, masks[id].high);
        note_text(words, text);
    }
    return true;
}

/* ---- Names of arguments ---- */

/* The word of a text; NULL: there is none. */
static struct word *word_of(const struct words *words, struct slice text)
{
    const struct word *word = words_find(words, text);
    return word == NULL ? NULL : &words->list[word - words->list];
}

static void add_mask(const struct words *words, struct word *word, struct facts_mask mask)
{
    word->mask |= mask.low;
    if (words->high != NULL) {
        words->high[word - words->list] |= mask.high;
    }
}

static void put_exact(struct words *words, struct slice text, uint32_t id, struct facts_mask mask,
                      struct buf *folded)
{
    struct word *word = word_of(words, text);
    if (word == NULL) {
        put(words, (struct word){.text = text.ptr, .len = (uint32_t)text.len, .hash = intern_hash(text)}, 0);
        word = word_of(words, text);
        note_text(words, text);
    }
    word->id = id;
    add_mask(words, word, mask);
    buf_reset(folded);
    for (size_t at = 0; at < text.len;) {
        buf_byte(folded, (char)fold_next(text, &at));
    }
    const struct word *loose = word_of(words, buf_slice_of(folded));
    if (loose != NULL && loose != word) {
        word->key = loose->key;
        add_mask(words, word, word_mask(words, loose));
    }
}

bool words_build_names(const struct policy *policy, struct policy_index *index,
                       const struct facts_mask *masks, const uint32_t *ids, uint32_t count,
                       const struct facts_mask *loose_masks, const uint32_t *loose_ids, uint32_t loose_count)
{
    struct words *words = &index->words[ROLE_KEY];
    struct buf folded;
    if (count + loose_count == 0) {
        return true;
    }
    if (!words_reserve(index, ROLE_KEY, count + loose_count)) {
        return false;
    }
    buf_init(&folded, LIMIT_POLICY_BYTES);
    for (uint32_t i = 0; i < loose_count; i++) {
        uint32_t id = loose_ids[i];
        struct slice text = text_of(policy, index, ROLE_LOOSE_KEY, id);
        put(words, (struct word){text.ptr, loose_masks[id].low, (uint32_t)text.len, intern_hash(text), 0, id},
            loose_masks[id].high);
        note_text(words, text);
    }
    for (uint32_t i = 0; i < count; i++) {
        put_exact(words, policy_text(policy, ids[i]), ids[i], masks[ids[i]], &folded);
    }
    bool good = buf_ok(&folded);
    buf_finish(&folded);
    return good;
}
