/* The other side of what doctor tries: it is started before, and asked after. */
#include "cli/agents/doctor_bystander.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define READY_MS 10000
#define LATE_MS  200 /* for a signal that is on its way */

extern char **environ;

static void end(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

static bool spawn(struct bystander *w, const char *probe, const int in[2], const int out[2])
{
    posix_spawn_file_actions_t actions;
    char option[] = "--victim";
    char *const words[] = {(char *)probe, option, NULL};
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    int error = posix_spawn(&w->victim, probe, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    w->victim = error == 0 ? w->victim : 0;
    errno = error;
    return error == 0;
}

/* Reads what there is within a time; whether there was anything. */
static bool drain(int fd, int timeout)
{
    char text[512];
    struct pollfd ready = {fd, POLLIN, 0};
    bool any = false;
    while (fd >= 0 && poll(&ready, 1, timeout) > 0 && (ready.revents & POLLIN) != 0 &&
           read(fd, text, sizeof(text)) > 0) {
        any = true;
        timeout = 0;
    }
    return any;
}

static bool start_victim(struct bystander *w, const char *probe)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    bool ok = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && spawn(w, probe, in, out);
    w->victim_in = in[1];
    w->victim_out = out[0];
    end(&in[0]);
    end(&out[1]);
    return ok && drain(w->victim_out, READY_MS);
}

static bool open_terminal(struct bystander *w)
{
    struct termios raw;
    w->primary = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    bool ok = w->primary >= 0 && grantpt(w->primary) == 0 && unlockpt(w->primary) == 0 &&
              ptsname_r(w->primary, w->terminal, sizeof(w->terminal)) == 0;
    if (ok && tcgetattr(w->primary, &raw) == 0) {
        cfmakeraw(&raw);
        (void)tcsetattr(w->primary, TCSANOW, &raw);
    }
    return ok;
}

static bool listen_in(struct bystander *w, const char *state_dir)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int len = snprintf(w->socket, sizeof(w->socket), "%s/doctor-%d.sock", state_dir, (int)getpid());
    if (len < 0 || (size_t)len >= sizeof(at.sun_path)) {
        w->socket[0] = '\0';
        return true;
    }
    memcpy(at.sun_path, w->socket, (size_t)len + 1);
    (void)unlink(w->socket);
    w->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return w->listener >= 0 && bind(w->listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
           listen(w->listener, 8) == 0;
}

bool bystander_start(struct bystander *ret_bystander, const char *probe, const char *state_dir)
{
    *ret_bystander = (struct bystander){.victim_in = -1, .victim_out = -1, .primary = -1, .listener = -1};
    return start_victim(ret_bystander, probe) && open_terminal(ret_bystander) &&
           listen_in(ret_bystander, state_dir);
}

void bystander_finish(struct bystander *w)
{
    end(&w->victim_in);
    end(&w->victim_out);
    if (w->victim > 0) {
        (void)kill(w->victim, SIGKILL);
        while (waitpid(w->victim, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    end(&w->primary);
    if (w->listener >= 0) {
        (void)unlink(w->socket);
    }
    end(&w->listener);
}

struct bystander_saw bystander_look(struct bystander *w)
{
    struct bystander_saw saw = {.signal = drain(w->victim_out, LATE_MS), .terminal = drain(w->primary, 0)};
    for (int other; w->listener >= 0 && (other = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        saw.socket = true;
        close(other);
    }
    return saw;
}
