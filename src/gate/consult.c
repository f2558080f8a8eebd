/* What people have said of a call so far: refusals, grants, and approvals for one time. SPEC.md section 6. */
#include <string.h>

#include "gate/judge_internal.h"

/* The approvals that could cover a call. Those for one time stand last: they are used only where the others do not
 * do, and each is used once. */
struct candidates {
    struct approval *list;
    int64_t *requests; /* of those for one time: the request that was answered */
    size_t count, plain;
};

static struct approval make_approval(const struct gate *gate, const struct rule *rule,
                                     const struct judged *judged, struct grant grant)
{
    struct approval approval = {
        .rule = (uint32_t)(rule - gate->policy->rules),
        .channel = judged->call->channel,
        .thread = judged->call->thread,
        .granted = grant.granted,
        .expires = grant.expires,
        .for_call = grant.scope != APPROVAL_SESSION,
    };
    memcpy(approval.call_hash, grant.call_hash, sizeof(approval.call_hash));
    return approval;
}

/* Whether a grant for one call is for this one, as it was shown. One of the first version was bound to the call
 * alone. */
static bool is_for_call(const struct judged *judged, const struct grant *grant,
                        const uint8_t shown[APPROVAL_HASH])
{
    static const uint8_t none[APPROVAL_HASH];
    return judged->hashed && memcmp(grant->call_hash, judged->hash, APPROVAL_HASH) == 0 &&
           (memcmp(grant->shown, shown, APPROVAL_HASH) == 0 ||
            memcmp(grant->shown, none, APPROVAL_HASH) == 0);
}

static void add(struct gate *gate, const struct judged *judged, const struct grant *grant, bool once,
                const uint8_t shown[APPROVAL_HASH], struct candidates *candidates)
{
    uint8_t digest[HASH_SIZE];
    const struct rule *rule = gate_rule_by_id(gate, grant->rule);
    if ((grant->scope == APPROVAL_ONCE) != once || rule == NULL ||
        (grant->scope != APPROVAL_SESSION && !is_for_call(judged, grant, shown)) ||
        !judged_rule_digest(gate->policy, rule, digest) ||
        memcmp(digest, grant->rule_digest, HASH_SIZE) != 0) {
        return;
    }
    candidates->requests[candidates->count] = grant->request;
    candidates->list[candidates->count++] = make_approval(gate, rule, judged, *grant);
}

/* A call's own request, approved just now, counts at the moment of the grant, however short its ttlMs is. */
static void add_own(struct gate *gate, const struct judged *judged, const struct request *approved,
                    struct times now, bool once, struct candidates *candidates)
{
    const struct rule *own = approved != NULL ? gate_rule_by_id(gate, approved->rule) : NULL;
    if (own == NULL || (approved->narrowed == APPROVAL_ONCE) != once || approved->used || !judged->hashed ||
        !judged_same_rule(gate->policy, own, approved)) {
        return;
    }
    struct grant grant = {
        .granted = now.wall_ms,
        .expires = now.wall_ms + 1,
        .scope = APPROVAL_CALL,
    };
    memcpy(grant.call_hash, judged->hash, sizeof(grant.call_hash));
    candidates->requests[candidates->count] = approved->number;
    candidates->list[candidates->count++] = make_approval(gate, own, judged, grant);
}

/* The session's live grants whose rules are still what they were when people approved. */
static bool find_candidates(struct gate *gate, const struct judged *judged, const struct request *approved,
                            struct times now, struct candidates *ret)
{
    const struct call *call = judged->call;
    struct arena *arena = &gate->ledger->arena;
    struct grant *grants = NULL;
    size_t count = 0;
    uint8_t shown[APPROVAL_HASH];
    if (store_grants(gate->ledger->store, call->channel, call->thread, now, arena, &grants, &count) !=
            STORE_DONE ||
        !judged_hash_shown(&gate->decider.readings, shown)) {
        return false;
    }
    *ret = (struct candidates){
        .list = arena_array(arena, count + 1, sizeof(*ret->list)),
        .requests = arena_array(arena, count + 1, sizeof(*ret->requests)),
    };
    if (ret->list == NULL || ret->requests == NULL) {
        return false;
    }
    for (int once = 0; once < 2; once++) {
        for (size_t i = 0; i < count; i++) {
            if (approved == NULL || grants[i].request != approved->number) {
                add(gate, judged, &grants[i], once != 0, shown, ret);
            }
        }
        add_own(gate, judged, approved, now, once != 0, ret);
        ret->plain = once ? ret->plain : ret->count;
    }
    return true;
}

static struct decision evaluate(const struct gate *gate, const struct judged *judged,
                                const struct approval *list, size_t count, struct times now)
{
    const struct approvals approvals = {
        .list = list,
        .count = count,
        .now = now.wall_ms,
        .channel = judged->call->channel,
        .thread = judged->call->thread,
        .call_hash = judged->hash,
    };
    return policy_evaluate(gate->policy, &gate->decider.facts, gate->decider.readings.list,
                           gate->decider.readings.count, &approvals);
}

/* Leaves of the approvals for one time those without which the call would not run. */
static void keep_needed(const struct gate *gate, const struct judged *judged, struct candidates *candidates,
                        struct times now)
{
    for (size_t i = candidates->count; i > candidates->plain; i--) {
        struct approval left = candidates->list[i - 1];
        int64_t request = candidates->requests[i - 1];
        size_t last = candidates->count - 1;
        candidates->list[i - 1] = candidates->list[last];
        candidates->requests[i - 1] = candidates->requests[last];
        candidates->list[last] = left;
        candidates->requests[last] = request;
        if (evaluate(gate, judged, candidates->list, last, now).kind == DECISION_ALLOW) {
            candidates->count = last;
        }
    }
}

static bool stage_used(struct gate *gate, const struct judged *judged, int64_t request)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    buf_printf(&detail, "{\"request\":%lld}", (long long)request);
    const struct call_name *name = judged_name(judged, &gate->decider.readings);
    struct event event = {
        .kind = "approval.used",
        .tool = name->tool,
        .server = name->has_server ? name->server : (struct slice){0},
        .has_session = true,
        .channel = judged->call->channel,
        .thread = judged->call->thread,
        .call_hash = judged->hash,
        .detail = buf_slice_of(&detail),
    };
    bool staged = buf_ok(&detail) && journal_stage(gate->ledger->journal, &event);
    buf_finish(&detail);
    return staged;
}

/* Uses approvals for one time, all of them or none: another call may have been first. */
static bool use_once(struct gate *gate, const struct judged *judged, const struct candidates *candidates)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool used = gate_write_turn(gate) && store_begin(gate->ledger->store);
    for (size_t i = candidates->plain; i < candidates->count && used; i++) {
        used = store_use_once(gate->ledger->store, candidates->requests[i]) == STORE_DONE &&
               stage_used(gate, judged, candidates->requests[i]);
    }
    used = used && ledger_commit(gate->ledger, NULL, 0, &error);
    if (!used) {
        journal_unstage(gate->ledger->journal);
        store_rollback(gate->ledger->store);
    }
    buf_finish(&error);
    return used;
}

/* Decides anew with what people have approved. Where approvals for one time are needed, they are used up. */
static struct decision decide_with(struct gate *gate, const struct judged *judged,
                                   struct candidates *candidates, struct times now)
{
    struct decision decision = evaluate(gate, judged, candidates->list, candidates->plain, now);
    if (decision.kind != DECISION_REQUIRE || candidates->count == candidates->plain) {
        return decision;
    }
    struct decision with_all = evaluate(gate, judged, candidates->list, candidates->count, now);
    if (with_all.kind != DECISION_ALLOW) {
        return decision;
    }
    keep_needed(gate, judged, candidates, now);
    return use_once(gate, judged, candidates) ? with_all : decision;
}

static bool as_shown(struct gate *gate, const struct held *prior)
{
    uint8_t shown[APPROVAL_HASH];
    return prior == NULL || (judged_hash_shown(&gate->decider.readings, shown) &&
                             memcmp(shown, prior->shown, sizeof(shown)) == 0);
}

static struct outcome unreadable_store(struct gate *gate, struct judged *judged)
{
    return judged_deny_because(gate, judged, DENIAL_POLICY, CAUSE_INTERNAL,
                               SLICE("the store of approvals cannot be read"));
}

bool judged_is_answered(struct gate *gate, const struct judged *judged)
{
    const struct call *call = judged->call;
    struct times now = times_now();
    struct candidates candidates;
    bool refused = false;
    if (!judged->hashed ||
        store_refused(gate->ledger->store, call->channel, call->thread, judged->hash, now, &refused) !=
            STORE_DONE ||
        !find_candidates(gate, judged, NULL, now, &candidates)) {
        return false; /* what cannot be read is told when people are consulted or asked */
    }
    return refused || (candidates.count > 0 && judged->decision.cause != CAUSE_UNKNOWN_INPUT &&
                       evaluate(gate, judged, candidates.list, candidates.count, now).kind == DECISION_ALLOW);
}

/* One look at what people have said. With ret_answered it may end without an outcome: look again. */
static struct outcome consult(struct gate *gate, struct judged *judged, const struct held *prior,
                              const struct request *approved, struct slice wanted_code, bool may_hold,
                              bool *ret_answered)
{
    struct times now = times_now();
    const struct call *call = judged->call;
    struct candidates candidates;
    bool refused = false;
    if (judged->hashed && store_refused(gate->ledger->store, call->channel, call->thread, judged->hash, now,
                                        &refused) != STORE_DONE) {
        return unreadable_store(gate, judged);
    }
    if (refused) {
        return judged_deny_because(gate, judged, DENIAL_REFUSED, CAUSE_NONE, SLICE("refused by a person"));
    }
    if (!as_shown(gate, prior)) {
        return judged_hold(gate, judged, wanted_code, now, NULL); /* people saw other places: a new request */
    }
    if (!find_candidates(gate, judged, approved, now, &candidates)) {
        return unreadable_store(gate, judged);
    }
    if ((call->input == NULL || call->asks_people) && approved != NULL &&
        judged_same_rule(gate->policy, judged->decision.rule, approved)) {
        judged->decision =
            (struct decision){.kind = DECISION_ALLOW, .rule = judged->decision.rule, .by_approval = true};
    } else if (candidates.count > 0 && judged->decision.cause != CAUSE_UNKNOWN_INPUT) {
        judged->decision = decide_with(gate, judged, &candidates, now);
    }
    if (judged->decision.kind == DECISION_ALLOW) {
        return judged_allow(gate, judged);
    }
    return may_hold ? judged_hold(gate, judged, wanted_code, now, ret_answered) : judged_unheld(gate, judged);
}

struct outcome judged_consult(struct gate *gate, struct judged *judged, const struct held *prior,
                              const struct request *approved, struct slice wanted_code, bool may_hold)
{
    bool answered = false;
    struct decision decision = judged->decision;
    struct outcome outcome = consult(gate, judged, prior, approved, wanted_code, may_hold, &answered);
    if (answered) {
        judged->decision = decision;
        outcome = consult(gate, judged, prior, approved, wanted_code, may_hold, NULL);
    }
    return outcome;
}
