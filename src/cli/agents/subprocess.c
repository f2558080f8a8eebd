/* Runs a program once, with a text for its standard input and a limit on its time. */
#include "cli/agents/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define TEXT_MOST ((size_t)1 << 20)

extern char **environ;

/* The three pipes; [0] is the end that is read. */
struct pipes {
    int in[2], out[2], errors[2];
};

static void close_end(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

static void close_all(struct pipes *pipes)
{
    int *const ends[] = {pipes->in, pipes->out, pipes->errors};
    for (size_t i = 0; i < 3; i++) {
        close_end(&ends[i][0]);
        close_end(&ends[i][1]);
    }
}

static bool open_all(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    bool ok = pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
              pipe2(pipes->errors, O_CLOEXEC) == 0 && fcntl(pipes->in[1], F_SETFL, O_NONBLOCK) == 0;
    if (!ok) {
        close_all(pipes);
    }
    return ok;
}

/* The child has the signals that a fresh process has, and no file of ours but the three. */
static int start(char *const *words, const char *dir, const struct pipes *pipes, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, pipe_signal;
    sigemptyset(&none);
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&actions, pipes->in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, pipes->out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipes->errors[1], 2);
    posix_spawn_file_actions_addchdir_np(&actions, dir);
    int result = posix_spawnp(ret_pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return result;
}

static void feed(int *fd, struct slice *input)
{
    ssize_t n = write(*fd, input->ptr, input->len);
    if (n > 0) {
        *input = slice_from(*input, (size_t)n);
    }
    if (input->len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close_end(fd);
    }
}

static void take(int *fd, struct buf *to)
{
    char piece[4096];
    ssize_t n = read(*fd, piece, sizeof(piece));
    if (n > 0 && to->len + (size_t)n <= TEXT_MOST) {
        buf_bytes(to, piece, (size_t)n);
    }
    if (n == 0 || (n < 0 && errno != EINTR)) {
        close_end(fd);
    }
}

/* Until both outputs are closed. False when the time is up. */
static bool converse(struct pipes *pipes, struct slice input, uint64_t until, struct subprocess *ran)
{
    while (pipes->out[0] >= 0 || pipes->errors[0] >= 0) {
        struct pollfd fds[3] = {
            {pipes->in[1], POLLOUT, 0}, {pipes->out[0], POLLIN, 0}, {pipes->errors[0], POLLIN, 0}};
        uint64_t now = clock_mono_ns();
        if (now >= until) {
            return false;
        }
        int ready = poll(fds, 3, (int)((until - now) / 1000000 + 1));
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready <= 0) {
            continue;
        }
        if (fds[0].revents) {
            feed(&pipes->in[1], &input);
        }
        if (fds[1].revents) {
            take(&pipes->out[0], &ran->out);
        }
        if (fds[2].revents) {
            take(&pipes->errors[0], &ran->errors);
        }
    }
    return true;
}

/* It has closed its outputs, and so is about to end; what does not is killed. */
static int wait_for(pid_t pid, uint64_t until, bool *in_time)
{
    int status = 0;
    pid_t done = 0;
    while (*in_time && (done = waitpid(pid, &status, WNOHANG)) == 0 && clock_mono_ns() < until) {
        (void)poll(NULL, 0, 1);
    }
    if (done == 0) {
        *in_time = false;
        kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
            continue;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool subprocess_run(char *const *words, const char *line, const char *dir, struct slice input,
                    uint32_t limit_ms, struct subprocess *ret_ran)
{
    char shell[] = "/bin/sh", option[] = "-c";
    char *const by_shell[] = {shell, option, (char *)line, NULL};
    struct pipes pipes;
    pid_t pid;
    if (!open_all(&pipes)) {
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    int error = start(line != NULL ? by_shell : words, dir, &pipes, &pid);
    close_end(&pipes.in[0]);
    close_end(&pipes.out[1]);
    close_end(&pipes.errors[1]);
    if (error != 0) {
        close_all(&pipes);
        errno = error;
        return false;
    }
    *ret_ran = (struct subprocess){0};
    buf_init(&ret_ran->out, TEXT_MOST);
    buf_init(&ret_ran->errors, TEXT_MOST);
    uint64_t until = clock_mono_ns() + limit_ms * 1000000ull;
    ret_ran->in_time = converse(&pipes, input, until, ret_ran);
    ret_ran->code = wait_for(pid, until, &ret_ran->in_time);
    close_all(&pipes);
    return true;
}

void subprocess_finish(struct subprocess *ran)
{
    buf_finish(&ran->out);
    buf_finish(&ran->errors);
}
