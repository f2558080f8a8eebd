/* Putting a call before people: the request that they will see, journalled before it counts. */
#include <string.h>

#include "gate/judge_internal.h"

/* The largest input fits, every byte of it escaped; one that does not cannot be shown whole, and so not approved. */
#define INPUT_BYTES ((size_t)LIMIT_MESSAGE_BYTES * 6 + 4096)
#define PATHS_BYTES ((size_t)64 << 20)

/* What an approval of the request will cover, and on which terms. */
static bool write_terms(const struct gate *gate, const struct judged *judged, struct request *ret_request)
{
    static const enum approval_scope scopes[] = {
        [SCOPE_SESSION] = APPROVAL_SESSION, [SCOPE_CALL] = APPROVAL_CALL, [SCOPE_ONCE] = APPROVAL_ONCE};
    const struct decision *decision = &judged->decision;
    const struct rule *rule = decision->rule;
    bool unknown = decision->cause == CAUSE_UNKNOWN_INPUT;
    if (rule != NULL && !judged_rule_digest(gate->policy, rule, ret_request->rule_digest)) {
        return false;
    }
    ret_request->rule = rule != NULL ? policy_text(gate->policy, rule->id) : SLICE("default");
    ret_request->groups =
        rule != NULL && rule->groups != 0 ? policy_text(gate->policy, rule->groups) : SLICE("");
    /* A rule that only might have decided sets no terms. */
    ret_request->ttl_ms = rule != NULL && !unknown ? decision_ttl_ms(decision) : DEFAULT_TTL_MS;
    ret_request->needed = rule != NULL && !unknown ? decision_approvers(decision) : 1;
    /* Of an unknown input nobody can say that another call is the same: the answer covers this one alone. */
    ret_request->scope = rule != NULL ? scopes[decision_scope(decision)] : APPROVAL_CALL;
    if (unknown && ret_request->scope == APPROVAL_SESSION) {
        ret_request->scope = APPROVAL_CALL;
    }
    if (!judged->hashed) {
        return random_bytes(ret_request->call_hash, sizeof(ret_request->call_hash));
    }
    memcpy(ret_request->call_hash, judged->hash, sizeof(ret_request->call_hash));
    return true;
}

/* Writes the request that people will see. False when memory ran out, or when it cannot be shown whole. */
static bool write_request(struct gate *gate, const struct judged *judged, struct request *ret_request,
                          struct buf *input, struct buf *paths)
{
    const struct call *call = judged->call;
    const struct call_name *name = judged_name(judged, &gate->decider.readings);
    if (call->input != NULL) {
        redact_write_whole(input, call->doc, call->input);
    } else {
        json_write_bytes(input, call->preview);
    }
    buf_byte(paths, '[');
    for (size_t i = 0; i < judged->path_count; i++) {
        if (i) {
            buf_byte(paths, ',');
        }
        json_write_bytes(paths, judged->paths[i]);
    }
    buf_byte(paths, ']');
    if (!buf_ok(input) || !buf_ok(paths) || !write_terms(gate, judged, ret_request) ||
        !judged_hash_shown(&gate->decider.readings, ret_request->shown)) {
        return false;
    }
    ret_request->tool = name->tool;
    ret_request->server = name->has_server ? name->server : (struct slice){0};
    ret_request->channel = call->channel;
    ret_request->thread = call->thread;
    ret_request->actor = slice_of(actor_name(call->actor));
    ret_request->input = buf_slice_of(input);
    ret_request->paths = buf_slice_of(paths);
    ret_request->holder = slice_of(gate->registry.name);
    return true;
}

static void stage_require(struct gate *gate, struct judged *judged, const struct request *asked)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    if (asked != NULL) {
        buf_printf(&detail,
                   "{\"approvers\":%u,\"code\":\"%s\",\"request\":%lld,\"scope\":\"%s\",\"ttlMs\":%u}",
                   asked->needed, asked->code, (long long)asked->number, approval_scope_name(asked->scope),
                   asked->ttl_ms);
    }
    judged_stage(gate, judged, "policy.require", "require", buf_slice_of(&detail));
    buf_finish(&detail);
}

bool gate_write_turn(struct gate *gate)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool written = journal_commit(gate->ledger->journal, true, &error);
    if (!written) {
        gate->turn_failed = true;
        gate_tell_journal(gate, buf_message(&error));
    }
    buf_finish(&error);
    return written || gate->options.journal_optional;
}

/* With --journal=optional a request counts though its event could not be written. */
static enum store_result commit_request(struct gate *gate, const struct request *asked)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool done = gate->options.journal_optional ? gate_write_turn(gate) && store_commit(gate->ledger->store)
                                               : ledger_commit(gate->ledger, asked, 1, &error);
    if (!done && error.len > 0) {
        gate_tell(gate, "a call cannot be put before people: %.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return done ? STORE_DONE : STORE_FAILED;
}

/* The request is stored only if its event is on disk. */
static enum store_result ask(struct gate *gate, struct judged *judged, const struct request *request,
                             struct slice wanted_code, struct times now, bool *ret_answered,
                             struct request *ret_asked)
{
    bool existing = false;
    if (!gate_write_turn(gate)) {
        return STORE_FAILED;
    }
    ledger_sweep(gate->ledger, now);
    if (!store_begin(gate->ledger->store)) {
        return STORE_FAILED;
    }
    if (ret_answered != NULL && judged_is_answered(gate, judged)) {
        store_rollback(gate->ledger->store);
        *ret_answered = true;
        return STORE_NONE;
    }
    enum store_result result =
        store_ask(gate->ledger->store, request, wanted_code, now, &gate->ledger->arena, ret_asked, &existing);
    if (result == STORE_DONE) {
        stage_require(gate, judged, ret_asked);
        gate->ledger->announced = existing;
        result = commit_request(gate, ret_asked);
        gate->ledger->announced = false;
    }
    if (result != STORE_DONE) {
        journal_unstage(gate->ledger->journal);
        store_rollback(gate->ledger->store);
    }
    return result;
}

/* Whoever holds a call is among the running gates: a request whose gate has ended is withdrawn. */
static bool enter(struct gate *gate)
{
    struct buf error;
    if (gate->entered) {
        return true;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    gate->entered = registry_enter(&gate->registry, gate->ledger->dir, &error);
    if (!gate->entered) {
        gate_tell(gate, "a call cannot be put before people: %.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return gate->entered;
}

static void keep_tell(struct held *held, struct slice tell)
{
    held->tell_len = (uint32_t)(tell.len < sizeof(held->tell) ? tell.len : 0);
    if (held->tell_len > 0) {
        memcpy(held->tell, tell.ptr, held->tell_len);
    }
}

struct outcome judged_hold(struct gate *gate, struct judged *judged, struct slice wanted_code,
                           struct times now, bool *ret_answered)
{
    struct request request = {0}, asked = {0};
    struct outcome held = {.kind = OUTCOME_HELD, .cause = judged->decision.cause, .authored = true};
    struct buf input, paths;
    if (!enter(gate)) {
        return judged_deny_because(gate, judged, DENIAL_POLICY, CAUSE_INTERNAL,
                                   SLICE("the request cannot be put before people"));
    }
    request.client_ms = judged->call->waits_ms != 0 ? now.wall_ms + judged->call->waits_ms : 0;
    buf_init(&input, INPUT_BYTES);
    buf_init(&paths, PATHS_BYTES);
    bool shown = write_request(gate, judged, &request, &input, &paths);
    enum store_result result =
        shown ? ask(gate, judged, &request, wanted_code, now, ret_answered, &asked) : STORE_FAILED;
    buf_finish(&input);
    buf_finish(&paths);
    if (!shown) {
        return judged_deny_because(gate, judged, DENIAL_POLICY, CAUSE_INTERNAL,
                                   SLICE("the call cannot be shown whole, and so not be approved"));
    }
    if (ret_answered != NULL && *ret_answered) {
        return held;
    }
    if (result == STORE_TOO_MANY) {
        return judged_deny_because(gate, judged, DENIAL_TOO_MANY, CAUSE_INTERNAL,
                                   SLICE("too many requests wait for this session"));
    }
    if (result != STORE_DONE) {
        gate_tell(gate, "a call cannot be put before people: %s", store_error(gate->ledger->store));
        return judged_deny_because(gate, judged, DENIAL_POLICY, CAUSE_INTERNAL,
                                   SLICE("the request cannot be put before people"));
    }
    held.held.number = asked.number;
    held.held.needed = asked.needed;
    memcpy(held.held.code, asked.code, sizeof(held.held.code));
    memcpy(held.held.shown, asked.shown, sizeof(held.held.shown));
    keep_tell(&held.held, judged_tell(gate, judged));
    return held;
}

struct outcome judged_unheld(struct gate *gate, struct judged *judged)
{
    stage_require(gate, judged, NULL);
    gate->turn_flush = true;
    struct outcome outcome = {.kind = OUTCOME_HELD, .cause = judged->decision.cause, .authored = true};
    outcome.held.needed = judged->decision.cause == CAUSE_NONE ? decision_approvers(&judged->decision) : 1;
    keep_tell(&outcome.held, judged_tell(gate, judged));
    return outcome;
}
