/* Decisions, rules and policies as text. */
#include <stdlib.h>

#include "base/utf8.h"
#include "policy/choice.h"
#include "policy/policy.h"

static const char *choice_name(const struct choice *choices, uint32_t value, const char *otherwise)
{
    for (const struct choice *choice = choices; choice->name != NULL; choice++) {
        if (choice->value == value) {
            return choice->name;
        }
    }
    return otherwise;
}

const char *effect_name(uint32_t effect)
{
    return choice_name(schema_effects, effect, "deny");
}

const char *tier_name(enum tier tier)
{
    return choice_name(schema_tiers, tier, "default");
}

bool tier_from_name(struct slice name, enum tier *ret_tier)
{
    const struct choice *choice = schema_choice(schema_tiers, name);
    if (choice == NULL) {
        return false;
    }
    *ret_tier = (enum tier)choice->value;
    return true;
}

const char *scope_name(enum scope scope)
{
    return choice_name(schema_scopes, scope, "call");
}

/* ---- Decisions ---- */

/* A reason is at most two pieces around a text of the call's. */
struct reason {
    struct slice before, text, after;
};

static struct reason reason_of(const struct policy *policy, const struct decision *decision)
{
    switch ((enum decision_cause)decision->cause) {
    case CAUSE_NO_RULE:
        return (struct reason){SLICE("no policy authored for tool '"), decision->detail, SLICE("'")};
    case CAUSE_UNREADABLE:
        return (struct reason){.before = SLICE("path cannot be resolved")};
    case CAUSE_HOST:
        return (struct reason){.before = SLICE("host cannot be read")};
    case CAUSE_MALFORMED:
        return (struct reason){.before = SLICE("malformed call: "), .text = decision->detail};
    case CAUSE_OVER_LIMIT:
        return (struct reason){.before = SLICE("call is over a limit")};
    case CAUSE_UNKNOWN_INPUT:
        return (struct reason){.before = SLICE("the input is unknown and the next rule depends on it")};
    case CAUSE_NONE:
        if (decision->rule != NULL && decision->rule->reason != 0) {
            return (struct reason){.text = policy_text(policy, decision->rule->reason)};
        }
        break;
    case CAUSE_INTERNAL:
        break;
    }
    return (struct reason){.before = SLICE("internal failure")};
}

void decision_write_reason(struct buf *buf, const struct policy *policy, const struct decision *decision)
{
    struct reason reason = reason_of(policy, decision);
    buf_slice(buf, reason.before);
    buf_slice(buf, reason.text);
    buf_slice(buf, reason.after);
}

const char *decision_kind_name(uint32_t kind)
{
    if (kind == DECISION_ALLOW) {
        return "allow";
    }
    return kind == DECISION_REQUIRE ? "require" : "deny";
}

static void write_rule_id(struct buf *buf, const struct policy *policy, const struct decision *decision)
{
    buf_text(buf, ",\"rule\":");
    if (decision->cause == CAUSE_NONE && decision->rule != NULL) {
        json_write_string(buf, policy_text(policy, decision->rule->id));
    } else {
        buf_text(buf, "\"default\"");
    }
}

/* At a rule that needs people anyway an unknown input needs as many of them. */
static void write_require(struct buf *buf, const struct policy *policy, const struct decision *decision)
{
    buf_text(buf, "{\"kind\":\"require\"");
    write_rule_id(buf, policy, decision);
    buf_text(buf, ",\"approver\":\"human_approver\",\"ttlMs\":");
    buf_u64(buf, decision_ttl_ms(decision));
    buf_text(buf, ",\"approvers\":");
    buf_u64(buf, decision_approvers(decision));
    buf_byte(buf, '}');
}

static void write_deny(struct buf *buf, const struct policy *policy, const struct decision *decision)
{
    struct reason reason = reason_of(policy, decision);
    buf_text(buf, "{\"kind\":\"deny\"");
    write_rule_id(buf, policy, decision);
    buf_text(buf, ",\"reason\":\"");
    json_write_escaped(buf, reason.before);
    json_write_escaped(buf, reason.text);
    json_write_escaped(buf, reason.after);
    buf_text(buf, "\"}");
}

void decision_write_json(struct buf *buf, const struct policy *policy, const struct decision *decision)
{
    if (decision->kind == DECISION_ALLOW) {
        buf_text(buf, "{\"kind\":\"allow\"");
        if (decision->rule != NULL) {
            write_rule_id(buf, policy, decision);
        }
        buf_byte(buf, '}');
    } else if (decision->kind == DECISION_REQUIRE) {
        write_require(buf, policy, decision);
    } else {
        write_deny(buf, policy, decision);
    }
}
