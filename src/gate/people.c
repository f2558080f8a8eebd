/* What people do from other processes: see what waits, and answer. */
#include <stdlib.h>

#include "gate/internal.h"

struct people {
    struct ledger ledger;
};

struct people *people_open(const char *state_dir, struct buf *ret_error)
{
    struct people *people = calloc(1, sizeof(*people));
    if (people == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    if (ledger_open(&people->ledger, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
        ledger_open_store(&people->ledger, state_dir, ret_error)) {
        return people;
    }
    people_close(people);
    return NULL;
}

void people_close(struct people *people)
{
    if (people == NULL) {
        return;
    }
    ledger_close(&people->ledger);
    free(people);
}

/* Vote and journal stand or fall together: what was not recorded does not count. */
static enum store_result vote(struct ledger *ledger, struct slice code, struct slice identity, bool yes,
                              struct times now, struct request *ret_request, struct buf *ret_error)
{
    struct request *ended = NULL;
    size_t count = 0;
    enum store_result result =
        store_vote(ledger->store, code, identity, yes, now, &ledger->arena, ret_request, &ended, &count);
    if (result == STORE_FAILED) {
        buf_text(ret_error, store_error(ledger->store));
    }
    if (result != STORE_DONE) {
        return result;
    }
    if (!ledger_stage_request(ledger, "approval.vote", ret_request, identity, yes ? "yes" : "no") ||
        !ledger_stage_ends(ledger, ended, count, identity)) {
        buf_text(ret_error, "no memory");
        return STORE_FAILED;
    }
    return ledger_commit(ledger, count > 0 ? ended : ret_request, count > 0 ? count : 1, ret_error)
               ? STORE_DONE
               : STORE_FAILED;
}

/* An answer that does not count is dropped, and recorded. Best effort: it changes nothing. */
static void note_dropped(struct ledger *ledger, struct slice code, struct slice identity, bool yes,
                         const char *why)
{
    struct buf detail, error;
    buf_init(&detail, 64u << 10);
    buf_init_message(&error, MESSAGE_BYTES);
    buf_printf(&detail, "{\"answer\":\"%s\",\"by\":", yes ? "yes" : "no");
    json_write_bytes(&detail, identity);
    buf_text(&detail, ",\"code\":");
    json_write_bytes(&detail, code);
    buf_printf(&detail, ",\"reason\":\"%s\"}", why);
    struct event event = {.kind = "approval.dropped", .detail = buf_slice_of(&detail)};
    if (buf_ok(&detail) && journal_stage(ledger->journal, &event)) {
        (void)!journal_commit(ledger->journal, false, &error);
    }
    buf_finish(&detail);
    buf_finish(&error);
}

enum store_result people_vote(struct people *people, struct slice code, struct slice identity, bool yes,
                              struct request *ret_request, struct buf *ret_error)
{
    struct ledger *ledger = &people->ledger;
    struct times now = times_now();
    ledger_sweep(ledger, now);
    arena_reset(&ledger->arena);
    if (!store_begin(ledger->store)) {
        buf_text(ret_error, store_error(ledger->store));
        return STORE_FAILED;
    }
    enum store_result result = vote(ledger, code, identity, yes, now, ret_request, ret_error);
    if (result != STORE_DONE) {
        journal_unstage(ledger->journal);
        store_rollback(ledger->store);
    }
    if (result == STORE_NONE) {
        note_dropped(ledger, code, identity, yes, "no such request waits");
    } else if (result == STORE_TWICE) {
        note_dropped(ledger, code, identity, yes, "this person has answered already");
    }
    return result;
}

bool people_waiting(struct people *people, struct request **ret_requests, size_t *ret_count,
                    struct buf *ret_error)
{
    ledger_sweep(&people->ledger, times_now());
    arena_reset(&people->ledger.arena);
    if (store_waiting(people->ledger.store, &people->ledger.arena, ret_requests, ret_count) == STORE_DONE) {
        return true;
    }
    buf_text(ret_error, store_error(people->ledger.store));
    return false;
}
