/* Bytes between a confined program and the server that it may reach. Of a tunnel all of them, both ways, until both have
 * ended. Of a request that is none exactly the body that its head announced, so that no second request follows unjudged,
 * and back whatever the server says until it closes. */
#include <stdlib.h>

#include "net/internal.h"

static void flow_read(struct flow *flow);

static void flow_shut(uv_shutdown_t *shutdown, int status)
{
    struct connection *c = shutdown->data;
    if (status != 0 || (c->up.ended && c->down.ended)) {
        net_connection_close(c);
    }
}

/* The side that is read has ended: so does what is written to the other. */
static void flow_end(struct flow *flow)
{
    struct connection *c = flow->connection;
    flow->ended = true;
    if (!c->head.tunnel && flow == &c->down) {
        net_relay_drain(c);
        return;
    }
    flow->shutdown.data = c;
    if (!c->head.tunnel || uv_shutdown(&flow->shutdown, flow->to, flow_shut) != 0) {
        net_connection_close(c);
    }
}

static void flow_written(uv_write_t *write, int status)
{
    struct flow *flow = write->data;
    if (status != 0) {
        net_connection_close(flow->connection);
    } else if (flow->connection->stage == STAGE_RELAY) {
        flow_read(flow);
    }
}

static struct flow *flow_from(void *stream)
{
    struct connection *c = ((uv_handle_t *)stream)->data;
    return stream == (void *)&c->client ? &c->up : &c->down;
}

static void flow_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    struct flow *flow = flow_from(handle);
    (void)suggested;
    *ret_buf = uv_buf_init(flow->bytes, flow->left < RELAY_BYTES ? (unsigned)flow->left : RELAY_BYTES);
}

static void flow_comes(uv_stream_t *stream, ssize_t len, const uv_buf_t *from)
{
    struct flow *flow = flow_from(stream);
    if (len == 0) {
        return;
    }
    (void)uv_read_stop(stream);
    if (len == UV_EOF) {
        flow_end(flow);
        return;
    }
    uv_buf_t bytes = uv_buf_init(from->base, len > 0 ? (unsigned)len : 0);
    flow->left -= flow->left != UINT64_MAX && len > 0 ? (uint64_t)len : 0;
    flow->write.data = flow;
    if (len < 0 || uv_write(&flow->write, flow->to, &bytes, 1, flow_written) != 0) {
        net_connection_close(flow->connection);
    }
}

/* The next bytes; they are read when the last ones have been written. */
static void flow_read(struct flow *flow)
{
    if (flow->left > 0 && uv_read_start(flow->from, flow_room, flow_comes) != 0) {
        net_connection_close(flow->connection);
    }
}

static bool flow_start(struct connection *c, struct flow *flow, uv_tcp_t *from, uv_tcp_t *to, uint64_t left)
{
    flow->connection = c;
    flow->from = (uv_stream_t *)from;
    flow->to = (uv_stream_t *)to;
    flow->left = left;
    flow->bytes = malloc(RELAY_BYTES);
    return flow->bytes != NULL;
}

static void first_written(uv_write_t *write, int status)
{
    struct connection *c = write->data;
    if (status != 0) {
        net_connection_close(c);
    } else if (c->stage == STAGE_RELAY) {
        flow_read(&c->up);
        if (c->stage == STAGE_RELAY) {
            flow_read(&c->down);
        }
    }
}

void net_relay_start(struct connection *c)
{
    uint64_t here = c->in.len - c->head.len; /* of the body */
    uv_tcp_t *first_to = &c->server;
    here = here < c->head.body ? here : c->head.body;
    buf_reset(&c->out);
    if (c->head.tunnel) {
        buf_text(&c->out, "HTTP/1.1 200 Connection established\r\n\r\n");
        first_to = &c->client;
    } else {
        head_write(&c->out, &c->head);
        buf_bytes(&c->out, c->in.ptr + c->head.len, here);
    }
    uv_buf_t bytes = uv_buf_init(c->out.ptr, (unsigned)c->out.len);
    c->write.data = c;
    if (!buf_ok(&c->out) ||
        !flow_start(c, &c->up, &c->client, &c->server, c->head.tunnel ? UINT64_MAX : c->head.body - here) ||
        !flow_start(c, &c->down, &c->server, &c->client, UINT64_MAX) ||
        uv_write(&c->write, (uv_stream_t *)first_to, &bytes, 1, first_written) != 0) {
        net_connection_close(c);
    }
}

/* ---- The end of an answer ---- */

static void drain_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    static char nowhere[4096];
    (void)handle;
    (void)suggested;
    *ret_buf = uv_buf_init(nowhere, sizeof(nowhere));
}

static void drain_comes(uv_stream_t *stream, ssize_t len, const uv_buf_t *unused)
{
    (void)unused;
    if (len < 0) {
        net_connection_close(stream->data);
    }
}

static void client_shut(uv_shutdown_t *shutdown, int status)
{
    if (status != 0) {
        net_connection_close(shutdown->data);
    }
}

/* To close while something is unread would take the answer from the client. */
void net_relay_drain(struct connection *c)
{
    uv_stream_t *client = (uv_stream_t *)&c->client;
    c->stage = STAGE_DRAIN;
    c->deadline_ms = uv_now(&c->proxy->loop) + DRAIN_MS;
    (void)uv_read_stop(client);
    if (c->server_open && !uv_is_closing((uv_handle_t *)&c->server)) {
        uv_close((uv_handle_t *)&c->server, net_connection_server_closed);
    }
    c->shutdown.data = c;
    if (uv_shutdown(&c->shutdown, client, client_shut) != 0 ||
        uv_read_start(client, drain_room, drain_comes) != 0) {
        net_connection_close(c);
    }
}
