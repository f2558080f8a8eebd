/* confine-broken: callgate-confine with one protection missing, for the test that doctor finds that. The linker puts these
 * in the place of the real ones (--wrap); CONFINE_BREAK says which is missing. Never installed. */
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
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

static bool lacks(const char *what)
{
    const char *broken = getenv("CONFINE_BREAK");
    return broken != NULL && strstr(broken, what) != NULL;
}

int __wrap_unshare(int flags)
{
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
