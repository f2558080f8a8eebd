/* Observing: what the policy would deny or hold runs and is journalled as such, until somebody ends that. SPEC.md
 * section 14. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/file.h"
#include "gate/judge_internal.h"
#include "gate/state.h"

/* When observing was last ended, in ms of the wall clock. */
#define ENFORCED_FILE "enforced"

bool gate_observes(const struct gate *gate)
{
    return gate->door == NULL && gate->options.observe && gate->policy != NULL &&
           !gate->policy->forbids_observing;
}

/* ---- A call ---- */

bool judged_is_observed(const struct gate *gate, const struct judged *judged, const struct held *prior)
{
    uint32_t cause = judged->decision.cause;
    bool readable = cause == CAUSE_NONE || cause == CAUSE_NO_RULE || cause == CAUSE_UNKNOWN_INPUT;
    /* One that was held was put before people: their answer stands. */
    return gate_observes(gate) && readable && prior == NULL;
}

static struct outcome run_observed(struct gate *gate, struct judged *judged, const char *kind,
                                   const char *outcome, struct slice detail)
{
    judged_stage(gate, judged, kind, outcome, detail);
    struct outcome allowed = {.kind = OUTCOME_ALLOW, .observed = true};
    memcpy(allowed.correlation, judged->correlation, sizeof(allowed.correlation));
    return allowed;
}

struct outcome judged_would_deny(struct gate *gate, struct judged *judged)
{
    return run_observed(gate, judged, "policy.would-deny", "would-deny", (struct slice){0});
}

struct outcome judged_would_require(struct gate *gate, struct judged *judged)
{
    const struct decision *decision = &judged->decision;
    bool terms = decision->rule != NULL && decision->cause != CAUSE_UNKNOWN_INPUT;
    char detail[96];
    int len = snprintf(detail, sizeof(detail), "{\"approvers\":%u,\"scope\":\"%s\",\"ttlMs\":%u}",
                       terms ? decision_approvers(decision) : 1,
                       scope_name(terms ? decision_scope(decision) : SCOPE_CALL),
                       terms ? decision_ttl_ms(decision) : DEFAULT_TTL_MS);
    return run_observed(gate, judged, "policy.would-require", "would-require",
                        (struct slice){detail, (size_t)len});
}

/* ---- Its end ---- */

static bool read_enforced(int dir, int64_t *ret_ms)
{
    struct buf text;
    buf_init(&text, 64);
    bool there = file_read_at(dir, ENFORCED_FILE, &text);
    int saved = errno;
    buf_byte(&text, '\0');
    *ret_ms = there && buf_ok(&text) ? strtoll(text.ptr, NULL, 10) : there || saved != ENOENT ? INT64_MAX : 0;
    buf_finish(&text);
    return there;
}

bool gate_enforced_since(const char *state_dir, int64_t wall_ms)
{
    struct buf error;
    int64_t when = INT64_MAX;
    buf_init_message(&error, MESSAGE_BYTES);
    int dir = state_open(state_dir, &error);
    if (dir >= 0) {
        (void)read_enforced(dir, &when);
        close(dir);
    }
    buf_finish(&error);
    return when >= wall_ms;
}

void gate_look_at_enforced(struct gate *gate)
{
    int64_t when = 0;
    if (!gate->options.observe) {
        return;
    }
    (void)read_enforced(gate->ledger->dir, &when);
    if (when >= gate->started_ms) {
        gate->options.observe = false;
        gate_tell(gate, "observing was ended: calls are denied and held from now on");
    }
}

/* The journal knows of it before it counts. */
bool gate_enforce(const char *state_dir, struct buf *ret_error)
{
    struct ledger ledger;
    char text[32];
    struct event event = {.kind = "policy.enforced", .detail = SLICE("{}")};
    bool done = ledger_open(&ledger, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
                journal_stage(ledger.journal, &event) && journal_commit(ledger.journal, true, ret_error);
    int len = snprintf(text, sizeof(text), "%lld\n", (long long)clock_wall_ms());
    if (done && !file_replace_at(ledger.dir, ENFORCED_FILE ".new", ENFORCED_FILE,
                                 (struct slice){text, (size_t)len}, true)) {
        buf_printf(ret_error, "the end of observing cannot be kept: %s", strerror(errno));
        done = false;
    }
    ledger_close(&ledger);
    return done;
}

void gate_tell_observing(struct gate *gate)
{
    if (gate->options.observe && gate->policy->forbids_observing) {
        gate_tell(gate, "observing is forbidden by the policy (allowObserve): calls are denied and held");
    } else if (gate_observes(gate) && !gate->options.brief) {
        gate_tell(gate, "OBSERVING: no call is denied or held; 'callgate enforce' ends this");
    }
}
