/* The gate's end of a child: starting its keeper, hearing from it, and giving it orders. */
#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From SIGTERM to SIGKILL. Together with what comes before it is less than the four seconds that the official
 * clients give us, so that we are still there to do it. */
#define KILL_AFTER_MS 1500

/* A keeper says at once whether the program was started. A machine may be slow. */
#define START_WAIT_MS 30000

/* How long what is left of a tree may take to end. */
#define FINISH_WAIT_MS 1000

/* ---- What the keeper says ---- */

static void program_ended(struct child *child, int code)
{
    if (!child->running) {
        return;
    }
    child->running = false;
    child->code = code;
    uv_timer_stop(&child->grace);
    child->on_exit(child);
}

/* The keeper has ended. If it was killed before it could say how the program ended, the program's group is
 * ended from here. */
static void keeper_exited(uv_process_t *process, int64_t status, int term_signal)
{
    struct child *child = process->data;
    if (child->running && term_signal != 0) {
        (void)kill(-child->program, SIGKILL);
    }
    program_ended(child, term_signal != 0 ? 128 + term_signal : (int)status);
}

static void give_report(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    struct child *child = handle->data;
    *ret_buf = uv_buf_init((char *)&child->report + child->report_len,
                           (unsigned)(sizeof(child->report) - child->report_len));
}

static void report_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *space)
{
    (void)space;
    struct child *child = stream->data;
    if (len < 0) {
        (void)uv_read_stop(stream);
        return;
    }
    child->report_len += (size_t)len;
    if (child->report_len == sizeof(child->report)) {
        child->report_len = 0;
        if (child->report.event == KEEPER_EXITED) {
            program_ended(child, child->report.value);
        }
    }
}

/* ---- Starting ---- */

static void close_one(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

enum { TO_PROGRAM, FROM_PROGRAM, CONTROL, REPORTS, PIPES };

static void close_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++) {
        close_one(&pipes[i][0]);
        close_one(&pipes[i][1]);
    }
}

/* Pipes, as a shell would give, and not libuv's sockets: a server may open /dev/stdin. */
static int open_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++) {
        int result = uv_pipe(pipes[i], 0, 0);
        if (result != 0) {
            pipes[i][0] = pipes[i][1] = -1;
            return result;
        }
    }
    return 0;
}

/* Waits for the keeper's first word. 0, or libuv's error. */
static int hear_start(struct child *child, int reports)
{
    struct keeper_report report = {0};
    struct pollfd ready = {.fd = reports, .events = POLLIN};
    int count;
    do {
        count = poll(&ready, 1, START_WAIT_MS);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
        return count == 0 ? UV_ETIMEDOUT : uv_translate_sys_error(errno);
    }
    if (read(reports, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
        return UV_EIO; /* the keeper has ended without a word */
    }
    if (report.event != KEEPER_STARTED) {
        return uv_translate_sys_error(report.value);
    }
    child->program = (pid_t)report.value;
    child->running = true;
    return 0;
}

/* This program's own file, by its name where that still leads to it: a program that watches this one (a
 * debugger of memory) stands behind the other name. */
static char *own_file(char *room, size_t size)
{
    static char self[] = "/proc/self/exe";
    ssize_t len = readlink(self, room, size - 1);
    if (len <= 0 || (size_t)len >= size - 1) {
        return self;
    }
    room[len] = '\0';
    return access(room, X_OK) == 0 ? room : self;
}

static int spawn_keeper(struct child *child, uv_loop_t *loop, char *const *command, mode_t mask,
                        int pipes[PIPES][2])
{
    static char name[] = "callgate", keep[] = KEEPER_COMMAND;
    char file[PATH_MAX];
    size_t count = 0;
    while (command[count] != NULL) {
        count++;
    }
    char **args = calloc(count + 3, sizeof(*args));
    if (args == NULL) {
        return UV_ENOMEM;
    }
    args[0] = name;
    args[1] = keep;
    memcpy(args + 2, command, count * sizeof(*args));
    bool has_stderr = fcntl(2, F_GETFD) >= 0;
    uv_stdio_container_t stdio[] = {
        {.flags = UV_INHERIT_FD, .data.fd = pipes[TO_PROGRAM][0]},
        {.flags = UV_INHERIT_FD, .data.fd = pipes[FROM_PROGRAM][1]},
        {.flags = has_stderr ? UV_INHERIT_FD : UV_IGNORE, .data.fd = 2},
        {.flags = UV_INHERIT_FD, .data.fd = pipes[CONTROL][0]},
        {.flags = UV_INHERIT_FD, .data.fd = pipes[REPORTS][1]},
    };
    uv_process_options_t options = {
        .exit_cb = keeper_exited,
        .file = own_file(file, sizeof(file)),
        .args = args,
        .stdio_count = sizeof(stdio) / sizeof(stdio[0]),
        .stdio = stdio,
    };
    mode_t own = umask(mask);
    int result = uv_spawn(loop, &child->keeper, &options);
    (void)umask(own);
    free(args);
    return result;
}

/* From here on the loop hears of the child. */
static int watch(struct child *child, int *reports)
{
    child->ended = fcntl(*reports, F_DUPFD_CLOEXEC, 3);
    int result = uv_pipe_open(&child->reports, *reports);
    if (result != 0) {
        return result;
    }
    *reports = -1; /* the handle's now */
    return uv_read_start((uv_stream_t *)&child->reports, give_report, report_read);
}

int child_start(struct child *child, uv_loop_t *loop, char *const *command, mode_t mask, int *ret_in,
                int *ret_out)
{
    int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    child->control = child->ended = -1;
    int result = open_pipes(pipes);
    if (result != 0) {
        close_pipes(pipes);
        return result;
    }
    (void)uv_timer_init(loop, &child->grace);
    (void)uv_pipe_init(loop, &child->reports, 0);
    child->keeper.data = child->grace.data = child->reports.data = child;
    child->order_next = 0;
    child->made = true;
    result = spawn_keeper(child, loop, command, mask, pipes);
    close_one(&pipes[TO_PROGRAM][0]);
    close_one(&pipes[FROM_PROGRAM][1]);
    close_one(&pipes[CONTROL][0]);
    close_one(&pipes[REPORTS][1]);
    result = result != 0 ? result : hear_start(child, pipes[REPORTS][0]);
    result = result != 0 ? result : watch(child, &pipes[REPORTS][0]);
    if (result == 0) {
        child->control = pipes[CONTROL][1];
        *ret_in = pipes[TO_PROGRAM][1];
        *ret_out = pipes[FROM_PROGRAM][0];
        pipes[CONTROL][1] = pipes[TO_PROGRAM][1] = pipes[FROM_PROGRAM][0] = -1;
    }
    close_pipes(pipes);
    return result;
}

/* ---- Ending ---- */

static void order(const struct child *child, enum keeper_order what)
{
    char byte = (char)what;
    if (child->control >= 0) {
        (void)!write(child->control, &byte, 1); /* a keeper that is gone needs no order */
    }
}

static void grace_is_over(uv_timer_t *timer)
{
    struct child *child = timer->data;
    if (!child->running) {
        return;
    }
    order(child, (enum keeper_order)child->order_next);
    if (child->order_next == KEEPER_TERMINATE) {
        child->order_next = KEEPER_KILL;
        uv_timer_start(timer, grace_is_over, KILL_AFTER_MS, 0);
    }
}

void child_expect_end(struct child *child, uint64_t wait_ms)
{
    if (!child->running || child->order_next == KEEPER_KILL) {
        return;
    }
    if (uv_is_active((uv_handle_t *)&child->grace) && uv_timer_get_due_in(&child->grace) <= wait_ms) {
        return;
    }
    child->order_next = KEEPER_TERMINATE;
    uv_timer_start(&child->grace, grace_is_over, wait_ms, 0);
}

void child_close(struct child *child)
{
    if (child->made) {
        uv_close((uv_handle_t *)&child->keeper, NULL);
        uv_close((uv_handle_t *)&child->grace, NULL);
        uv_close((uv_handle_t *)&child->reports, NULL);
    }
    child->made = false;
}

void child_finish(struct child *child)
{
    close_one(&child->control);
    char rest[64];
    struct pollfd end = {.fd = child->ended, .events = POLLIN};
    while (child->ended >= 0 && poll(&end, 1, FINISH_WAIT_MS) > 0 &&
           (read(child->ended, rest, sizeof(rest)) > 0 || errno == EAGAIN)) {
        errno = 0; /* a report that nobody needs any more */
    }
    close_one(&child->ended);
}
