/* Whole files through descriptors. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
