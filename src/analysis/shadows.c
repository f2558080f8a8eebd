/* Shadows within a tier, and across tiers. */
#include "analysis/shadows_internal.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/overlap_internal.h"

/* ---- Within a tier ---- */

struct shadows {
    const struct policy *policy;
    struct superset *set;           /* of simple rules that nothing shadows */
    struct overlap *kept, *complex; /* all that nothing shadows, and of these those that are not simple */
    uint64_t compared;              /* pairs of rules */
};

static bool is_over(const struct shadows *s)
{
    return s->compared + overlap_steps(s->kept) + overlap_steps(s->complex) > SHADOWS_BUDGET;
}

/* The first of some rules, before rule `end`, that shadows a rule. */
static uint32_t first_of(struct shadows *s, struct overlap *list, uint32_t rule, uint32_t end)
{
    const struct rule *rules = s->policy->rules;
    uint32_t i;
    if (is_over(s)) {
        return NOWHERE;
    }
    overlap_ask(list, s->policy, &rules[rule]);
    while (overlap_next(list, &i) && i < end && !is_over(s)) {
        s->compared++;
        if (rules[i].tier == rules[rule].tier && rule_subset(s->policy, &rules[rule], s->policy, &rules[i])) {
            return i;
        }
    }
    return NOWHERE;
}

static uint32_t shadow_of(struct shadows *s, uint32_t rule)
{
    if (!superset_takes(s->policy, &s->policy->rules[rule])) {
        return first_of(s, s->kept, rule, NOWHERE);
    }
    uint32_t simple = superset_first(s->set, rule), other = first_of(s, s->complex, rule, simple);
    return other != NOWHERE ? other : simple;
}

/* A rule that is shadowed need not be kept: whatever it contains, the rule that shadows it contains too, and stands
 * earlier. */
static void keep(struct shadows *s, uint32_t rule)
{
    const struct rule *at = &s->policy->rules[rule];
    overlap_add(s->kept, s->policy, at, rule);
    if (superset_takes(s->policy, at)) {
        superset_add(s->set, rule);
    } else {
        overlap_add(s->complex, s->policy, at, rule);
    }
}

static void find_all(struct shadows *s, uint64_t *group, uint32_t *ret_earlier)
{
    for (uint32_t i = 0; i < s->policy->rule_count; i++) {
        uint32_t speaker = s->policy->rules[i].speaker;
        if (group[speaker] == 0) {
            uint32_t first = shadow_of(s, i);
            group[speaker] = 1 + (uint64_t)first;
            if (first == NOWHERE) {
                keep(s, i);
            }
        }
        ret_earlier[i] = speaker != i ? speaker : (uint32_t)(group[speaker] - 1);
    }
}

bool shadows_find(const struct policy *policy, uint32_t *ret_earlier, bool *ret_whole)
{
    struct shadows s = {.policy = policy};
    size_t count = (size_t)policy->rule_count + 1;
    uint64_t *group =
        calloc(count, sizeof(*group)); /* by speaker: 1 + what was found where its group begins */
    s.set = superset_create(policy, SUPERSET_FIRST);
    s.kept = overlap_create(policy->rule_count, OVERLAP_CONTAINS);
    s.complex = overlap_create(policy->rule_count, OVERLAP_CONTAINS);
    bool good = group != NULL && s.set != NULL && s.kept != NULL && s.complex != NULL;
    if (good) {
        find_all(&s, group, ret_earlier);
        *ret_whole = superset_state(s.set) == SUPERSET_WHOLE && !is_over(&s);
        good = superset_state(s.set) != SUPERSET_NO_MEMORY && !overlap_failed(s.kept) &&
               !overlap_failed(s.complex);
    }
    superset_destroy(s.set);
    overlap_destroy(s.kept);
    overlap_destroy(s.complex);
    free(group);
    return good;
}

/* ---- Across tiers ---- */

bool shadows_find_denies(const struct policy *policy, struct shadows_denies *ret_denies, bool *ret_whole)
{
    struct overlap *denies = overlap_create(policy->rule_count, OVERLAP_MEETS);
    uint64_t compared = 0;
    for (uint32_t i = 0; denies != NULL && i < policy->rule_count; i++) {
        ret_denies[i] = (struct shadows_denies){.first = NOWHERE};
        if (policy->rules[i].tier == TIER_ADMIN && policy->rules[i].effect == EFFECT_DENY) {
            overlap_add(denies, policy, &policy->rules[i], i);
        }
    }
    bool good = denies != NULL && !overlap_failed(denies), whole = true;
    for (uint32_t i = 0; good && whole && i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        uint32_t deny;
        if (rule->effect != EFFECT_AUTO_APPROVE || rule->tier == TIER_ADMIN) {
            continue;
        }
        overlap_ask(denies, policy, rule);
        while (whole && overlap_next(denies, &deny)) {
            whole = ++compared + overlap_steps(denies) <= SHADOWS_BUDGET;
            if (rule_intersects(policy, rule, policy, &policy->rules[deny])) {
                ret_denies[i].first = ret_denies[i].count == 0 ? deny : ret_denies[i].first;
                ret_denies[i].count++;
            }
        }
    }
    *ret_whole = whole;
    overlap_destroy(denies);
    return good;
}
