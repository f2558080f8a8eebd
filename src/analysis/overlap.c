#include "analysis/overlap_inside.h"

#include <stdlib.h>

#define STEPS_BASE     ((uint64_t)1 << 25)
#define STEPS_PER_RULE 128u
/* Fewer pairs than this for each rule are compared one by one. */
#define PAIRS_PER_RULE 16u
/* Fewer conflicts between arguments than this for each rule are taken off one by one. */
#define CONFLICTS_PER_RULE 64u

/* ---- Splitting ---- */

/* The argument key that most pairs share, in *ret_key (0: none), and how many pairs share some key. */
static uint64_t shared_keys(struct counter *c, const struct part *part, uint32_t *ret_key)
{
    const struct match_arg *args = c->policy->args;
    uint64_t total = 0, most = 0;
    *ret_key = 0;
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        c->steps += match->arg_count;
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->keyed[args[match->arg_first + j].key]++;
        }
    }
    for (uint32_t i = 0; i < c->split_count; i++) {
        c->keyed[c->split_keys[i]] = 0;
    }
    for (uint32_t i = 0; i < part->stored_count; i++) {
        const struct match *match = stored_match(c, part->stored[i]);
        c->steps += match->arg_count;
        for (uint32_t j = 0; j < match->arg_count; j++) {
            uint32_t key = args[match->arg_first + j].key;
            uint64_t pairs = (uint64_t)++c->dense[key] * c->keyed[key];
            total += c->keyed[key];
            if (pairs > most) {
                most = pairs;
                *ret_key = key;
            }
        }
    }
    for (uint32_t i = 0; i < part->stored_count; i++) {
        const struct match *match = stored_match(c, part->stored[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->dense[args[match->arg_first + j].key] = 0;
        }
    }
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->keyed[args[match->arg_first + j].key] = 0;
        }
    }
    return total;
}

/* Both sides sorted by value: first the rules without the field, then those of value 1, 2, …; numbers are
 * given in the order in which the stored rules have them. Asking rules whose value no stored rule has are
 * left out. */
struct sorted {
    uint32_t *stored, *asking;
    uint32_t *stored_from, *asking_from; /* by number, 0 for "lacks the field"; one more at the end */
    uint32_t values;
    uint32_t met; /* values that both sides have */
};

static void sorted_finish(struct sorted *sorted)
{
    free(sorted->stored);
    free(sorted->asking);
    free(sorted->stored_from);
    free(sorted->asking_from);
}

/* Places counted per number become where each number begins. */
static void begin_at(uint32_t *counts, uint32_t values)
{
    uint32_t at = 0;
    for (uint32_t v = 0; v <= values + 1; v++) {
        uint32_t count = counts[v];
        counts[v] = at;
        at += count;
    }
}

static bool sort_part(struct counter *c, const struct part *part, uint32_t field, uint32_t key,
                      struct sorted *ret)
{
    size_t stored_count = part->stored_count, asking_count = part->asking_count;
    uint32_t *numbers = malloc((stored_count + asking_count + 1) * sizeof(*numbers));
    *ret = (struct sorted){.stored = malloc((stored_count + 1) * sizeof(uint32_t)),
                           .asking = malloc((asking_count + 1) * sizeof(uint32_t)),
                           .stored_from = calloc(stored_count + 3, sizeof(uint32_t)),
                           .asking_from = calloc(stored_count + 3, sizeof(uint32_t))};
    bool ok = numbers != NULL && ret->stored != NULL && ret->asking != NULL && ret->stored_from != NULL &&
              ret->asking_from != NULL;
    for (size_t i = 0; ok && i < stored_count; i++) {
        uint32_t value = overlap_value(c, stored_match(c, part->stored[i]), field, key);
        if (value != 0 && c->dense[value] == 0) {
            c->dense[value] = ++ret->values;
        }
        numbers[i] = value == 0 ? 0 : c->dense[value];
        ret->stored_from[numbers[i]]++;
    }
    for (size_t i = 0; ok && i < asking_count; i++) {
        uint32_t value = overlap_value(c, asking_match(c, part->asking[i]), field, key);
        uint32_t number = value == 0 ? 0 : c->dense[value] != 0 ? c->dense[value] : UINT32_MAX;
        numbers[stored_count + i] = number;
        if (number != UINT32_MAX) {
            ret->met += number != 0 && ret->asking_from[number]++ == 0;
            ret->asking_from[0] += number == 0;
        }
    }
    for (size_t i = 0; ok && i < stored_count; i++) {
        c->dense[overlap_value(c, stored_match(c, part->stored[i]), field, key)] = 0;
    }
    if (ok) {
        begin_at(ret->stored_from, ret->values);
        begin_at(ret->asking_from, ret->values);
        for (size_t i = 0; i < stored_count; i++) {
            ret->stored[ret->stored_from[numbers[i]]++] = part->stored[i];
        }
        for (size_t i = 0; i < asking_count; i++) {
            if (numbers[stored_count + i] != UINT32_MAX) {
                ret->asking[ret->asking_from[numbers[stored_count + i]]++] = part->asking[i];
            }
        }
        /* Each beginning has become the next one's: move them back. */
        memmove(ret->stored_from + 1, ret->stored_from, ((size_t)ret->values + 1) * sizeof(uint32_t));
        memmove(ret->asking_from + 1, ret->asking_from, ((size_t)ret->values + 1) * sizeof(uint32_t));
        ret->stored_from[0] = ret->asking_from[0] = 0;
    }
    free(numbers);
    return ok;
}

static bool meet(struct counter *c, const struct part *part, uint32_t field);

/* Asking rules that have the field, whether or not a stored rule has the value. */
static bool asking_with(struct counter *c, const struct part *part, uint32_t field, uint32_t key,
                        uint32_t **ret_list, uint32_t *ret_count)
{
    uint32_t *list = malloc(((size_t)part->asking_count + 1) * sizeof(*list));
    uint32_t count = 0;
    for (uint32_t i = 0; list != NULL && i < part->asking_count; i++) {
        if (overlap_value(c, asking_match(c, part->asking[i]), field, key) != 0) {
            list[count++] = part->asking[i];
        }
    }
    *ret_list = list;
    *ret_count = count;
    return list != NULL;
}

/* The three kinds of pairs: equal values; asking rules without the field, with all; stored ones without, with
 * asking rules that have it. */
static bool meet_sorted(struct counter *c, const struct part *part, const struct sorted *sorted,
                        uint32_t field, uint32_t key)
{
    uint32_t next = field < SPLIT_KEYS ? field + 1 : SPLIT_KEYS;
    for (uint32_t v = 1; v <= sorted->values; v++) {
        struct part equal = {.stored = sorted->stored + sorted->stored_from[v],
                             .stored_count = sorted->stored_from[v + 1] - sorted->stored_from[v],
                             .asking = sorted->asking + sorted->asking_from[v],
                             .asking_count = sorted->asking_from[v + 1] - sorted->asking_from[v],
                             .one_tool = part->one_tool || field == SPLIT_TOOL};
        if (!meet(c, &equal, next)) {
            return false;
        }
    }
    struct part without = *part;
    without.asking = sorted->asking;
    without.asking_count = sorted->asking_from[1];
    if (!meet(c, &without, next)) {
        return false;
    }
    struct part with = *part;
    with.stored = sorted->stored;
    with.stored_count = sorted->stored_from[1];
    uint32_t *list;
    if (!asking_with(c, part, field, key, &list, &with.asking_count)) {
        return false;
    }
    with.asking = list;
    bool ok = meet(c, &with, next);
    free(list);
    return ok;
}

/* Whether both sides have the field at all; if not, it keeps nobody apart. */
static bool both_have(const struct counter *c, const struct part *part, uint32_t field)
{
    bool stored = false, asking = false;
    for (uint32_t i = 0; i < part->stored_count && !stored; i++) {
        stored = overlap_value(c, stored_match(c, part->stored[i]), field, 0) != 0;
    }
    for (uint32_t i = 0; i < part->asking_count && stored && !asking; i++) {
        asking = overlap_value(c, asking_match(c, part->asking[i]), field, 0) != 0;
    }
    return stored && asking;
}

static bool note_split(struct counter *c, uint32_t key)
{
    if (c->split_count == c->split_cap) {
        uint32_t cap = c->split_cap == 0 ? 64 : c->split_cap * 2;
        uint32_t *keys = realloc(c->split_keys, cap * sizeof(*keys));
        if (keys == NULL) {
            return false;
        }
        c->split_keys = keys;
        c->split_cap = cap;
    }
    c->split_keys[c->split_count++] = key;
    return true;
}

static bool split(struct counter *c, const struct part *part, uint32_t field, uint32_t key)
{
    struct sorted sorted = {0};
    bool ok = sort_part(c, part, field, key, &sorted) && meet_sorted(c, part, &sorted, field, key);
    sorted_finish(&sorted);
    return ok;
}

/* Everything between the two sides of a part, the fields before `field` and the keys in split_keys being
 * settled. */
static bool meet(struct counter *c, const struct part *part, uint32_t field)
{
    uint64_t rules = (uint64_t)part->stored_count + part->asking_count;
    if (part->stored_count == 0 || part->asking_count == 0 || !overlap_step(c, rules)) {
        return !c->failed;
    }
    if ((uint64_t)part->stored_count * part->asking_count <= PAIRS_PER_RULE * rules) {
        overlap_pairs(c, part);
        return true;
    }
    while (field < SPLIT_KEYS && !both_have(c, part, field)) {
        field++;
    }
    if (field < SPLIT_KEYS) {
        return split(c, part, field, 0);
    }
    uint32_t key;
    uint64_t shared = shared_keys(c, part, &key);
    if (shared == 0) {
        return overlap_rest(c, part);
    }
    if (shared <= CONFLICTS_PER_RULE * rules) {
        return overlap_conflicts(c, part);
    }
    if (!note_split(c, key)) {
        return false;
    }
    bool ok = split(c, part, SPLIT_KEYS, key);
    c->split_count--;
    return ok;
}

/* ---- The whole ---- */

static bool prepare(struct counter *c, size_t asking_count)
{
    const struct policy *policy = c->policy;
    if (!name_nest_init(&c->tools, policy)) {
        return false;
    }
    c->asked_tools = calloc((size_t)policy->symbols.count + 1, sizeof(*c->asked_tools));
    c->asked_paths = calloc((size_t)policy->prefixes->count + 1, sizeof(*c->asked_paths));
    c->dense = calloc((size_t)policy->symbols.count + 3, sizeof(*c->dense)); /* actors are numbers up to 2 */
    c->keyed = calloc((size_t)policy->symbols.count + 1, sizeof(*c->keyed));
    c->tools_above = calloc((size_t)c->tools.deepest + 1, sizeof(*c->tools_above));
    c->paths_above = calloc(PATHS_ABOVE_MAX, sizeof(*c->paths_above));
    if (c->asked_tools == NULL || c->asked_paths == NULL || c->dense == NULL || c->keyed == NULL ||
        c->tools_above == NULL || c->paths_above == NULL) {
        return false;
    }
    for (size_t i = 0; i < asking_count; i++) {
        c->asked_tools[asking_match(c, (uint32_t)i)->tool_prefix] = true;
        c->asked_paths[asking_match(c, (uint32_t)i)->path_prefix] = true;
    }
    return true;
}

static bool meet_all(struct counter *c, const uint32_t *stored, size_t stored_count, size_t asking_count)
{
    uint32_t *places = malloc((asking_count + 1) * sizeof(*places));
    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i < asking_count; i++) {
        places[i] = (uint32_t)i;
    }
    struct part part = {.stored = stored,
                        .stored_count = (uint32_t)stored_count,
                        .asking = places,
                        .asking_count = (uint32_t)asking_count};
    bool ok = meet(c, &part, SPLIT_TOOL);
    free(places);
    return ok;
}

enum overlap_result overlap_count(const struct policy *policy, const uint32_t *stored, size_t stored_count,
                                  const uint32_t *asking, size_t asking_count, struct overlap *ret_overlaps)
{
    for (size_t i = 0; i < asking_count; i++) {
        ret_overlaps[i] = (struct overlap){.first = UINT32_MAX};
    }
    if (stored_count == 0 || asking_count == 0) {
        return OVERLAP_WHOLE;
    }
    struct counter c = {.policy = policy, .asking = asking, .result = ret_overlaps};
    c.steps_max = STEPS_BASE + (uint64_t)STEPS_PER_RULE * (stored_count + asking_count);
    bool ok = prepare(&c, asking_count) && meet_all(&c, stored, stored_count, asking_count);
    enum overlap_result result = !ok                     ? OVERLAP_NO_MEMORY
                                 : c.steps > c.steps_max ? OVERLAP_EXHAUSTED
                                                         : OVERLAP_WHOLE;
    name_nest_finish(&c.tools);
    free(c.asked_tools);
    free(c.asked_paths);
    free(c.dense);
    free(c.keyed);
    free(c.split_keys);
    free(c.tools_above);
    free(c.paths_above);
    free(c.table);
    return result;
}
