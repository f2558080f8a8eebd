/* One connection of a confined program, from its head to the server that it may reach: head, judgement, look-up,
 * judgement of what the name leads to, connecting. Whatever fails on the way refuses it. */
#include <stdlib.h>
#include <string.h>

#include "net/internal.h"

#define WORDS_BYTES 4096u

static uint64_t now(const struct connection *c)
{
    return uv_now(&c->proxy->loop);
}

/* ---- Its end ---- */

static void handle_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    if (--c->open_handles == 0 && !c->looking) {
        net_proxy_gone(c->proxy, c);
    }
}

void net_connection_close(struct connection *c)
{
    if (c->stage == STAGE_CLOSING) {
        return;
    }
    c->stage = STAGE_CLOSING;
    c->deadline_ms = 0;
    if (c->looking) {
        (void)uv_cancel((uv_req_t *)&c->lookup);
    }
    uv_close((uv_handle_t *)&c->client, handle_closed);
    if (c->server_open && !uv_is_closing((uv_handle_t *)&c->server)) {
        uv_close((uv_handle_t *)&c->server, handle_closed);
    }
}

static void answered(uv_write_t *write, int status)
{
    struct connection *c = write->data;
    if (status != 0) {
        net_connection_close(c);
    } else if (c->stage != STAGE_CLOSING) {
        net_relay_drain(c);
    }
}

void net_connection_answer(struct connection *c, const char *status, struct slice words)
{
    if (c->stage == STAGE_CLOSING || c->stage == STAGE_DRAIN) {
        return;
    }
    (void)uv_read_stop((uv_stream_t *)&c->client);
    c->stage = STAGE_DRAIN;
    c->deadline_ms = now(c) + DRAIN_MS;
    buf_reset(&c->out);
    buf_printf(&c->out, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n",
               status);
    buf_printf(&c->out, "Content-Length: %zu\r\n\r\n", words.len + 11);
    buf_text(&c->out, "Callgate: ");
    buf_slice(&c->out, words);
    buf_byte(&c->out, '\n');
    uv_buf_t bytes = uv_buf_init(c->out.ptr, (unsigned)c->out.len);
    c->write.data = c;
    if (!buf_ok(&c->out) || uv_write(&c->write, (uv_stream_t *)&c->client, &bytes, 1, answered) != 0) {
        net_connection_close(c);
    }
}

/* ---- Connecting ---- */

static void connect_next(struct connection *c);

void net_connection_server_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    c->server_open = false;
    if (c->stage == STAGE_CLOSING) {
        handle_closed(handle);
        return;
    }
    c->open_handles--;
    if (c->stage == STAGE_CONNECT) {
        connect_next(c);
    }
}

static void connected(uv_connect_t *connect, int status)
{
    struct connection *c = connect->data;
    if (c->stage != STAGE_CONNECT || uv_is_closing((uv_handle_t *)&c->server)) {
        return;
    }
    if (status != 0) {
        uv_close((uv_handle_t *)&c->server, net_connection_server_closed);
        return;
    }
    c->deadline_ms = 0;
    c->stage = STAGE_RELAY;
    net_relay_start(c);
}

/* Connects to the addresses that were judged, one after the other; no name is looked up again. */
static void connect_next(struct connection *c)
{
    if (c->tried == c->address_count) {
        net_connection_answer(c, "502 Bad Gateway", SLICE("The host does not answer."));
        return;
    }
    const struct sockaddr *to = (const struct sockaddr *)&c->addresses[c->tried++].to;
    c->stage = STAGE_CONNECT;
    if (uv_tcp_init(&c->proxy->loop, &c->server) != 0) {
        net_connection_answer(c, "502 Bad Gateway", SLICE("The host does not answer."));
        return;
    }
    c->server.data = c->connect.data = c;
    c->server_open = true;
    c->open_handles++;
    if (uv_tcp_connect(&c->connect, &c->server, to, connected) != 0) {
        uv_close((uv_handle_t *)&c->server, net_connection_server_closed);
    }
}

/* ---- Judging ---- */

static void judge_addresses(struct connection *c);

/* Takes a judgement: true when it goes on now. */
static bool takes(struct connection *c, const struct url_host *address)
{
    struct buf words;
    buf_init_message(&words, WORDS_BYTES);
    enum verdict verdict = net_judge_request(&c->proxy->judge, &c->head, address, &c->held, &words);
    if (verdict == VERDICT_HELD && c->stage != STAGE_HELD) {
        c->stage = STAGE_HELD;
        c->deadline_ms = now(c) + HELD_MS;
    } else if (verdict == VERDICT_DENY) {
        net_connection_answer(c, "403 Forbidden", buf_message(&words));
    }
    buf_finish(&words);
    return verdict == VERDICT_ALLOW;
}

static void looked_up(uv_getaddrinfo_t *lookup, int status, struct addrinfo *list)
{
    struct connection *c = lookup->data;
    c->looking = false;
    c->proxy->lookups--;
    if (c->stage == STAGE_CLOSING) {
        uv_freeaddrinfo(list);
        if (c->open_handles == 0) {
            net_proxy_gone(c->proxy, c);
        }
        return;
    }
    c->addresses = status == 0 ? calloc(ADDRESSES_MOST, sizeof(*c->addresses)) : NULL;
    for (const struct addrinfo *a = list;
         c->addresses != NULL && a != NULL && c->address_count < ADDRESSES_MOST; a = a->ai_next) {
        c->address_count += net_address_read(a->ai_addr, c->head.port, &c->addresses[c->address_count]);
    }
    uv_freeaddrinfo(list);
    if (c->stage == STAGE_LOOK_UP && c->address_count == 0) {
        net_connection_answer(c, "502 Bad Gateway", SLICE("The host is not known."));
    } else if (c->stage == STAGE_LOOK_UP) {
        judge_addresses(c);
    }
}

static void look_up(struct connection *c)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char name[URL_HOST_BYTES + 1];
    struct slice host = url_host_text(&c->head.host);
    if (host.ptr[0] == '[') {
        host = (struct slice){host.ptr + 1, host.len - 2};
    }
    memcpy(name, host.ptr, host.len);
    name[host.len] = '\0';
    c->stage = STAGE_LOOK_UP;
    c->deadline_ms = now(c) + CONNECT_MS;
    c->lookup.data = c;
    if (uv_getaddrinfo(&c->proxy->loop, &c->lookup, looked_up, name, NULL, &hints) != 0) {
        net_connection_answer(c, "502 Bad Gateway", SLICE("The host is not known."));
        return;
    }
    c->looking = true;
    c->proxy->lookups++;
}

/* A name that leads into this machine or a private network was not meant by whoever allowed the name: such an address is
 * judged by itself. An address that the request itself names was judged already. */
static void judge_addresses(struct connection *c)
{
    for (; c->asked < c->address_count; c->asked++) {
        const struct address *a = &c->addresses[c->asked];
        bool same = slice_eq(url_host_text(&a->host), url_host_text(&c->head.host));
        if (!a->is_public && !same && !takes(c, &a->host)) {
            return;
        }
    }
    c->deadline_ms = now(c) + CONNECT_MS;
    connect_next(c);
}

static void go_on(struct connection *c)
{
    if (c->address_count > 0) {
        const struct url_host host = c->addresses[c->asked].host;
        if (takes(c, &host)) {
            c->asked++;
            judge_addresses(c);
        }
    } else if (takes(c, NULL)) {
        look_up(c);
    }
}

void net_connection_tick(struct connection *c, bool people_moved)
{
    if (c->stage == STAGE_HELD && people_moved &&
        gate_held_state(c->proxy->options->gate, &c->held) != REQUEST_WAITING) {
        go_on(c);
    }
    if (c->deadline_ms == 0 || now(c) < c->deadline_ms) {
        return;
    }
    switch (c->stage) {
    case STAGE_HEAD:
        net_connection_answer(c, "408 Request Timeout", SLICE("The head did not come in time."));
        break;
    case STAGE_HELD:
        net_connection_answer(c, "403 Forbidden", SLICE("The request waits for a person. Try again later."));
        break;
    case STAGE_LOOK_UP:
    case STAGE_CONNECT:
        net_connection_answer(c, "504 Gateway Timeout", SLICE("The host does not answer."));
        break;
    default:
        net_connection_close(c);
    }
}

/* ---- The head ---- */

static void make_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    struct connection *c = handle->data;
    size_t room = 0;
    (void)suggested;
    char *to = buf_room(&c->in, &room);
    *ret_buf = uv_buf_init(to, to == NULL ? 0 : (unsigned)room);
}

static void head_comes(uv_stream_t *stream, ssize_t len, const uv_buf_t *unused)
{
    struct connection *c = stream->data;
    const char *why = NULL;
    (void)unused;
    if (len == 0) {
        return;
    }
    if (len < 0 && len != UV_ENOBUFS) {
        net_connection_close(c);
        return;
    }
    buf_added(&c->in, len > 0 ? (size_t)len : 0);
    enum head_result result = head_read(buf_slice_of(&c->in), &c->head, &why);
    if (result == HEAD_MORE) {
        return;
    }
    (void)uv_read_stop(stream);
    if (result == HEAD_OK && c->head.tunnel && c->in.len > c->head.len) {
        why =
            "bytes for the tunnel before it was open"; /* they would reach a server that nobody has judged yet */
    }
    if (why != NULL) {
        net_judge_unreadable(&c->proxy->judge, why);
        net_connection_answer(c, "400 Bad Request", slice_of(why));
        return;
    }
    if (takes(c, NULL)) {
        look_up(c);
    }
}

void net_connection_accept(struct proxy *proxy, uv_stream_t *listener)
{
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL || uv_tcp_init(&proxy->loop, &c->client) != 0) {
        free(c);
        return;
    }
    c->proxy = proxy;
    c->client.data = c;
    c->open_handles = 1;
    c->next = proxy->first;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    proxy->first = c;
    proxy->count++;
    buf_init(&c->in, 2u * HEAD_BYTES);
    buf_init(&c->out, (size_t)4 * HEAD_BYTES);
    c->deadline_ms = now(c) + HEAD_MS;
    if (uv_accept(listener, (uv_stream_t *)&c->client) != 0) {
        net_connection_close(c);
    } else if (proxy->count > CONNECTIONS_MOST) {
        net_connection_answer(c, "503 Service Unavailable", SLICE("Too many connections at once."));
    } else if (uv_read_start((uv_stream_t *)&c->client, make_room, head_comes) != 0) {
        net_connection_close(c);
    }
}
