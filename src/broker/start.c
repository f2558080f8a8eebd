/* Starting a broker that outlives us: with what the last one of the state directory was started with, because another
 * policy than that would be no policy of the user's. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/internal.h"

#define IDLE_SECONDS "600" /* one that was started for a client ends when nobody has come for so long */
#define OWN_WORDS    9u

_Noreturn static void become_broker(const char *const *argv)
{
    static char *const no_environment[] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0 && chdir("/") == 0) {
        execve("/proc/self/exe", (char *const *)(uintptr_t)argv, no_environment);
    }
    _exit(127);
}

static bool start(const char *const *argv)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        pid_t grandchild = fork(); /* nobody's child: it ends when it likes */
        if (grandchild == 0) {
            become_broker(argv);
        }
        _exit(grandchild < 0 ? 1 : 0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && status == 0;
}

/* A socket's name from the root: its directory is there, it itself may not be. */
static bool whole_name(const char *path, char ret_name[PATH_MAX])
{
    char dir[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
    int len = slash == NULL   ? snprintf(dir, sizeof(dir), ".")
              : slash == path ? snprintf(dir, sizeof(dir), "/")
                              : snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
    if (len < 0 || (size_t)len >= sizeof(dir) || realpath(dir, real) == NULL) {
        return false;
    }
    len = snprintf(ret_name, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, file);
    return len > 0 && len < PATH_MAX;
}

/* The place of a state directory's own socket, or the one where its last broker listened. */
static bool is_known(const char *name, const char *state_dir, const struct serve_record *record)
{
    char own[PATH_MAX], whole[PATH_MAX];
    int len = snprintf(own, sizeof(own), "%s/gate.sock", state_dir);
    return (len > 0 && (size_t)len < sizeof(own) && whole_name(own, whole) && strcmp(whole, name) == 0) ||
           (record->there && strcmp(record->socket, name) == 0);
}

bool broker_start(const char *socket, const char *state_dir)
{
    char name[PATH_MAX];
    char *dir = realpath(state_dir, NULL);
    struct serve_record record;
    bool started = false;
    if (!serve_record_read(&record, state_dir)) {
        free(dir);
        errno = EINVAL; /* what it was started with cannot be told: nothing else will do */
        return false;
    }
    size_t at = 0;
    const char **argv = arena_array(&record.arena, record.count + OWN_WORDS + 1, sizeof(*argv));
    errno = ENOENT;
    if (argv != NULL && whole_name(socket, name) && is_known(name, state_dir, &record)) {
        const char *const own[OWN_WORDS] = {"callgate", "serve",      "--gate",
                                            name,       "--state",    dir != NULL ? dir : state_dir,
                                            "--idle",   IDLE_SECONDS, "--quiet"};
        memcpy(argv, own, sizeof(own));
        at = OWN_WORDS;
        for (size_t i = 0; i < record.count; i++) {
            argv[at++] = record.words[i];
        }
        argv[at] = NULL;
        started = start(argv);
    }
    int saved = errno;
    serve_record_finish(&record);
    free(dir);
    errno = saved;
    return started;
}
