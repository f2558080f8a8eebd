/* What people do from other processes: see what waits, and answer. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gate/internal.h"

#define SWEEP_EVERY_NS 1000000000u

struct people {
    struct ledger *ledger; /* `own`, or one that is shared */
    struct ledger own;
    uint64_t swept_ns; /* when people_may_have_changed looked for what has ended last */
    bool changed;      /* by this process since people_may_have_changed said so last */
};

struct people *people_open(const char *state_dir, struct buf *ret_error)
{
    struct people *people = calloc(1, sizeof(*people));
    if (people == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    people->own.dir = -1;
    people->ledger = &people->own;
    if (ledger_open(&people->own, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
        ledger_open_store(&people->own, state_dir, ret_error)) {
        return people;
    }
    people_close(people);
    return NULL;
}

struct people *people_open_on(struct ledger *ledger)
{
    struct people *people = calloc(1, sizeof(*people));
    if (people != NULL) {
        people->own.dir = -1;
        people->ledger = ledger;
    }
    return people;
}

void people_close(struct people *people)
{
    if (people == NULL) {
        return;
    }
    if (people->ledger == &people->own) {
        ledger_close(&people->own);
    }
    free(people);
}

/* Vote and journal stand or fall together: what was not recorded does not count. */
static enum store_result vote(struct ledger *ledger, const struct vote *vote, struct times now,
                              struct people_answer *answer, struct buf *ret_error)
{
    enum store_result result = store_vote(ledger->store, vote, now, &ledger->arena, &answer->request,
                                          &answer->ended, &answer->ended_count);
    if (result == STORE_FAILED) {
        buf_text(ret_error, store_error(ledger->store));
    }
    if (result != STORE_DONE) {
        return result;
    }
    if (!ledger_stage_vote(ledger, &answer->request, vote) ||
        !ledger_stage_ends(ledger, answer->ended, answer->ended_count, vote->identity)) {
        buf_text(ret_error, "no memory");
        return STORE_FAILED;
    }
    bool ends = answer->ended_count > 0;
    return ledger_commit(ledger, ends ? answer->ended : &answer->request, ends ? answer->ended_count : 1,
                         ret_error)
               ? STORE_DONE
               : STORE_FAILED;
}

/* An answer that does not count is dropped, and recorded. Best effort: it changes nothing. */
static void note_dropped(struct ledger *ledger, const struct vote *vote, const char *why)
{
    struct buf detail, error;
    buf_init(&detail, DETAIL_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    buf_printf(&detail, "{\"answer\":\"%s\",\"by\":", vote->yes ? "yes" : "no");
    json_write_bytes(&detail, vote->identity);
    buf_text(&detail, ",\"code\":");
    json_write_bytes(&detail, vote->code);
    buf_printf(&detail, ",\"reason\":\"%s\"}", why);
    struct event event = {.kind = "approval.dropped", .detail = buf_slice_of(&detail)};
    if (buf_ok(&detail) && journal_stage(ledger->journal, &event)) {
        (void)!journal_commit(ledger->journal, false, &error);
    }
    buf_finish(&detail);
    buf_finish(&error);
}

/* Ends what is over. What this process ends itself does not look like a change to it. */
static void people_sweep(struct people *people, struct times now)
{
    people->changed = ledger_sweep(people->ledger, now) || people->changed;
}

static bool begin(struct people *people, struct times now, struct buf *ret_error)
{
    struct ledger *ledger = people->ledger;
    people_sweep(people, now);
    arena_reset(&ledger->arena);
    if (store_begin(ledger->store)) {
        return true;
    }
    buf_text(ret_error, store_error(ledger->store));
    return false;
}

static void take_back(struct ledger *ledger)
{
    journal_unstage(ledger->journal);
    store_rollback(ledger->store);
}

enum store_result people_vote(struct people *people, const struct vote *given,
                              struct people_answer *ret_answer, struct buf *ret_error)
{
    struct ledger *ledger = people->ledger;
    struct times now = times_now();
    *ret_answer = (struct people_answer){0};
    if (!begin(people, now, ret_error)) {
        return STORE_FAILED;
    }
    enum store_result result = vote(ledger, given, now, ret_answer, ret_error);
    if (result != STORE_DONE) {
        take_back(ledger);
    }
    people->changed = people->changed || result == STORE_DONE;
    if (result == STORE_NONE) {
        note_dropped(ledger, given, "no such request waits");
    } else if (result == STORE_TWICE) {
        note_dropped(ledger, given, "this person has answered already");
    }
    return result;
}

void people_drop(struct people *people, const struct vote *vote, const char *why)
{
    note_dropped(people->ledger, vote, why);
}

bool people_note(struct people *people, const struct event *event)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool written = journal_stage(people->ledger->journal, event) &&
                   journal_commit(people->ledger->journal, false, &error);
    buf_finish(&error);
    return written;
}

bool people_may_have_changed(struct people *people)
{
    uint64_t now = clock_mono_ns();
    bool moved = store_changed(people->ledger->store) || people->changed;
    people->changed = false;
    if (now - people->swept_ns >= SWEEP_EVERY_NS) {
        people->swept_ns = now;
        people_sweep(people, times_now());
        moved = moved || people->changed;
        people->changed = false;
    }
    return moved;
}

bool people_waiting(struct people *people, struct request **ret_requests, size_t *ret_count,
                    struct buf *ret_error)
{
    people_sweep(people, times_now());
    arena_reset(&people->ledger->arena);
    if (store_waiting(people->ledger->store, &people->ledger->arena, ret_requests, ret_count) == STORE_DONE) {
        return true;
    }
    buf_text(ret_error, store_error(people->ledger->store));
    return false;
}

bool people_covers(const struct request *request, enum approval_scope scope, const struct request *other)
{
    bool same_rule = slice_eq(request->rule, other->rule) &&
                     memcmp(request->rule_digest, other->rule_digest, APPROVAL_HASH) == 0 &&
                     slice_eq(request->channel, other->channel) && slice_eq(request->thread, other->thread);
    bool same_call = memcmp(request->call_hash, other->call_hash, APPROVAL_HASH) == 0 &&
                     memcmp(request->shown, other->shown, APPROVAL_HASH) == 0;
    return same_rule && scope != APPROVAL_ONCE && (scope == APPROVAL_SESSION || same_call);
}

enum store_result people_last(struct people *people, struct slice code, struct request *ret_request,
                              struct buf *ret_error)
{
    struct ledger *ledger = people->ledger;
    people_sweep(people, times_now());
    arena_reset(&ledger->arena);
    enum store_result result = store_last_of_code(ledger->store, code, &ledger->arena, ret_request);
    if (result == STORE_FAILED) {
        buf_text(ret_error, store_error(ledger->store));
    }
    return result;
}

/* ---- Live approvals ---- */

bool people_grants(struct people *people, struct grant **ret_grants, size_t *ret_count, struct buf *ret_error)
{
    struct ledger *ledger = people->ledger;
    arena_reset(&ledger->arena);
    if (store_all_grants(ledger->store, times_now(), &ledger->arena, ret_grants, ret_count) == STORE_DONE) {
        return true;
    }
    buf_text(ret_error, store_error(ledger->store));
    return false;
}

static bool stage_revoked(struct ledger *ledger, const struct grant *grant, struct slice identity)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    buf_text(&detail, "{\"by\":");
    json_write_bytes(&detail, identity);
    buf_printf(&detail, ",\"grant\":%lld,\"request\":%lld,\"scope\":\"%s\"}", (long long)grant->id,
               (long long)grant->request, approval_scope_name(grant->scope));
    struct event event = {
        .kind = "approval.revoked",
        .rule = grant->rule,
        .has_session = true,
        .channel = grant->channel,
        .thread = grant->thread,
        .detail = buf_slice_of(&detail),
    };
    bool staged = buf_ok(&detail) && journal_stage(ledger->journal, &event);
    buf_finish(&detail);
    return staged;
}

enum store_result people_revoke(struct people *people, int64_t id, struct slice identity,
                                struct buf *ret_error)
{
    struct ledger *ledger = people->ledger;
    struct times now = times_now();
    struct grant grant;
    if (!begin(people, now, ret_error)) {
        return STORE_FAILED;
    }
    enum store_result result = store_revoke(ledger->store, id, now, &ledger->arena, &grant);
    if (result == STORE_FAILED) {
        buf_text(ret_error, store_error(ledger->store));
    }
    if (result == STORE_DONE &&
        !(stage_revoked(ledger, &grant, identity) && ledger_commit(ledger, NULL, 0, ret_error))) {
        result = STORE_FAILED;
    }
    if (result != STORE_DONE) {
        take_back(ledger);
    }
    people->changed = people->changed || result == STORE_DONE;
    return result;
}
