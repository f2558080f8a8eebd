/* `callgate relay`: a channel server with the permission relay of Claude Code. SPEC.md sections 6, 10 and 11.
 *
 * The host sends permission requests as notifications; each gets at most one verdict, exactly
 * {"request_id","behavior"}. The preview that comes along is display text and no policy input: the input of
 * the call is unknown. A rule that can be judged without it answers; everything else goes before people. */
#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "gate/gate.h"

struct relay_options {
    struct gate *gate; /* open; stays the caller's */
    struct slice channel, thread;
    enum actor actor;
    int in, out;
};

/* Speaks MCP until `in` ends, or SIGTERM or SIGINT. Requests that still wait then are withdrawn. SIGHUP
 * reloads the gate. 0, or 1 when `out` cannot be
 * written. */
int relay_run(const struct relay_options *options);

#endif
