#include "mcp/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

struct waiting_write {
    uv_write_t request;
    char bytes[];
};

static int open_end(struct peer_end *end, uv_loop_t *loop, int fd, bool is_input)
{
    end->fd = fd;
    end->flags = fcntl(fd, F_GETFL);
    end->open = true;
    switch (uv_guess_handle(fd)) {
    case UV_NAMED_PIPE:
        (void)uv_pipe_init(loop, &end->as.pipe, 0);
        return uv_pipe_open(&end->as.pipe, fd);
    case UV_TCP:
        (void)uv_tcp_init(loop, &end->as.tcp);
        return uv_tcp_open(&end->as.tcp, fd);
    case UV_TTY:
        end->flags = -1; /* libuv opens it anew for itself */
        return uv_tty_init(loop, &end->as.tty, fd, 0);
    case UV_FILE:
        end->is_file = true;
        return is_input ? uv_idle_init(loop, &end->as.file) : 0;
    default:
        end->open = false;
        return UV_EINVAL;
    }
}

static void closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    if (handle == &peer->out.as.handle && peer->closing && peer->on_closed != NULL) {
        peer->on_closed(peer);
    }
}

static void close_end(struct peer *peer, struct peer_end *end)
{
    if (!end->open) {
        return;
    }
    end->open = false;
    if (end->is_file) {
        close(end->fd);
    } else if (end->flags >= 0) {
        /* Others may share the open file: leave it as it was found. */
        (void)fcntl(end->fd, F_SETFL, end->flags);
    }
    if (!end->is_file || end == &peer->in) {
        end->as.handle.data = peer;
        uv_close(&end->as.handle, closed);
    }
}

int peer_open(struct peer *peer, uv_loop_t *loop, int in, int out, size_t line_ceiling)
{
    memset(peer, 0, sizeof(*peer));
    peer->loop = loop;
    intake_init(&peer->intake, line_ceiling);
    int result = open_end(&peer->in, loop, in, true);
    result = result ? result : open_end(&peer->out, loop, out, false);
    peer->in.as.handle.data = peer->out.as.handle.data = peer;
    return result;
}

void peer_close(struct peer *peer)
{
    peer->closing = false;
    peer->reading = false;
    close_end(peer, &peer->in);
    close_end(peer, &peer->out);
}

void peer_finish(struct peer *peer)
{
    intake_finish(&peer->intake);
}

/* ---- Reading ---- */

static void end_input(struct peer *peer)
{
    peer_read(peer, false);
    close_end(peer, &peer->in);
    peer->on_end(peer);
}

static void give_space(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    struct peer *peer = handle->data;
    size_t len = 0;
    char *space = intake_space(&peer->intake, &len);
    *ret_buf = uv_buf_init(space, space != NULL ? (unsigned)len : 0); /* no space: libuv reports UV_ENOBUFS */
}

static void stream_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *space)
{
    (void)space;
    struct peer *peer = stream->data;
    if (len < 0) {
        end_input(peer);
    } else if (len > 0) {
        intake_added(&peer->intake, (size_t)len);
        peer->on_bytes(peer);
    }
}

static void file_read(uv_idle_t *idle)
{
    struct peer *peer = idle->data;
    size_t room = 0;
    char *space = intake_space(&peer->intake, &room);
    ssize_t len = space != NULL ? read(peer->in.fd, space, room) : -1;
    if (len < 0 && space != NULL && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (len <= 0) {
        end_input(peer);
        return;
    }
    intake_added(&peer->intake, (size_t)len);
    peer->on_bytes(peer);
}

void peer_read(struct peer *peer, bool on)
{
    on = on && peer->in.open;
    if (on == peer->reading) {
        return;
    }
    peer->reading = on;
    if (!peer->in.open) {
        return;
    }
    int result = 0;
    if (peer->in.is_file) {
        result = on ? uv_idle_start(&peer->in.as.file, file_read) : uv_idle_stop(&peer->in.as.file);
    } else {
        result = on ? uv_read_start(&peer->in.as.stream, give_space, stream_read)
                    : uv_read_stop(&peer->in.as.stream);
    }
    if (result != 0 && on) {
        end_input(peer);
    }
}

bool peer_hung_up(const struct peer *peer)
{
    struct pollfd state = {.fd = peer->in.fd, .events = POLLRDHUP};
    return peer->in.open && poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLRDHUP)) != 0;
}

/* ---- Writing ---- */

static void break_off(struct peer *peer)
{
    peer->broken = true;
    close_end(peer, &peer->out);
}

static void finish_out(struct peer *peer)
{
    bool is_file = peer->out.is_file;
    close_end(peer, &peer->out);
    if (is_file && peer->on_closed != NULL) {
        peer->on_closed(peer);
    }
}

size_t peer_queued(const struct peer *peer)
{
    return peer->out.open && !peer->out.is_file ? uv_stream_get_write_queue_size(&peer->out.as.stream) : 0;
}

static void written(uv_write_t *request, int status)
{
    struct peer *peer = request->handle->data;
    free(request->data);
    if (!peer->out.open) {
        return; /* closed on the way; whoever closed it knows */
    }
    if (status < 0) {
        break_off(peer);
    } else if (peer->closing && peer_queued(peer) == 0) {
        finish_out(peer);
    } else {
        peer->on_written(peer);
    }
}

/* How many bytes went out at once; negative when the other side is gone. */
static ssize_t write_now(struct peer *peer, const uv_buf_t *pieces, size_t count)
{
    int sent = uv_try_write(&peer->out.as.stream, pieces, (unsigned)count);
    return sent == UV_EAGAIN ? 0 : sent; /* also when others wait before it */
}

/* Files take all or fail. */
static bool write_file(int fd, const uv_buf_t *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t done = 0; done < pieces[i].len;) {
            ssize_t sent = write(fd, pieces[i].base + done, pieces[i].len - done);
            if (sent < 0 && errno != EINTR) {
                return false;
            }
            done += sent > 0 ? (size_t)sent : 0;
        }
    }
    return true;
}

static bool keep(struct peer *peer, const uv_buf_t *pieces, size_t count, size_t sent, size_t rest)
{
    struct waiting_write *write = malloc(sizeof(*write) + rest);
    if (write == NULL) {
        return false;
    }
    size_t len = 0;
    write->request.data = write;
    for (size_t i = 0; i < count; i++) {
        size_t skip = sent < pieces[i].len ? sent : pieces[i].len;
        sent -= skip;
        memcpy(write->bytes + len, pieces[i].base + skip, pieces[i].len - skip);
        len += pieces[i].len - skip;
    }
    uv_buf_t bytes = {.base = write->bytes, .len = len};
    if (uv_write(&write->request, &peer->out.as.stream, &bytes, 1, written) != 0) {
        free(write);
        return false;
    }
    return true;
}

void peer_write(struct peer *peer, const uv_buf_t *pieces, size_t count)
{
    if (!peer->out.open || count == 0) {
        return;
    }
    if (peer->out.is_file) {
        if (!write_file(peer->out.fd, pieces, count)) {
            break_off(peer);
        }
        return;
    }
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += pieces[i].len;
    }
    ssize_t sent = write_now(peer, pieces, count);
    if (sent < 0 ||
        ((size_t)sent < total && !keep(peer, pieces, count, (size_t)sent, total - (size_t)sent))) {
        break_off(peer);
    }
}

void peer_close_out(struct peer *peer)
{
    if (!peer->out.open || peer->closing) {
        return;
    }
    peer->closing = true;
    if (peer_queued(peer) == 0) {
        finish_out(peer);
    }
}
