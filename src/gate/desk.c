#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "gate/inside.h"
#include "gate/state.h"

struct times times_now(void)
{
    return (struct times){clock_wall_ms(), clock_boot_ms()};
}

bool desk_open(struct desk *desk, const char *state_dir, enum journal_fsync fsync, struct slice boot_detail,
               struct buf *ret_error)
{
    *desk = (struct desk){.dir = -1};
    arena_init(&desk->arena, 256u << 20);
    desk->dir = state_open(state_dir, ret_error);
    if (desk->dir < 0) {
        return false;
    }
    desk->journal = journal_open(desk->dir, STATE_JOURNAL, fsync, boot_detail, ret_error);
    if (desk->journal == NULL) {
        return false;
    }
    if (random_bytes(&desk->correlation, sizeof(desk->correlation))) {
        return true;
    }
    buf_text(ret_error, "no random numbers");
    return false;
}

bool desk_open_store(struct desk *desk, const char *state_dir, struct buf *ret_error)
{
    if (desk->store == NULL) {
        desk->store = store_open(state_dir, ret_error);
    }
    return desk->store != NULL;
}

void desk_close(struct desk *desk)
{
    store_close(desk->store);
    journal_close(desk->journal);
    if (desk->dir >= 0) {
        close(desk->dir);
    }
    arena_finish(&desk->arena);
    *desk = (struct desk){.dir = -1};
}

void desk_correlation(struct desk *desk, char ret_id[CORRELATION_SIZE])
{
    snprintf(ret_id, CORRELATION_SIZE, "%016llx", (unsigned long long)desk->correlation++);
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

bool desk_stage_request(struct desk *desk, const char *kind, const struct request *request, struct slice by,
                        const char *answer)
{
    struct buf detail;
    buf_init(&detail, 4096);
    buf_printf(&detail, "{\"code\":\"%s\",\"given\":%u,\"needed\":%u,\"request\":%lld", request->code,
               request->given, request->needed, (long long)request->number);
    if (answer != NULL) {
        buf_printf(&detail, ",\"answer\":\"%s\"", answer);
    }
    if (by.len) {
        buf_text(&detail, ",\"by\":");
        json_write_bytes(&detail, by);
    }
    buf_byte(&detail, '}');
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
        .detail = buf_slice_of(&detail),
    };
    bool staged = buf_ok(&detail) && journal_stage(desk->journal, &event);
    buf_finish(&detail);
    return staged;
}

bool desk_stage_ends(struct desk *desk, const struct request *ended, size_t count, struct slice by)
{
    for (size_t i = 0; i < count; i++) {
        if (!desk_stage_request(desk, kind_of_end(ended[i].state), &ended[i], by, NULL)) {
            return false;
        }
    }
    return true;
}

void desk_sweep(struct desk *desk, struct times now)
{
    if (desk->store == NULL || !store_sweep_due(desk->store, now) || !store_begin(desk->store)) {
        return;
    }
    struct request *ended = NULL;
    size_t count = 0;
    struct buf error;
    buf_init(&error, 4096);
    struct arena arena; /* its own: the caller is in the middle of something */
    arena_init(&arena, 0);
    /* What cannot be journalled does not happen; the next sweep tries again. */
    bool done = store_sweep(desk->store, now, &arena, &ended, &count) == STORE_DONE &&
                desk_stage_ends(desk, ended, count, (struct slice){0}) &&
                journal_commit(desk->journal, true, &error) && store_commit(desk->store);
    if (!done) {
        journal_unstage(desk->journal);
        store_rollback(desk->store);
    }
    buf_finish(&error);
    arena_finish(&arena);
}
