/* The server's process: started, watched, ended.
 *
 * A child owns its process handle and a timer on the loop. Standard error stays the server's own. */
#ifndef MCP_CHILD_H
#define MCP_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/slice.h"

struct child {
    uv_process_t process;
    uv_timer_t grace;
    bool made; /* the handles exist */
    bool running;
    int signal_next; /* what the timer sends when it runs out */
    int code;        /* what to pass on once it has ended: its exit code, or 128 and its signal */
    void *owner;
    void (*on_exit)(struct child *child);
};

/* Starts `command` with pipes for standard input and output; their other ends are returned and become the
 * caller's. The environment is passed on, our descriptors are not; `mask` is its umask. 0, or libuv's error.
 */
MUST_USE int child_start(struct child *child, uv_loop_t *loop, char *const *command, mode_t mask, int *ret_in,
                         int *ret_out);

/* The child's input has been closed, so it should end by itself: SIGTERM after `wait_ms`, SIGKILL some time
 * after that. A later call can only make it sooner. */
void child_expect_end(struct child *child, uint64_t wait_ms);

/* Closes the handles, also after child_start has failed; run the loop before the child is forgotten. */
void child_close(struct child *child);

#endif
