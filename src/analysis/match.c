/* How two rules relate as sets of calls, field by field as SPEC.md section 7 says. */
#include "analysis/analysis.h"
#include "policy/value.h"

/* A rule of a policy. */
struct side_rule {
    const struct policy *policy;
    const struct rule *rule;
};

static bool is_strict(const struct side_rule *side)
{
    return side->rule->effect != EFFECT_AUTO_APPROVE;
}

static struct match_values values_of(const struct side_rule *side, enum match_field field)
{
    return match_values(side->policy, &side->rule->match.values[field]);
}

/* An allow with command fields and a path field asks for all that a command names; others ask for some of it. */
static bool looks_inside(const struct side_rule *side)
{
    const uint8_t both = READING_FIELD_COMMAND | READING_FIELD_PATH;
    return !is_strict(side) && (match_looks(&side->rule->match, side->rule->effect) & both) == both;
}

/* ---- Subsets ---- */

/* Whether some value of a field of `outer` covers one value of `inner`. */
static bool any_covers(const struct side_rule *outer, enum match_field field, const struct field_value *inner)
{
    struct match_values values = values_of(outer, field);
    for (uint32_t i = 0; i < values.count; i++) {
        struct field_value one = {outer->policy, field, values.list[i]};
        if (field_covers(&one, inner)) {
            return true;
        }
    }
    return false;
}

/* Whether a field of `inner` has values, and each of them is covered by some value of a field of `outer`. */
static bool all_covered(const struct side_rule *outer, enum match_field field, const struct side_rule *inner,
                        enum match_field from)
{
    struct match_values values = values_of(inner, from);
    for (uint32_t i = 0; i < values.count; i++) {
        struct field_value one = {inner->policy, from, values.list[i]};
        if (!any_covers(outer, field, &one)) {
            return false;
        }
    }
    return values.count != 0;
}

/* Whether what `inner` says in the same field, or in one that looks at the same thing, is within a field of `outer`. */
static bool field_within(const struct side_rule *outer, enum match_field field, const struct side_rule *inner)
{
    for (enum match_field from = 0; from < FIELD_VALUES; from++) {
        if (field_related(field, from) && all_covered(outer, field, inner, from)) {
            return true;
        }
    }
    return false;
}

/* Whether two symbols of arguments, of any policies, have one text. */
static bool same_symbol(const struct policy *a_policy, uint32_t a, const struct policy *b_policy, uint32_t b)
{
    return a_policy == b_policy ? a == b : slice_eq(policy_text(a_policy, a), policy_text(b_policy, b));
}

static bool has_value(const struct policy *policy, const uint32_t *value, const struct policy *of,
                      uint32_t symbol)
{
    struct match_values values = match_values(policy, value);
    for (uint32_t i = 0; i < values.count; i++) {
        if (same_symbol(policy, values.list[i], of, symbol)) {
            return true;
        }
    }
    return false;
}

/* Whether all (or, with `any`, some) values of one argument are among those of another. */
static bool values_within(const struct policy *outer_policy, const struct match_arg *outer,
                          const struct policy *inner_policy, const struct match_arg *inner, bool any)
{
    struct match_values values = match_values(inner_policy, &inner->value);
    for (uint32_t i = 0; i < values.count; i++) {
        if (has_value(outer_policy, &outer->value, inner_policy, values.list[i]) == any) {
            return any;
        }
    }
    return !any;
}

/* Arguments are compared as the outer rule compares them. What an exact one means no loose one is within. */
static bool args_within(const struct side_rule *outer, const struct side_rule *inner)
{
    const struct match *want = &outer->rule->match, *have = &inner->rule->match;
    const struct match_arg *wanted = outer->policy->args + want->arg_first;
    const struct match_arg *got = is_strict(outer) ? rule_loose_args(inner->policy, inner->rule)
                                                   : rule_exact_args(inner->policy, inner->rule);
    if (want->arg_count != 0 && !is_strict(outer) && is_strict(inner)) {
        return false;
    }
    for (uint32_t i = 0; i < want->arg_count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < have->arg_count && !found; j++) {
            found = same_symbol(outer->policy, wanted[i].key, inner->policy, got[j].key) &&
                    values_within(outer->policy, &wanted[i], inner->policy, &got[j], false);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool rule_subset(const struct policy *inner_policy, const struct rule *inner_rule,
                 const struct policy *outer_policy, const struct rule *outer_rule)
{
    struct side_rule inner = {inner_policy, inner_rule}, outer = {outer_policy, outer_rule};
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        if (outer_rule->match.values[field] != 0 && !field_within(&outer, field, &inner)) {
            return false;
        }
    }
    return looks_inside(&inner) == looks_inside(&outer) && args_within(&outer, &inner);
}

/* ---- Meetings ---- */

/* Whether some values of two fields that look at one thing may go together; absent ones do. */
static bool fields_meet(const struct side_rule *a, enum match_field a_field, const struct side_rule *b,
                        enum match_field b_field)
{
    struct match_values left = values_of(a, a_field), right = values_of(b, b_field);
    for (uint32_t i = 0; i < left.count; i++) {
        struct field_value one = {a->policy, a_field, left.list[i]};
        for (uint32_t j = 0; j < right.count; j++) {
            struct field_value other = {b->policy, b_field, right.list[j]};
            if (field_meets(&one, &other)) {
                return true;
            }
        }
    }
    return left.count == 0 || right.count == 0;
}

static bool args_meet(const struct side_rule *a, const struct side_rule *b)
{
    bool loose = is_strict(a) || is_strict(b);
    const struct match_arg *left =
        loose ? rule_loose_args(a->policy, a->rule) : rule_exact_args(a->policy, a->rule);
    const struct match_arg *right =
        loose ? rule_loose_args(b->policy, b->rule) : rule_exact_args(b->policy, b->rule);
    for (uint32_t i = 0; i < a->rule->match.arg_count; i++) {
        for (uint32_t j = 0; j < b->rule->match.arg_count; j++) {
            if (same_symbol(a->policy, left[i].key, b->policy, right[j].key) &&
                !values_within(b->policy, &right[j], a->policy, &left[i], true)) {
                return false;
            }
        }
    }
    return true;
}

bool rule_intersects(const struct policy *a_policy, const struct rule *a_rule, const struct policy *b_policy,
                     const struct rule *b_rule)
{
    struct side_rule a = {a_policy, a_rule}, b = {b_policy, b_rule};
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        for (enum match_field other = 0; a_rule->match.values[field] != 0 && other < FIELD_VALUES; other++) {
            if (field_related(field, other) && !fields_meet(&a, field, &b, other)) {
                return false;
            }
        }
    }
    return args_meet(&a, &b);
}
