/* Shadows within a tier, and across tiers. */
#include "analysis/shadows_internal.h"

#include <stdlib.h>

#include "analysis/analysis.h"

/* ---- Quick looks ---- */

/* The fields whose single values are equal or apart. */
static const enum match_field apart[] = {FIELD_SERVER, FIELD_CHANNEL, FIELD_THREAD, FIELD_ACTOR};

static bool single(uint32_t value)
{
    return value != 0 && (value & MATCH_SET) == 0;
}

bool shadows_may_hold(const struct rule *inner, const struct rule *outer)
{
    const struct match *a = &inner->match, *b = &outer->match;
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        uint32_t have = a->values[apart[i]], want = b->values[apart[i]];
        if (want != 0 && have != want && (have == 0 || (single(have) && single(want)))) {
            return false;
        }
    }
    const uint8_t commands = READING_FIELD_COMMAND;
    return !(single(b->tool) && b->tool != a->tool && (a->tool == 0 || single(a->tool))) &&
           !((outer->looks & commands) != 0 && (inner->looks & commands) == 0) &&
           !(b->path_prefix != 0 && a->path_prefix == 0) &&
           !(b->path_component != 0 && a->path_component == 0) && !(b->host != 0 && a->host == 0) &&
           !(b->arg_count != 0 && a->arg_count == 0);
}

static bool may_meet(const struct rule *x, const struct rule *y)
{
    const struct match *a = &x->match, *b = &y->match;
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        uint32_t left = a->values[apart[i]], right = b->values[apart[i]];
        if (left != right && single(left) && single(right)) {
            return false;
        }
    }
    return !(a->tool != b->tool && single(a->tool) && single(b->tool));
}

/* ---- Within a tier ---- */

struct shadows {
    const struct policy *policy;
    struct superset *set;     /* of simple rules that nothing shadows */
    uint32_t *kept, *complex; /* all that nothing shadows, and of these those that are not simple, in order */
    uint32_t kept_count, complex_count;
    uint64_t budget;
};

/* The first of some rules, before rule `end`, that shadows a rule. */
static uint32_t first_of(struct shadows *s, const uint32_t *list, uint32_t count, uint32_t rule, uint32_t end)
{
    const struct rule *rules = s->policy->rules;
    for (uint32_t i = 0; i < count && list[i] < end && s->budget != 0; i++, s->budget--) {
        const struct rule *earlier = &rules[list[i]];
        if (earlier->tier == rules[rule].tier && shadows_may_hold(&rules[rule], earlier) &&
            rule_subset(s->policy, &rules[rule], s->policy, earlier)) {
            return list[i];
        }
    }
    return NOWHERE;
}

static uint32_t shadow_of(struct shadows *s, uint32_t rule)
{
    if (!superset_takes(s->policy, &s->policy->rules[rule])) {
        return first_of(s, s->kept, s->kept_count, rule, NOWHERE);
    }
    uint32_t simple = superset_first(s->set, rule),
             other = first_of(s, s->complex, s->complex_count, rule, simple);
    return other != NOWHERE ? other : simple;
}

/* A rule that is shadowed need not be kept: whatever it contains, the rule that shadows it contains too, and stands
 * earlier. */
static void keep(struct shadows *s, uint32_t rule)
{
    s->kept[s->kept_count++] = rule;
    if (superset_takes(s->policy, &s->policy->rules[rule])) {
        superset_add(s->set, rule);
    } else {
        s->complex[s->complex_count++] = rule;
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
    struct shadows s = {.policy = policy, .budget = SHADOWS_BUDGET};
    size_t count = (size_t)policy->rule_count + 1;
    uint64_t *group =
        calloc(count, sizeof(*group)); /* by speaker: 1 + what was found where its group begins */
    s.set = superset_create(policy, SUPERSET_FIRST);
    s.kept = calloc(count, sizeof(*s.kept));
    s.complex = calloc(count, sizeof(*s.complex));
    bool good = group != NULL && s.set != NULL && s.kept != NULL && s.complex != NULL;
    if (good) {
        find_all(&s, group, ret_earlier);
        *ret_whole = superset_state(s.set) == SUPERSET_WHOLE && s.budget != 0;
        good = superset_state(s.set) != SUPERSET_NO_MEMORY;
    }
    superset_destroy(s.set);
    free(s.kept);
    free(s.complex);
    free(group);
    return good;
}

/* ---- Across tiers ---- */

bool shadows_find_denies(const struct policy *policy, struct shadows_denies *ret_denies, bool *ret_whole)
{
    uint32_t *denies = calloc((size_t)policy->rule_count + 1, sizeof(*denies));
    uint32_t deny_count = 0;
    uint64_t budget = SHADOWS_BUDGET;
    for (uint32_t i = 0; denies != NULL && i < policy->rule_count; i++) {
        ret_denies[i] = (struct shadows_denies){.first = NOWHERE};
        if (policy->rules[i].tier == TIER_ADMIN && policy->rules[i].effect == EFFECT_DENY) {
            denies[deny_count++] = i;
        }
    }
    for (uint32_t i = 0; denies != NULL && i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        if (rule->effect != EFFECT_AUTO_APPROVE || rule->tier == TIER_ADMIN) {
            continue;
        }
        for (uint32_t j = 0; j < deny_count && budget != 0; j++, budget--) {
            const struct rule *deny = &policy->rules[denies[j]];
            if (may_meet(rule, deny) && rule_intersects(policy, rule, policy, deny)) {
                ret_denies[i].first = ret_denies[i].count == 0 ? denies[j] : ret_denies[i].first;
                ret_denies[i].count++;
            }
        }
    }
    *ret_whole = budget != 0;
    bool good = denies != NULL;
    free(denies);
    return good;
}
