/* confine-broken: callgate-confine with one protection missing, for the test that doctor finds that. The linker puts these
 * in the place of the real ones (--wrap); CONFINE_BREAK says which is missing. Never installed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/enter_internal.h"

int __real_unshare(int flags);
int __wrap_unshare(int flags);
int __real_mount(const char *from, const char *to, const char *type, unsigned long flags, const void *data);
int __wrap_mount(const char *from, const char *to, const char *type, unsigned long flags, const void *data);
bool __real_enter_devices(int *ret_empty);
bool __wrap_enter_devices(int *ret_empty);
bool __real_enter_network(const struct enter_options *options);
bool __wrap_enter_network(const struct enter_options *options);
bool __real_enter_restrictions(void);
bool __wrap_enter_restrictions(void);

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

static bool lacks(const char *what)
{
    const char *broken = getenv("CONFINE_BREAK");
    return broken != NULL && strstr(broken, what) != NULL;
}

/* CONFINE_SYSTEM: a directory with another system's files, of those that tell why there are no namespaces. */
int __wrap_open64(const char *path, int flags, ...)
{
    static const char *const told[] = {"/proc/sys/", "/.dockerenv", "/run/.containerenv"};
    const char *system = getenv("CONFINE_SYSTEM");
    char other[512];
    va_list more;
    va_start(more, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    for (size_t i = 0; system != NULL && i < sizeof(told) / sizeof(told[0]); i++) {
        if (strncmp(path, told[i], strlen(told[i])) == 0 &&
            snprintf(other, sizeof(other), "%s%s", system, path) < (int)sizeof(other)) {
            return __real_open64(other, flags);
        }
    }
    if (lacks("rights") && strcmp(path, "/proc/self/setgroups") == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_open64(path, flags, mode);
}

/* An older Landlock, or none. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_landlock_create_ruleset && c == 1 && lacks("landlock")) {
        if (lacks("landlock2")) {
            return 2;
        }
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

int __wrap_unshare(int flags)
{
    if (lacks("userns")) {
        errno = lacks("userns-space") ? ENOSPC : EPERM;
        return -1;
    }
    flags &= lacks("processes") ? ~CLONE_NEWPID : ~0;
    return __real_unshare(lacks("network") ? flags & ~CLONE_NEWNET : flags);
}

int __wrap_mount(const char *from, const char *to, const char *type, unsigned long flags, const void *data)
{
    if (lacks("processes") && type != NULL && strcmp(type, "proc") == 0) {
        return 0; /* that of outside stays */
    }
    return __real_mount(from, to, type, flags, data);
}

bool __wrap_enter_devices(int *ret_empty)
{
    if (!lacks("devices")) {
        return __real_enter_devices(ret_empty);
    }
    *ret_empty = (int)syscall(SYS_open_tree, AT_FDCWD, "/dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return *ret_empty >= 0;
}

bool __wrap_enter_network(const struct enter_options *options)
{
    return lacks("network") || __real_enter_network(options);
}

bool __wrap_enter_restrictions(void)
{
    return lacks("restrictions") || __real_enter_restrictions();
}
