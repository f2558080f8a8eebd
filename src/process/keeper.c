/* The keeper's own process: it starts the program, waits, and leaves nothing of it behind. */
#include "process/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From SIGTERM to SIGKILL when the gate is gone: a second later nothing may be left. */
#define GRACE_MS 400

/* A kill takes effect within this, or waits for the kernel; what is killed leaves orphans to be killed. */
#define KILL_ROUND_MS 2
#define KILL_ROUNDS   1000

/* What the program could not be started with when even that is unknown. */
#define EXIT_UNKNOWN 2

struct keeper {
    pid_t program; /* and its group */
    int signals;   /* tells of children that ended */
    bool ended;    /* the program has */
    bool alone;    /* no child is left */
    bool ending;   /* the gate is gone */
    int64_t kill_at_ms;
    int code;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void report(enum keeper_event event, int value)
{
    struct keeper_report text = {(int32_t)event, value};
    (void)!write(KEEPER_REPORTS, &text, sizeof(text)); /* a gate that is gone reads nothing */
}

/* ---- The tree ---- */

static void reap(struct keeper *keeper)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != keeper->program) {
            continue;
        }
        keeper->ended = true;
        keeper->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        report(KEEPER_EXITED, keeper->code);
    }
    keeper->alone = pid < 0 && errno == ECHILD;
}

/* The parent of a process, from the text of its /proc/N/stat: "N (name) state parent …". The name may hold
 * anything, brackets included. */
static pid_t parent_of(const char *name)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (len <= 0) {
        return 0;
    }
    text[len] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* Sends a signal to the program's group and to each child, adopted ones included, outside of it. */
static void signal_children(const struct keeper *keeper, int number)
{
    (void)kill(-keeper->program, number);
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        const char *name = entry->d_name;
        if (name[0] < '1' || name[0] > '9' || parent_of(name) != getpid()) {
            continue;
        }
        pid_t child = (pid_t)strtol(name, NULL, 10);
        if (getpgid(child) != keeper->program) {
            (void)kill(child, number);
        }
    }
    if (processes != NULL) {
        closedir(processes);
    }
}

/* The children of those that are killed become ours, so it is done until none is left. */
static void kill_tree(struct keeper *keeper)
{
    for (int round = 0; round < KILL_ROUNDS && !keeper->alone; round++) {
        signal_children(keeper, SIGKILL);
        (void)poll(NULL, 0, KILL_ROUND_MS);
        reap(keeper);
    }
    keeper->alone = true;
}

/* ---- Starting ---- */

static _Noreturn void become_program(char *const *command, pid_t keeper, const sigset_t *mask, int failed)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (getppid() == keeper) {
        (void)execvp(command[0], command);
    }
    int error = errno;
    (void)!write(failed, &error, sizeof(error));
    _exit(127);
}

/* 0, or the errno with which the program could not be started. */
static int start(struct keeper *keeper, char *const *command, const sigset_t *mask)
{
    int failed[2], error = 0;
    if (pipe2(failed, O_CLOEXEC) != 0) {
        return errno;
    }
    pid_t self = getpid();
    keeper->program = fork();
    if (keeper->program < 0) {
        error = errno;
    } else if (keeper->program == 0) {
        become_program(command, self, mask, failed[1]);
    }
    close(failed[1]);
    ssize_t len = error == 0 ? read(failed[0], &error, sizeof(error)) : 0;
    close(failed[0]);
    if (len < 0) {
        error = errno;
    }
    if (error == 0) {
        (void)setpgid(keeper->program, keeper->program); /* whoever of the two comes first */
    }
    return error;
}

/* The program's pipes are the program's: their ends must be seen when it closes them. */
static void let_go_of_pipes(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) {
        if (nothing < 0 || dup2(nothing, fd) < 0) {
            close(fd);
        }
    }
}

/* ---- Waiting ---- */

/* Reads what the gate orders. False at the end of the pipe. */
static bool take_orders(struct keeper *keeper)
{
    char orders[16];
    ssize_t len = read(KEEPER_CONTROL, orders, sizeof(orders));
    if (len < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    for (ssize_t i = 0; i < len; i++) {
        if (orders[i] == KEEPER_TERMINATE) {
            (void)kill(-keeper->program, SIGTERM);
        } else if (orders[i] == KEEPER_KILL) {
            kill_tree(keeper);
        }
    }
    return len > 0;
}

static void begin_end(struct keeper *keeper)
{
    keeper->ending = true;
    keeper->kill_at_ms = now_ms() + GRACE_MS;
    signal_children(keeper, SIGTERM);
}

static void keep(struct keeper *keeper)
{
    struct pollfd fds[2] = {{.fd = keeper->signals, .events = POLLIN},
                            {.fd = KEEPER_CONTROL, .events = POLLIN}};
    while (!keeper->alone) {
        int64_t left = keeper->ending ? keeper->kill_at_ms - now_ms() : -1;
        if (keeper->ending && left <= 0) {
            kill_tree(keeper);
            return;
        }
        if (poll(fds, keeper->ending ? 1 : 2, (int)left) < 0 && errno != EINTR) {
            kill_tree(keeper);
            return;
        }
        struct signalfd_siginfo info;
        if ((fds[0].revents & POLLIN) != 0) {
            (void)!read(keeper->signals, &info, sizeof(info));
        }
        if (!keeper->ending && fds[1].revents != 0 && !take_orders(keeper)) {
            begin_end(keeper);
        }
        reap(keeper);
    }
}

int keeper_main(int argc, char **argv)
{
    struct keeper keeper = {.code = EXIT_UNKNOWN};
    if (argc < 3) {
        return EXIT_UNKNOWN;
    }
    (void)prctl(PR_SET_NAME, "callgate-keep");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)setpgid(0, 0); /* a signal to the gate's group is not ours */
    (void)fcntl(KEEPER_CONTROL, F_SETFD, FD_CLOEXEC);
    (void)fcntl(KEEPER_REPORTS, F_SETFD, FD_CLOEXEC);
    sigset_t all, before, ended;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    keeper.signals = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
    int error = keeper.signals < 0 ? errno : start(&keeper, argv + 2, &before);
    if (error != 0) {
        report(KEEPER_FAILED, error);
        return EXIT_UNKNOWN;
    }
    report(KEEPER_STARTED, (int)keeper.program);
    let_go_of_pipes();
    keep(&keeper);
    return keeper.code;
}
