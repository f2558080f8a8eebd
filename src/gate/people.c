/* What people do from other processes: see what waits, and answer. */
#include <stdlib.h>

#include "gate/inside.h"

struct people {
    struct desk desk;
};

struct people *people_open(const char *state_dir, struct buf *ret_error)
{
    struct people *people = calloc(1, sizeof(*people));
    if (people == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    if (desk_open(&people->desk, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
        desk_open_store(&people->desk, state_dir, ret_error)) {
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
    desk_close(&people->desk);
    free(people);
}

/* Vote and journal stand or fall together: what was not recorded does not count. */
static enum store_result vote(struct desk *desk, struct slice code, struct slice identity, bool yes,
                              struct times now, struct request *ret_request, struct buf *ret_error)
{
    struct request *ended = NULL;
    size_t count = 0;
    enum store_result result =
        store_vote(desk->store, code, identity, yes, now, &desk->arena, ret_request, &ended, &count);
    if (result == STORE_FAILED) {
        buf_text(ret_error, store_error(desk->store));
    }
    if (result != STORE_DONE) {
        return result;
    }
    if (!desk_stage_request(desk, "approval.vote", ret_request, identity, yes ? "yes" : "no") ||
        !desk_stage_ends(desk, ended, count, identity)) {
        buf_text(ret_error, "no memory");
        return STORE_FAILED;
    }
    if (!journal_commit(desk->journal, true, ret_error)) {
        return STORE_FAILED;
    }
    if (store_commit(desk->store)) {
        return STORE_DONE;
    }
    buf_text(ret_error, store_error(desk->store));
    return STORE_FAILED;
}

/* An answer that does not count is dropped, and recorded. Best effort: it changes nothing. */
static void note_dropped(struct desk *desk, struct slice code, struct slice identity, bool yes,
                         const char *why)
{
    struct buf detail, error;
    buf_init(&detail, 64u << 10);
    buf_init(&error, 4096);
    buf_printf(&detail, "{\"answer\":\"%s\",\"by\":", yes ? "yes" : "no");
    json_write_bytes(&detail, identity);
    buf_text(&detail, ",\"code\":");
    json_write_bytes(&detail, code);
    buf_printf(&detail, ",\"reason\":\"%s\"}", why);
    struct event event = {.kind = "approval.dropped", .detail = buf_slice_of(&detail)};
    if (buf_ok(&detail) && journal_stage(desk->journal, &event)) {
        (void)!journal_commit(desk->journal, false, &error);
    }
    buf_finish(&detail);
    buf_finish(&error);
}

enum store_result people_vote(struct people *people, struct slice code, struct slice identity, bool yes,
                              struct request *ret_request, struct buf *ret_error)
{
    struct desk *desk = &people->desk;
    struct times now = times_now();
    desk_sweep(desk, now);
    arena_reset(&desk->arena);
    if (!store_begin(desk->store)) {
        buf_text(ret_error, store_error(desk->store));
        return STORE_FAILED;
    }
    enum store_result result = vote(desk, code, identity, yes, now, ret_request, ret_error);
    if (result != STORE_DONE) {
        journal_unstage(desk->journal);
        store_rollback(desk->store);
    }
    if (result == STORE_NONE) {
        note_dropped(desk, code, identity, yes, "no such request waits");
    } else if (result == STORE_TWICE) {
        note_dropped(desk, code, identity, yes, "this person has answered already");
    }
    return result;
}

bool people_waiting(struct people *people, struct request **ret_requests, size_t *ret_count,
                    struct buf *ret_error)
{
    desk_sweep(&people->desk, times_now());
    arena_reset(&people->desk.arena);
    if (store_waiting(people->desk.store, &people->desk.arena, ret_requests, ret_count) == STORE_DONE) {
        return true;
    }
    buf_text(ret_error, store_error(people->desk.store));
    return false;
}
