/* A /dev of its own. A shared one has the terminals of every other session of the user in it, and whoever can open
 * such a terminal can read what is typed there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/mount.h>

#include "confine/enter_internal.h"

#define EMPTY_FILE "/dev/.empty"

static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};
#define DEVICES (sizeof(devices) / sizeof(devices[0]))

static const char *const links[][2] = {
    {"/proc/self/fd", "/dev/fd"},       {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
    {"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"},
};

static bool take_devices(int *trees)
{
    for (size_t i = 0; i < DEVICES; i++) {
        trees[i] = (int)syscall(SYS_open_tree, AT_FDCWD, devices[i], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (trees[i] < 0) {
            enter_complain("no device", devices[i]);
            return false;
        }
    }
    return true;
}

static bool put_devices(const int *trees)
{
    for (size_t i = 0; i < DEVICES; i++) {
        int fd = open(devices[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        bool ok = fd >= 0 &&
                  syscall(SYS_move_mount, trees[i], "", AT_FDCWD, devices[i], MOVE_MOUNT_F_EMPTY_PATH) == 0;
        if (fd >= 0) {
            close(fd);
        }
        if (!ok) {
            enter_complain("cannot put", devices[i]);
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (symlink(links[i][0], links[i][1]) != 0) {
            enter_complain("cannot link", links[i][1]);
            return false;
        }
    }
    return true;
}

static bool mount_inside(void)
{
    if (mkdir("/dev/pts", 0755) != 0 || mkdir("/dev/shm", 01777) != 0 ||
        mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") !=
            0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
        enter_complain("/dev cannot be filled", NULL);
        return false;
    }
    return true;
}

/* The empty file as a detached mount, so that it can lie over many files and its name can go. */
static bool make_empty(int *ret_empty)
{
    int fd = open(EMPTY_FILE, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    *ret_empty =
        fd < 0 ? -1 : (int)syscall(SYS_open_tree, AT_FDCWD, EMPTY_FILE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    if (*ret_empty < 0) {
        enter_complain("no empty file can be made", NULL);
        return false;
    }
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    (void)syscall(SYS_mount_setattr, *ret_empty, "", AT_EMPTY_PATH, &attr, sizeof(attr));
    return true;
}

bool enter_devices(int *ret_empty)
{
    int trees[DEVICES];
    for (size_t i = 0; i < DEVICES; i++) {
        trees[i] = -1;
    }
    bool ok = take_devices(trees);
    if (ok && mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755") != 0) {
        enter_complain("a /dev of its own cannot be mounted", NULL);
        ok = false;
    }
    ok = ok && put_devices(trees) && mount_inside() && make_empty(ret_empty);
    for (size_t i = 0; i < DEVICES; i++) {
        if (trees[i] >= 0) {
            close(trees[i]);
        }
    }
    return ok;
}
