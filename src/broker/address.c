/* Where a broker listens, and who its peers are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/internal.h"

#define ADDRESS_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

/* An address has room for a hundred bytes: a longer name is reached by way of its directory. */
static bool make_address(const char *path, struct sockaddr_un *ret_address, int *ret_dir)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *ret_dir = -1;
    size_t len = strlen(path);
    if (len < ADDRESS_BYTES) {
        memcpy(ret_address->sun_path, path, len + 1);
        return true;
    }
    char dir[4096];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) >= sizeof(dir)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    *ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int written = snprintf(ret_address->sun_path, ADDRESS_BYTES, "/proc/self/fd/%d%s", *ret_dir, slash);
    if (*ret_dir >= 0 && written > 0 && (size_t)written < ADDRESS_BYTES) {
        return true;
    }
    errno = *ret_dir >= 0 ? ENAMETOOLONG : errno;
    return false;
}

static void close_saved(int fd)
{
    int saved = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = saved;
}

int address_listen(const char *path)
{
    struct sockaddr_un address;
    int dir, fd = -1;
    if (!make_address(path, &address, &dir)) {
        close_saved(dir);
        return -1;
    }
    /* Whoever holds the lock of the state directory may take the name of one that has ended. */
    (void)unlink(path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                 chmod(path, 0600) == 0;
    if (!bound) {
        close_saved(fd);
        fd = -1;
    }
    close_saved(dir);
    return fd;
}

int address_connect(const char *path)
{
    struct sockaddr_un address;
    int dir, fd = -1;
    if (make_address(path, &address, &dir)) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close_saved(fd);
        fd = -1;
    }
    close_saved(dir);
    return fd;
}

bool peer_read(int fd, struct peer *ret_peer)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0 || len != sizeof(cred)) {
        return false;
    }
    *ret_peer = (struct peer){.pid = cred.pid, .uid = cred.uid};
    return true;
}

static bool same_namespace(pid_t pid, const char *name)
{
    char theirs[64], ours[64];
    struct stat a, b;
    snprintf(theirs, sizeof(theirs), "/proc/%ld/ns/%s", (long)pid, name);
    snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
    return stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool peer_is_unconfined(const struct peer *peer)
{
    /* A peer of another pid namespace that this one does not see has the number 0. */
    return peer->pid > 0 && same_namespace(peer->pid, "user") && same_namespace(peer->pid, "mnt") &&
           same_namespace(peer->pid, "pid");
}
