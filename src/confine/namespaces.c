/* The namespaces, and who one is inside. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/enter_internal.h"

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (!ok) { /* a namespace was given, and no rights in it: that is how AppArmor keeps it from a program */
        int why = errno;
        enter_complain("this system gives no rights in a user namespace: cannot write", path);
        enter_explain(why);
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

bool enter_namespaces(const struct enter_options *options)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;
    if (unshare(flags | (options->private_network ? CLONE_NEWNET : 0)) != 0) {
        int why = errno;
        enter_complain("this system does not give user namespaces", NULL);
        enter_explain(why);
        return false;
    }
    if (!write_file("/proc/self/setgroups", "deny")) {
        return false;
    }
    snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (!write_file("/proc/self/uid_map", map)) {
        return false;
    }
    snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
    return write_file("/proc/self/gid_map", map);
}
