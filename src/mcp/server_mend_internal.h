/* Mending a server's line that is not quite JSON. */
#ifndef MCP_SERVER_MEND_INTERNAL_H
#define MCP_SERVER_MEND_INTERNAL_H

#include "base/buffer.h"

/* Replaces halves of surrogate pairs by an escape of the same length, in place. */
void mend_surrogates(char *ptr, size_t len);

/* Appends `line` with what no JSON may hold made into something that it may. Returns what that was, a
 * constant phrase; NULL when there was nothing of the kind. */
const char *mend_line(struct buf *buf, struct slice line);

#endif
