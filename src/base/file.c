/* Whole files through descriptors. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_read_all(int fd, struct buf *text)
{
    for (;;) {
        size_t size;
        char *room = buf_room(text, &size);
        if (room == NULL) {
            errno = text->len >= text->ceiling / 2 ? EFBIG : ENOMEM;
            return false;
        }
        ssize_t n = read(fd, room, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0;
        }
        buf_added(text, (size_t)n);
    }
}

bool file_write_whole(int fd, struct slice text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        text = slice_from(text, (size_t)n);
    }
    return true;
}

bool file_read_at(int dir, const char *name, struct buf *text)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return false;
    }
    bool done = file_read_all(fd, text);
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return done;
}

bool file_replace_at(int dir, const char *beside, const char *name, struct slice text, bool flush)
{
    int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    bool written = file_write_whole(fd, text) && (!flush || fsync(fd) == 0);
    int saved = errno;
    if (close(fd) != 0 && written) {
        saved = errno;
        written = false;
    }
    if (written && renameat(dir, beside, dir, name) == 0) {
        return true;
    }
    saved = written ? errno : saved;
    (void)unlinkat(dir, beside, 0);
    errno = saved;
    return false;
}

const char *file_kind_refused(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return NULL;
    case S_IFDIR:
        return "is a directory: name a file";
    case S_IFIFO:
        return "is a pipe: name a file";
    case S_IFSOCK:
        return "is a socket: name a file";
    case S_IFCHR:
    case S_IFBLK:
        return "is a device: name a file";
    default:
        return "is no regular file: name a file";
    }
}

/* Whether a name leads to a descriptor that this process was started with. */
static bool is_inherited(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0 ||
           strcmp(path, "/dev/stdin") == 0;
}

int file_open_text(const char *path, const char **ret_why)
{
    bool inherited = is_inherited(path);
    struct stat st;
    /* Without waiting: opening a pipe that nobody writes to would not return. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (inherited ? 0 : O_NONBLOCK));
    if (fd < 0) {
        *ret_why = errno == ENXIO ? "is a socket or a device: name a file" : strerror(errno);
        return -1;
    }
    const char *refused = fstat(fd, &st) != 0 ? strerror(errno) : file_kind_refused(st.st_mode);
    if (refused != NULL && !(inherited && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))) {
        close(fd);
        *ret_why = refused;
        return -1;
    }
    return fd;
}
