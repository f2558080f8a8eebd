/* What the proxy says to the client by itself. SPEC.md section 10.
 *
 * Every text is constant, but for a rule's own words for the agent (`tell`): no rule, no reason, no echo of a
 * call. Two denials of one kind and shape differ in nothing but the id. Each function appends one whole line.
 */
#ifndef MCP_ANSWER_INTERNAL_H
#define MCP_ANSWER_INTERNAL_H

#include "gate/gate.h"
#include "mcp/id_internal.h"

/* How the answer to a call that does not run is shaped. */
enum answer_shape {
    ANSWER_RESULT,        /* a tool result with isError: clients show it to the model */
    ANSWER_RESULT_MODERN, /* the same with the resultType that 2026-07-28 asks for */
    ANSWER_ERROR, /* a JSON-RPC error: a call made as a task, and methods that are no tools, whose results
                     have other shapes */
};

/* Our own error codes. MCP reserves -32099 to -32020, calls -32019 to -32000 legacy, and JSON-RPC reserves
 * everything from -32768 to -32000, so that own codes stand outside; some clients take -32001 for a time-out
 * of their own. */
enum {
    ANSWER_CODE_UNREADABLE = 400,
    ANSWER_CODE_DENIED = 403, /* by a rule or by a person */
    ANSWER_CODE_NOT_IN_TIME = 408,
    ANSWER_CODE_TOO_MANY = 429,
};

/* The call is denied: of which kind, and what the rule that decided has to tell; `tell` may be empty. */
void answer_denied(struct buf *buf, const struct id *id, enum answer_shape shape, enum denial denial,
                   struct slice tell);

/* A JSON-RPC error. */
void answer_error(struct buf *buf, const struct id *id, int code, const char *text);

/* The constant text for a code of JSON-RPC's own. */
const char *answer_text(int code);

/* A progress notification for a call that waits; `token` is the client's, as JSON text. `count` counts
 * from 1. The progress stays below 1, where a server's own begins once the call runs. */
void answer_progress(struct buf *buf, struct slice token, unsigned count);

#endif
