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
    if (!ok) {
        enter_complain("cannot write", path);
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

/* What stands in the way of user namespaces, and the one command that helps. */
static void explain_refusal(void)
{
    static const struct {
        const char *path, *bad, *advice;
    } reasons[] = {
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
         "AppArmor keeps user namespaces from programs without a profile (Ubuntu 24.04 and later): install "
         "callgate's Debian package, which brings one, or load share/callgate/apparmor.d/callgate-confine "
         "with "
         "apparmor_parser as root"},
        {"/proc/sys/kernel/unprivileged_userns_clone", "0",
         "user namespaces are switched off: 'sudo sysctl kernel.unprivileged_userns_clone=1'"},
        {"/proc/sys/user/max_user_namespaces", "0",
         "no user namespace is allowed: 'sudo sysctl user.max_user_namespaces=10000'"},
    };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        char text[16] = "";
        int fd = open(reasons[i].path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && text[0] == reasons[i].bad[0] &&
            (text[1] == '\n' || text[1] == '\0')) {
            fprintf(stderr, "callgate: %s\n", reasons[i].advice);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
}

bool enter_namespaces(const struct enter_options *options)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;
    if (unshare(flags | (options->private_network ? CLONE_NEWNET : 0)) != 0) {
        enter_complain("this system does not give user namespaces", NULL);
        explain_refusal();
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
