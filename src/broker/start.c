/* Starting a broker that outlives whoever starts it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/internal.h"

#define IDLE_SECONDS "600" /* one that was started for a client ends when nobody has come for so long */

_Noreturn static void become_broker(const char *socket, const char *state_dir)
{
    static char *const no_environment[] = {NULL};
    char *const argv[] = {"callgate",        "serve",  "--gate",     (char *)socket, "--state",
                          (char *)state_dir, "--idle", IDLE_SECONDS, "--quiet",      NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0 && chdir("/") == 0) {
        execve("/proc/self/exe", argv, no_environment);
    }
    _exit(127);
}

bool broker_start(const char *socket, const char *state_dir)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        pid_t grandchild = fork(); /* nobody's child: it ends when it likes */
        if (grandchild == 0) {
            become_broker(socket, state_dir);
        }
        _exit(grandchild < 0 ? 1 : 0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && status == 0;
}
