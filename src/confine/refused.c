/* Why a confinement cannot be had here, and the one command that gives it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "confine/enter_internal.h"

static const struct {
    const char *path, *bad, *advice;
} switches[] = {
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "AppArmor keeps user namespaces from programs without a profile (Ubuntu 24.04 and later), and this one "
     "has one: "
     "'sudo apparmor_parser -r " APPARMOR_PROFILE "' (the Debian package does so itself)"},
    {"/proc/sys/kernel/unprivileged_userns_clone", "0",
     "user namespaces are switched off: 'sudo sysctl kernel.unprivileged_userns_clone=1'"},
    {"/proc/sys/user/max_user_namespaces", "0",
     "no user namespace is allowed: 'sudo sysctl user.max_user_namespaces=10000'"},
};

/* Whether the first byte of a one-line file is that of `bad`. */
static bool says(const char *path, const char *bad)
{
    char text[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && text[0] == bad[0] &&
              (text[1] == '\n' || text[1] == '\0');
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

static bool is_there(const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static const char *find_advice(int why)
{
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        if (says(switches[i].path, switches[i].bad)) {
            return switches[i].advice;
        }
    }
    if (is_there("/.dockerenv") || is_there("/run/.containerenv")) {
        return "this is a container that gives none: start it with '--security-opt seccomp=unconfined "
               "--security-opt "
               "apparmor=unconfined --security-opt systempaths=unconfined', or run callgate confine outside "
               "of it";
    }
    if (why == ENOSPC) {
        return "too many user namespaces are there, or they are nested too deep: 'sudo sysctl "
               "user.max_user_namespaces=10000'";
    }
    if (why == ENOSYS || why == EINVAL) {
        return "this kernel was built without them (CONFIG_USER_NS): boot another one";
    }
    return "a filter of system calls, a security module or a chroot around this program forbids them: start "
           "it outside "
           "of that";
}

void enter_explain(int why)
{
    fprintf(stderr, "callgate: %s\n", find_advice(why));
    if (enter_landlock_abi() >= ENTER_LANDLOCK_LEAST) {
        fputs("callgate: without them there is 'callgate confine --landlock' ('run --confine=landlock'), "
              "which holds less: "
              "--landlock --print says what\n",
              stderr);
    }
}
