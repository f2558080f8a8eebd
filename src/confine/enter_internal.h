/* Entering a confinement: the steps, in their order, of the process that becomes the confined program.
 *
 * callgate-confine is a program of its own, because no gate and no hook shall link libseccomp. What is hidden,
 * readable and writable was worked out before (confine/view.h) and comes as arguments. Every step either succeeds
 * or ends the start with a message that names what is missing: there is never silently less. */
#ifndef CONFINE_ENTER_INTERNAL_H
#define CONFINE_ENTER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct enter_places {
    const char **list; /* absolute, canonical */
    size_t count;
};

struct enter_options {
    struct enter_places hidden;   /* files and directories that are not there inside */
    struct enter_places kept;     /* below hidden directories, and seen all the same */
    struct enter_places writable; /* everything else is read-only */
    struct enter_places
        frozen;           /* below writable directories, and read-only all the same; mount points, so that
                                     renaming what is above them does not go round it */
    bool landlock;        /* by Landlock's rules alone, without namespaces */
    bool private_network; /* no network but a loopback of its own; with landlock no sockets at all */
    int proxy_socket;     /* where the socket that listens on it is handed out; -1: nowhere */
    char **command;       /* ends with NULL */
};

/* Says what went wrong, to standard error, with the errno of the last call: "callgate: confinement: …". */
void enter_complain(const char *what, const char *path);

/* Says what stands in the way of namespaces, the one command that helps, and whether Landlock is to be had. `why`: the
 * errno of what was refused. */
void enter_explain(int why);

/* New user, mount, pid and IPC namespaces for this process's next child (mounts and user for itself), with the
 * same user and group ids inside. */
bool enter_namespaces(const struct enter_options *options);

/* After that: the network inside, and in the environment where its proxy is. */
bool enter_network(const struct enter_options *options);

/* Inside, as pid 1 of the new namespace: the view of the file system. */
bool enter_mounts(const struct enter_options *options);

/* A /dev of its own with a terminal multiplexer of its own. `ret_empty`: a descriptor of an empty file of mode 000
 * in it, to be laid over hidden files. */
bool enter_devices(int *ret_empty);

/* No new privileges, no capabilities, signals and abstract sockets kept inside (Landlock, where the kernel has it:
 * ABI 6), no typing into terminals (TIOCSTI, TIOCLINUX), no kernel keyrings. */
bool enter_restrictions(void);

/* Of these: signals and abstract sockets. */
bool enter_scopes(void);

/* Of these: the filter of system calls. What it refuses besides, where no namespace holds it: */
enum enter_filter_also {
    FILTER_NOTHING_ELSE,
    FILTER_NO_NAMED_SOCKETS, /* sockets of the local system, which lead to whatever listens outside; io_uring */
    FILTER_NO_SOCKETS,       /* any socket; io_uring */
};
bool enter_filter(enum enter_filter_also also);

/* Without namespaces: everything that Landlock and a filter can hold (docs/confinement.md has what they cannot). */
bool enter_landlock(const struct enter_options *options);

/* The version of the kernel's Landlock; below 1 where there is none. Rules for files need ENTER_LANDLOCK_LEAST. */
#define ENTER_LANDLOCK_LEAST 3
long enter_landlock_abi(void);

/* As pid 1: starts the command, hands signals on, reaps, and returns its exit status once it has ended. */
int enter_supervise(char **command);

#endif
