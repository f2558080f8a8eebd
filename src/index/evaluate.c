/* Evaluation by the index. */
#include "index/index_internal.h"

static inline struct decision decide(const struct policy *policy, const struct facts *facts,
                                     const struct reading *reading, const struct approvals *approvals,
                                     bool indexed)
{
    if (reading->name >= facts->name_count) {
        return (struct decision){.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
    }
    if (!indexed) {
        return policy_scan(policy, facts, reading, approvals, NULL);
    }
    struct index_found found;
    index_find(policy, facts, reading, &found);
    /* Most calls end here: at a rule that matches and asks nobody, with nothing noted before it. */
    if (found.rule != NULL && found.rule->effect != EFFECT_REQUIRE_APPROVAL && found.field == FIELD_ALL &&
        !found.notes.any && !reading->aside) {
        bool allow = found.rule->effect == EFFECT_AUTO_APPROVE;
        return (struct decision){.kind = allow ? DECISION_ALLOW : DECISION_DENY, .rule = found.rule};
    }
    return policy_conclude(policy, found.rule, found.field, &found.notes, found.end, facts, reading,
                           approvals);
}

/* Each reading by itself; the strictest stands, among equals the first. */
static inline struct decision evaluate(const struct policy *policy, const struct facts *facts,
                                       const struct reading *readings, size_t reading_count,
                                       const struct approvals *approvals, bool indexed)
{
    if (reading_count == 0) { /* a call without a reading was not understood at all */
        return (struct decision){.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
    }
    struct decision strictest = decide(policy, facts, &readings[0], approvals, indexed);
    for (size_t i = 1; i < reading_count && strictest.kind != DECISION_DENY; i++) {
        struct decision decision = decide(policy, facts, &readings[i], approvals, indexed);
        if (decision_rank(decision.kind) > decision_rank(strictest.kind)) {
            strictest = decision;
            strictest.reading = (uint32_t)i;
        }
    }
    return strictest;
}

struct decision policy_evaluate_indexed(const struct policy *policy, const struct facts *facts,
                                        const struct reading *readings, size_t reading_count,
                                        const struct approvals *approvals)
{
    return evaluate(policy, facts, readings, reading_count, approvals, true);
}

struct decision policy_evaluate(const struct policy *policy, const struct facts *facts,
                                const struct reading *readings, size_t reading_count,
                                const struct approvals *approvals)
{
    bool indexed = policy->order_count >= INDEX_LEAST_RULES;
    return evaluate(policy, facts, readings, reading_count, approvals, indexed);
}

uint32_t policy_longest_chain(const struct policy *policy, const struct rule **ret_first)
{
    *ret_first = policy->index->longest == 0 ? NULL : &policy->rules[policy->index->longest_first];
    return policy->index->longest;
}

size_t policy_index_bytes(const struct policy *policy)
{
    return policy->index->bytes + (size_t)policy->order_count * sizeof(*policy->order);
}
