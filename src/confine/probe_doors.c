/* The tries that need another side: sockets, commands, a terminal, the network. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/probe_internal.h"

#define WORDS_MOST      16
#define COMMAND_SECONDS 10u
#define ABSTRACT        "abstract="

extern char **environ;

/* ---- Sockets ---- */

/* `name`: a path, or a name without one whose first byte is left 0. The errno; 0: somebody listens there. */
static int connect_to(const char *name, size_t len, bool abstract)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t skip = abstract ? 1 : 0;
    if (len + skip >= sizeof(to.sun_path)) {
        return ENAMETOOLONG;
    }
    memcpy(to.sun_path + skip, name, len);
    int why = 0, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, size) != 0) {
        why = errno;
    }
    if (fd >= 0) {
        close(fd);
    }
    return why == EAGAIN || why == EPROTOTYPE
               ? 0
               : why; /* its queue is full, or it is of another kind: it is there */
}

bool probe_connect(const char *path, struct probe_seen *seen)
{
    int why = connect_to(path, strlen(path), false);
    probe_see(seen, path, why);
    return why == 0;
}

static bool is_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '/';
}

/* One value: "/run/x", "unix:path=/run/x,guid=…", "unix:///run/x", "/tmp/tmux-1/default,12,0", "unix:abstract=x". */
static bool try_value(const char *value, const char *allowed, struct probe_seen *seen)
{
    char path[512];
    const char *abstract = strstr(value, ABSTRACT);
    if (abstract != NULL) {
        abstract += sizeof(ABSTRACT) - 1;
        if (connect_to(abstract, strcspn(abstract, ",;"), true) == 0) {
            probe_see(seen, abstract, 0);
            return true;
        }
    }
    for (const char *at = strchr(value, '/'); at != NULL; at = strchr(at + 1, '/')) {
        struct stat st;
        snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, ":,;"), at);
        bool begins = at == value || !is_in_name(at[-1]) || at[-1] == '/';
        if (begins && strcmp(path, allowed) != 0 && stat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
            connect_to(path, strlen(path), false) == 0) {
            probe_see(seen, path, 0);
            return true;
        }
    }
    return false;
}

bool probe_named_sockets(const char *allowed, struct probe_seen *seen)
{
    probe_see(seen, "no socket that the environment names", 0);
    for (char **entry = environ; *entry != NULL; entry++) {
        const char *value = strchr(*entry, '=');
        if (value != NULL && try_value(value + 1, allowed, seen)) {
            return true;
        }
    }
    return false;
}

/* ---- Commands ---- */

static void become(char *const *words, char *const *environment)
{
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
    }
    (void)alarm(COMMAND_SECONDS);
    execve(words[0], words, environment);
    _exit(127);
}

/* Takes words apart in place; each begins behind a tab. */
static size_t split(char *text, char **words)
{
    size_t count = 0;
    for (char *at = text; at != NULL && *at == '\t' && count + 1 < WORDS_MOST;) {
        *at = '\0';
        words[count++] = at + 1;
        at = strchr(at + 1, '\t');
    }
    words[count] = NULL;
    return count;
}

static bool run(char *const *words, char *const *environment, struct probe_seen *seen)
{
    char said[64];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        become(words, environment);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    snprintf(said, sizeof(said), "exit %d", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    probe_see(seen, said, 0);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool probe_command(const char *argument, struct probe_seen *seen)
{
    char *words[WORDS_MOST], *text = strdup(argument);
    bool reached = text == NULL || split(text, words) == 0 || run(words, environ, seen);
    free(text);
    return reached;
}

bool probe_environment(const char *argument, struct probe_seen *seen)
{
    char *words[WORDS_MOST], *text = strdup(argument), home[4096], state[4096], own[4096];
    size_t count = text != NULL ? split(text, words) : 0;
    bool reached = true;
    if (count > 2) {
        char path[] = "PATH=/usr/bin:/bin";
        char *environment[] = {home, state, own, path, NULL};
        char *above = strrchr(words[1], '/');
        snprintf(home, sizeof(home), "HOME=%s", words[0]);
        snprintf(own, sizeof(own), "CALLGATE_STATE=%s", words[1]);
        snprintf(state, sizeof(state), "XDG_STATE_HOME=%.*s", above != NULL ? (int)(above - words[1]) : 0,
                 words[1]);
        reached = run(words + 2, environment, seen);
    }
    free(text);
    return reached;
}

/* ---- The terminal ---- */

/* In a terminal of its own, because what is inherited may be a person's: the filter that holds it is the process's, not
 * the terminal's. */
static int type_into_own(void)
{
    char byte = 'x';
    int primary = posix_openpt(O_RDWR | O_NOCTTY);
    const char *name =
        primary >= 0 && grantpt(primary) == 0 && unlockpt(primary) == 0 ? ptsname(primary) : NULL;
    if (name == NULL || setsid() < 0) {
        return errno != 0 ? errno : EIO;
    }
    int secondary = open(name, O_RDWR);
    if (secondary < 0) {
        return errno;
    }
    return ioctl(secondary, TIOCSTI, &byte) == 0 ? 0 : errno;
}

bool probe_typing(const char *unused, struct probe_seen *seen)
{
    int status = 0;
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGHUP, SIG_IGN);
        _exit(type_into_own());
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    bool reached = child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 0;
    probe_see(seen, "typing into the terminal", reached ? 0 : WEXITSTATUS(status));
    return reached;
}

/* ---- The network ---- */

bool probe_network(const char *unused, struct probe_seen *seen)
{
    /* An address of documentation (RFC 5737). To connect a datagram socket sends nothing: it asks for a way there. */
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    (void)unused;
    to.sin_addr.s_addr = htonl(0xc0000201u);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int why = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : errno;
    if (fd >= 0) {
        close(fd);
    }
    probe_see(seen, "a way to other machines", why);
    return why == 0;
}
