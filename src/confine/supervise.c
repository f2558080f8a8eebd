/* pid 1 of the confinement. The kernel keeps signals without a handler from a pid 1, so the command is never pid 1
 * itself: SIGTERM would not end it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/enter_internal.h"

static pid_t command_pid;

static void hand_on(int signal)
{
    if (command_pid > 0) {
        (void)kill(command_pid, signal);
    }
}

static void set_handlers(void)
{
    static const int handed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = hand_on};
    for (size_t i = 0; i < sizeof(handed) / sizeof(handed[0]); i++) {
        (void)sigaction(handed[i], &action, NULL);
    }
}

int enter_supervise(char **command)
{
    int status = 0, code = 125;
    command_pid = fork();
    if (command_pid == 0) {
        execvp(command[0], command);
        enter_complain("cannot start", command[0]);
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (command_pid < 0) {
        enter_complain("no process can be made", NULL);
        return code;
    }
    set_handlers();
    for (;;) {
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno == EINTR) {
            continue;
        }
        if (ended < 0) {
            return code;
        }
        if (ended == command_pid) { /* what it leaves behind ends with this process */
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
}
