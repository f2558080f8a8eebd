/* The server's process. */
#include "mcp/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From SIGTERM to SIGKILL. Together with what comes before it is less than the four seconds that the official
 * clients give us, so that we are still there to do it. */
#define KILL_AFTER_MS 1500

static void exited(uv_process_t *process, int64_t status, int term_signal)
{
    struct child *child = process->data;
    child->running = false;
    child->code = term_signal ? 128 + term_signal : (int)status;
    uv_timer_stop(&child->grace);
    child->on_exit(child);
}

static void close_pair(int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

int child_start(struct child *child, uv_loop_t *loop, char *const *command, mode_t mask, int *ret_in,
                int *ret_out)
{
    int in[2],
        out[2]; /* pipes, as a shell would give, and not libuv's sockets: a server may open /dev/stdin */
    int result = uv_pipe(in, 0, 0);
    if (result != 0) {
        return result;
    }
    result = uv_pipe(out, 0, 0);
    if (result != 0) {
        close_pair(in);
        return result;
    }
    bool has_stderr = fcntl(2, F_GETFD) >= 0;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_INHERIT_FD, .data.fd = in[0]},
        {.flags = UV_INHERIT_FD, .data.fd = out[1]},
        {.flags = has_stderr ? UV_INHERIT_FD : UV_IGNORE, .data.fd = 2},
    };
    uv_process_options_t options = {
        .exit_cb = exited,
        .file = command[0],
        .args = (char **)command,
        .stdio_count = 3,
        .stdio = stdio,
    };
    (void)uv_timer_init(loop, &child->grace);
    child->process.data = child->grace.data = child;
    child->signal_next = 0;
    child->made = true;
    mode_t own = umask(mask);
    result = uv_spawn(loop, &child->process, &options);
    (void)umask(own);
    close(in[0]);
    close(out[1]);
    if (result != 0) {
        close(in[1]);
        close(out[0]);
        return result;
    }
    child->running = true;
    *ret_in = in[1];
    *ret_out = out[0];
    return 0;
}

static void grace_is_over(uv_timer_t *timer)
{
    struct child *child = timer->data;
    if (!child->running) {
        return;
    }
    (void)uv_process_kill(&child->process, child->signal_next);
    if (child->signal_next == SIGTERM) {
        child->signal_next = SIGKILL;
        uv_timer_start(timer, grace_is_over, KILL_AFTER_MS, 0);
    }
}

void child_expect_end(struct child *child, uint64_t wait_ms)
{
    if (!child->running || child->signal_next == SIGKILL) {
        return;
    }
    if (uv_is_active((uv_handle_t *)&child->grace) && uv_timer_get_due_in(&child->grace) <= wait_ms) {
        return;
    }
    child->signal_next = SIGTERM;
    uv_timer_start(&child->grace, grace_is_over, wait_ms, 0);
}

void child_close(struct child *child)
{
    if (child->made) {
        uv_close((uv_handle_t *)&child->process, NULL);
        uv_close((uv_handle_t *)&child->grace, NULL);
    }
    child->made = false;
}
