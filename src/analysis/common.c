/* What two policies have in common: rules that decide the same calls alike on both sides of a diff. */
#include "analysis/common_internal.h"

#include "analysis/analysis.h"
#include "policy/value.h"

#include <stdlib.h>
#include <string.h>

bool common_same_outcome(const struct rule *a, const struct rule *b)
{
    return a->effect == b->effect &&
           (a->effect != EFFECT_REQUIRE_APPROVAL || (a->ttl_ms == b->ttl_ms && a->approvers == b->approvers &&
                                                     a->scope == b->scope && a->groups == b->groups));
}

static bool same_box(const struct box *a, const struct box *b)
{
    const struct match *x = &a->match, *y = &b->match;
    return x->tool == y->tool && x->tool_prefix == y->tool_prefix && x->server == y->server &&
           x->channel == y->channel && x->thread == y->thread && x->actor == y->actor && x->host == y->host &&
           x->path_prefix == y->path_prefix && x->path_component == y->path_component &&
           x->arg_count == y->arg_count &&
           (x->arg_count == 0 || memcmp(a->args, b->args, x->arg_count * sizeof(*a->args)) == 0);
}

static uint32_t hash_box(const struct box *box)
{
    const struct match *m = &box->match;
    const uint32_t words[] = {m->tool,  m->tool_prefix, m->server,      m->channel,        m->thread,
                              m->actor, m->host,        m->path_prefix, m->path_component, m->arg_count};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (uint32_t i = 0; i < m->arg_count; i++) {
        h = (h ^ box->args[i].key ^ (uint64_t)box->args[i].value << 32) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

/* Lists of more values are not looked at for a hash. */
#define HASHED_MOST 32u

/* Whether another value of a list stands for more than one of it. */
static bool is_within_another(const struct policy *policy, enum match_field field, struct match_values values,
                              uint32_t value)
{
    struct field_value inner = {policy, field, values.list[value]};
    for (uint32_t i = 0; i < values.count; i++) {
        struct field_value outer = {policy, field, values.list[i]};
        if (i != value && field_covers(&outer, &inner)) {
            return true;
        }
    }
    return false;
}

/* Of a field the least hash of a value that no other value of it contains: rules that match the same have the same such
 * values, whatever else their lists say. */
static uint32_t hash_field(const struct policy *policy, const struct match *match, enum match_field field,
                           struct buf *text)
{
    struct match_values values = match_values(policy, &match->values[field]);
    uint32_t least = NOWHERE;
    for (uint32_t i = 0; values.count <= HASHED_MOST && i < values.count; i++) {
        struct field_value value = {policy, field, values.list[i]};
        if (!is_within_another(policy, field, values, i)) {
            buf_reset(text);
            field_write_text(text, &value);
            uint32_t hash = intern_hash(buf_slice_of(text));
            least = hash < least ? hash : least;
        }
    }
    return least;
}

/* Rules with lists, commands or a host share boxes with many others: their values are told apart as well. */
static uint32_t hash_rule(const struct space *space, size_t side, uint32_t rule, struct buf *text)
{
    struct box box = space_box(space, side, rule);
    uint64_t hash = hash_box(&box);
    for (enum match_field field = 0; space->sides[side].opaque[rule] && field < FIELD_VALUES; field++) {
        if (field == FIELD_COMMAND_WORD) { /* a rule may say one that its commands have without it */
            continue;
        }
        const struct rule *of = space_rule(space, side, rule);
        hash = (hash ^ hash_field(space->sides[side].policy, &of->match, field, text)) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

/* Whether two rules with one box are equal: of those whose box holds more the fields themselves are compared. */
static bool same_rule(const struct space *space, uint32_t old, uint32_t new)
{
    const struct side *sides = space->sides;
    const struct rule *a = space_rule(space, 0, old), *b = space_rule(space, 1, new);
    if (sides[0].opaque[old] != sides[1].opaque[new]) {
        return false;
    }
    return !sides[0].opaque[old] || (rule_subset(sides[0].policy, a, sides[1].policy, b) &&
                                     rule_subset(sides[1].policy, b, sides[0].policy, a));
}

/* For each old rule the new rule that is paired with it: the first equal one that is not taken. */
static bool pair_rules(const struct space *space, uint32_t *ret_pairs)
{
    const struct policy *old = &space->sides[0].flat, *new = &space->sides[1].flat;
    uint32_t slots = 64;
    while (slots < new->rule_count * 2) {
        slots *= 2;
    }
    uint32_t *table = calloc(slots, sizeof(*table)); /* 1 + new rule; a taken one stays, as a stone */
    bool *taken = calloc((size_t)new->rule_count + 1, sizeof(*taken));
    bool ok = table != NULL && taken != NULL;
    struct buf text;
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    for (uint32_t j = 0; ok && j < new->rule_count; j++) {
        uint32_t at = hash_rule(space, 1, j, &text) & (slots - 1);
        while (table[at] != 0) {
            at = (at + 1) & (slots - 1);
        }
        table[at] = j + 1;
    }
    for (uint32_t i = 0; ok && i < old->rule_count; i++) {
        struct box box = space_box(space, 0, i);
        ret_pairs[i] = NOWHERE;
        uint32_t first = hash_rule(space, 0, i, &text) & (slots - 1);
        for (uint32_t at = first; table[at] != 0; at = (at + 1) & (slots - 1)) {
            uint32_t j = table[at] - 1;
            struct box other = space_box(space, 1, j);
            if (!taken[j] && same_box(&box, &other) && same_rule(space, i, j) &&
                common_same_outcome(&old->rules[i], &new->rules[j])) {
                taken[j] = true;
                ret_pairs[i] = j;
                break;
            }
        }
    }
    ok = ok && buf_ok(&text);
    buf_finish(&text);
    free(table);
    free(taken);
    return ok;
}

/* Keeps the longest run of pairs that rises on both sides (patience sorting), and marks it. */
static bool keep_rising(const uint32_t *pairs, uint32_t count, bool *ret_old, bool *ret_new)
{
    uint32_t *top =
        malloc(((size_t)count + 1) * sizeof(*top)); /* by length: the old rule whose run ends lowest */
    uint32_t *below =
        malloc(((size_t)count + 1) * sizeof(*below)); /* by old rule: the one before it in its run */
    uint32_t piles = 0;
    bool ok = top != NULL && below != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        if (pairs[i] == NOWHERE) {
            continue;
        }
        uint32_t low = 0, high = piles;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (pairs[top[middle]] < pairs[i]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        below[i] = low == 0 ? NOWHERE : top[low - 1];
        top[low] = i;
        piles += low == piles;
    }
    for (uint32_t i = ok && piles != 0 ? top[piles - 1] : NOWHERE; i != NOWHERE; i = below[i]) {
        ret_old[i] = true;
        ret_new[pairs[i]] = true;
    }
    free(top);
    free(below);
    return ok;
}

bool common_mark(const struct space *space, bool *ret_old, bool *ret_new)
{
    uint32_t count = space->sides[0].flat.rule_count;
    uint32_t *pairs = malloc(((size_t)count + 1) * sizeof(*pairs));
    bool ok = pairs != NULL && pair_rules(space, pairs) && keep_rising(pairs, count, ret_old, ret_new);
    free(pairs);
    return ok;
}
