/* The proxy's life: it starts the confined program, is handed the socket that listens inside, and serves it until the
 * program ends. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/internal.h"

#define TICK_MS 100
#define BACKLOG 511
#define FILES   (2u * CONNECTIONS_MOST + 64u)

static void say(const struct proxy *proxy, const char *what, int error)
{
    char line[256];
    snprintf(line, sizeof(line), "the network of the confined program: %s: %s", what, strerror(error));
    if (proxy->options->say != NULL) {
        proxy->options->say(line);
    }
}

void net_proxy_gone(struct proxy *proxy, struct connection *c)
{
    *(c->prev != NULL ? &c->prev->next : &proxy->first) = c->next;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    proxy->count--;
    buf_finish(&c->in);
    buf_finish(&c->out);
    free(c->addresses);
    free(c->up.bytes);
    free(c->down.bytes);
    free(c);
}

/* ---- What happens ---- */

static void connection_waits(uv_stream_t *listener, int status)
{
    struct proxy *proxy = listener->data;
    if (status == 0 && !proxy->ending) {
        net_connection_accept(proxy, listener);
    }
}

static void tick(uv_timer_t *timer)
{
    struct proxy *proxy = timer->data;
    bool moved = false;
    gate_tick(proxy->options->gate);
    moved = gate_people_moved(proxy->options->gate);
    for (struct connection *c = proxy->first, *next; c != NULL; c = next) {
        next = c->next;
        net_connection_tick(c, moved);
    }
}

static void rotate(struct proxy *proxy)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!gate_rotate(proxy->options->gate, &error) && proxy->options->say != NULL) {
        buf_byte(&error, '\0');
        proxy->options->say(error.ptr);
    }
    buf_finish(&error);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct proxy *proxy = handle->data;
    if (number == SIGHUP) {
        (void)gate_reload(proxy->options->gate);
    } else if (number == SIGUSR1) {
        rotate(proxy);
    } else {
        (void)uv_process_kill(&proxy->child, number);
    }
}

/* The program has ended, and with it everything inside: nobody is left to answer. */
static void child_ended(uv_process_t *child, int64_t status, int signal)
{
    struct proxy *proxy = child->data;
    proxy->code = signal != 0 ? 128 + signal : (int)status;
    proxy->ending = true;
    uv_close((uv_handle_t *)child, NULL);
    if (uv_is_active((uv_handle_t *)&proxy->tick)) {
        uv_close((uv_handle_t *)&proxy->tick, NULL);
        uv_close((uv_handle_t *)&proxy->listener, NULL);
    }
    for (size_t i = 0; i < sizeof(proxy->signals) / sizeof(proxy->signals[0]); i++) {
        uv_close((uv_handle_t *)&proxy->signals[i], NULL);
    }
    for (struct connection *c = proxy->first, *next; c != NULL; c = next) {
        next = c->next;
        net_connection_close(c);
    }
}

/* ---- Starting ---- */

static int start_child(struct proxy *proxy, int handed)
{
    uv_stdio_container_t stdio[NET_HANDED_AT + 1];
    for (int i = 0; i < NET_HANDED_AT; i++) {
        stdio[i].flags = UV_INHERIT_FD;
        stdio[i].data.fd = i;
    }
    stdio[NET_HANDED_AT].flags = UV_INHERIT_FD;
    stdio[NET_HANDED_AT].data.fd = handed;
    const uv_process_options_t options = {
        .exit_cb = child_ended,
        .file = proxy->options->command[0],
        .args = (char **)proxy->options->command,
        .stdio = stdio,
        .stdio_count = NET_HANDED_AT + 1,
    };
    proxy->child.data = proxy;
    mode_t own = umask(proxy->options->child_umask);
    int result = uv_spawn(&proxy->loop, &proxy->child, &options);
    (void)umask(own);
    return result;
}

/* The one descriptor that a message brings; -1: none came. */
static int take_descriptor(int from)
{
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    ssize_t len;
    while ((len = recvmsg(from, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    const struct cmsghdr *header = len == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd = -1;
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    }
    return fd;
}

/* Serves what the program hands out, and lets it go on. False when it has ended before, which it has explained. */
static bool start_serving(struct proxy *proxy, int from)
{
    int fd = take_descriptor(from);
    if (fd < 0) {
        return false;
    }
    uv_stream_t *listener = (uv_stream_t *)&proxy->listener;
    (void)uv_tcp_init(&proxy->loop, &proxy->listener);
    (void)uv_timer_init(&proxy->loop, &proxy->tick);
    proxy->listener.data = proxy->tick.data = proxy;
    int result = uv_tcp_open(&proxy->listener, fd);
    result = result != 0 ? result : uv_listen(listener, BACKLOG, connection_waits);
    (void)uv_timer_start(&proxy->tick, tick, TICK_MS, TICK_MS);
    if (result != 0 || send(from, "", 1, MSG_NOSIGNAL) != 1) {
        say(proxy, "it cannot be served", result != 0 ? -result : errno);
    }
    return true;
}

static void start_signals(struct proxy *proxy)
{
    static const int numbers[] = {SIGHUP, SIGUSR1, SIGTERM};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)uv_signal_init(&proxy->loop, &proxy->signals[i]);
        proxy->signals[i].data = proxy;
        (void)uv_signal_start(&proxy->signals[i], on_signal, numbers[i]);
    }
    /* The terminal sends these to the program as well. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Every connection has two files. */
static void make_room_for_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES) {
        limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A name server that does not answer keeps a thread of libuv, and that would keep the end of this process. */
static bool only_lookups_are_left(const struct proxy *proxy)
{
    for (const struct connection *c = proxy->first; c != NULL; c = c->next) {
        if (c->open_handles > 0) {
            return false;
        }
    }
    return proxy->lookups > 0;
}

static int serve(struct proxy *proxy)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        say(proxy, "no socket", errno);
        return -1;
    }
    int result = start_child(proxy, pair[1]);
    close(pair[1]);
    if (result != 0) {
        say(proxy, "it cannot be started", -result);
        close(pair[0]);
        return -1;
    }
    make_room_for_files();
    start_signals(proxy);
    (void)start_serving(proxy, pair[0]);
    close(pair[0]);
    while (uv_run(&proxy->loop, UV_RUN_ONCE) != 0 && !(proxy->ending && only_lookups_are_left(proxy))) {
    }
    return proxy->code;
}

int net_run(const struct net_options *options)
{
    struct proxy *proxy = calloc(1, sizeof(*proxy));
    if (proxy == NULL || uv_loop_init(&proxy->loop) != 0) {
        free(proxy);
        return -1;
    }
    proxy->options = options;
    int code = -1;
    if (net_judge_init(&proxy->judge, options->gate, &options->defaults)) {
        code = serve(proxy);
    }
    net_judge_finish(&proxy->judge);
    if (proxy->lookups > 0) {
        gate_close(options->gate);
        _exit(code);
    }
    (void)uv_run(&proxy->loop, UV_RUN_NOWAIT);
    (void)uv_loop_close(&proxy->loop);
    free(proxy);
    return code;
}
