/* A gate's life, its turn, and its held calls. */
#include "gate/gate.h"

#include <stdlib.h>

#include "base/clock.h"
#include "gate/internal.h"

/* A second copy of the policy at start, made from the texts that were read then: the running one goes with the
 * next reload, and a source may be a pipe, which can be read once. */
static bool keep_first(struct gate *gate, struct buf *ret_error)
{
    gate->first = sources_load_texts(gate->options.sources, &gate->options.base, &gate->texts);
    if (gate->first == NULL) {
        buf_text(ret_error, "the policy at start cannot be kept for --no-weakening: no memory");
    }
    return gate->first != NULL;
}

static bool load_first(struct gate *gate, struct buf *ret_error)
{
    struct findings errors;
    struct source_texts texts = {0};
    findings_init(&errors);
    struct policy *policy = gate_load(gate, &texts, &errors);
    sources_write_errors(ret_error, &errors);
    findings_finish(&errors);
    bool adopted = policy != NULL && gate_adopt(gate, policy, &texts);
    source_texts_finish(&texts);
    if (policy != NULL && !adopted) {
        buf_text(ret_error, "the policy cannot be adopted: no memory, or the journal cannot be written");
    }
    return adopted && (!gate->options.no_weakening || keep_first(gate, ret_error));
}

/* A journal that is not the one of before is no reason not to start: it is told, and denies nothing. */
static bool look_for_gap(struct gate *gate, struct buf *ret_error)
{
    bool found = false;
    if (gate->ledger->looked_for_gap) {
        return true; /* another gate of this ledger has */
    }
    gate->ledger->looked_for_gap = true;
    if (!gap_check(gate->ledger, gate->options.state_dir, &found, ret_error)) {
        return false;
    }
    if (found) {
        gate_tell(gate,
                  "the journal is not the one that was written to last: see 'callgate journal verify', then "
                  "'callgate acknowledge --gap'");
    }
    return true;
}

static bool open_ledger(struct gate *gate, struct buf *ret_error)
{
    const struct gate_options *options = &gate->options;
    if (options->ledger != NULL) {
        return true;
    }
    return ledger_open_for(gate->ledger, options->state_dir, options->fsync,
                           options->brief ? NULL : options->surface, ret_error);
}

struct gate *gate_open(const struct gate_options *options, struct buf *ret_error)
{
    struct gate *gate = calloc(1, sizeof(*gate));
    if (gate == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    gate->options = *options;
    gate->own.dir = gate->registry.dir = gate->registry.lock = -1;
    gate->ledger = options->ledger != NULL ? options->ledger : &gate->own;
    gate->calls = options->base;
    gate->started_ms = clock_wall_ms();
    bool open = decider_init(&gate->decider);
    if (!open) {
        buf_text(ret_error, "no memory");
    }
    open = open && open_ledger(gate, ret_error) &&
           (options->brief || registry_enter(&gate->registry, gate->ledger->dir, ret_error));
    gate->registered = gate->entered = open && !options->brief;
    if (open) {
        journal_limit(gate->ledger->journal, options->journal_max_size);
        open = options->brief || look_for_gap(gate, ret_error);
    }
    gate->ledger->notify = options->notify;
    if (open && load_first(gate, ret_error)) {
        return gate;
    }
    gate_close(gate);
    return NULL;
}

void gate_close(struct gate *gate)
{
    if (gate == NULL) {
        return;
    }
    if (gate->door != NULL) {
        gate->door->close(gate->door_self);
        free(gate);
        return;
    }
    if (gate->entered) {
        ledger_withdraw_all(gate->ledger, gate->registry.name);
        registry_leave(&gate->registry);
    }
    ledger_close(&gate->own);
    decider_finish(&gate->decider);
    policy_destroy(gate->policy);
    policy_destroy(gate->first);
    free(gate->rules_of_ids);
    source_texts_finish(&gate->texts);
    free(gate);
}

const struct policy *gate_policy(const struct gate *gate)
{
    return gate->policy;
}

void gate_start_from(struct gate *gate, const struct path_base *base)
{
    if (gate->door != NULL) {
        gate->door->start_from(gate->door_self, base);
        return;
    }
    gate->calls = *base;
}

void gate_tell_refusals(struct gate *gate, bool tells)
{
    gate->options.tell_refusals = tells;
}

bool gate_commit(struct gate *gate)
{
    if (gate->door != NULL) {
        return gate->door->commit(gate->door_self);
    }
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool written = journal_commit(gate->ledger->journal, gate->turn_flush, &error) && !gate->turn_failed;
    if (!written) {
        gate_tell_journal(gate,
                          error.len ? buf_slice_of(&error) : SLICE("an event is too large, or no memory"));
    } else {
        gate->told = false;
    }
    buf_finish(&error);
    gate->turn_failed = false;
    gate->turn_flush = false;
    return written || gate->options.journal_optional;
}

bool gate_rotate(struct gate *gate, struct buf *ret_error)
{
    if (gate->door != NULL) {
        buf_text(ret_error, "the journal is the broker's: rotate it there");
        return false;
    }
    return journal_rotate(gate->ledger->journal, ret_error);
}

void gate_tick(struct gate *gate)
{
    if (gate->door != NULL) {
        gate->door->tick(gate->door_self);
        return;
    }
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (journal_needs_flush(gate->ledger->journal) && !journal_flush(gate->ledger->journal, &error)) {
        /* What was written may be lost: the next turn's allows are denied, and it is told. */
        gate->turn_failed = true;
        gate_tell_journal(gate, buf_slice_of(&error));
    }
    buf_finish(&error);
    gap_keep_head(gate->ledger);
    ledger_sweep(gate->ledger, times_now());
}

/* A change of our own (a request that has timed out) is no other connection's, and what was changed may not
 * have been readable when it was looked at: a look too many costs little, one too few holds a call for ever.
 */
#define LOOK_EVERY_NS 1000000000u

bool gate_policy_moved(struct gate *gate)
{
    return gate->door != NULL && gate->door->policy_moved(gate->door_self);
}

bool gate_people_moved(struct gate *gate)
{
    if (gate->door != NULL) {
        return gate->door->people_moved(gate->door_self);
    }
    uint64_t now = clock_mono_ns();
    bool moved = store_changed(gate->ledger->store) || now - gate->looked_ns >= LOOK_EVERY_NS;
    gate->looked_ns = moved ? now : gate->looked_ns;
    return moved;
}

enum request_state gate_held_state(struct gate *gate, const struct held *held)
{
    if (gate->door != NULL) {
        return gate->door->held_state(gate->door_self, held);
    }
    struct request request;
    arena_reset(&gate->ledger->arena);
    switch (store_find(gate->ledger->store, held->number, &gate->ledger->arena, &request)) {
    case STORE_DONE:
        return request.state;
    case STORE_NONE: /* so old that the store has forgotten it */
        return REQUEST_TIMED_OUT;
    default:
        return REQUEST_WAITING;
    }
}

void gate_withdraw(struct gate *gate, const struct held *held)
{
    if (gate->door != NULL) {
        gate->door->withdraw(gate->door_self, held);
        return;
    }
    struct request request;
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    arena_reset(&gate->ledger->arena);
    /* What the turn has staged is not a part of this transaction. */
    if (!journal_commit(gate->ledger->journal, gate->turn_flush, &error)) {
        gate->turn_failed = true;
    }
    bool done =
        !gate->turn_failed && store_begin(gate->ledger->store) &&
        store_withdraw(gate->ledger->store, held->number, &gate->ledger->arena, &request) == STORE_DONE &&
        ledger_stage_ends(gate->ledger, &request, 1, (struct slice){0}) &&
        ledger_commit(gate->ledger, &request, 1, &error);
    if (!done) {
        journal_unstage(gate->ledger->journal);
        store_rollback(gate->ledger->store);
    }
    buf_finish(&error);
}
