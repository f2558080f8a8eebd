/* callgate-confine-probe: what `callgate doctor --confine` starts inside a confinement to try what an attacker would.
 *
 * Standard input: TASK NUL ARGUMENT NUL, and so on (confine/probe.h has the tasks). Standard output: a line for each,
 * "NUMBER reached|held WHAT-WAS-SEEN". Every try is harmless where it succeeds: files are opened and not written to,
 * sockets connected to and closed. `--victim` is the other side: a process outside that waits to be signalled, says so,
 * and ends when its standard input does. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/probe_internal.h"

#define INPUT_MOST ((size_t)64 << 20)
#define PATH_NAME  "PATH="

extern char **environ;

void probe_see(struct probe_seen *seen, const char *what, int why)
{
    snprintf(seen->text, sizeof(seen->text), "%.350s%s%.100s", what, why != 0 ? ": " : "",
             why != 0 ? strerror(why) : "");
    for (char *c = seen->text; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    }
}

/* "DEVICE:INODE:PATH", as the place is outside. */
static bool try_place(const char *argument, struct probe_seen *seen)
{
    char *end;
    struct stat st;
    uintmax_t device = strtoumax(argument, &end, 10);
    uintmax_t inode = *end == ':' ? strtoumax(end + 1, &end, 10) : 0;
    if (inode == 0 || *end != ':') {
        probe_see(seen, "no such task", 0);
        return true;
    }
    const char *path = end + 1;
    if (stat(path, &st) != 0) {
        probe_see(seen, path, errno);
        return false;
    }
    bool same = (uintmax_t)st.st_dev == device && (uintmax_t)st.st_ino == inode;
    probe_see(seen, path, 0);
    return same;
}

/* Whether another file can be put in this one's place. A mount point cannot be renamed over or removed. */
static bool can_be_replaced(const char *path, const struct stat *file)
{
    char dir[PATH_MAX];
    struct stat st;
    struct statx more;
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash == NULL || slash == dir) {
        return false;
    }
    *slash = '\0';
    bool root = statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &more) == 0 &&
                (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return !root && faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0 && stat(dir, &st) == 0 &&
           ((st.st_mode & S_ISVTX) == 0 || st.st_uid == geteuid() || file->st_uid == geteuid() ||
            geteuid() == 0);
}

static bool try_write(const char *path, struct probe_seen *seen)
{
    struct stat st;
    int why = 0;
    if (stat(path, &st) != 0) {
        probe_see(seen, path, errno);
        return false;
    }
    if (S_ISREG(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
        why = fd < 0 ? errno : 0;
        if (fd >= 0) {
            close(fd);
        }
    }
    /* A program that runs cannot be opened for writing ("text file busy"), and be changed all the same. */
    if (!S_ISREG(st.st_mode) || why == ETXTBSY) {
        why = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
    }
    if (why != 0 && can_be_replaced(path, &st)) {
        why = 0;
    }
    probe_see(seen, path, why);
    return why == 0;
}

/* Programs that a person starts by name are looked for in these directories. Looked at, and followed by nothing here. */
static bool try_path(const char *unused, struct probe_seen *seen)
{
    const char *at = NULL;
    char dir[PATH_MAX];
    (void)unused;
    for (char **entry = environ; *entry != NULL && at == NULL; entry++) {
        at = strncmp(*entry, PATH_NAME, sizeof(PATH_NAME) - 1) == 0 ? *entry + sizeof(PATH_NAME) - 1 : NULL;
    }
    probe_see(seen, "no directory of PATH can be written", 0);
    while (at != NULL) {
        size_t len = strcspn(at, ":");
        snprintf(dir, sizeof(dir), "%.*s", len > 0 ? (int)len : 1, len > 0 ? at : ".");
        if (faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0) {
            probe_see(seen, dir, 0);
            return true;
        }
        at = at[len] == ':' ? at + len + 1 : NULL;
    }
    return false;
}

static bool try_signal(const char *pid, struct probe_seen *seen)
{
    int why = kill((pid_t)strtol(pid, NULL, 10), SIGUSR1) == 0 ? 0 : errno;
    probe_see(seen, "a signal to a process outside", why);
    return why == 0;
}

static bool try_ptrace(const char *pid, struct probe_seen *seen)
{
    char path[64];
    pid_t victim = (pid_t)strtol(pid, NULL, 10);
    if (ptrace(PTRACE_SEIZE, victim, NULL, NULL) == 0) {
        if (ptrace(PTRACE_INTERRUPT, victim, NULL, NULL) == 0 && waitpid(victim, NULL, __WALL) == victim) {
            (void)ptrace(PTRACE_DETACH, victim, NULL, NULL);
        }
        probe_see(seen, "a process outside can be traced", 0);
        return true;
    }
    int why = errno;
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        probe_see(seen, "the environment of a process outside can be read", 0);
        return true;
    }
    probe_see(seen, "a process outside", why);
    return false;
}

/* What is written is the terminal's own name: whoever holds its other end sees it. */
static bool try_terminal(const char *path, struct probe_seen *seen)
{
    int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    bool wrote = fd >= 0 && write(fd, path, strlen(path)) > 0;
    int why = wrote ? 0 : errno;
    if (fd >= 0) {
        close(fd);
    }
    probe_see(seen, path, why);
    return wrote;
}

static const struct {
    const char *name;
    bool (*attempt)(const char *argument, struct probe_seen *seen);
} tasks[] = {
    {PROBE_PLACE, try_place},
    {PROBE_WRITE, try_write},
    {PROBE_PATH, try_path},
    {PROBE_SIGNAL, try_signal},
    {PROBE_PTRACE, try_ptrace},
    {PROBE_TERMINAL, try_terminal},
    {PROBE_TYPING, probe_typing},
    {PROBE_CONNECT, probe_connect},
    {PROBE_COMMAND, probe_command},
    {PROBE_ENVIRONMENT, probe_environment},
    {PROBE_NAMED_SOCKETS, probe_named_sockets},
    {PROBE_NETWORK, probe_network},
};

static bool attempt(const char *name, const char *argument, struct probe_seen *seen)
{
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        if (strcmp(tasks[i].name, name) == 0) {
            return tasks[i].attempt(argument, seen);
        }
    }
    probe_see(seen, "no such task", 0);
    return true;
}

static char *read_input(size_t *ret_len)
{
    size_t len = 0, cap = 0;
    char *text = NULL;
    for (;;) {
        if (len == cap) {
            cap = cap > 0 ? cap * 2 : 65536;
            char *more = cap <= INPUT_MOST ? realloc(text, cap) : NULL;
            if (more == NULL) {
                free(text);
                return NULL;
            }
            text = more;
        }
        ssize_t n = read(STDIN_FILENO, text + len, cap - len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
    }
    *ret_len = len;
    return text;
}

static void on_signal(int signal)
{
    (void)signal;
    (void)!write(STDOUT_FILENO, "signalled\n", 10);
}

static int be_victim(void)
{
    char byte;
    const struct sigaction action = {.sa_handler = on_signal};
    if (sigaction(SIGUSR1, &action, NULL) != 0 || write(STDOUT_FILENO, "ready\n", 6) != 6) {
        return 1;
    }
    for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) {
        n = read(STDIN_FILENO, &byte, 1);
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t len = 0, number = 0;
    if (argc == 2 && strcmp(argv[1], "--victim") == 0) {
        return be_victim();
    }
    (void)signal(SIGUSR1, SIG_IGN); /* the number of a process outside may be this one's inside */
    char *text = read_input(&len);
    for (size_t at = 0; text != NULL && at < len;) {
        const char *name = text + at, *argument = memchr(name, '\0', len - at);
        const char *end =
            argument != NULL ? memchr(argument + 1, '\0', len - (size_t)(argument + 1 - text)) : NULL;
        struct probe_seen seen = {""};
        if (end == NULL) {
            break;
        }
        bool reached = attempt(name, argument + 1, &seen);
        printf("%zu %s %s\n", number++, reached ? "reached" : "held", seen.text);
        fflush(stdout);
        at = (size_t)(end + 1 - text);
    }
    free(text);
    return 0;
}
