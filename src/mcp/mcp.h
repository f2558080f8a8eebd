/* `callgate run`: an MCP proxy over standard input and output. SPEC.md sections 6, 9, 10.
 *
 * Strict towards the server: one line is one message, what is refused never reaches it, what is allowed goes on byte
 * for byte as it was judged. Tolerant towards the client. */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "gate/gate.h"

struct proxy_options {
    struct gate *gate;             /* open; stays the caller's */
    char *const *command;          /* NULL-terminated; command[0] is looked up in PATH */
    struct call_defaults defaults; /* server, channel, thread, actor of every call */
    const char *const *allowed_methods; /* --allow-method; NULL-terminated; may be NULL */
    uint64_t hold_for_ms;
    int client_in, client_out; /* 0 and 1 in the program; tests give others */
};

/* Runs until either side ends. Returns the exit code to pass on: the child's, 128 + its signal, or EXIT_UNABLE with
 * the reason told through the gate's `say` when it could not be started. */
int proxy_run(const struct proxy_options *options);

#endif
