/* Reads lines of any length from a descriptor. */
#include "cli/calls/input_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)

void input_lines_init(struct input_lines *lines, int fd, size_t limit)
{
    *lines = (struct input_lines){.fd = fd, .limit = limit, .left = UINT64_MAX};
    buf_init(&lines->buf, limit + 2 * CHUNK);
}

void input_lines_finish(struct input_lines *lines)
{
    buf_finish(&lines->buf);
}

static bool fill(struct input_lines *lines)
{
    buf_drop(&lines->buf, lines->at);
    lines->at = 0;
    char *room = buf_reserve(&lines->buf, CHUNK);
    size_t most = lines->left < CHUNK ? (size_t)lines->left : CHUNK;
    ssize_t n = -1;
    while (room != NULL && (n = read(lines->fd, room, most)) < 0 && errno == EINTR) {
        continue;
    }
    if (n > 0) {
        buf_added(&lines->buf, (size_t)n);
        lines->left -= (uint64_t)n;
    }
    lines->ended = n == 0;
    lines->failed = n < 0;
    return n >= 0;
}

static enum line_result give(struct input_lines *lines, size_t len, size_t with_end, struct slice *ret_line)
{
    struct slice line = {lines->buf.ptr + lines->at, len};
    lines->at += with_end;
    if (lines->skipping || len > lines->limit) {
        lines->skipping = false;
        return LINE_TOO_LONG;
    }
    if (len > 0 && line.ptr[len - 1] == '\r') {
        line.len--;
    }
    *ret_line = line;
    return LINE_READ;
}

enum line_result input_lines_next(struct input_lines *lines, struct slice *ret_line)
{
    size_t searched = lines->at;
    for (;;) {
        const char *from = lines->buf.ptr + searched;
        const char *lf = searched < lines->buf.len ? memchr(from, '\n', lines->buf.len - searched) : NULL;
        if (lf != NULL) {
            size_t len = (size_t)(lf - (lines->buf.ptr + lines->at));
            return give(lines, len, len + 1, ret_line);
        }
        size_t rest = lines->buf.len - lines->at;
        if (lines->ended) {
            return rest || lines->skipping ? give(lines, rest, rest, ret_line) : LINE_END;
        }
        if (rest > lines->limit) {
            lines->skipping = true;
            lines->at = lines->buf.len;
            rest = 0;
        }
        if (!fill(lines)) {
            return LINE_FAILED;
        }
        searched = lines->at + rest;
    }
}
