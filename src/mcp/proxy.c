/* The proxy's life: start, flow, and the ways it ends.
 *
 * It ends when either side ends. The client's end closes the server's input, and the server is expected to
 * end; what it still says is handed on. The server's end answers every open request, and what waits for the
 * client is written as long as the client reads. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/session_internal.h"
#include "mcp/stdio_link_internal.h"
#include "process/child.h"

/* The journal's flush, the store, held calls. A grant is noticed within this. */
#define SIGNALS 4 /* that are handled */
#define TICK_MS 100

/* A side is not read while more than this waits to be written to the other, or to itself. */
#define QUEUE_CEILING ((size_t)1 << 20)

/* What the start takes: the loop's own, the signals', four pipes, and what libuv needs to start a process. */
#define DESCRIPTORS 24

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

struct proxy {
    const struct proxy_options *options;
    uv_loop_t loop;
    struct session session;
    struct stdio_link client_stdio, server_stdio;
    struct link *client, *server; /* these two, as links */
    struct child child;
    uv_timer_t tick, drain;
    uv_signal_t signals[SIGNALS];
    size_t left[2];    /* for the client and for the server, at the last tick */
    uint64_t moved_ms; /* when either last read some of it, or the server said something */
    unsigned drains_left;
    bool client_done; /* no more comes from the client */
    bool leaving;     /* the client has gone, or we were told to end */
    bool server_gone; /* no more comes from the server */
    bool ending;      /* only what waits for the client is still written */
};

static void say(const struct proxy *p, const char *line)
{
    if (p->options->session.say != NULL) {
        p->options->session.say(line);
    }
}

/* ---- Lines ---- */

/* Starts and stops reading so that no queue grows beyond its ceiling. */
static void flow(struct proxy *p)
{
    bool room = link_queued(p->client) <= QUEUE_CEILING;
    link_read(p->client, !p->leaving && !p->client_done && !p->server_gone && room &&
                             link_queued(p->server) <= QUEUE_CEILING);
    link_read(p->server, !p->server_gone && room);
}

/* Memory ran out where nothing can be denied any more: ends the run. */
static void give_up(struct proxy *p)
{
    say(p, p->session.fault);
    p->session.fault = NULL;
    child_expect_end(&p->child, 0);
    p->leaving = true;
}

/* Commits the batch, then hands its lines on to `to` and its answers to the client. */
static void end_batch(struct proxy *p, struct link *to)
{
    struct batch *batch = &p->session.batch;
    size_t count = session_commit(&p->session);
    link_write(to, batch->pieces, count);
    if (batch->requests.len > 0) {
        uv_buf_t requests = {.base = batch->requests.ptr, .len = batch->requests.len};
        link_write(p->server, &requests, 1);
    }
    if (batch->answers.len > 0) {
        uv_buf_t answers = {.base = batch->answers.ptr, .len = batch->answers.len};
        link_write(p->client, &answers, 1);
    }
    session_sent(&p->session);
    if (p->session.fault != NULL) {
        give_up(p);
    }
    flow(p);
}

/* What the session must know before it is given lines. */
static struct session *prepare(struct proxy *p)
{
    p->session.now_ms = uv_now(&p->loop);
    p->session.client_full = link_queued(p->client) > QUEUE_CEILING;
    return &p->session;
}

/* Takes the lines that have come from the client; at the end of its input also what lacks a line end. */
static void take_client_lines(struct proxy *p, bool last)
{
    struct session *session = prepare(p);
    struct line_buffer *lines = &p->client->lines;
    struct slice text, raw;
    enum line_kind kind;
    while ((kind = last ? line_buffer_last(lines, &text, &raw) : line_buffer_next(lines, &text, &raw)) !=
           LINE_NONE) {
        if (kind == LINE_WHOLE) {
            session_client_line(session, text, raw);
        } else {
            session_client_long_line(session, &lines->long_line);
        }
    }
    end_batch(p, p->server);
}

static void take_server_lines(struct proxy *p, bool last)
{
    struct session *session = prepare(p);
    struct line_buffer *lines = &p->server->lines;
    struct slice text, raw;
    enum line_kind kind;
    while ((kind = last ? line_buffer_last(lines, &text, &raw) : line_buffer_next(lines, &text, &raw)) !=
           LINE_NONE) {
        if (kind == LINE_WHOLE) {
            session_server_line(session, text, raw);
        } else {
            session_server_long_line(session, &lines->long_line.scan);
        }
    }
    end_batch(p, p->client);
    if (session->parked_ready && session_look_at_held(prepare(p))) {
        end_batch(p, p->server);
    }
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
    link_close(p->client);
    link_close(p->server);
    child_close(&p->child);
    close_handle((uv_handle_t *)&p->tick);
    close_handle((uv_handle_t *)&p->drain);
    for (size_t i = 0; i < SIGNALS; i++) {
        close_handle((uv_handle_t *)&p->signals[i]);
    }
}

static void client_closed(struct link *link)
{
    close_all(link->owner);
}

/* The server's process has ended and all that it said has been taken. */
static void finish(struct proxy *p)
{
    if (p->ending) {
        return;
    }
    p->ending = true;
    p->moved_ms = uv_now(&p->loop);
    if (p->client->open_out) {
        link_close_out(p->client);
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
        link_read(p->client, false);
        session_leave(&p->session);
        end_batch(p, p->server);
        link_close_out(p->server);
    }
    child_expect_end(&p->child, wait_ms);
}

/* The client has gone. Its calls that wait for the server's tools are judged first, once these are known. */
static void leave_when_judged(struct proxy *p)
{
    if (!p->client_done || p->leaving || p->server_gone || session_waits_for_list(&p->session)) {
        return;
    }
    leave(p, END_WAIT_OWING_MS);
    if (p->session.client_ids.count == 0) {
        child_expect_end(&p->child, END_WAIT_MS);
    }
}

/* No more comes from the server: whoever waits for it is told. */
static void lose_server(struct proxy *p)
{
    if (p->server_gone) {
        return;
    }
    p->server_gone = true;
    link_read(p->client, false);
    session_lose_server(&p->session);
    end_batch(p, p->client);
    link_close(p->server);
    if (p->child.running) {
        child_expect_end(&p->child, END_WAIT_MS);
    } else {
        finish(p);
    }
}

/* ---- What happens ---- */

static void client_bytes(struct link *link)
{
    take_client_lines(link->owner, false);
}

static void client_end(struct link *link)
{
    struct proxy *p = link->owner;
    p->client_done = true;
    take_client_lines(p, true);
    leave_when_judged(p);
}

static void link_has_written(struct link *link)
{
    flow(link->owner);
}

static void server_bytes(struct link *link)
{
    struct proxy *p = link->owner;
    p->moved_ms = uv_now(&p->loop);
    take_server_lines(p, false);
    leave_when_judged(p);
    if (p->leaving && p->session.client_ids.count == 0) {
        child_expect_end(&p->child, END_WAIT_MS);
    }
}

static void server_end(struct link *link)
{
    struct proxy *p = link->owner;
    take_server_lines(p, true);
    lose_server(p);
}

/* What the server has left in its pipe is taken, until nothing comes any more, though the pipe may be kept
 * open by children of its own. A client that reads slowly is waited for, one that reads nothing is not. */
static void drain(uv_timer_t *timer)
{
    struct proxy *p = timer->data;
    uint64_t still_ms = uv_now(&p->loop) - p->moved_ms;
    if (still_ms >= (p->server->reading ? DRAIN_MS : FLUSH_MS) || p->drains_left-- == 0) {
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
    size_t left[2] = {link_queued(p->client), link_queued(p->server)};
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
        if (p->client->broken || still_ms >= FLUSH_MS) {
            close_all(p);
        }
    } else if (p->client->broken) {
        leave(p, END_WAIT_MS);
    } else if (p->server->broken) {
        /* It no longer reads. What it has still to say is taken until it ends. */
        child_expect_end(&p->child, END_WAIT_MS);
    } else if (!p->client->reading && still_ms >= END_WAIT_OWING_MS && link_hung_up(p->client)) {
        leave(p, 0); /* the client has gone, and nothing of what it left behind gets any further */
    }
}

static void tick(uv_timer_t *timer)
{
    struct proxy *p = timer->data;
    gate_tick(p->options->session.gate);
    if (p->options->session.hide_denied && gate_policy_moved(p->options->session.gate)) {
        tool_list_policy_changed(prepare(p));
        end_batch(p, p->server);
    }
    if (session_look_at_held(prepare(p))) {
        end_batch(p, p->server);
    }
    leave_when_judged(p);
    watch_queues(p);
    look_around(p);
}

static void rotate(const struct session_options *session)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!gate_rotate(session->gate, &error) && session->say != NULL) {
        buf_byte(&error, '\0');
        session->say(error.ptr);
    }
    buf_finish(&error);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct proxy *p = handle->data;
    if (number == SIGHUP) {
        if (gate_reload(p->options->session.gate)) {
            tool_list_policy_changed(prepare(p));
            end_batch(p, p->server);
        }
    } else if (number == SIGUSR1) {
        rotate(&p->options->session);
    } else {
        leave(p, p->leaving ? 0 : END_WAIT_TOLD_MS);
    }
}

/* ---- Starting ---- */

static void start_handles(struct proxy *p)
{
    static const int numbers[SIGNALS] = {SIGHUP, SIGUSR1, SIGTERM, SIGINT};
    (void)uv_timer_init(&p->loop, &p->tick);
    (void)uv_timer_init(&p->loop, &p->drain);
    p->tick.data = p->drain.data = p;
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)uv_signal_init(&p->loop, &p->signals[i]);
        p->signals[i].data = p;
        (void)uv_signal_start(&p->signals[i], on_signal, numbers[i]);
    }
    (void)uv_timer_start(&p->tick, tick, TICK_MS, TICK_MS);
}

static int start_links(struct proxy *p)
{
    int to_child = -1, from_child = -1;
    int result = child_start(&p->child, &p->loop, p->options->command, p->options->child_umask, &to_child,
                             &from_child);
    if (result != 0) {
        return result;
    }
    result = stdio_link_open(&p->server_stdio, &p->loop, from_child, to_child, SERVER_LINE_BYTES);
    return result ? result
                  : stdio_link_open(&p->client_stdio, &p->loop, p->options->client_in, p->options->client_out,
                                    LIMIT_MESSAGE_BYTES);
}

static void set_callbacks(struct proxy *p)
{
    p->child.owner = p->client->owner = p->server->owner = p;
    p->child.on_exit = child_exited;
    p->client->on_bytes = client_bytes;
    p->client->on_end = client_end;
    p->client->on_closed = client_closed;
    p->server->on_bytes = server_bytes;
    p->server->on_end = server_end;
    p->client->on_written = p->server->on_written = link_has_written;
}

static void tell_start_failed(struct proxy *p, int error)
{
    char line[512];
    snprintf(line, sizeof(line), "the server '%.256s' cannot be started: %s", p->options->command[0],
             uv_strerror(error));
    say(p, line);
}

static int run(struct proxy *p)
{
    start_handles(p);
    int result = start_links(p);
    set_callbacks(p);
    if (result == 0) {
        flow(p);
    } else {
        tell_start_failed(p, result);
        close_all(p);
    }
    (void)uv_run(&p->loop, UV_RUN_DEFAULT);
    child_finish(&p->child);
    return result == 0 ? p->child.code : PROXY_UNABLE;
}

/* Whether as many descriptors can be opened as the start takes. libuv ends the process (abort) when it cannot
 * open the few that it needs for signals. */
static bool enough_descriptors(void)
{
    int fds[DESCRIPTORS];
    size_t count = 0;
    while (count < DESCRIPTORS && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
    }
    bool enough = count == DESCRIPTORS;
    while (count > 0) {
        close(fds[--count]);
    }
    return enough;
}

static struct proxy *create(const struct proxy_options *options, const char **ret_why)
{
    if (!enough_descriptors()) {
        *ret_why = "the gate cannot start: too few files may be open at once (ulimit -n)";
        return NULL;
    }
    struct proxy *p = calloc(1, sizeof(*p));
    *ret_why = "the gate cannot start: no memory";
    if (p == NULL) {
        return NULL;
    }
    p->options = options;
    p->client = &p->client_stdio.link;
    p->server = &p->server_stdio.link;
    if (uv_loop_init(&p->loop) != 0) {
        free(p);
        return NULL;
    }
    if (session_init(&p->session, &options->session)) {
        return p;
    }
    session_finish(&p->session);
    (void)uv_loop_close(&p->loop);
    free(p);
    return NULL;
}

int proxy_run(const struct proxy_options *options)
{
    const char *why = NULL;
    struct proxy *p = create(options, &why);
    if (p == NULL) {
        if (options->session.say != NULL) {
            options->session.say(why);
        }
        return PROXY_UNABLE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    int code = run(p);
    session_finish(&p->session);
    stdio_link_finish(&p->client_stdio);
    stdio_link_finish(&p->server_stdio);
    (void)uv_loop_close(&p->loop);
    free(p);
    return code;
}
