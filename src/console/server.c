/* The HTTP server: libmicrohttpd on the loop, and the connections, the addresses that are listened at. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "console/internal.h"

/* What a client may not get wrong has another name since 0.9.77. */
#if MHD_VERSION >= 0x00097701
#define STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL
#else
#define STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT
#endif
#define LISTENERS      2
#define IDLE_SECONDS   20u
#define FIRST_BYTES_NS 20000000000u /* how long a request may take to arrive */
#define HEADER_BYTES   (24u << 10)

struct listener {
    struct server *server;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    bool polls;
};

/* A connection: how long it has been asking for something that has not arrived. */
struct link {
    struct link *next;
    int fd;
    uint64_t since_ns; /* of the clock that stands still while the machine sleeps; 0: it is being answered */
};

struct server {
    struct console *console;
    struct listener listeners[LISTENERS];
    uv_timer_t timer;
    struct link *links;
    char *certificate, *key;
};

/* ---- Connections that never say what they want ---- */

static void connected(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_ConnectionNotificationCode code)
{
    struct server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct link *link = calloc(1, sizeof(*link));
        if (link != NULL && info != NULL) {
            *link = (struct link){server->links, info->connect_fd, clock_mono_ns()};
            server->links = link;
            *state = link;
        } else {
            free(link);
        }
    } else if (*state != NULL) {
        struct link **at = &server->links;
        while (*at != NULL && *at != *state) {
            at = &(*at)->next;
        }
        if (*at != NULL) {
            struct link *link = *at;
            *at = link->next;
            free(link);
        }
        *state = NULL;
    }
}

void server_hurry(const struct console *console)
{
    uint64_t now = clock_mono_ns();
    for (struct link *link = console->server->links; link != NULL; link = link->next) {
        if (link->since_ns > 0 && now - link->since_ns > FIRST_BYTES_NS) {
            (void)shutdown(link->fd, SHUT_RDWR);
        }
    }
}

static struct link *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

void server_link_waits(struct MHD_Connection *connection, bool waits)
{
    struct link *link = link_of(connection);
    if (link != NULL) {
        link->since_ns = waits ? clock_mono_ns() : 0;
    }
}

/* ---- The loop ---- */

static void on_timer(uv_timer_t *timer);

void server_turn(struct console *console)
{
    struct server *server = console->server;
    uint64_t soonest = UINT64_MAX;
    for (size_t i = 0; i < LISTENERS; i++) {
        MHD_UNSIGNED_LONG_LONG wait;
        if (server->listeners[i].daemon == NULL) {
            continue;
        }
        (void)MHD_run(server->listeners[i].daemon);
        if (MHD_get_timeout(server->listeners[i].daemon, &wait) == MHD_YES && wait < soonest) {
            soonest = wait;
        }
    }
    if (soonest != UINT64_MAX) {
        (void)uv_timer_start(&server->timer, on_timer, soonest, 0);
    } else {
        (void)uv_timer_stop(&server->timer);
    }
}

static void on_timer(uv_timer_t *timer)
{
    const struct server *server = timer->data;
    server_turn(server->console);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    const struct listener *listener = poll->data;
    (void)status;
    (void)events;
    server_turn(listener->server->console);
}

static void say_nothing(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

/* ---- Starting ---- */

/* A listening socket, or -1 with errno. */
static int listen_on(const struct sockaddr *address, socklen_t len)
{
    int on = 1;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok =
        fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        (address->sa_family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
        bind(fd, address, len) == 0 && listen(fd, 64) == 0;
    if (!ok && fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    return fd;
}

static bool start_listener(struct server *server, size_t at, int fd, struct buf *ret_error)
{
    struct listener *listener = &server->listeners[at];
    bool tls = server->certificate != NULL;
    const struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, server->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (char *)"SECURE128:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3"},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags =
        (unsigned)MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0);
    listener->server = server;
    listener->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, exchange_take, server->console, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        STRICT_OPTION, 1, MHD_OPTION_NOTIFY_COMPLETED, exchange_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        connected, server, MHD_OPTION_ARRAY, tls ? secure : none, MHD_OPTION_END);
    if (listener->daemon == NULL) {
        close(fd);
        buf_text(ret_error, tls ? "the server cannot start: do certificate and key belong together?"
                                : "the server cannot start");
        return false;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    listener->poll.data = listener;
    listener->polls = info != NULL &&
                      uv_poll_init(&server->console->loop, &listener->poll, info->epoll_fd) == 0 &&
                      uv_poll_start(&listener->poll, UV_READABLE, on_poll) == 0;
    if (!listener->polls) {
        buf_text(ret_error, "the server cannot be watched");
    }
    return listener->polls;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        return 0;
    }
    return ntohs(address.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address)->sin6_port
                                               : ((const struct sockaddr_in *)&address)->sin_port);
}

/* Of this machine alone: both addresses that `localhost` may mean, so that nobody else answers at one of them. */
static bool listen_at(struct server *server, struct buf *ret_error)
{
    struct console *console = server->console;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(console->options.port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(console->options.port)};
    int fd = -1;
    if (inet_pton(AF_INET, console->options.address, &four.sin_addr) == 1) {
        fd = listen_on((const struct sockaddr *)&four, sizeof(four));
    } else if (inet_pton(AF_INET6, console->options.address, &six.sin6_addr) == 1) {
        fd = listen_on((const struct sockaddr *)&six, sizeof(six));
    } else {
        errno = EINVAL;
    }
    if (fd < 0) {
        buf_printf(ret_error, "%s:%u cannot be listened at: %s; choose another with --listen",
                   console->options.address, console->options.port, strerror(errno));
        return false;
    }
    console->port = port_of(fd);
    if (!start_listener(server, 0, fd, ret_error)) {
        return false;
    }
    if (console->world) {
        return true;
    }
    six = (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = htons(console->port), .sin6_addr = in6addr_loopback};
    int other = listen_on((const struct sockaddr *)&six, sizeof(six));
    if (other < 0 && errno == EADDRINUSE) {
        buf_printf(
            ret_error,
            "[::1]:%u is somebody else's, and 'localhost' may mean it; choose another port with --listen",
            console->port);
        return false;
    }
    return other < 0 || start_listener(server, 1, other, ret_error);
}

static char *read_pem(const char *path, struct buf *ret_error)
{
    struct buf text;
    const char *why = NULL;
    buf_init(&text, 1u << 20);
    int fd = file_open_text(path, &why);
    bool ok = fd >= 0 && file_read_all(fd, &text);
    if (!ok) {
        buf_printf(ret_error, "%s %s", path, why != NULL ? why : strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    buf_byte(&text, '\0');
    if (!ok || !buf_ok(&text)) {
        buf_finish(&text);
        return NULL;
    }
    return text.ptr;
}

struct server *server_start(struct console *console, struct buf *ret_error)
{
    struct server *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    server->console = console;
    console->server = server;
    (void)uv_timer_init(&console->loop, &server->timer);
    server->timer.data = server;
    bool ok = console->options.certificate == NULL ||
              ((server->certificate = read_pem(console->options.certificate, ret_error)) != NULL &&
               (server->key = read_pem(console->options.key, ret_error)) != NULL);
    if (ok && listen_at(server, ret_error)) {
        snprintf(console->host, sizeof(console->host), "%s:%u", console->options.name, console->port);
        snprintf(console->origin, sizeof(console->origin), "%s://%s",
                 console->options.certificate != NULL ? "https" : "http", console->host);
        server_turn(console);
        return server;
    }
    server_stop(console);
    return NULL;
}

void server_stop(struct console *console)
{
    struct server *server = console->server;
    if (server == NULL) {
        return;
    }
    streams_end(console, 0); /* none may sleep when the server stops */
    for (size_t i = 0; i < LISTENERS; i++) {
        struct listener *listener = &server->listeners[i];
        if (listener->polls) {
            (void)uv_poll_stop(&listener->poll);
            uv_close((uv_handle_t *)&listener->poll, NULL);
        }
        if (listener->daemon != NULL) {
            (void)MHD_run(listener->daemon);
            MHD_stop_daemon(listener->daemon);
        }
    }
    uv_close((uv_handle_t *)&server->timer, NULL);
    (void)uv_run(&console->loop, UV_RUN_NOWAIT);
    free(server->certificate);
    free(server->key);
    free(server);
    console->server = NULL;
}
