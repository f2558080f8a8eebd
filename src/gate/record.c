/* The record of one call: what of it people are shown, its events, its outcome. */
#include <stdlib.h>
#include <string.h>

#include "gate/judge_internal.h"

/* What is shown of the largest call fits: its paths, and those of its commands. */
#define SHOWN_BYTES ((size_t)64 << 20)

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

static void write_texts(struct buf *text, const struct reading_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        buf_slice(text, texts->list[i]);
        buf_byte(text, '\0');
    }
    buf_byte(text, '\0');
}

static void write_shown(struct buf *text, const struct reading *reading)
{
    buf_u64(text, reading->kind);
    buf_byte(text, ' ');
    buf_slice(text, reading->path);
    buf_byte(text, '\0');
    if (reading->host_kind != READING_NO_HOST) {
        buf_text(text, "host ");
        buf_u64(text, reading->host_kind);
        buf_slice(text, reading->host);
        buf_byte(text, '\0');
    }
    if (reading->command != NULL) {
        /* The words are the call's own, which its hash binds; where they lead is what can change. */
        buf_text(text, "command ");
        buf_u64(text, (uint64_t)reading->command->place_unreadable * 2 + reading->command->host_unreadable);
        write_texts(text, &reading->command->places);
        write_texts(text, &reading->command->hosts);
    }
}

bool judged_hash_shown(const struct readings *readings, uint8_t ret_hash[APPROVAL_HASH])
{
    struct buf text;
    buf_init(&text, SHOWN_BYTES);
    for (size_t i = 0; i < readings->count; i++) {
        if (!readings->list[i].aside) {
            write_shown(&text, &readings->list[i]);
        }
    }
    bool ok = buf_ok(&text) && hash_bytes(buf_slice_of(&text), ret_hash);
    buf_finish(&text);
    return ok;
}

const struct call_name *judged_name(const struct judged *judged, const struct readings *readings)
{
    const struct call *call = judged->call;
    uint32_t at = judged->decision.reading;
    size_t name = at < readings->count ? readings->list[at].name : 0;
    return &call->names[name < call->name_count ? name : 0];
}

void gate_stage(struct gate *gate, const struct event *event)
{
    if (!journal_stage(gate->ledger->journal, event)) {
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

void judged_stage(struct gate *gate, struct judged *judged, const char *kind, const char *outcome,
                  struct slice detail)
{
    const struct call *call = judged->call;
    const struct call_name *name = judged_name(judged, &gate->decider.readings);
    struct buf annotations;
    ledger_correlation(gate->ledger, judged->correlation);
    buf_init(&annotations, 4096);
    if (gate->policy->hints != 0 && name->hints_not != 0) { /* a rule looked at what was known */
        hints_write(&annotations, name->hints_not);
        gate->turn_failed = gate->turn_failed || !buf_ok(&annotations);
    }
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
        .annotations = buf_slice_of(&annotations),
    };
    gate_stage(gate, &event);
    buf_finish(&annotations);
}

struct slice judged_tell(const struct gate *gate, const struct judged *judged)
{
    const struct rule *rule = judged->decision.rule;
    bool decided = rule != NULL && judged->decision.cause == CAUSE_NONE;
    return decided && rule->tell != 0 ? policy_text(gate->policy, rule->tell) : (struct slice){0};
}

/* A deny is two events: all detail for the operator, then the sign that the agent was told nothing of it. */
struct outcome judged_deny(struct gate *gate, struct judged *judged, enum denial denial, struct slice detail)
{
    judged_stage(gate, judged, "policy.deny", "deny", detail);
    struct event stripped = {
        .kind = "policy.deny.context_stripped",
        .tool = judged_name(judged, &gate->decider.readings)->tool,
        .correlation_id = slice_of(judged->correlation),
        .has_session = true,
        .channel = judged->call->channel,
        .thread = judged->call->thread,
    };
    gate_stage(gate, &stripped);
    gate->turn_flush = true;
    bool tells = denial != DENIAL_UNREADABLE && denial != DENIAL_TOO_MANY;
    struct outcome outcome = {
        .kind = OUTCOME_DENY,
        .cause = judged->decision.cause,
        .denial = denial,
        .authored = judged->decision.rule != NULL,
        .tell = tells ? judged_tell(gate, judged) : (struct slice){0},
    };
    memcpy(outcome.correlation, judged->correlation, sizeof(outcome.correlation));
    return outcome;
}

struct outcome judged_deny_because(struct gate *gate, struct judged *judged, enum denial denial,
                                   enum decision_cause cause, struct slice reason)
{
    judged->decision.kind = DECISION_DENY;
    judged->decision.cause = cause;
    judged->reason = reason;
    return judged_deny(gate, judged, denial, (struct slice){0});
}

struct outcome judged_allow(struct gate *gate, struct judged *judged)
{
    judged_stage(gate, judged, "policy.allow", "allow", (struct slice){0});
    struct outcome outcome = {
        .kind = OUTCOME_ALLOW,
        .authored = judged->decision.rule != NULL,
        .authored_in_every_reading = judged->authored_everywhere,
        .by_approval = judged->decision.by_approval,
    };
    memcpy(outcome.correlation, judged->correlation, sizeof(outcome.correlation));
    return outcome;
}
