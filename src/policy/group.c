/* Groups of equivalent rules: equal tier, effect and canonical match. SPEC.md section 3. */
#include <stdlib.h>
#include <string.h>

#include "policy/policy_internal.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

static uint32_t rule_hash(const struct policy *policy, const struct rule *rule)
{
    const struct match *match = &rule->match;
    uint64_t hash = pair(rule->tier, rule->effect);
    for (unsigned field = 0; field < FIELD_VALUES; field += 2) {
        hash = mix(hash, pair(match->values[field], field + 1 < FIELD_VALUES ? match->values[field + 1] : 0));
    }
    for (uint32_t i = 0; i < match->arg_count; i++) {
        const struct match_arg *arg = &rule_exact_args(policy, rule)[i];
        hash = mix(hash, pair(arg->key, arg->value));
    }
    return (uint32_t)(hash >> 32);
}

static bool matches_equal(const struct policy *policy, const struct rule *a, const struct rule *b)
{
    const struct match *left = &a->match, *right = &b->match;
    return memcmp(left->values, right->values, sizeof(left->values)) == 0 &&
           left->arg_count == right->arg_count &&
           (left->arg_count == 0 || memcmp(rule_exact_args(policy, a), rule_exact_args(policy, b),
                                           left->arg_count * sizeof(*policy->args)) == 0);
}

static bool equivalent(const struct policy *policy, const struct rule *a, const struct rule *b)
{
    return a->tier == b->tier && a->effect == b->effect && matches_equal(policy, a, b);
}

/* Where the walk over the rules keeps what it knows. */
struct groups {
    uint32_t *slots; /* open addressing: index + 1 of a group's first member */
    uint32_t mask;
    uint32_t *firsts; /* of each rule: the first member of its group */
    uint32_t count;
};

static uint32_t first_member(const struct policy *policy, struct groups *groups, uint32_t index)
{
    const struct rule *rule = &policy->rules[index];
    for (uint32_t slot = rule_hash(policy, rule) & groups->mask;; slot = (slot + 1) & groups->mask) {
        uint32_t found = groups->slots[slot];
        if (found == 0) {
            groups->slots[slot] = index + 1;
            groups->count++;
            return index;
        }
        if (equivalent(policy, &policy->rules[found - 1], rule)) {
            return found - 1;
        }
    }
}

/* The speakers in the order of their groups' first members, tier by tier. */
static bool make_order(struct policy *policy, const struct groups *groups)
{
    policy->order = arena_array(&policy->arena, groups->count, sizeof(*policy->order));
    if (policy->order == NULL) {
        return false;
    }
    for (uint8_t tier = 0; tier < TIER_COUNT; tier++) {
        for (uint32_t i = 0; i < policy->rule_count; i++) {
            if (policy->rules[i].tier == tier && groups->firsts[i] == i) {
                policy->order[policy->order_count++] = policy->rules[i].speaker;
            }
        }
    }
    return true;
}

bool policy_group(struct policy *policy)
{
    struct groups groups = {.mask = 15};
    while (groups.mask / 2 < policy->rule_count) {
        groups.mask = groups.mask * 2 + 1;
    }
    groups.slots = calloc((size_t)groups.mask + 1, sizeof(*groups.slots));
    groups.firsts = calloc((size_t)policy->rule_count + 1, sizeof(*groups.firsts));
    bool good = groups.slots != NULL && groups.firsts != NULL;
    for (uint32_t i = 0; good && i < policy->rule_count; i++) {
        uint32_t first = first_member(policy, &groups, i);
        groups.firsts[i] = first;
        /* The first member knows the best so far; a later one must be better than it to speak. */
        struct rule *rules = policy->rules;
        if (first == i || rules[i].priority < rules[rules[first].speaker].priority) {
            rules[first].speaker = i;
        }
    }
    for (uint32_t i = 0; good && i < policy->rule_count; i++) {
        policy->rules[i].speaker = policy->rules[groups.firsts[i]].speaker;
    }
    good = good && make_order(policy, &groups);
    free(groups.slots);
    free(groups.firsts);
    return good;
}
