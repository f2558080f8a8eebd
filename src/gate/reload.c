/* A reload: the sources are read again, and the new policy is adopted or refused. SPEC.md section 8. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "gate/internal.h"

/* A source's texts must not become the last good ones before the whole policy is adopted. */
static bool copy_texts(const struct source_texts *texts, struct source_texts *ret_copy)
{
    *ret_copy = (struct source_texts){.list = calloc(texts->count + 1, sizeof(*ret_copy->list)),
                                      .states = calloc(texts->count + 1, sizeof(*ret_copy->states)),
                                      .count = texts->count};
    if (ret_copy->list == NULL || ret_copy->states == NULL) {
        ret_copy->count = 0;
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < texts->count; i++) {
        buf_init(&ret_copy->list[i], texts->list[i].ceiling);
        buf_slice(&ret_copy->list[i], buf_slice_of(&texts->list[i]));
        ok = ok && buf_ok(&ret_copy->list[i]);
    }
    return ok;
}

/* With --no-weakening: what the new policy decides less strictly than the acknowledged baseline, or until
 * there is one than the policy at start. Sets diff.failed when that cannot be told. */
static void find_weakening(struct gate *gate, struct refusal *refusal)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    enum baseline_result result = baseline_load(gate->ledger->dir, &refusal->baseline, &error);
    const struct policy *from = result == BASELINE_READ ? refusal->baseline : gate->first;
    if (result == BASELINE_FAILED || !policy_digest(refusal->policy, refusal->new_digest)) {
        gate_tell(gate, "the reload cannot be compared with the baseline: %.*s",
                  SLICE_FMT(buf_message(&error)));
        refusal->diff.failed = true;
    } else {
        refusal->allows_observing = from->forbids_observing && !refusal->policy->forbids_observing;
        confined_compare(from, refusal->policy, &refusal->confined);
        diff_find(from, refusal->policy, &gate->options.base, DIFF_BRIEF, &refusal->diff);
        diff_find_unreadable(from, refusal->policy, &gate->options.base, DIFF_BRIEF, &refusal->unreadable);
    }
    buf_finish(&error);
}

static bool is_refused(const struct refusal *refusal)
{
    return diff_is_weaker(&refusal->diff) || diff_is_weaker(&refusal->unreadable) ||
           refusal->allows_observing || refusal->confined.failed || refusal->confined.weaker > 0 ||
           refusal->violations.failed || refusal->violations.count > 0;
}

bool gate_reload(struct gate *gate)
{
    if (gate->door != NULL) {
        return gate->door->reload(gate->door_self);
    }
    struct refusal refusal;
    struct source_texts texts = {0};
    struct buf lines;
    bool adopted = false;
    gate->reloads++;
    gate_look_at_enforced(gate);
    refusal_init(&refusal);
    buf_init(&lines, 4u << 20);
    if (copy_texts(&gate->texts, &texts)) {
        refusal.policy = gate_load(gate, &texts, &refusal.errors);
    }
    sources_write_errors(&lines, &refusal.errors);
    if (lines.len) { /* what is told ends its line itself */
        gate_tell(gate, "%.*s", (int)lines.len - 1, lines.ptr);
    }
    if (refusal.policy != NULL) {
        violations_find(gate->policy, refusal.policy, &refusal.violations);
    }
    if (refusal.policy != NULL && gate->options.no_weakening) {
        find_weakening(gate, &refusal);
    }
    if (refusal.policy != NULL && !is_refused(&refusal)) {
        adopted = gate_adopt(gate, refusal.policy, &texts);
        refusal.policy = NULL; /* adopted or destroyed */
    }
    if (adopted) {
        gate_tell(gate, "policy reloaded: generation %llu, %u rules", (unsigned long long)gate->generation,
                  gate->policy->rule_count);
    } else {
        gate_refuse(gate, &refusal);
    }
    refusal_finish(&refusal);
    source_texts_finish(&texts);
    buf_finish(&lines);
    return adopted;
}
