/* The way of one call through the door: readings, evaluation, people. */
#include <stdio.h>
#include <string.h>

#include "gate/judge_internal.h"

#define REASON_BYTES ((size_t)1 << 20)

/* Where the input is unknown, only an authored rule allows: a split of the name that no rule covers goes
 * before people (SPEC.md section 11). */
static void ask_where_no_rule_allows(const struct gate *gate, struct judged *judged)
{
    const struct readings *readings = &gate->decider.readings;
    const struct approvals none = {0};
    for (size_t i = 0; i < readings->count; i++) {
        struct decision one =
            policy_evaluate(gate->policy, &gate->decider.facts, &readings->list[i], 1, &none);
        if (one.rule == NULL) {
            judged->decision = (struct decision){
                .kind = DECISION_REQUIRE, .cause = CAUSE_UNKNOWN_INPUT, .reading = (uint32_t)i};
        }
    }
}

/* Opens the store of approvals, only now because a call that needs nobody needs no store. */
static bool open_store(struct gate *gate)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool open = ledger_open_store(gate->ledger, gate->options.state_dir, &error);
    if (!open) {
        gate_tell(gate, "a call cannot be put before people: %.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return open;
}

/* What became of the request of a held call. True when it was approved; else the outcome is a denial. */
static bool was_approved(struct gate *gate, struct judged *judged, const struct held *prior,
                         struct request *ret_approved, struct outcome *ret_outcome)
{
    switch (store_find(gate->ledger->store, prior->number, &gate->ledger->arena, ret_approved)) {
    case STORE_DONE:
        break;
    case STORE_NONE: /* so old that the store has forgotten it */
        ret_approved->state = REQUEST_TIMED_OUT;
        break;
    default:
        *ret_outcome = judged_deny_because(gate, judged, DENIAL_POLICY, CAUSE_INTERNAL,
                                           SLICE("the store of approvals cannot be read"));
        return false;
    }
    const struct call *call = judged->call;
    bool own = slice_eq(ret_approved->channel, call->channel) &&
               slice_eq(ret_approved->thread, call->thread) &&
               (!judged->hashed || memcmp(ret_approved->call_hash, judged->hash, APPROVAL_HASH) == 0);
    if (ret_approved->state == REQUEST_APPROVED && own) {
        return true;
    }
    bool refused = ret_approved->state == REQUEST_REFUSED;
    *ret_outcome =
        judged_deny_because(gate, judged, refused ? DENIAL_REFUSED : DENIAL_NOT_IN_TIME, CAUSE_NONE,
                            refused ? SLICE("refused by a person") : SLICE("not approved in time"));
    if (refused && gate->options.tell_refusals && ret_approved->because.len > 0) {
        ret_outcome->tell =
            ret_approved->because; /* instead of the rule's words: it says why this one was refused */
    }
    if (gate->options.brief && ret_approved->state == REQUEST_WAITING) {
        gate_withdraw(gate, prior); /* nobody will hold the call any more */
    }
    return false;
}

/* Whether an authored rule decides each reading that counts. */
static bool authored_everywhere(const struct gate *gate)
{
    const struct decider *decider = &gate->decider;
    const struct approvals none = {0};
    bool authored = decider->readings.count > 0;
    for (size_t i = 0; i < decider->readings.count && authored; i++) {
        const struct reading *reading = &decider->readings.list[i];
        authored =
            reading->aside || policy_evaluate(gate->policy, &decider->facts, reading, 1, &none).rule != NULL;
    }
    return authored;
}

static struct outcome deny_by_rule(struct gate *gate, struct judged *judged, const struct held *prior,
                                   struct slice detail)
{
    struct buf reason;
    buf_init_message(&reason, REASON_BYTES);
    decision_write_reason(&reason, gate->policy, &judged->decision);
    judged->reason = buf_message(&reason);
    bool unreadable = judged->decision.cause == CAUSE_MALFORMED || judged->decision.cause == CAUSE_OVER_LIMIT;
    struct outcome outcome =
        judged_is_observed(gate, judged, prior)
            ? judged_would_deny(gate, judged)
            : judged_deny(gate, judged, unreadable ? DENIAL_UNREADABLE : DENIAL_POLICY, detail);
    buf_finish(&reason);
    return outcome;
}

/* {"limit":"256 commands"}: what a call over a limit has too much of, for the operator. */
static struct slice limit_detail(struct gate *gate, const struct decision *decision)
{
    struct slice none = {0};
    if (decision->cause != CAUSE_OVER_LIMIT || decision->detail.len == 0) {
        return none;
    }
    struct buf text;
    buf_init(&text, 256);
    buf_text(&text, "{\"limit\":");
    json_write_string(&text, decision->detail);
    buf_byte(&text, '}');
    struct slice detail = buf_ok(&text) ? arena_copy(&gate->ledger->arena, buf_slice_of(&text)) : none;
    buf_finish(&text);
    return detail.ptr != NULL ? detail : none;
}

static struct outcome judge(struct gate *gate, const struct call *call, const struct held *prior,
                            struct slice wanted_code, bool may_hold)
{
    struct judged judged = {.call = call};
    struct approvals none = {.channel = call->channel, .thread = call->thread};
    arena_reset(&gate->ledger->arena);
    judged.decision =
        decide(&gate->decider, gate->policy, call, &gate->calls, gate->options.readings_flags, &none);
    judged.hashed = call->input != NULL && decide_hash(&gate->decider, call, judged.hash);
    if ((call->input != NULL && !judged.hashed) ||
        !judged_paths(&gate->decider.readings, &gate->ledger->arena, &judged.paths, &judged.path_count)) {
        return judged_deny_because(gate, &judged, DENIAL_POLICY, CAUSE_INTERNAL, SLICE("no memory"));
    }
    judged.authored_everywhere = gate->options.tells_authored && authored_everywhere(gate);

    if (judged.decision.kind == DECISION_DENY) {
        return deny_by_rule(gate, &judged, prior, limit_detail(gate, &judged.decision));
    }
    if (judged.decision.kind == DECISION_ALLOW && call->input == NULL) {
        ask_where_no_rule_allows(gate, &judged);
    }
    if (judged.decision.kind == DECISION_ALLOW && call->asks_people) {
        judged.decision = (struct decision){.kind = DECISION_REQUIRE, .cause = CAUSE_UNKNOWN_INPUT};
    }
    if (judged.decision.kind == DECISION_ALLOW) {
        return judged_allow(gate, &judged);
    }
    if (judged_is_observed(gate, &judged, prior)) {
        return judged_would_require(gate, &judged);
    }
    if (!open_store(gate)) {
        return judged_deny_because(gate, &judged, DENIAL_POLICY, CAUSE_INTERNAL,
                                   SLICE("the store of approvals cannot be opened"));
    }
    struct request approved = {0};
    struct outcome outcome;
    if (prior != NULL && !was_approved(gate, &judged, prior, &approved, &outcome)) {
        return outcome;
    }
    return judged_consult(gate, &judged, prior, prior != NULL ? &approved : NULL, wanted_code, may_hold);
}

struct outcome gate_judge(struct gate *gate, const struct call *call, const struct held *prior,
                          struct slice wanted_code)
{
    if (gate->door != NULL) {
        return gate->door->judge(gate->door_self, call, prior, wanted_code, true);
    }
    return judge(gate, call, prior, wanted_code, true);
}

struct outcome gate_judge_unheld(struct gate *gate, const struct call *call)
{
    if (gate->door != NULL) {
        return gate->door->judge(gate->door_self, call, NULL, (struct slice){0}, false);
    }
    return judge(gate, call, NULL, (struct slice){0}, false);
}

/* A door cannot carry a surface's own reason. So the journal gets an unreadable call with the reason and without the
 * input, and the agent hears of a plain denial. */
static struct outcome deny_at_door(struct gate *gate, const struct call *call, struct slice reason)
{
    const struct call_name *name = &call->names[0];
    struct call_defaults defaults = {
        .server = name->has_server ? name->server : (struct slice){0},
        .channel = call->channel,
        .thread = call->thread,
        .actor = call->actor,
    };
    struct outcome outcome =
        gate->door->judge_unreadable(gate->door_self, CAUSE_MALFORMED, name->tool, reason, NULL, &defaults);
    outcome.kind = OUTCOME_DENY;
    outcome.denial = DENIAL_POLICY;
    return outcome;
}

struct outcome gate_deny(struct gate *gate, const struct call *call, struct slice reason)
{
    if (gate->door != NULL) {
        return deny_at_door(gate, call, reason);
    }
    struct judged judged = {.call = call};
    const struct approvals none = {.channel = call->channel, .thread = call->thread};
    arena_reset(&gate->ledger->arena);
    (void)decide(&gate->decider, gate->policy, call, &gate->calls, gate->options.readings_flags, &none);
    judged.hashed = call->input != NULL && decide_hash(&gate->decider, call, judged.hash);
    if (!judged_paths(&gate->decider.readings, &gate->ledger->arena, &judged.paths, &judged.path_count)) {
        judged.path_count = 0;
    }
    judged.decision = (struct decision){.kind = DECISION_DENY};
    judged.reason = reason;
    return gate_observes(gate) ? judged_would_deny(gate, &judged)
                               : judged_deny(gate, &judged, DENIAL_POLICY, (struct slice){0});
}

/* {"bytes":N,"sha256":HEX} of a message; empty when nothing is known. The text lives in `room`. */
static struct slice describe_came(const struct came *came, char *room, size_t size)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    if (came == NULL || (came->bytes.ptr == NULL && came->hash == NULL)) {
        return (struct slice){0};
    }
    if (came->bytes.ptr != NULL && !hash_bytes(came->bytes, hash)) {
        return (struct slice){0};
    }
    hash_to_hex(came->bytes.ptr != NULL ? hash : came->hash, hex);
    unsigned long long length = came->bytes.ptr != NULL ? came->bytes.len : came->length;
    int len = snprintf(room, size, "{\"bytes\":%llu,\"sha256\":\"%s\"}", length, hex);
    return (struct slice){room, (size_t)len};
}

struct outcome gate_judge_unreadable(struct gate *gate, uint32_t cause, struct slice tool,
                                     struct slice phrase, const struct came *came,
                                     const struct call_defaults *defaults)
{
    if (gate->door != NULL) {
        return gate->door->judge_unreadable(gate->door_self, cause, tool, phrase, came, defaults);
    }
    struct call_name name = {
        .server = defaults->server, .has_server = defaults->server.ptr != NULL, .tool = tool};
    struct call call = {
        .names = &name,
        .name_count = 1,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .actor = defaults->actor,
    };
    struct judged judged = {.call = &call};
    char room[HASH_HEX + 64];
    judged.decision = (struct decision){.kind = DECISION_DENY, .cause = cause, .detail = phrase};
    return deny_by_rule(gate, &judged, NULL, describe_came(came, room, sizeof(room)));
}

void gate_note(struct gate *gate, const struct event *event)
{
    if (gate->door != NULL) {
        gate->door->note(gate->door_self, event);
        return;
    }
    gate_stage(gate, event);
}
