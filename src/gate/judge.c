/* The way of one call through the door: readings, evaluation, people, journal. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "gate/internal.h"

/* Everything that is known of the call being judged. */
struct judged {
    const struct call *call;
    struct decision decision;
    struct slice *paths;
    size_t path_count;
    uint8_t hash[HASH_SIZE];
    bool hashed;
    char correlation[CORRELATION_SIZE];
    struct slice reason; /* of a deny */
};

static int compare_paths(const void *a, const void *b)
{
    const struct slice *x = *(const struct slice *const *)a, *y = *(const struct slice *const *)b;
    int order = slice_cmp(*x, *y);
    return order ? order : (x < y ? -1 : x > y);
}

bool judged_paths(const struct readings *readings, struct arena *arena, struct slice **ret_paths,
                  size_t *ret_count)
{
    size_t count = 0;
    struct slice *paths = arena_array(arena, readings->count + 1, sizeof(*paths));
    const struct slice **sorted = arena_array(arena, readings->count + 1, sizeof(*sorted));
    if (paths == NULL || sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < readings->count; i++) {
        if (readings->list[i].kind == READING_PATH) {
            paths[count++] = readings->list[i].path;
        }
    }
    /* Several splits of a name give the same paths again: keep the first of each, in order. */
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &paths[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_paths);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (slice_eq(*sorted[i], *sorted[first])) {
            paths[sorted[i] - paths].ptr = NULL;
        } else {
            first = i;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (paths[i].ptr != NULL) {
            paths[kept++] = paths[i];
        }
    }
    *ret_paths = paths;
    *ret_count = kept;
    return true;
}

/* What people are shown is bound by this: the readings, unreadable ones included. */
static bool hash_of_shown(const struct readings *readings, uint8_t ret_hash[APPROVAL_HASH])
{
    struct buf text;
    buf_init(&text, 64u << 20);
    for (size_t i = 0; i < readings->count; i++) {
        buf_u64(&text, readings->list[i].kind);
        buf_byte(&text, ' ');
        buf_slice(&text, readings->list[i].path);
        buf_byte(&text, '\0');
    }
    bool ok = buf_ok(&text) && hash_bytes(buf_slice_of(&text), ret_hash);
    buf_finish(&text);
    return ok;
}

static const struct call_name *name_of(const struct judged *judged, const struct readings *readings)
{
    const struct call *call = judged->call;
    uint32_t at = judged->decision.reading;
    size_t name = at < readings->count ? readings->list[at].name : 0;
    return &call->names[name < call->name_count ? name : 0];
}

static void stage(struct gate *gate, const struct event *event)
{
    if (!journal_stage(gate->ledger.journal, event)) {
        gate->turn_failed = true;
    }
}

static struct slice rule_id(const struct gate *gate, const struct decision *decision)
{
    bool decided =
        decision->rule != NULL && decision->cause != CAUSE_UNREADABLE && decision->cause != CAUSE_INTERNAL;
    if (decided) {
        return policy_text(gate->policy, decision->rule->id);
    }
    return decision->kind == DECISION_ALLOW ? (struct slice){0} : SLICE("default");
}

static void stage_decision(struct gate *gate, struct judged *judged, const char *kind, const char *outcome,
                           struct slice detail)
{
    const struct call *call = judged->call;
    const struct call_name *name = name_of(judged, &gate->decider.readings);
    ledger_correlation(&gate->ledger, judged->correlation);
    struct event event = {
        .kind = kind,
        .outcome = outcome,
        .tool = name->tool,
        .server = name->has_server ? name->server : (struct slice){0},
        .input_doc = call->doc,
        .input = call->input,
        .paths = judged->paths,
        .path_count = judged->path_count,
        .reason = judged->reason,
        .rule = rule_id(gate, &judged->decision),
        .actor = slice_of(actor_name(call->actor)),
        .correlation_id = slice_of(judged->correlation),
        .has_session = true,
        .channel = call->channel,
        .thread = call->thread,
        .call_hash = judged->hashed ? judged->hash : NULL,
        .detail = detail,
    };
    stage(gate, &event);
}

/* A deny is two events: all detail for the operator, then the sign that the agent was told nothing of it. */
static struct outcome deny_with(struct gate *gate, struct judged *judged, struct slice detail)
{
    stage_decision(gate, judged, "policy.deny", "deny", detail);
    struct event stripped = {
        .kind = "policy.deny.context_stripped",
        .tool = name_of(judged, &gate->decider.readings)->tool,
        .correlation_id = slice_of(judged->correlation),
        .has_session = true,
        .channel = judged->call->channel,
        .thread = judged->call->thread,
    };
    stage(gate, &stripped);
    gate->turn_flush = true;
    struct outcome outcome = {
        .kind = OUTCOME_DENY,
        .cause = judged->decision.cause,
        .authored = judged->decision.rule != NULL,
    };
    memcpy(outcome.correlation, judged->correlation, sizeof(outcome.correlation));
    return outcome;
}

static struct outcome deny(struct gate *gate, struct judged *judged)
{
    return deny_with(gate, judged, (struct slice){0});
}

static struct outcome deny_because(struct gate *gate, struct judged *judged, enum decision_cause cause,
                                   struct slice reason)
{
    judged->decision.kind = DECISION_DENY;
    judged->decision.cause = cause;
    judged->reason = reason;
    return deny(gate, judged);
}

static struct outcome allow(struct gate *gate, struct judged *judged)
{
    stage_decision(gate, judged, "policy.allow", "allow", (struct slice){0});
    struct outcome outcome = {
        .kind = OUTCOME_ALLOW,
        .authored = judged->decision.rule != NULL,
        .by_approval = judged->decision.by_approval,
    };
    memcpy(outcome.correlation, judged->correlation, sizeof(outcome.correlation));
    return outcome;
}

/* ---- People ---- */

static bool map_rules(struct gate *gate)
{
    const struct policy *policy = gate->policy;
    uint32_t most = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        most = policy->rules[i].id > most ? policy->rules[i].id : most;
    }
    gate->rules_of_ids = calloc((size_t)most + 1, sizeof(*gate->rules_of_ids));
    if (gate->rules_of_ids == NULL) {
        return false;
    }
    gate->ids_mapped = (size_t)most + 1;
    for (uint32_t i = policy->rule_count; i > 0; i--) {
        gate->rules_of_ids[policy->rules[i - 1].id] = i;
    }
    return true;
}

/* The first rule with an id. The map is made when a call first needs people: most gates never do. */
static const struct rule *rule_by_id(struct gate *gate, struct slice text)
{
    if (gate->rules_of_ids == NULL && !map_rules(gate)) {
        return NULL;
    }
    uint32_t id = intern_find(&gate->policy->symbols, text);
    uint32_t number = id < gate->ids_mapped ? gate->rules_of_ids[id] : 0;
    return id != 0 && number != 0 ? &gate->policy->rules[number - 1] : NULL;
}

static bool rule_digest(const struct policy *policy, const struct rule *rule, uint8_t ret_digest[HASH_SIZE])
{
    struct buf text;
    buf_init(&text, 64u << 20);
    rule_write_canonical(&text, policy, rule);
    bool ok = buf_ok(&text) && hash_bytes(buf_slice_of(&text), ret_digest);
    buf_finish(&text);
    return ok;
}

/* Whether a request was for this rule as it is now; for no rule at all when `rule` is NULL. */
static bool same_rule(const struct policy *policy, const struct rule *rule, const struct request *request)
{
    uint8_t digest[HASH_SIZE];
    if (rule == NULL) {
        return slice_is(request->rule, "default");
    }
    return slice_eq(policy_text(policy, rule->id), request->rule) && rule_digest(policy, rule, digest) &&
           memcmp(digest, request->rule_digest, HASH_SIZE) == 0;
}

/* The session's live grants whose rules are still what they were when people approved. A call's own request,
 * approved just now, counts at the moment of the grant, however short its ttlMs is (SPEC.md section 6). */
static bool live_approvals(struct gate *gate, const struct judged *judged, const struct request *approved,
                           struct times now, struct approvals *ret_approvals)
{
    const struct call *call = judged->call;
    struct grant *grants = NULL;
    size_t count = 0, kept = 0;
    if (store_grants(gate->ledger.store, call->channel, call->thread, now, &gate->ledger.arena, &grants,
                     &count) != STORE_DONE) {
        return false;
    }
    struct approval *list = arena_array(&gate->ledger.arena, count + 1, sizeof(*list));
    if (list == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = rule_by_id(gate, grants[i].rule);
        uint8_t digest[HASH_SIZE];
        if (rule == NULL || !rule_digest(gate->policy, rule, digest) ||
            memcmp(digest, grants[i].rule_digest, HASH_SIZE) != 0) {
            continue;
        }
        struct approval *approval = &list[kept++];
        *approval = (struct approval){
            .rule = (uint32_t)(rule - gate->policy->rules),
            .channel = call->channel,
            .thread = call->thread,
            .granted = grants[i].granted,
            .expires = grants[i].expires,
            .for_call = grants[i].for_call,
        };
        memcpy(approval->call_hash, grants[i].call_hash, sizeof(approval->call_hash));
    }
    const struct rule *own = approved != NULL ? rule_by_id(gate, approved->rule) : NULL;
    if (own != NULL && judged->hashed && same_rule(gate->policy, own, approved)) {
        struct approval *approval = &list[kept++];
        *approval = (struct approval){
            .rule = (uint32_t)(own - gate->policy->rules),
            .channel = call->channel,
            .thread = call->thread,
            .granted = now.wall_ms,
            .expires = now.wall_ms + 1,
            .for_call = true,
        };
        memcpy(approval->call_hash, judged->hash, sizeof(approval->call_hash));
    }
    ret_approvals->list = list;
    ret_approvals->count = kept;
    return true;
}

/* What an approval of the request will cover, and on which terms. */
static bool write_terms(const struct gate *gate, const struct judged *judged, struct request *ret_request)
{
    const struct rule *rule = judged->decision.rule;
    bool unknown = judged->decision.cause == CAUSE_UNKNOWN_INPUT;
    if (rule != NULL && !rule_digest(gate->policy, rule, ret_request->rule_digest)) {
        return false;
    }
    ret_request->rule = rule != NULL ? policy_text(gate->policy, rule->id) : SLICE("default");
    /* A rule that only might have decided sets no terms. */
    ret_request->ttl_ms = rule != NULL && !unknown ? rule->ttl_ms : DEFAULT_TTL_MS;
    ret_request->needed = rule != NULL && !unknown ? rule->approvers : 1;
    /* Of an unknown input nobody can say that another call is the same: the answer covers this one alone. */
    ret_request->for_call = unknown || rule->scope == SCOPE_CALL;
    if (!judged->hashed) {
        return random_bytes(ret_request->call_hash, sizeof(ret_request->call_hash));
    }
    memcpy(ret_request->call_hash, judged->hash, sizeof(ret_request->call_hash));
    return true;
}

/* Writes the request that people will see. False when memory ran out. */
static bool write_request(struct gate *gate, const struct judged *judged, struct request *ret_request,
                          struct buf *input, struct buf *paths)
{
    const struct call *call = judged->call;
    const struct call_name *name = name_of(judged, &gate->decider.readings);
    if (call->input != NULL) {
        redact_write(input, call->doc, call->input);
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
    if (!buf_ok(input) || !buf_ok(paths) || !write_terms(gate, judged, ret_request)) {
        return false;
    }
    ret_request->tool = name->tool;
    ret_request->server = name->has_server ? name->server : (struct slice){0};
    ret_request->channel = call->channel;
    ret_request->thread = call->thread;
    ret_request->actor = slice_of(actor_name(call->actor));
    ret_request->input = buf_slice_of(input);
    ret_request->paths = buf_slice_of(paths);
    return true;
}

static void stage_require(struct gate *gate, struct judged *judged, const struct request *asked)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    if (asked != NULL) {
        buf_printf(&detail, "{\"approvers\":%u,\"code\":\"%s\",\"request\":%lld,\"ttlMs\":%u}", asked->needed,
                   asked->code, (long long)asked->number, asked->ttl_ms);
    }
    stage_decision(gate, judged, "policy.require", "require", buf_slice_of(&detail));
    buf_finish(&detail);
}

/* What the turn has staged so far goes into the file, so that a rollback below takes nothing else along. */
static bool write_turn(struct gate *gate)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool written = journal_commit(gate->ledger.journal, true, &error);
    if (!written) {
        gate->turn_failed = true;
        gate_tell_journal(gate, buf_slice_of(&error));
    }
    buf_finish(&error);
    return written || gate->options.journal_optional;
}

/* With --journal=optional a request counts though its event could not be written. */
static enum store_result commit_request(struct gate *gate, const struct request *asked)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool done = gate->options.journal_optional ? write_turn(gate) && store_commit(gate->ledger.store)
                                               : ledger_commit(&gate->ledger, asked, 1, &error);
    if (!done && error.len > 0) {
        gate_tell(gate, "a call cannot be put before people: %.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return done ? STORE_DONE : STORE_FAILED;
}

/* The request is stored only if its event is on disk. */
static enum store_result ask(struct gate *gate, struct judged *judged, const struct request *request,
                             struct slice wanted_code, struct times now, struct request *ret_asked)
{
    bool existing = false;
    if (!write_turn(gate)) {
        return STORE_FAILED;
    }
    ledger_sweep(&gate->ledger, now);
    if (!store_begin(gate->ledger.store)) {
        return STORE_FAILED;
    }
    enum store_result result =
        store_ask(gate->ledger.store, request, wanted_code, now, &gate->ledger.arena, ret_asked, &existing);
    if (result == STORE_DONE) {
        stage_require(gate, judged, ret_asked);
        result = commit_request(gate, ret_asked);
    }
    if (result != STORE_DONE) {
        store_rollback(gate->ledger.store);
    }
    return result;
}

static struct outcome hold(struct gate *gate, struct judged *judged, struct slice wanted_code,
                           struct times now)
{
    struct request request = {0}, asked = {0};
    struct outcome held = {.kind = OUTCOME_HELD, .cause = judged->decision.cause, .authored = true};
    struct buf input, paths;
    buf_init(&input, 8u << 20);
    buf_init(&paths, 32u << 20);
    enum store_result result = STORE_FAILED;
    if (write_request(gate, judged, &request, &input, &paths) &&
        hash_of_shown(&gate->decider.readings, held.held.shown)) {
        result = ask(gate, judged, &request, wanted_code, now, &asked);
    }
    buf_finish(&input);
    buf_finish(&paths);
    if (result == STORE_TOO_MANY) {
        return deny_because(gate, judged, CAUSE_INTERNAL, SLICE("too many requests wait for this session"));
    }
    if (result != STORE_DONE) {
        gate_tell(gate, "a call cannot be put before people: %s", store_error(gate->ledger.store));
        return deny_because(gate, judged, CAUSE_INTERNAL, SLICE("the request cannot be put before people"));
    }
    held.held.number = asked.number;
    held.held.needed = asked.needed;
    memcpy(held.held.code, asked.code, sizeof(held.held.code));
    return held;
}

static struct outcome unheld(struct gate *gate, struct judged *judged)
{
    stage_require(gate, judged, NULL);
    gate->turn_flush = true;
    struct outcome outcome = {.kind = OUTCOME_HELD, .cause = judged->decision.cause, .authored = true};
    outcome.held.needed = judged->decision.cause == CAUSE_NONE ? judged->decision.rule->approvers : 1;
    return outcome;
}

static bool as_shown(struct gate *gate, const struct held *prior)
{
    uint8_t shown[APPROVAL_HASH];
    return prior == NULL ||
           (hash_of_shown(&gate->decider.readings, shown) && memcmp(shown, prior->shown, sizeof(shown)) == 0);
}

/* A call that a rule wants approved: what have people said so far? `approved` is its own request, approved
 * just now; NULL: there is none. */
static struct outcome consult(struct gate *gate, struct judged *judged, const struct held *prior,
                              const struct request *approved, struct slice wanted_code, bool may_hold)
{
    struct times now = times_now();
    const struct call *call = judged->call;
    struct decision without = judged->decision;
    bool refused = false;
    if (judged->hashed && store_refused(gate->ledger.store, call->channel, call->thread, judged->hash, now,
                                        &refused) != STORE_DONE) {
        return deny_because(gate, judged, CAUSE_INTERNAL, SLICE("the store of approvals cannot be read"));
    }
    if (refused) {
        return deny_because(gate, judged, CAUSE_NONE, SLICE("refused by a person"));
    }

    struct approvals approvals = {
        .now = now.wall_ms,
        .channel = call->channel,
        .thread = call->thread,
        .call_hash = judged->hash,
    };
    if (!live_approvals(gate, judged, approved, now, &approvals)) {
        return deny_because(gate, judged, CAUSE_INTERNAL, SLICE("the store of approvals cannot be read"));
    }
    if (call->input == NULL && approved != NULL && same_rule(gate->policy, without.rule, approved)) {
        judged->decision =
            (struct decision){.kind = DECISION_ALLOW, .rule = without.rule, .by_approval = true};
    } else if (approvals.count && without.cause != CAUSE_UNKNOWN_INPUT) {
        judged->decision = policy_evaluate(gate->policy, &gate->decider.facts, gate->decider.readings.list,
                                           gate->decider.readings.count, &approvals);
    }
    if (judged->decision.kind == DECISION_ALLOW && as_shown(gate, prior)) {
        return allow(gate, judged);
    }
    if (judged->decision.kind == DECISION_ALLOW) {
        judged->decision = without; /* people saw other paths: a new request */
    }
    return may_hold ? hold(gate, judged, wanted_code, now) : unheld(gate, judged);
}

/* ---- The door ---- */

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

/* From here on the call needs people. */
static bool open_store(struct gate *gate)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool open = ledger_open_store(&gate->ledger, gate->options.state_dir, &error);
    if (!open) {
        gate_tell(gate, "a call cannot be put before people: %.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return open;
}

static struct outcome judge(struct gate *gate, const struct call *call, const struct held *prior,
                            struct slice wanted_code, bool may_hold)
{
    struct judged judged = {.call = call};
    struct approvals none = {.channel = call->channel, .thread = call->thread};
    arena_reset(&gate->ledger.arena);
    judged.decision =
        decide(&gate->decider, gate->policy, call, &gate->calls, gate->options.readings_flags, &none);
    judged.hashed = call->input != NULL && decide_hash(&gate->decider, call, judged.hash);
    if ((call->input != NULL && !judged.hashed) ||
        !judged_paths(&gate->decider.readings, &gate->ledger.arena, &judged.paths, &judged.path_count)) {
        return deny_because(gate, &judged, CAUSE_INTERNAL, SLICE("no memory"));
    }

    if (judged.decision.kind == DECISION_DENY) {
        struct buf reason;
        buf_init(&reason, 1u << 20);
        decision_write_reason(&reason, gate->policy, &judged.decision);
        judged.reason = buf_ok(&reason) ? buf_slice_of(&reason) : SLICE("no memory");
        struct outcome outcome = deny(gate, &judged);
        buf_finish(&reason);
        return outcome;
    }
    if (judged.decision.kind == DECISION_ALLOW && call->input == NULL) {
        ask_where_no_rule_allows(gate, &judged);
    }
    if (judged.decision.kind == DECISION_ALLOW) {
        return allow(gate, &judged);
    }
    if (!open_store(gate)) {
        return deny_because(gate, &judged, CAUSE_INTERNAL, SLICE("the store of approvals cannot be opened"));
    }
    struct request approved;
    if (prior != NULL) {
        if (store_find(gate->ledger.store, prior->number, &gate->ledger.arena, &approved) != STORE_DONE) {
            return deny_because(gate, &judged, CAUSE_INTERNAL,
                                SLICE("the store of approvals cannot be read"));
        }
        if (approved.state == REQUEST_REFUSED) {
            return deny_because(gate, &judged, CAUSE_NONE, SLICE("refused by a person"));
        }
        if (approved.state != REQUEST_APPROVED) {
            return deny_because(gate, &judged, CAUSE_NONE, SLICE("not approved in time"));
        }
    }
    return consult(gate, &judged, prior, prior != NULL ? &approved : NULL, wanted_code, may_hold);
}

struct outcome gate_judge(struct gate *gate, const struct call *call, const struct held *prior,
                          struct slice wanted_code)
{
    return judge(gate, call, prior, wanted_code, true);
}

struct outcome gate_judge_unheld(struct gate *gate, const struct call *call)
{
    return judge(gate, call, NULL, (struct slice){0}, false);
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
    char room[HASH_HEX + 64];
    struct call_name name = {defaults->server, defaults->server.ptr != NULL, tool};
    struct call call = {
        .names = &name,
        .name_count = 1,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .actor = defaults->actor,
    };
    struct judged judged = {.call = &call};
    judged.decision = (struct decision){.kind = DECISION_DENY, .cause = cause, .detail = phrase};
    struct buf reason;
    buf_init(&reason, DETAIL_BYTES);
    decision_write_reason(&reason, gate->policy, &judged.decision);
    judged.reason = buf_slice_of(&reason);
    struct outcome outcome = deny_with(gate, &judged, describe_came(came, room, sizeof(room)));
    buf_finish(&reason);
    return outcome;
}

bool gate_judged_by_rules(const struct gate *gate)
{
    const struct decider *decider = &gate->decider;
    struct approvals none = {0};
    bool by_rules = decider->readings.count > 0;
    for (size_t i = 0; i < decider->readings.count && by_rules; i++) {
        by_rules =
            policy_evaluate(gate->policy, &decider->facts, &decider->readings.list[i], 1, &none).rule != NULL;
    }
    return by_rules;
}

void gate_note(struct gate *gate, const struct event *event)
{
    stage(gate, event);
}
