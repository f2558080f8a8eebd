/* One side of the proxy: a descriptor that lines come from and one that lines go to, on libuv.
 *
 * A peer owns both descriptors from peer_open on and closes them. Pipes, sockets and terminals do not block;
 * files are read and written as files are. What cannot be written at once is copied and kept, so the owner
 * must stop whoever feeds a peer while peer_queued is above its ceiling.
 *
 * No callback is called from within peer_write: a turn is never entered twice. That the other side has gone
 * is told by peer->broken, which the owner looks at when it likes. */
#ifndef MCP_PEER_H
#define MCP_PEER_H

#include <uv.h>

#include "mcp/intake.h"

struct peer_end {
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

struct peer {
    uv_loop_t *loop;
    struct peer_end in, out;
    struct intake intake;
    bool reading;
    bool closing; /* `out` is closed once all is written */
    bool broken;  /* nothing more can be written, and `out` is closed */

    void *owner;
    void (*on_bytes)(struct peer *peer);   /* peer->intake has got more */
    void (*on_end)(struct peer *peer);     /* nothing more comes; reading has stopped */
    void (*on_written)(struct peer *peer); /* less is queued than was */
    void (*on_closed)(struct peer *peer);  /* `out` has been closed by peer_close_out; may be NULL */
};

/* Opens both ends. 0, or libuv's error; the callbacks and the owner are then set by the caller. */
MUST_USE int peer_open(struct peer *peer, uv_loop_t *loop, int in, int out, size_t line_ceiling);

/* Closes both ends at once. The handles are closed by the loop: run it before the peer is finished. */
void peer_close(struct peer *peer);
void peer_finish(struct peer *peer);

/* Starts or stops reading; harmless after the end. */
void peer_read(struct peer *peer, bool on);

/* Whether the other side has closed its end of `in`, though there may be more to read: what a peer that is
 * not read would otherwise not hear of. */
bool peer_hung_up(const struct peer *peer);

/* Writes pieces, in order, after all that waits. The pieces are free to go when it returns. */
void peer_write(struct peer *peer, const uv_buf_t *pieces, size_t count);

/* How many bytes wait to be written. */
size_t peer_queued(const struct peer *peer);

/* Closes `out` once all is written, then calls on_closed. */
void peer_close_out(struct peer *peer);

#endif
