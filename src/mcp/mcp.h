/* `callgate run`: an MCP proxy over standard input and output. SPEC.md sections 6, 9, 10.
 *
 * Strict towards the server: one line is one message, what is refused never reaches it, what is allowed goes
 * on byte for byte as it was judged. Tolerant towards the client: what the server says passes if it is a
 * message; a response that cannot be handed on becomes an error for its id, so that no client hangs.
 *
 * Every call is judged whatever the state of the session. Denials are constant: answer.h has their texts and
 * codes. */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <sys/types.h>

#include "gate/gate.h"
#include "tools/tools.h"

/* What belongs to a session, whatever carries its messages. */
struct session_options {
    struct gate *gate;                  /* open; stays the caller's */
    struct call_defaults defaults;      /* server, channel, thread, actor of every call */
    struct path_base base;              /* what the gate starts from, until the client tells roots */
    const char *const *allowed_methods; /* --allow-method; NULL-terminated; may be NULL */
    uint64_t hold_for_ms;
    struct tool_book *book; /* what the server offers; NULL: it is not looked at. Stays the caller's */
    bool pinned;            /* --tools pin: a tool that nobody has accepted as it is offered is denied */
    bool
        hide_denied; /* --hide-denied: tools that no call of the session could use are not listed; needs a book */
    bool outcomes_off;             /* --record-outcomes=off: no event says how a call that ran has ended */
    void (*say)(const char *line); /* a line for the operator (standard error); may be NULL */
};

struct proxy_options {
    struct session_options session;
    char *const *command;      /* NULL-terminated; command[0] is looked up in PATH */
    mode_t child_umask;        /* the server's: ours is stricter than the one it would have had without us */
    int client_in, client_out; /* 0 and 1 in the program; tests give others. They are closed */
};

/* What proxy_run returns when the server could not be started; the same number as the program's EXIT_UNABLE.
 */
#define PROXY_UNABLE 2

/* Runs until either side ends, or SIGTERM or SIGINT. SIGHUP reloads the gate, SIGUSR1 rotates its journal. Returns the exit code to pass
 * on: the child's, 128 + its signal, or PROXY_UNABLE with the reason told through `say` when it could not be
 * started. Ignores SIGPIPE for the whole process. */
int proxy_run(const struct proxy_options *options);

#endif
