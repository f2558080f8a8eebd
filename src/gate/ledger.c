/* The ledger: the state directory with its journal and its store of approvals, which commit as one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "gate/internal.h"
#include "gate/state.h"
#include "people/notice.h"
#include "people/outbox.h"

#define NOTICE_BYTES ((size_t)256 << 20) /* the largest input fits */

struct times times_now(void)
{
    return (struct times){clock_wall_ms(), clock_boot_ms()};
}

bool ledger_open(struct ledger *ledger, const char *state_dir, enum journal_fsync fsync,
                 struct slice boot_detail, struct buf *ret_error)
{
    *ledger = (struct ledger){.dir = -1};
    arena_init(&ledger->arena, 256u << 20);
    ledger->dir = state_open(state_dir, ret_error);
    if (ledger->dir < 0) {
        return false;
    }
    ledger->journal = journal_open(ledger->dir, STATE_JOURNAL, fsync, boot_detail, ret_error);
    if (ledger->journal == NULL) {
        return false;
    }
    ledger->path = realpath(state_dir, NULL);
    if (random_bytes(&ledger->correlation, sizeof(ledger->correlation))) {
        return true;
    }
    buf_text(ret_error, "no random numbers");
    return false;
}

bool ledger_open_store(struct ledger *ledger, const char *state_dir, struct buf *ret_error)
{
    if (ledger->store == NULL) {
        ledger->store = store_open(state_dir, ret_error);
    }
    return ledger->store != NULL;
}

bool gate_rotate_journal(const char *state_dir, struct buf *ret_error)
{
    struct ledger ledger;
    bool done = ledger_open(&ledger, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
                journal_rotate(ledger.journal, ret_error);
    ledger_close(&ledger);
    return done;
}

bool ledger_open_for(struct ledger *ledger, const char *state_dir, enum journal_fsync fsync,
                     const char *surface, struct buf *ret_error)
{
    struct buf boot;
    buf_init(&boot, DETAIL_BYTES);
    if (surface != NULL) {
        buf_text(&boot, "{\"surface\":");
        json_write_string(&boot, slice_of(surface));
        buf_byte(&boot, '}');
    }
    bool open = ledger_open(ledger, state_dir, fsync, buf_slice_of(&boot), ret_error) &&
                (surface == NULL || ledger_open_store(ledger, state_dir, ret_error));
    buf_finish(&boot);
    return open;
}

struct ledger *gate_ledger_open(const char *state_dir, enum journal_fsync fsync, const char *surface,
                                struct buf *ret_error)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    if (ledger == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    if (ledger_open_for(ledger, state_dir, fsync, surface, ret_error)) {
        return ledger;
    }
    gate_ledger_close(ledger);
    return NULL;
}

void gate_ledger_close(struct ledger *ledger)
{
    if (ledger != NULL) {
        ledger_close(ledger);
        free(ledger);
    }
}

void ledger_close(struct ledger *ledger)
{
    store_close(ledger->store);
    journal_close(ledger->journal);
    free(ledger->path);
    if (ledger->dir >= 0) {
        close(ledger->dir);
    }
    arena_finish(&ledger->arena);
    *ledger = (struct ledger){.dir = -1};
}

void ledger_correlation(struct ledger *ledger, char ret_id[CORRELATION_SIZE])
{
    snprintf(ret_id, CORRELATION_SIZE, "%016llx", (unsigned long long)ledger->correlation++);
}

static const char *kind_of_end(enum request_state state)
{
    switch (state) {
    case REQUEST_APPROVED:
        return "approval.approved";
    case REQUEST_REFUSED:
        return "approval.refused";
    case REQUEST_TIMED_OUT:
        return "approval.timed_out";
    default:
        return "approval.withdrawn";
    }
}

static bool stage_request_event(struct ledger *ledger, const char *kind, const struct request *request,
                                const struct buf *detail)
{
    struct event event = {
        .kind = kind,
        .tool = request->tool,
        .server = request->server,
        .rule = request->rule,
        .actor = request->actor,
        .has_session = true,
        .channel = request->channel,
        .thread = request->thread,
        .call_hash = request->call_hash,
        .detail = buf_slice_of(detail),
    };
    return journal_stage(ledger->journal, &event);
}

static void write_request(struct buf *detail, const struct request *request)
{
    buf_printf(detail, "{\"code\":\"%s\",\"given\":%u,\"needed\":%u,\"request\":%lld,\"scope\":\"%s\"",
               request->code, request->given, request->needed, (long long)request->number,
               approval_scope_name(request->narrowed));
}

static void write_by(struct buf *detail, struct slice by)
{
    if (by.len > 0) {
        buf_text(detail, ",\"by\":");
        json_write_bytes(detail, by);
    }
}

bool ledger_stage_vote(struct ledger *ledger, const struct request *request, const struct vote *vote)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    write_request(&detail, request);
    buf_printf(&detail, ",\"answer\":\"%s\"", vote->yes ? "yes" : "no");
    write_by(&detail, vote->identity);
    if (vote->because.len > 0) {
        buf_text(&detail, ",\"because\":");
        json_write_bytes(&detail, vote->because);
    }
    buf_byte(&detail, '}');
    bool staged = buf_ok(&detail) && stage_request_event(ledger, "approval.vote", request, &detail);
    buf_finish(&detail);
    return staged;
}

static bool stage_end(struct ledger *ledger, const struct request *request, struct slice by)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    write_request(&detail, request);
    write_by(&detail, by);
    buf_byte(&detail, '}');
    bool staged =
        buf_ok(&detail) && stage_request_event(ledger, kind_of_end(request->state), request, &detail);
    buf_finish(&detail);
    return staged;
}

bool ledger_stage_ends(struct ledger *ledger, const struct request *ended, size_t count, struct slice by)
{
    for (size_t i = 0; i < count; i++) {
        if (!stage_end(ledger, &ended[i], by)) {
            return false;
        }
    }
    return true;
}

/* An event that takes back what the journal says became of requests. */
static bool stage_void(struct ledger *ledger, const struct request *requests, size_t count, struct slice why)
{
    for (size_t i = 0; i < count; i++) {
        struct buf detail;
        buf_init(&detail, DETAIL_BYTES);
        buf_printf(&detail, "{\"code\":\"%s\",\"request\":%lld,\"why\":", requests[i].code,
                   (long long)requests[i].number);
        json_write_bytes(&detail, why);
        buf_byte(&detail, '}');
        bool staged = buf_ok(&detail) && stage_request_event(ledger, "approval.void", &requests[i], &detail);
        buf_finish(&detail);
        if (!staged) {
            return false;
        }
    }
    return true;
}

void ledger_notify(struct ledger *ledger, const struct request *requests, size_t count, struct buf *ret_error)
{
    struct buf notice;
    for (size_t i = 0; i < count && ledger->path != NULL; i++) {
        bool waits = requests[i].state == REQUEST_WAITING;
        if (waits && (requests[i].given > 0 || ledger->announced)) {
            continue; /* a vote, or a call that came again */
        }
        buf_init(&notice, NOTICE_BYTES);
        notice_write(&notice, &requests[i]);
        if (buf_ok(&notice)) {
            (void)!outbox_post(ledger->dir, ledger->path, buf_slice_of(&notice), ledger->notify, ret_error);
        }
        buf_finish(&notice);
    }
}

bool ledger_commit(struct ledger *ledger, const struct request *requests, size_t count, struct buf *ret_error)
{
    if (!journal_commit(ledger->journal, true, ret_error)) {
        store_rollback(ledger->store);
        return false;
    }
    if (store_commit(ledger->store)) {
        struct buf untold;
        buf_init_message(&untold, MESSAGE_BYTES);
        ledger_notify(ledger, requests, count, &untold);
        buf_finish(&untold);
        return true;
    }
    buf_text(ret_error, store_error(ledger->store));
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!stage_void(ledger, requests, count, slice_of(store_error(ledger->store))) ||
        !journal_commit(ledger->journal, true, &error)) {
        journal_unstage(ledger->journal);
        buf_text(ret_error, "; the journal cannot say so");
    }
    buf_finish(&error);
    return false;
}

/* Ends requests in a transaction of its own, with an event for each. What cannot be journalled does not happen; the
 * next sweep tries again. */
static bool end_requests(struct ledger *ledger, struct times now, const struct slice *holder)
{
    struct request *ended = NULL;
    size_t count = 0;
    struct buf error;
    struct arena arena; /* its own: the caller is in the middle of something */
    if (!store_begin(ledger->store)) {
        return false;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    arena_init(&arena, 0);
    enum store_result result = holder != NULL
                                   ? store_withdraw_held(ledger->store, *holder, &arena, &ended, &count)
                                   : store_sweep(ledger->store, now, &arena, &ended, &count);
    bool done = result == STORE_DONE && ledger_stage_ends(ledger, ended, count, (struct slice){0}) &&
                ledger_commit(ledger, ended, count, &error);
    if (!done) {
        journal_unstage(ledger->journal);
        store_rollback(ledger->store);
    }
    buf_finish(&error);
    arena_finish(&arena);
    return done;
}

void ledger_withdraw_all(struct ledger *ledger, const char *holder)
{
    const struct slice name = slice_of(holder);
    struct slice *holders = NULL;
    size_t count = 0;
    struct arena arena;
    if (ledger->store == NULL) {
        return;
    }
    arena_init(&arena, 0);
    if (store_holders(ledger->store, &arena, &holders, &count) == STORE_DONE) {
        for (size_t i = 0; i < count; i++) {
            if (slice_eq(holders[i], name)) {
                (void)end_requests(ledger, times_now(), &name);
            }
        }
    }
    arena_finish(&arena);
}

/* A gate that was killed has withdrawn nothing: whoever looks next does. */
static bool withdraw_of_the_dead(struct ledger *ledger, struct times now)
{
    struct slice *holders = NULL;
    size_t count = 0;
    struct arena arena;
    bool ended = false;
    arena_init(&arena, 0);
    if (store_holders(ledger->store, &arena, &holders, &count) == STORE_DONE) {
        for (size_t i = 0; i < count; i++) {
            if (!registry_is_alive(ledger->dir, holders[i])) {
                ended = end_requests(ledger, now, &holders[i]) || ended;
            }
        }
    }
    arena_finish(&arena);
    return ended;
}

bool ledger_sweep(struct ledger *ledger, struct times now)
{
    if (ledger->store == NULL) {
        return false;
    }
    bool swept = store_sweep_due(ledger->store, now) && end_requests(ledger, now, NULL);
    return withdraw_of_the_dead(ledger, now) || swept;
}
