/* What has been decided and not yet done: lines to hand on, and what to say to the client.
 *
 * Nothing leaves before the journal has it, so lines wait here until the commit. A batch borrows the lines,
 * but for those that it copies, and owns the answers. */
#ifndef MCP_BATCH_INTERNAL_H
#define MCP_BATCH_INTERNAL_H

#include <uv.h>

#include "base/arena.h"
#include "base/buffer.h"

struct batch_line {
    struct slice raw; /* with its line end */
    bool is_call;     /* a call that the gate allowed: a denial when the commit fails */
};

struct batch {
    struct batch_line *lines;
    size_t count, cap;
    uv_buf_t *pieces; /* room for one for each line */
    struct buf answers;
    struct buf requests; /* of the gate's own, for the server */
    struct arena texts;  /* of lines that are not the other side's own bytes */
    bool staged;         /* the gate has something to commit */
};

void batch_init(struct batch *batch);
void batch_finish(struct batch *batch);

/* Forgets the lines and the answers. */
void batch_reset(struct batch *batch);

/* Makes sure that one more line can be added. False when there is no memory. */
MUST_USE bool batch_reserve(struct batch *batch);

/* Adds a line to hand on, for which batch_reserve has made room. */
void batch_add_reserved(struct batch *batch, struct slice raw, bool is_call);

/* Both at once. */
MUST_USE bool batch_add(struct batch *batch, struct slice raw, bool is_call);

/* Keeps a copy of a text until the batch is reset. ptr NULL without memory. */
MUST_USE struct slice batch_keep(struct batch *batch, struct slice text);

/* Adds a copy of a line that is no call. False without memory. */
MUST_USE bool batch_add_copy(struct batch *batch, struct slice line);

/* The last byte of the last line that was added; a NUL when that is empty. */
char batch_last(const struct batch *batch);

/* The lines as pieces to write, neighbours joined. */
size_t batch_pieces(struct batch *batch);

#endif
