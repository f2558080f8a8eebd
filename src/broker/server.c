/* The broker's loop: who connects, what comes, what goes, and what time does. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/internal.h"
#include "gate/state.h"

#define BACKLOG   1024
#define READ_MOST ((size_t)64 << 10)

/* ---- Clients ---- */

bool server_other_waits(const struct server *server, const struct client *client, int64_t number)
{
    for (const struct client *other = server->first; other != NULL; other = other->next) {
        for (size_t i = 0; other != client && i < other->held_count; i++) {
            if (other->held[i].number == number && !other->held[i].ended) {
                return true;
            }
        }
    }
    return false;
}

static void client_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    struct server *server = client->server;
    *(client->prev != NULL ? &client->prev->next : &server->first) = client->next;
    if (client->next != NULL) {
        client->next->prev = client->prev;
    }
    server->client_count--;
    server->alone_ms = uv_now(&server->loop);
    session_end(client);
    free(client);
}

static void close_client(struct client *client)
{
    if (!client->closing) {
        client->closing = true;
        uv_close((uv_handle_t *)&client->pipe, client_closed);
    }
}

struct queued {
    uv_write_t write;
    char bytes[];
};

static void has_written(uv_write_t *write, int status)
{
    struct client *client = write->data;
    free(write);
    if (status != 0) {
        close_client(client);
    }
}

void server_send(struct client *client)
{
    struct slice left = buf_slice_of(&client->out);
    if (client->closing || left.len == 0) {
        return;
    }
    uv_stream_t *stream = (uv_stream_t *)&client->pipe;
    uv_buf_t piece = {.base = (char *)left.ptr, .len = left.len};
    int n = uv_stream_get_write_queue_size(stream) == 0 ? uv_try_write(stream, &piece, 1) : UV_EAGAIN;
    left = slice_from(left, n > 0 ? (size_t)n : 0);
    struct queued *queued = NULL;
    bool lost = n < 0 && n != UV_EAGAIN;
    if (left.len > 0 && !lost) {
        lost = uv_stream_get_write_queue_size(stream) + left.len > CLIENT_QUEUE_MOST ||
               (queued = malloc(sizeof(*queued) + left.len)) == NULL;
    }
    if (queued != NULL) {
        memcpy(queued->bytes, left.ptr, left.len);
        queued->write.data = client;
        piece = (uv_buf_t){.base = queued->bytes, .len = left.len};
        if (uv_write(&queued->write, stream, &piece, 1, has_written) != 0) {
            free(queued);
            lost = true;
        }
    }
    buf_reset(&client->out);
    if (lost) {
        close_client(client);
    }
}

static void make_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct client *client = handle->data;
    (void)suggested;
    char *room = buf_reserve(&client->in, READ_MOST);
    *ret = (uv_buf_t){.base = room, .len = room != NULL ? READ_MOST : 0};
}

static void has_come(uv_stream_t *stream, ssize_t n, const uv_buf_t *piece)
{
    struct client *client = stream->data;
    (void)piece;
    if (n < 0) {
        close_client(client);
        return;
    }
    if (client->in.len == 0) {
        client->since_ms = uv_now(&client->server->loop);
    }
    buf_added(&client->in, (size_t)n);
    bool ok = session_take(client);
    server_send(client);
    if (!ok || (!client->greeted && client->in.len == 0 && client->closing)) {
        close_client(client);
    }
}

static size_t count_of_process(const struct server *server, pid_t pid)
{
    size_t count = 0;
    for (const struct client *client = server->first; client != NULL; client = client->next) {
        count += client->peer.pid == pid;
    }
    return count;
}

/* Whether a peer may be heard at all. */
static bool is_welcome(const struct server *server, const struct client *client)
{
    if (client->peer.uid != geteuid() || server->client_count >= CLIENTS_MOST ||
        (client->peer.pid != 0 && count_of_process(server, client->peer.pid) >= CLIENTS_OF_PROCESS)) {
        return false;
    }
    return !client->approves || peer_is_unconfined(&client->peer);
}

static void add_client(struct server *server, struct client *client)
{
    client->next = server->first;
    if (server->first != NULL) {
        server->first->prev = client;
    }
    server->first = client;
    server->client_count++;
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *server = listener->data;
    struct client *client = status == 0 ? calloc(1, sizeof(*client)) : NULL;
    uv_os_fd_t fd;
    if (client == NULL || uv_pipe_init(&server->loop, &client->pipe, 0) != 0) {
        free(client);
        return;
    }
    client->server = server;
    client->pipe.data = client;
    client->approves = listener == (uv_stream_t *)&server->listeners[1];
    client->since_ms = uv_now(&server->loop);
    buf_init(&client->in, FRAME_MOST + 2 * READ_MOST);
    buf_init(&client->out, CLIENT_QUEUE_MOST);
    arena_init(&client->arena, 64u << 20);
    bool accepted = uv_accept(listener, (uv_stream_t *)&client->pipe) == 0 &&
                    uv_fileno((uv_handle_t *)&client->pipe, &fd) == 0 && peer_read(fd, &client->peer);
    bool wanted = accepted && is_welcome(server, client);
    add_client(server, client);
    if (!wanted || uv_read_start((uv_stream_t *)&client->pipe, make_room, has_come) != 0) {
        close_client(client);
    }
}

/* ---- Time ---- */

/* Whoever begins and does not go on is not waited for. */
static void close_slow(struct server *server)
{
    uint64_t now = uv_now(&server->loop);
    for (struct client *client = server->first; client != NULL; client = client->next) {
        bool owes = !client->greeted || client->in.len > 0;
        if (owes && now - client->since_ms > HELLO_MS) {
            close_client(client);
        }
    }
}

static void tell_ends(struct server *server)
{
    for (struct client *client = server->first; client != NULL; client = client->next) {
        if (client->held_count > 0 && !client->closing) {
            session_tell_ends(client);
            server_send(client);
        }
    }
}

void server_tell_reloaded(struct server *server)
{
    for (struct client *client = server->first; client != NULL; client = client->next) {
        session_tell_reloaded(client);
        server_send(client);
    }
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void end(struct server *server)
{
    server->ending = true;
    for (struct client *client = server->first; client != NULL; client = client->next) {
        close_client(client);
    }
    for (size_t i = 0; i < 2; i++) {
        close_handle((uv_handle_t *)&server->listeners[i]);
    }
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        close_handle((uv_handle_t *)&server->signals[i]);
    }
    close_handle((uv_handle_t *)&server->tick);
}

static void on_tick(uv_timer_t *timer)
{
    struct server *server = timer->data;
    gate_tick(server->own->gate);
    if (gate_people_moved(server->own->gate)) {
        tell_ends(server);
    }
    close_slow(server);
    uint32_t idle = server->options->idle_ms;
    if (idle != 0 && server->client_count == 0 && uv_now(&server->loop) - server->alone_ms >= idle) {
        end(server);
    }
}

static void rotate(struct server *server)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!gate_rotate(server->own->gate, &error) && server->options->say != NULL) {
        buf_byte(&error, '\0');
        server->options->say(buf_ok(&error) ? error.ptr : "the journal cannot be rotated");
    }
    buf_finish(&error);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    if (number == SIGHUP) {
        policies_reload(&server->policies);
        server_tell_reloaded(server);
    } else if (number == SIGUSR1) {
        rotate(server);
    } else {
        end(server);
    }
}

/* ---- Starting ---- */

/* A line of a gate: for the operator, and for the client whose frame it is about. */
static struct server *telling;

static void tell(const char *line)
{
    if (telling->lines != NULL) {
        buf_text(telling->lines, line);
        buf_byte(telling->lines, '\n');
    }
    if (telling->options->say != NULL) {
        telling->options->say(line);
    }
}

static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* One broker for a state directory: the lock lives as long as the process. */
static int lock_state(const char *state_dir, struct buf *ret_error)
{
    int dir = state_open(state_dir, ret_error);
    int lock = dir < 0 ? -1 : openat(dir, SERVE_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (dir >= 0 && (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)) {
        buf_printf(ret_error, "%s: %s", state_dir,
                   lock >= 0 && errno == EWOULDBLOCK ? "a broker serves this state directory already"
                                                     : strerror(errno));
        if (lock >= 0) {
            close(lock);
        }
        lock = -1;
    }
    if (dir >= 0) {
        close(dir);
    }
    return lock;
}

static bool listen_at(struct server *server, size_t which, int fd, const char *path, struct buf *ret_error)
{
    uv_pipe_t *pipe = &server->listeners[which];
    int result = fd >= 0 ? 0 : -errno;
    if (result == 0) {
        result = uv_pipe_open(pipe, fd);
    }
    if (result == 0) {
        result = uv_listen((uv_stream_t *)pipe, BACKLOG, on_connection);
    }
    if (result != 0) {
        buf_printf(ret_error, "the socket %s cannot be used: %s", path, uv_strerror(result));
    }
    return result == 0;
}

static bool listen_both(struct server *server, struct buf *ret_error)
{
    const struct broker_options *options = server->options;
    struct buf approving;
    buf_init(&approving, 8192);
    buf_printf(&approving, "%s.approve", options->socket);
    buf_byte(&approving, '\0');
    int judging = options->socket_fd >= 0 ? options->socket_fd : address_listen(options->socket);
    bool done = listen_at(server, 0, judging, options->socket, ret_error) &&
                listen_at(server, 1, address_listen(approving.ptr), approving.ptr, ret_error);
    buf_finish(&approving);
    return done;
}

static bool keep_record(const struct broker_options *options, struct buf *ret_error)
{
    int dir = state_open(options->state_dir, ret_error);
    bool kept = dir >= 0 && serve_record_write(dir, options, ret_error);
    if (dir >= 0) {
        close(dir);
    }
    return kept;
}

static bool start(struct server *server, struct buf *ret_error)
{
    const struct broker_options *options = server->options;
    static const int numbers[SERVER_SIGNALS] = {SIGHUP, SIGUSR1, SIGTERM, SIGINT};
    for (size_t i = 0; i < 2; i++) {
        (void)uv_pipe_init(&server->loop, &server->listeners[i], 0);
        server->listeners[i].data = server;
    }
    (void)uv_timer_init(&server->loop, &server->tick);
    server->tick.data = server;
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        (void)uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
        (void)uv_signal_start(&server->signals[i], on_signal, numbers[i]);
    }
    server->alone_ms = uv_now(&server->loop);
    const struct policy_key own = {
        .surface = SLICE(""), .cwd = options->base.cwd, .home = options->base.home};
    server->ledger = gate_ledger_open(options->state_dir, options->fsync, "serve", ret_error);
    if (server->ledger == NULL) {
        return false;
    }
    server->people = people_open_on(server->ledger);
    server->policies = (struct policies){
        .options = options, .ledger = server->ledger, .say = tell, .started_ms = clock_wall_ms()};
    server->own = server->people != NULL ? policies_take(&server->policies, &own, ret_error) : NULL;
    return server->own != NULL && listen_both(server, ret_error) && keep_record(options, ret_error) &&
           uv_timer_start(&server->tick, on_tick, BROKER_TICK_MS, BROKER_TICK_MS) == 0;
}

static void finish(struct server *server)
{
    policies_finish(&server->policies);
    people_close(server->people);
    gate_ledger_close(server->ledger);
    json_finish(&server->doc);
    (void)uv_loop_close(&server->loop);
    telling = NULL;
    free(server);
}

int broker_serve(const struct broker_options *options, struct buf *ret_error)
{
    int lock = lock_state(options->state_dir, ret_error);
    struct server *server = lock >= 0 ? calloc(1, sizeof(*server)) : NULL;
    if (server == NULL || uv_loop_init(&server->loop) != 0) {
        free(server);
        return -1;
    }
    telling = server;
    server->options = options;
    json_init(&server->doc);
    raise_descriptors();
    (void)signal(SIGPIPE, SIG_IGN);
    bool started = start(server, ret_error);
    if (started && ret_error->len > 0 && options->say != NULL) {
        options->say(ret_error->ptr != NULL ? "a file was left out" : "");
    }
    if (!started) {
        end(server);
    }
    (void)uv_run(&server->loop, UV_RUN_DEFAULT);
    finish(server);
    close(lock);
    return started ? 0 : -1;
}
