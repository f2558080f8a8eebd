/* The link over descriptors: pipes, sockets and terminals by libuv, files as files are. */
#include "mcp/stdio_link_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct waiting_write {
    uv_write_t request;
    char bytes[];
};

static struct stdio_link *stdio_of(struct link *link)
{
    return (struct stdio_link *)link;
}

static const struct stdio_link *const_stdio_of(const struct link *link)
{
    return (const struct stdio_link *)link;
}

/* ---- Opening ---- */

/* A handle that libuv failed to make must not be closed: `open` is set for those that were made. */
static int open_stream(struct stdio_end *end, uv_loop_t *loop)
{
    int result;
    switch (uv_guess_handle(end->fd)) {
    case UV_NAMED_PIPE:
        result = uv_pipe_init(loop, &end->as.pipe, 0);
        end->open = result == 0;
        return result != 0 ? result : uv_pipe_open(&end->as.pipe, end->fd);
    case UV_TCP:
        result = uv_tcp_init(loop, &end->as.tcp);
        end->open = result == 0;
        return result != 0 ? result : uv_tcp_open(&end->as.tcp, end->fd);
    case UV_TTY:
        end->flags = -1; /* libuv opens it anew for itself */
        result = uv_tty_init(loop, &end->as.tty, end->fd, 0);
        end->open = result == 0;
        return result;
    default:
        return UV_EINVAL;
    }
}

static int open_end(struct stdio_end *end, uv_loop_t *loop, int fd, bool is_input)
{
    end->fd = fd;
    end->flags = fcntl(fd, F_GETFL);
    end->is_file = uv_guess_handle(fd) == UV_FILE;
    if (!end->is_file) {
        return open_stream(end, loop);
    }
    int result = is_input ? uv_idle_init(loop, &end->as.file) : 0;
    end->open = result == 0;
    return result;
}

static void handle_closed(uv_handle_t *handle)
{
    struct stdio_link *stdio = handle->data;
    struct link *link = &stdio->link;
    if (handle == &stdio->out.as.handle && link->closing && link->on_closed != NULL) {
        link->on_closed(link);
    }
}

static void close_end(struct stdio_link *stdio, struct stdio_end *end)
{
    if (!end->open) {
        return;
    }
    end->open = false;
    stdio->link.open_out = stdio->out.open;
    if (end->is_file) {
        close(end->fd);
    } else if (end->flags >= 0) {
        /* Others may share the open file: leave it as it was found. */
        (void)fcntl(end->fd, F_SETFL, end->flags);
    }
    if (!end->is_file || end == &stdio->in) {
        end->as.handle.data = stdio;
        uv_close(&end->as.handle, handle_closed);
    }
}

static void stdio_close(struct link *link)
{
    struct stdio_link *stdio = stdio_of(link);
    link->closing = false;
    link->reading = false;
    close_end(stdio, &stdio->in);
    close_end(stdio, &stdio->out);
}

void stdio_link_finish(struct stdio_link *stdio)
{
    line_buffer_finish(&stdio->link.lines);
}

/* ---- Reading ---- */

static void end_input(struct stdio_link *stdio)
{
    link_read(&stdio->link, false);
    close_end(stdio, &stdio->in);
    stdio->link.on_end(&stdio->link);
}

static void give_space(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    struct stdio_link *stdio = handle->data;
    size_t len = 0;
    char *space = line_buffer_space(&stdio->link.lines, &len);
    *ret_buf = uv_buf_init(space, space != NULL ? (unsigned)len : 0); /* no space: libuv reports UV_ENOBUFS */
}

static void take(struct stdio_link *stdio, size_t len)
{
    line_buffer_added(&stdio->link.lines, len);
    stdio->link.on_bytes(&stdio->link);
}

static void stream_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *space)
{
    (void)space;
    struct stdio_link *stdio = stream->data;
    if (len < 0) {
        end_input(stdio);
    } else if (len > 0) {
        take(stdio, (size_t)len);
    }
}

static void file_read(uv_idle_t *idle)
{
    struct stdio_link *stdio = idle->data;
    size_t room = 0;
    char *space = line_buffer_space(&stdio->link.lines, &room);
    ssize_t len = space != NULL ? read(stdio->in.fd, space, room) : -1;
    if (len < 0 && space != NULL && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (len <= 0) {
        end_input(stdio);
        return;
    }
    take(stdio, (size_t)len);
}

static void stdio_read(struct link *link, bool on)
{
    struct stdio_link *stdio = stdio_of(link);
    on = on && stdio->in.open;
    if (on == link->reading) {
        return;
    }
    link->reading = on;
    if (!stdio->in.open) {
        return;
    }
    int result = 0;
    if (stdio->in.is_file) {
        result = on ? uv_idle_start(&stdio->in.as.file, file_read) : uv_idle_stop(&stdio->in.as.file);
    } else {
        result = on ? uv_read_start(&stdio->in.as.stream, give_space, stream_read)
                    : uv_read_stop(&stdio->in.as.stream);
    }
    if (result != 0 && on) {
        end_input(stdio);
    }
}

static bool stdio_hung_up(const struct link *link)
{
    const struct stdio_link *stdio = const_stdio_of(link);
    struct pollfd state = {.fd = stdio->in.fd, .events = POLLRDHUP};
    return stdio->in.open && poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLRDHUP)) != 0;
}

/* ---- Writing ---- */

static void break_off(struct stdio_link *stdio)
{
    stdio->link.broken = true;
    close_end(stdio, &stdio->out);
}

static void finish_out(struct stdio_link *stdio)
{
    bool is_file = stdio->out.is_file;
    close_end(stdio, &stdio->out);
    if (is_file && stdio->link.on_closed != NULL) {
        stdio->link.on_closed(&stdio->link);
    }
}

static size_t stdio_queued(const struct link *link)
{
    const struct stdio_end *out = &const_stdio_of(link)->out;
    return out->open && !out->is_file ? uv_stream_get_write_queue_size(&out->as.stream) : 0;
}

static void written(uv_write_t *request, int status)
{
    struct stdio_link *stdio = request->handle->data;
    free(request->data);
    if (!stdio->out.open) {
        return; /* closed on the way; whoever closed it knows */
    }
    if (status < 0) {
        break_off(stdio);
    } else if (stdio->link.closing && stdio_queued(&stdio->link) == 0) {
        finish_out(stdio);
    } else {
        stdio->link.on_written(&stdio->link);
    }
}

/* How many bytes went out at once; negative when the other side is gone. */
static ssize_t write_now(struct stdio_link *stdio, const uv_buf_t *pieces, size_t count)
{
    int sent = uv_try_write(&stdio->out.as.stream, pieces, (unsigned)count);
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

static bool keep(struct stdio_link *stdio, const uv_buf_t *pieces, size_t count, size_t sent, size_t rest)
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
    if (uv_write(&write->request, &stdio->out.as.stream, &bytes, 1, written) != 0) {
        free(write);
        return false;
    }
    return true;
}

static void stdio_write(struct link *link, const uv_buf_t *pieces, size_t count)
{
    struct stdio_link *stdio = stdio_of(link);
    if (!stdio->out.open || count == 0) {
        return;
    }
    if (stdio->out.is_file) {
        if (!write_file(stdio->out.fd, pieces, count)) {
            break_off(stdio);
        }
        return;
    }
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += pieces[i].len;
    }
    ssize_t sent = write_now(stdio, pieces, count);
    if (sent < 0 ||
        ((size_t)sent < total && !keep(stdio, pieces, count, (size_t)sent, total - (size_t)sent))) {
        break_off(stdio);
    }
}

static void stdio_close_out(struct link *link)
{
    struct stdio_link *stdio = stdio_of(link);
    if (!stdio->out.open || link->closing) {
        return;
    }
    link->closing = true;
    if (stdio_queued(link) == 0) {
        finish_out(stdio);
    }
}

static const struct link_kind stdio_kind = {
    .read = stdio_read,
    .write = stdio_write,
    .queued = stdio_queued,
    .hung_up = stdio_hung_up,
    .close_out = stdio_close_out,
    .close = stdio_close,
};

int stdio_link_open(struct stdio_link *stdio, uv_loop_t *loop, int in, int out, size_t line_ceiling)
{
    memset(stdio, 0, sizeof(*stdio));
    stdio->link.kind = &stdio_kind;
    line_buffer_init(&stdio->link.lines, line_ceiling);
    int result = open_end(&stdio->in, loop, in, true);
    result = result != 0 ? result : open_end(&stdio->out, loop, out, false);
    stdio->link.open_out = stdio->out.open;
    stdio->in.as.handle.data = stdio->out.as.handle.data = stdio;
    return result;
}
