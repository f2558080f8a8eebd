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

/* Whether a live approval covers the call under a rule. Those of other rules, sessions and times do not. One that was
 * given for a call covers that call alone, and nothing less covers a rule of a narrower scope. */
static bool is_approved(const struct policy *policy, const struct rule *rule, enum scope scope,
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
        if (approval->for_call
                ? approvals->call_hash != NULL &&
                      memcmp(approval->call_hash, approvals->call_hash, sizeof(approval->call_hash)) == 0
                : scope == SCOPE_SESSION) {
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
        decision.by_approval = is_approved(policy, rule, (enum scope)rule->scope, approvals);
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
static struct decision stop_at(const struct rule *rule, const struct facts *facts,
                               const struct reading *reading)
{
    if (facts->input_unknown) {
        return (struct decision){.kind = DECISION_REQUIRE, .cause = CAUSE_UNKNOWN_INPUT, .rule = rule};
    }
    bool path = (rule->looks & READING_FIELD_PATH) != 0 && reading->kind != READING_NO_PATH &&
                reading->kind != READING_PATH;
    return (struct decision){
        .kind = DECISION_DENY, .cause = path ? CAUSE_UNREADABLE : CAUSE_HOST, .rule = rule};
}

/* ---- Rules whose match is not known ---- */

static bool asks(const struct rule *rule)
{
    return rule != NULL && rule->effect == EFFECT_REQUIRE_APPROVAL;
}

uint32_t decision_ttl_ms(const struct decision *decision)
{
    return asks(decision->rule) ? decision->rule->ttl_ms : DEFAULT_TTL_MS;
}

uint32_t decision_approvers(const struct decision *decision)
{
    return asks(decision->rule) ? decision->rule->approvers : 1;
}

enum scope decision_scope(const struct decision *decision)
{
    if (!asks(decision->rule)) {
        return SCOPE_CALL;
    }
    bool narrow = decision->noted || decision->cause == CAUSE_UNKNOWN_INPUT;
    return narrow && decision->rule->scope == SCOPE_SESSION ? SCOPE_CALL : (enum scope)decision->rule->scope;
}

void policy_note(struct policy_notes *notes, const struct rule *rule, uint32_t rank)
{
    uint32_t approvers = asks(rule) && rule->approvers <= LIMIT_APPROVERS ? rule->approvers : 1;
    if (!notes->any) {
        *notes = (struct policy_notes){.any = true};
    }
    if (notes->rules[approvers] == NULL || rank < notes->ranks[approvers]) {
        notes->rules[approvers] = rule;
        notes->ranks[approvers] = rank;
    }
}

/* The first and strictest of the rules noted before rank `end`. */
static const struct rule *strictest_note(const struct policy_notes *notes, uint32_t end)
{
    for (uint32_t approvers = LIMIT_APPROVERS; notes->any && approvers > 0; approvers--) {
        if (notes->rules[approvers] != NULL && notes->ranks[approvers] < end) {
            return notes->rules[approvers];
        }
    }
    return NULL;
}

/* The stricter of what the rest decides and of asking people because of a rule that was noted. */
static struct decision beside_note(const struct policy *policy, struct decision rest, const struct rule *rule,
                                   const struct approvals *approvals)
{
    struct decision note = {.kind = DECISION_REQUIRE, .rule = rule, .noted = true};
    if (is_approved(policy, rule, SCOPE_CALL, approvals)) {
        note.kind = DECISION_ALLOW;
        note.by_approval = true;
        return rest.kind == DECISION_ALLOW ? note : rest;
    }
    if (rest.kind == DECISION_ALLOW ||
        (rest.kind == DECISION_REQUIRE && decision_approvers(&note) > decision_approvers(&rest))) {
        return note;
    }
    return rest;
}

/* Whether what a rule decides of a reading aside counts. */
static bool counts_aside(const struct decision *decision)
{
    const uint8_t places = READING_FIELD_PATH | READING_FIELD_COMMAND | READING_FIELD_HOST;
    return decision->rule != NULL && (decision->rule->looks & READING_FIELD_STRICT) != 0 &&
           (decision->rule->looks & places) != 0;
}

struct decision policy_conclude(const struct policy *policy, const struct rule *rule, enum match_field field,
                                const struct policy_notes *notes, uint32_t end, const struct facts *facts,
                                const struct reading *reading, const struct approvals *approvals)
{
    struct decision rest = rule == NULL             ? decide_by_default(&facts->names[reading->name])
                           : field == FIELD_UNKNOWN ? stop_at(rule, facts, reading)
                                                    : decide_by_rule(policy, rule, approvals);
    if (reading->aside && !counts_aside(&rest)) {
        rest = (struct decision){.kind = DECISION_ALLOW, .passed = true};
    }
    const struct rule *note = strictest_note(notes, end);
    return note == NULL ? rest : beside_note(policy, rest, note, approvals);
}

struct decision policy_scan(const struct policy *policy, const struct facts *facts,
                            const struct reading *reading, const struct approvals *approvals,
                            const struct policy_visitor *visitor)
{
    struct policy_notes notes;
    notes.any = false;
    for (uint32_t i = 0; i < policy->order_count; i++) {
        const struct rule *rule = &policy->rules[policy->order[i]];
        enum match_field field = policy_match(policy, rule, facts, reading);
        if (visitor != NULL) {
            visitor->visit(visitor->context, rule, field);
        }
        if (field == FIELD_NOTED) {
            policy_note(&notes, rule, i);
        } else if (field == FIELD_ALL || field == FIELD_UNKNOWN) {
            return policy_conclude(policy, rule, field, &notes, i, facts, reading, approvals);
        }
    }
    return policy_conclude(policy, NULL, FIELD_ALL, &notes, policy->order_count, facts, reading, approvals);
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
