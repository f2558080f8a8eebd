/* callgate-confine [--hide PATH] [--keep PATH] [--write PATH] [--freeze PATH] [--no-net | --net-fd N | --landlock] --
 * COMMAND: runs COMMAND in a view of the system. --net-fd: a socket at which a proxy outside waits for the one that listens
 * inside. `callgate confine` and `callgate run --confine` start it; they work the view out.
 *
 * Exit: the command's own status; 125 when the confinement could not be made. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/enter_internal.h"

#define EXIT_NOT_CONFINED 125

void enter_complain(const char *what, const char *path)
{
    int why = errno;
    fprintf(stderr, "callgate: confinement: %s%s%s: %s\n", what, path != NULL ? " " : "",
            path != NULL ? path : "", strerror(why));
}

static bool add(struct enter_places *places, const char *path)
{
    if (path[0] != '/') {
        fprintf(stderr, "callgate: confinement: %s is no absolute path\n", path);
        return false;
    }
    const char **list = realloc(places->list, (places->count + 1) * sizeof(*list));
    if (list == NULL) {
        enter_complain("no room for", path);
        return false;
    }
    places->list = list;
    places->list[places->count++] = path;
    return true;
}

static bool read_options(struct enter_options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"hide", required_argument, NULL, 'h'},   {"keep", required_argument, NULL, 'k'},
        {"write", required_argument, NULL, 'w'},  {"freeze", required_argument, NULL, 'f'},
        {"no-net", no_argument, NULL, 'n'},       {"landlock", no_argument, NULL, 'l'},
        {"net-fd", required_argument, NULL, 'p'}, {NULL, 0, NULL, 0},
    };
    bool ok = true;
    for (int c; ok && (c = getopt_long(argc, argv, "+", names, NULL)) != -1;) {
        switch (c) {
        case 'h':
            ok = add(&options->hidden, optarg);
            break;
        case 'k':
            ok = add(&options->kept, optarg);
            break;
        case 'w':
            ok = add(&options->writable, optarg);
            break;
        case 'f':
            ok = add(&options->frozen, optarg);
            break;
        case 'n':
            options->private_network = true;
            break;
        case 'l':
            options->landlock = true;
            break;
        case 'p':
            options->private_network = true;
            options->proxy_socket =
                optarg[0] >= '3' && optarg[0] <= '9' && optarg[1] == '\0' ? optarg[0] - '0' : -1;
            ok = options->proxy_socket >= 0;
            break;
        default:
            ok = false;
        }
    }
    options->command = argv + optind;
    if (ok && options->command[0] == NULL) {
        fprintf(stderr, "callgate: confinement: name a command; 'callgate confine --help' says how\n");
        return false;
    }
    return ok;
}

/* Everything that the confined program inherits but its three standard streams ends here; the socket to the proxy a
 * little later (enter_network). */
static bool close_descriptors(int kept)
{
    bool ok = kept < 0 ? close_range(3, ~0u, 0) == 0
                       : (kept == 3 || close_range(3, (unsigned)kept - 1, 0) == 0) &&
                             close_range((unsigned)kept + 1, ~0u, 0) == 0;
    if (!ok) {
        enter_complain("descriptors cannot be closed", NULL);
        return false;
    }
    return true;
}

/* pid 1 of the new namespace. When the process outside ends, so does this one, and with it everything inside. */
static int inside(const struct enter_options *options, pid_t outside)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || (getppid() != outside && getppid() != 0)) {
        return EXIT_NOT_CONFINED;
    }
    if (!enter_mounts(options) || !enter_restrictions()) {
        return EXIT_NOT_CONFINED;
    }
    return enter_supervise(options->command);
}

static pid_t child_inside;

static void hand_on(int signal)
{
    if (child_inside > 0) {
        (void)kill(child_inside, signal);
    }
}

/* Outside: waits for pid 1, and hands on what would end this process. Ctrl-C and the like reach the command by
 * itself, because it stays in the terminal's group. */
static int wait_for(pid_t child)
{
    struct sigaction action = {.sa_handler = hand_on};
    int status = 0;
    child_inside = child;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    for (;;) {
        pid_t ended = waitpid(child, &status, WUNTRACED);
        if (ended < 0 && errno == EINTR) {
            continue;
        }
        if (ended == child && WIFSTOPPED(status)) {
            continue;
        }
        break;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* Becomes the command: there is no namespace whose first process this would have to be. */
static int become(const struct enter_options *options)
{
    if (!enter_landlock(options)) {
        return EXIT_NOT_CONFINED;
    }
    execvp(options->command[0], options->command);
    int why = errno;
    enter_complain("cannot start", options->command[0]);
    return why == ENOENT ? 127 : 126;
}

int main(int argc, char **argv)
{
    static struct enter_options options = {.proxy_socket = -1}; /* lives as long as the process */
    if (!read_options(&options, argc, argv) || !close_descriptors(options.proxy_socket)) {
        return EXIT_NOT_CONFINED;
    }
    if (options.landlock) {
        return become(&options);
    }
    if (!enter_namespaces(&options) || !enter_network(&options)) {
        return EXIT_NOT_CONFINED;
    }
    pid_t outside = getpid(), child = fork();
    if (child < 0) {
        enter_complain("no process can be made", NULL);
        return EXIT_NOT_CONFINED;
    }
    if (child == 0) {
        _exit(inside(&options, outside));
    }
    int code = wait_for(child);
    free(options.hidden.list);
    free(options.kept.list);
    free(options.writable.list);
    free(options.frozen.list);
    return code;
}
