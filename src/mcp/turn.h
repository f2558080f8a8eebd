/* What one turn of the loop has decided and not yet done: lines to hand on, and what to say to the client.
 *
 * Nothing leaves before the journal has it, so lines wait here until the turn's commit. A turn borrows the
 * lines and owns the answers. */
#ifndef MCP_TURN_H
#define MCP_TURN_H

#include <uv.h>

#include "base/buffer.h"

struct turn_line {
    struct slice raw; /* with its line end */
    bool is_call;     /* a call that the gate allowed: a denial when the commit fails */
};

struct turn {
    struct turn_line *lines;
    size_t count, cap;
    uv_buf_t *pieces; /* room for one for each line */
    struct buf answers;
    bool staged; /* the gate has something to commit */
};

void turn_init(struct turn *turn);
void turn_finish(struct turn *turn);

/* Forgets the lines and the answers. */
void turn_reset(struct turn *turn);

/* Adds a line to hand on. False when there is no memory. */
MUST_USE bool turn_add(struct turn *turn, struct slice raw, bool is_call);

/* The lines as pieces to write, neighbours joined. */
size_t turn_pieces(struct turn *turn);

#endif
