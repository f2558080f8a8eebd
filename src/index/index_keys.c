/* The hash table of an index: the rules by their keys. */
#include <stdlib.h>
#include <string.h>

#include "index/build_internal.h"

#define DIGIT 11u

/* By key; entries of one key stay in the order of their ranks. */
static bool sort_entries(struct build *build)
{
    uint32_t *counts = calloc((1u << DIGIT) + 1, sizeof(*counts));
    struct entry *from = build->entries, *to = build->sorted;
    for (unsigned shift = 0; counts != NULL && shift < 32; shift += DIGIT) {
        memset(counts, 0, ((1u << DIGIT) + 1) * sizeof(*counts));
        for (uint32_t i = 0; i < build->entry_count; i++) {
            counts[(from[i].key >> shift & ((1u << DIGIT) - 1)) + 1]++;
        }
        for (uint32_t digit = 0; digit < 1u << DIGIT; digit++) {
            counts[digit + 1] += counts[digit];
        }
        for (uint32_t i = 0; i < build->entry_count; i++) {
            to[counts[from[i].key >> shift & ((1u << DIGIT) - 1)]++] = from[i];
        }
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    build->entries = from;
    build->sorted = to;
    free(counts);
    return counts != NULL;
}

/* Whether a rule is of the simplest kind: no lists, and nothing that is ever noted or passed over. */
static bool is_simple(const struct rule *rule)
{
    const struct match *match = &rule->match;
    uint32_t bits = match->command | match->command_prefix | match->command_word | match->host;
    for (unsigned field = 0; field < FIELD_VALUES; field++) {
        bits |= match->values[field] & MATCH_SET;
    }
    bool bare = (rule->looks & READING_FIELD_BARE) != 0 && (rule->looks & READING_FIELD_PATH) != 0;
    return bits == 0 && !bare;
}

/* Whether every call that finds one entry's rule by its key also finds, and then stops at, an earlier one's:
 * what is part of the key is equal, and the earlier rule asks for nothing else. */
static bool hides(struct build *build, struct entry earlier, struct entry later)
{
    const struct policy *policy = build->policy;
    enum view view = (enum view)(earlier.rank >> RANK_BITS);
    const struct rule *a = rule_at(build, earlier.rank & RANK_MASK),
                      *b = rule_at(build, later.rank & RANK_MASK);
    const struct match *left = &a->match, *right = &b->match;
    if (later.rank >> RANK_BITS != view || !is_simple(a) || !is_simple(b) ||
        (left->actor != ACTOR_ANY && left->actor != right->actor) ||
        (view != VIEW_UNKNOWN && left->arg_count > 1)) {
        return false;
    }
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        bool path = field_table[field].looks == LOOKS_PATH && view != VIEW_ALL;
        if (field != FIELD_ACTOR && !path && left->values[field] != right->values[field]) {
            return false;
        }
    }
    if (view == VIEW_UNKNOWN || left->arg_count == 0) {
        return true;
    }
    /* The one argument of the earlier rule is in its key; it must be in the later one's. */
    const struct match_arg *arg = &policy->args[left->arg_first];
    uint32_t pivot = right->arg_count == 0 ? 0 : index_pivot_of(build, right);
    const struct match_arg *other = pivot == 0 ? NULL : &policy->args[right->arg_first + pivot - 1];
    return (arg->value & MATCH_SET) == 0 && other != NULL && other->key == arg->key &&
           other->value == arg->value;
}

#define HIDERS 4u

/* Leaves out the rules of one key that no call can get to, as far as is cheap to tell. */
static uint32_t thin_out(struct build *build, struct entry *entries, uint32_t count)
{
    uint32_t kept = 0, hiders = 0;
    uint32_t hider[HIDERS];
    for (uint32_t i = 0; i < count; i++) {
        bool hidden = false;
        for (uint32_t h = 0; h < hiders && !hidden; h++) {
            hidden = hides(build, entries[hider[h]], entries[i]);
        }
        if (hidden) {
            continue;
        }
        if (hiders < HIDERS && hides(build, entries[i], entries[i])) {
            hider[hiders++] = kept;
        }
        entries[kept++] = entries[i];
    }
    return kept;
}

/* Calls `take` with the entries of each key, in the order of the keys. */
static void each_key(struct build *build, void (*take)(struct build *, struct entry *, uint32_t count))
{
    struct entry *entries = build->entries;
    for (uint32_t from = 0, to; from < build->entry_count; from = to) {
        for (to = from + 1; to < build->entry_count && entries[to].key == entries[from].key;) {
            to++;
        }
        take(build, entries + from, to - from);
    }
}

/* Moves what stays of a key to the front, and counts what the table needs. */
static void settle_key(struct build *build, struct entry *entries, uint32_t count)
{
    struct policy_index *index = build->index;
    count = count == 1 ? 1 : thin_out(build, entries, count);
    memmove(build->entries + build->settled, entries, count * sizeof(*entries));
    build->settled += count;
    build->key_count++;
    index->list_count += count > 1 ? count + 1 : 0;
    if (count > index->longest) {
        index->longest = count;
        index->longest_first = (uint32_t)(rule_at(build, entries[0].rank & RANK_MASK) - build->policy->rules);
    }
}

/* Where a key goes: keys come in order, so each goes behind the last or farther on. */
static uint32_t next_slot(struct build *build, uint32_t key)
{
    uint32_t home = index_slot(key, build->index->slot_count);
    uint32_t slot = build->slot > home ? build->slot : home;
    build->slot = slot + 1;
    return slot;
}

static void count_slot(struct build *build, struct entry *entries, uint32_t count)
{
    (void)count;
    (void)next_slot(build, entries[0].key);
}

static void put_key(struct build *build, struct entry *entries, uint32_t count)
{
    struct policy_index *index = build->index;
    uint32_t value = entries[0].rank & RANK_MASK;
    if (count > 1) {
        value = build->listed | KEY_LIST;
        index->lists[build->listed++] = count;
        for (uint32_t i = 0; i < count; i++) {
            index->lists[build->listed++] = entries[i].rank & RANK_MASK;
        }
    }
    index->slots[next_slot(build, entries[0].key)] = (struct key_slot){entries[0].key, value};
}

bool index_make_keys(struct build *build)
{
    struct policy_index *index = build->index;
    build->sorted = array_of(build->entry_count, sizeof(*build->sorted));
    if (build->sorted == NULL || !sort_entries(build)) {
        return false;
    }
    each_key(build, settle_key);
    if (index->small) {
        return true; /* no key will be looked up */
    }
    build->entry_count = build->settled;
    index->slot_count = index_slots_for(build->key_count);
    each_key(build, count_slot);
    /* One more slot is free behind the last key, wherever that came to stand. */
    uint32_t slots = (build->slot > index->slot_count ? build->slot : index->slot_count) + 1;
    index->slots = malloc(slots * sizeof(*index->slots));
    index->lists = array_of(index->list_count, sizeof(*index->lists));
    if (index->slots == NULL || index->lists == NULL) {
        return false;
    }
    memset(index->slots, 0xff, slots * sizeof(*index->slots));
    index->bytes += slots * sizeof(*index->slots) + index->list_count * sizeof(*index->lists);
    build->slot = 0;
    each_key(build, put_key);
    return true;
}
