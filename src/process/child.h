/* A program that the gate starts: its process, watched and ended, through a keeper (keeper.h), so that
 * nothing of it outlives the gate.
 *
 * A child owns handles on the loop and the pipes to its keeper. Standard error stays the program's own. */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/slice.h"
#include "process/keeper.h"

struct child {
    uv_process_t keeper;
    uv_timer_t grace;
    uv_pipe_t reports;
    bool made;    /* the handles exist */
    bool running; /* the program has not ended; others of its tree are not looked at */
    pid_t program;
    int control;                 /* orders to the keeper; -1: closed */
    int ended;                   /* its other end is closed when the keeper has ended; -1: none */
    int order_next;              /* what the timer orders when it runs out; 0: nothing was ordered yet */
    int code;                    /* what to pass on once it has ended: its exit code, or 128 and its signal */
    struct keeper_report report; /* being read */
    size_t report_len;
    void *owner;
    void (*on_exit)(struct child *child);
};

/* Starts `command` with pipes for standard input and output; their other ends are returned and become the
 * caller's. The environment is passed on, our descriptors are not; `mask` is its umask. 0, or libuv's error.
 */
MUST_USE int child_start(struct child *child, uv_loop_t *loop, char *const *command, mode_t mask, int *ret_in,
                         int *ret_out);

/* The child's input has been closed, so it should end by itself: SIGTERM after `wait_ms`, SIGKILL for its
 * whole tree some time after that. A later call can only make it sooner. */
void child_expect_end(struct child *child, uint64_t wait_ms);

/* Closes the handles, also after child_start has failed; run the loop, then child_finish. */
void child_close(struct child *child);

/* Lets the keeper end whatever is left of the program's tree, and waits until that is done, or for a second
 * at most. */
void child_finish(struct child *child);

#endif
