/* Evaluation by the plain scan, and what the rule that is found decides. */
#include <string.h>

#include "policy/policy.h"

int decision_rank(uint32_t kind)
{
    switch (kind) {
    case DECISION_ALLOW:
        return 0;
    case DECISION_REQUIRE:
        return 1;
    default: /* whatever is no decision is a deny */
        return 2;
    }
}

/* Whether a live approval covers the call under a rule. Those of other rules, sessions and times do not. */
static bool is_approved(const struct policy *policy, const struct rule *rule,
                        const struct approvals *approvals)
{
    size_t count = approvals == NULL ? 0 : approvals->count;
    for (size_t i = 0; i < count; i++) {
        const struct approval *approval = &approvals->list[i];
        if (approval->rule != (uint32_t)(rule - policy->rules) ||
            !(approval->granted <= approvals->now && approvals->now < approval->expires) ||
            !slice_eq(approval->channel, approvals->channel) ||
            !slice_eq(approval->thread, approvals->thread)) {
            continue;
        }
        if (rule->scope == SCOPE_SESSION ||
            (approval->for_call && approvals->call_hash != NULL &&
             memcmp(approval->call_hash, approvals->call_hash, sizeof(approval->call_hash)) == 0)) {
            return true;
        }
    }
    return false;
}

static struct decision decide_by_rule(const struct policy *policy, const struct rule *rule,
                                      const struct approvals *approvals)
{
    struct decision decision = {.kind = DECISION_DENY, .rule = rule};
    if (rule->effect == EFFECT_AUTO_APPROVE) {
        decision.kind = DECISION_ALLOW;
    } else if (rule->effect == EFFECT_REQUIRE_APPROVAL) {
        decision.by_approval = is_approved(policy, rule, approvals);
        decision.kind = decision.by_approval ? DECISION_ALLOW : DECISION_REQUIRE;
    }
    return decision;
}

static struct decision decide_by_default(const struct facts_name *name)
{
    if (name->needs_rule) {
        return (struct decision){.kind = DECISION_DENY, .cause = CAUSE_NO_RULE, .detail = name->tool};
    }
    return (struct decision){.kind = DECISION_ALLOW};
}

/* The rule depends on what cannot be known. */
static struct decision stop_at(const struct rule *rule, const struct facts *facts)
{
    if (facts->input_unknown) {
        return (struct decision){.kind = DECISION_REQUIRE, .cause = CAUSE_UNKNOWN_INPUT, .rule = rule};
    }
    return (struct decision){.kind = DECISION_DENY, .cause = CAUSE_UNREADABLE, .rule = rule};
}

struct decision policy_scan(const struct policy *policy, const struct facts *facts,
                            const struct reading *reading, const struct approvals *approvals,
                            const struct policy_visitor *visitor)
{
    for (uint32_t i = 0; i < policy->order_count; i++) {
        const struct rule *rule = &policy->rules[policy->order[i]];
        enum match_field field = policy_match(policy, rule, facts, reading);
        if (visitor != NULL) {
            visitor->visit(visitor->context, rule, field);
        }
        if (field == FIELD_ALL) {
            return decide_by_rule(policy, rule, approvals);
        }
        if (field == FIELD_UNKNOWN) {
            return stop_at(rule, facts);
        }
    }
    return decide_by_default(&facts->names[reading->name]);
}

struct decision policy_decide_found(const struct policy *policy, const struct rule *rule,
                                    enum match_field field, const struct facts *facts,
                                    const struct reading *reading, const struct approvals *approvals)
{
    if (rule == NULL) {
        return decide_by_default(&facts->names[reading->name]);
    }
    return field == FIELD_UNKNOWN ? stop_at(rule, facts) : decide_by_rule(policy, rule, approvals);
}

/* Each reading by itself; the strictest stands, among equals the first. A call without a reading was not understood
 * at all. */
struct decision policy_evaluate_linear(const struct policy *policy, const struct facts *facts,
                                       const struct reading *readings, size_t reading_count,
                                       const struct approvals *approvals)
{
    struct decision strictest = {.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
    for (size_t i = 0; i < reading_count && (i == 0 || strictest.kind != DECISION_DENY); i++) {
        struct decision decision = {.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
        if (readings[i].name < facts->name_count) {
            decision = policy_scan(policy, facts, &readings[i], approvals, NULL);
        }
        if (i == 0 || decision_rank(decision.kind) > decision_rank(strictest.kind)) {
            strictest = decision;
            strictest.reading = (uint32_t)i;
        }
    }
    return strictest;
}
