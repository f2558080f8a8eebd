/* A link over two descriptors, on libuv: one that lines come from and one that lines go to.
 *
 * It owns both descriptors from stdio_link_open on and closes them. Pipes, sockets and terminals do not
 * block; files are read and written as files are. */
#ifndef MCP_STDIO_LINK_INTERNAL_H
#define MCP_STDIO_LINK_INTERNAL_H

#include "mcp/link_internal.h"

struct stdio_end {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tcp_t tcp;
        uv_tty_t tty;
        uv_idle_t file; /* reads a file whenever nothing else is to be done */
    } as;
    int fd;
    int flags; /* of the descriptor, before it was made not to block */
    bool is_file;
    bool open;
};

struct stdio_link {
    struct link link; /* first: a link's pointer is this one's */
    struct stdio_end in, out;
};

/* Opens both ends. 0, or libuv's error; the callbacks and the owner are then set by the caller. After an
 * error link_close and stdio_link_finish are still due. */
MUST_USE int stdio_link_open(struct stdio_link *stdio, uv_loop_t *loop, int in, int out, size_t line_ceiling);

/* Frees what the link has kept. Its handles must have been closed and the loop run. */
void stdio_link_finish(struct stdio_link *stdio);

#endif
