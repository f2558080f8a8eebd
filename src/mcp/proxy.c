/* The proxy's life: start, flow, and the ways it ends.
 *
 * It ends when either side ends. The client's end closes the server's input, and the server is expected to
 * end; what it still says is handed on. The server's end answers every open request, and what waits for the
 * client is written as long as the client reads. */
#include "mcp/proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* The journal's flush, the store, held calls. A grant is noticed within this. */
#define TICK_MS 100

/* How long a server may take to end by itself once its input is closed: longer while it owes answers, because
 * a client that only pipes its requests in closes before they are answered; shorter when we are told to end.
 */
#define END_WAIT_MS       2000
#define END_WAIT_OWING_MS 4000
#define END_WAIT_TOLD_MS  1500

/* A server that has ended may have left something in its pipe, or a child that keeps the pipe open. */
#define DRAIN_MS 250

/* But a pipe that never becomes quiet is left after this many. */
#define DRAINS_MOST 40

/* How long a client that reads nothing is waited for at the end. */
#define FLUSH_MS 2000

void proxy_say(struct proxy *p, const char *line)
{
    if (p->options->say != NULL) {
        p->options->say(line);
    }
}

void proxy_note(struct proxy *p, const char *kind, const char *what, struct slice method)
{
    const struct call_defaults *defaults = &p->options->defaults;
    struct buf detail;
    buf_init(&detail, (size_t)4 << 10);
    buf_text(&detail, "{\"what\":");
    json_write_string(&detail, slice_of(what));
    if (method.len > 0 && method.len <= 256) {
        buf_text(&detail, ",\"method\":");
        json_write_bytes(&detail, method);
    }
    buf_byte(&detail, '}');
    struct event event = {
        .kind = kind,
        .server = defaults->server,
        .has_session = true,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .detail = buf_ok(&detail) ? buf_slice_of(&detail) : (struct slice){0},
    };
    gate_note(p->gate, &event);
    p->turn.staged = true;
    buf_finish(&detail);
}

void proxy_trim(struct proxy *p)
{
    if (p->doc.cap > 1u << 16) {
        json_finish(&p->doc);
        json_init(&p->doc);
    }
    if (p->scratch.cap > (size_t)1 << 20) {
        size_t ceiling = p->scratch.ceiling;
        buf_finish(&p->scratch);
        buf_init(&p->scratch, ceiling);
    }
}

void proxy_flow(struct proxy *p)
{
    bool room = peer_queued(&p->client) <= QUEUE_CEILING;
    peer_read(&p->client, !p->leaving && !p->server_gone && room && peer_queued(&p->server) <= QUEUE_CEILING);
    peer_read(&p->server, !p->server_gone && room);
}

void proxy_end_turn(struct proxy *p, struct peer *to)
{
    if (p->turn.staged && !gate_commit(p->gate)) {
        client_deny_turn(p);
    }
    size_t count = turn_pieces(&p->turn);
    peer_write(to, p->turn.pieces, count);
    if (!buf_ok(&p->turn.answers)) {
        proxy_fail(p, "no memory for an answer");
    } else if (p->turn.answers.len > 0) {
        uv_buf_t answers = {.base = p->turn.answers.ptr, .len = p->turn.answers.len};
        peer_write(&p->client, &answers, 1);
    }
    while (p->released != NULL) {
        struct held_call *call = p->released;
        p->released = call->next;
        held_free(call);
    }
    turn_reset(&p->turn);
    proxy_trim(p);
    proxy_flow(p);
}

/* ---- Ending ---- */

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* Nothing more is to be done: with no handle left the loop returns. */
static void close_all(struct proxy *p)
{
    peer_close(&p->client);
    peer_close(&p->server);
    child_close(&p->child);
    close_handle((uv_handle_t *)&p->tick);
    close_handle((uv_handle_t *)&p->drain);
    for (size_t i = 0; i < 3; i++) {
        close_handle((uv_handle_t *)&p->signals[i]);
    }
}

static void client_closed(struct peer *peer)
{
    close_all(peer->owner);
}

/* The server's process has ended and all that it said has been taken. */
static void finish(struct proxy *p)
{
    if (p->ending) {
        return;
    }
    p->ending = true;
    p->moved_ms = uv_now(&p->loop);
    if (p->client.out.open) {
        peer_close_out(&p->client);
    } else {
        close_all(p);
    }
}

/* The client has gone, or we are told to end: the server's input is closed, held calls have nobody who waits.
 */
static void leave(struct proxy *p, uint64_t wait_ms)
{
    if (!p->leaving) {
        p->leaving = true;
        peer_read(&p->client, false);
        while (p->held.first != NULL) {
            struct held_call *call = p->held.first;
            answer_not_in_time(&p->turn.answers, &call->entry->id, call->shape);
            client_withdraw(p, call);
            held_free(call);
        }
        proxy_end_turn(p, &p->server);
        peer_close_out(&p->server);
    }
    child_expect_end(&p->child, wait_ms);
}

static void answer_gone(struct proxy *p, struct ids_entry *entry)
{
    answer_error(&p->turn.answers, &entry->id, RPC_INTERNAL, "The server has ended");
    if (entry->state == IDS_HELD) {
        struct held_call *call = entry->held;
        client_withdraw(p, call);
        held_free(call);
    } else {
        ids_remove(&p->asked, entry);
    }
}

/* No more comes from the server: whoever waits for it is told. */
static void lose_server(struct proxy *p)
{
    if (p->server_gone) {
        return;
    }
    p->server_gone = true;
    peer_read(&p->client, false);
    struct ids_entry *entry;
    while ((entry = ids_any(&p->asked)) != NULL) {
        answer_gone(p, entry);
    }
    proxy_end_turn(p, &p->client);
    peer_close(&p->server);
    if (p->child.running) {
        child_expect_end(&p->child, END_WAIT_MS);
    } else {
        finish(p);
    }
}

void proxy_fail(struct proxy *p, const char *why)
{
    proxy_say(p, why);
    child_expect_end(&p->child, 0);
    p->leaving = true;
}

/* ---- What happens ---- */

static void client_bytes(struct peer *peer)
{
    client_turn(peer->owner);
}

static void client_end(struct peer *peer)
{
    struct proxy *p = peer->owner;
    client_last(p);
    leave(p, END_WAIT_OWING_MS);
    if (p->asked.count == 0) {
        child_expect_end(&p->child, END_WAIT_MS);
    }
}

static void peer_has_written(struct peer *peer)
{
    proxy_flow(peer->owner);
}

static void server_bytes(struct peer *peer)
{
    struct proxy *p = peer->owner;
    p->moved_ms = uv_now(&p->loop);
    server_turn(p);
    if (p->leaving && p->asked.count == 0) {
        child_expect_end(&p->child, END_WAIT_MS);
    }
}

static void server_end(struct peer *peer)
{
    struct proxy *p = peer->owner;
    server_last(p);
    lose_server(p);
}

/* What the server has left in its pipe is taken, until nothing comes any more, though the pipe may be kept
 * open by children of its own. A client that reads slowly is waited for, one that reads nothing is not. */
static void drain(uv_timer_t *timer)
{
    struct proxy *p = timer->data;
    uint64_t still_ms = uv_now(&p->loop) - p->moved_ms;
    if (still_ms >= (p->server.reading ? DRAIN_MS : FLUSH_MS) || p->drains_left-- == 0) {
        lose_server(p);
    }
}

static void child_exited(struct child *child)
{
    struct proxy *p = child->owner;
    if (p->server_gone) {
        finish(p);
        return;
    }
    p->moved_ms = uv_now(&p->loop);
    p->drains_left = DRAINS_MOST;
    uv_timer_start(&p->drain, drain, DRAIN_MS, DRAIN_MS);
}

/* Notes whether something of what waits has gone out since the last tick. */
static void watch_queues(struct proxy *p)
{
    size_t left[2] = {peer_queued(&p->client), peer_queued(&p->server)};
    if (left[0] != p->left[0] || left[1] != p->left[1]) {
        p->moved_ms = uv_now(&p->loop);
    }
    memcpy(p->left, left, sizeof(left));
}

/* What no callback tells. */
static void look_around(struct proxy *p)
{
    uint64_t still_ms = uv_now(&p->loop) - p->moved_ms;
    if (p->ending) {
        if (p->client.broken || still_ms >= FLUSH_MS) {
            close_all(p);
        }
    } else if (p->client.broken) {
        leave(p, END_WAIT_MS);
    } else if (p->server.broken) {
        /* It no longer reads. What it has still to say is taken until it ends. */
        child_expect_end(&p->child, END_WAIT_MS);
    } else if (!p->client.reading && still_ms >= END_WAIT_OWING_MS && peer_hung_up(&p->client)) {
        leave(p, 0); /* the client has gone, and nothing of what it left behind gets any further */
    }
}

static void tick(uv_timer_t *timer)
{
    struct proxy *p = timer->data;
    gate_tick(p->gate);
    client_look_at_held(p);
    watch_queues(p);
    look_around(p);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct proxy *p = handle->data;
    if (number == SIGHUP) {
        (void)gate_reload(p->gate);
    } else {
        leave(p, p->leaving ? 0 : END_WAIT_TOLD_MS);
    }
}

/* ---- Starting ---- */

static void start_handles(struct proxy *p)
{
    static const int numbers[3] = {SIGHUP, SIGTERM, SIGINT};
    (void)uv_timer_init(&p->loop, &p->tick);
    (void)uv_timer_init(&p->loop, &p->drain);
    p->tick.data = p->drain.data = p;
    for (size_t i = 0; i < 3; i++) {
        (void)uv_signal_init(&p->loop, &p->signals[i]);
        p->signals[i].data = p;
        (void)uv_signal_start(&p->signals[i], on_signal, numbers[i]);
    }
    (void)uv_timer_start(&p->tick, tick, TICK_MS, TICK_MS);
}

static int start_peers(struct proxy *p)
{
    int to_child = -1, from_child = -1;
    int result = child_start(&p->child, &p->loop, p->options->command, p->options->child_umask, &to_child,
                             &from_child);
    if (result != 0) {
        return result;
    }
    result = peer_open(&p->server, &p->loop, from_child, to_child, SERVER_LINE_BYTES);
    return result ? result
                  : peer_open(&p->client, &p->loop, p->options->client_in, p->options->client_out,
                              LIMIT_MESSAGE_BYTES);
}

static void set_callbacks(struct proxy *p)
{
    p->child.owner = p->client.owner = p->server.owner = p;
    p->child.on_exit = child_exited;
    p->client.on_bytes = client_bytes;
    p->client.on_end = client_end;
    p->client.on_closed = client_closed;
    p->server.on_bytes = server_bytes;
    p->server.on_end = server_end;
    p->client.on_written = p->server.on_written = peer_has_written;
}

static void tell_start_failed(struct proxy *p, int error)
{
    char line[512];
    snprintf(line, sizeof(line), "the server '%.256s' cannot be started: %s", p->options->command[0],
             uv_strerror(error));
    proxy_say(p, line);
}

static int run(struct proxy *p)
{
    start_handles(p);
    int result = start_peers(p);
    set_callbacks(p);
    if (result == 0) {
        proxy_flow(p);
    } else {
        tell_start_failed(p, result);
        if (p->child.running) {
            (void)uv_process_kill(&p->child.process, SIGKILL);
        }
        close_all(p);
    }
    (void)uv_run(&p->loop, UV_RUN_DEFAULT);
    return result == 0 ? p->child.code : PROXY_UNABLE;
}

static bool init(struct proxy *p, const struct proxy_options *options)
{
    p->options = options;
    p->gate = options->gate;
    json_init(&p->doc);
    turn_init(&p->turn);
    buf_init(&p->scratch, SERVER_LINE_BYTES);
    return call_maker_init(&p->maker, &options->defaults) && roots_init(&p->roots, &options->base);
}

static void finish_all(struct proxy *p)
{
    call_maker_finish(&p->maker);
    roots_finish(&p->roots);
    turn_finish(&p->turn);
    buf_finish(&p->scratch);
    json_finish(&p->doc);
    while (p->held.first != NULL) {
        struct held_call *call = p->held.first;
        held_take(&p->held, call);
        held_free(call);
    }
    ids_finish(&p->asked);
    ids_finish(&p->wanted);
    peer_finish(&p->client);
    peer_finish(&p->server);
}

int proxy_run(const struct proxy_options *options)
{
    struct proxy *p = calloc(1, sizeof(*p));
    if (p == NULL || uv_loop_init(&p->loop) != 0) {
        free(p);
        return PROXY_UNABLE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    int code = PROXY_UNABLE;
    if (init(p, options)) {
        code = run(p);
    }
    finish_all(p);
    (void)uv_loop_close(&p->loop);
    free(p);
    return code;
}
