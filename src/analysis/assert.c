#include "analysis/exact.h"

/* ---- Assertions: no rule that gives a bad decision wins anywhere in the box ---- */

struct hunt {
    struct analysis *analysis;
    uint32_t rule; /* of flat */
};

static bool is_hunted(void *context, const struct decision *decisions)
{
    struct hunt *hunt = context;
    return witness_is_by(&hunt->analysis->space, 0, hunt->rule, &decisions[0]);
}

static bool is_bad(const struct assertion *assertion, const struct rule *rule)
{
    switch (exact_kind(rule)) {
    case DECISION_ALLOW:
        return (assertion->never & NEVER_ALLOW) != 0;
    case DECISION_REQUIRE:
        return (assertion->never & NEVER_REQUIRE) != 0 ||
               ((assertion->never & NEVER_ALLOW) != 0 && assertion->even_approved);
    default:
        return (assertion->never & NEVER_DENY) != 0;
    }
}

/* Whether a rule wins somewhere in a box, as far as is known: refuted, unconfirmed, or proved that it does
 * not. */
static enum assertion_result hunt_rule(struct analysis *analysis, uint32_t rule, const struct box *box)
{
    struct hunt hunt = {analysis, rule};
    enum assertion_result result = ASSERTION_PROVED;
    bool tried = box->match.arg_count != 0 && witness_reads_args(&analysis->witness, box);
    enum actor first, last;
    exact_actors(box, &first, &last);
    for (enum actor actor = first; actor <= last; actor++) {
        if (!tried && space_winner(&analysis->space, 0, box, actor, rule) != NOWHERE) {
            continue;
        }
        bool whole = false;
        if (witness_try(&analysis->witness, WITNESS_CALL, box, actor, is_hunted, &hunt)) {
            return ASSERTION_REFUTED;
        }
        if (tried && !witness_try(&analysis->witness, WITNESS_READING, box, actor, is_hunted, &hunt)) {
            continue;
        }
        if (tried && witness_search(&analysis->witness, box, actor, is_hunted, &hunt, &whole)) {
            return ASSERTION_REFUTED;
        }
        result = whole ? result : ASSERTION_UNCONFIRMED;
    }
    return result;
}

enum assertion_result assertion_prove(struct analysis *analysis, size_t assertion, struct refutation *ret,
                                      struct buf *ret_call)
{
    struct space *space = &analysis->space;
    const struct side *side = &space->sides[0];
    enum assertion_result result = ASSERTION_PROVED;
    if (assertion >= analysis->asked_count) {
        return ASSERTION_FAILED;
    }
    for (uint32_t i = 0; i < side->flat.rule_count; i++) {
        const struct rule *rule = &side->flat.rules[i];
        struct box own = space_box(space, 0, i), both;
        if (!is_bad(&analysis->assertions[assertion], rule) ||
            !space_meet(space, &own, &space->asked[assertion], analysis->args, &both)) {
            continue;
        }
        enum assertion_result here = hunt_rule(analysis, i, &both);
        if (here == ASSERTION_PROVED) {
            continue;
        }
        *ret = (struct refutation){.kind = exact_kind(rule)};
        if (side->origin[i] != NO_RULE) {
            ret->rule = &side->policy->rules[side->origin[i]];
        }
        if (here == ASSERTION_REFUTED) {
            buf_slice(ret_call, buf_slice_of(&analysis->witness.call));
            return ASSERTION_REFUTED;
        }
        result = ASSERTION_UNCONFIRMED;
    }
    if (analysis->witness.failed || superset_state(side->index) != SUPERSET_WHOLE) {
        return ASSERTION_FAILED;
    }
    return result;
}
