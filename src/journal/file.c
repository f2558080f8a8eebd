#include "journal/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "journal/journal.h"

static bool fail(struct file *file, struct buf *error, const char *what, int number)
{
    buf_printf(error, "journal '%s': cannot %s: %s", file->name, what, strerror(number));
    return false;
}

static bool refuse(struct file *file, struct buf *error, const char *why, const char *next_step)
{
    buf_printf(error, "journal '%s': %s; %s", file->name, why, next_step);
    return false;
}

static bool check_status(struct file *file, const struct stat *status, struct buf *error)
{
    if (!S_ISREG(status->st_mode)) {
        return refuse(file, error, "not a regular file", "move it away");
    }
    if (status->st_uid != geteuid()) {
        return refuse(file, error, "belongs to another user", "move it away, or run as its owner");
    }
    if ((status->st_mode & 07777) != 0600) {
        return refuse(file, error, "its mode is not 0600, so others may have changed it",
                      "look at it ('callgate journal verify'), then 'chmod 600' it");
    }
    return true;
}

/* O_NONBLOCK: a pipe of that name must not hang the open; a regular file knows no difference. */
#define OPEN_FLAGS (O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static bool open_or_make(struct file *file, struct buf *error)
{
    /* Twice: another process may make the file between the two tries, and a third one remove it. */
    for (int i = 0; i < 2 && file->fd < 0; i++) {
        file->fd = openat(file->dir, file->name, OPEN_FLAGS);
        if (file->fd < 0 && errno == ENOENT) {
            file->fd = openat(file->dir, file->name, OPEN_FLAGS | O_CREAT | O_EXCL, 0600);
            /* The umask may have taken more than it should. */
            if (file->fd >= 0 && fchmod(file->fd, 0600) != 0) {
                return fail(file, error, "set its mode", errno);
            }
        }
        if (file->fd < 0 && errno != EEXIST && errno != EINTR) {
            break;
        }
    }
    if (file->fd < 0 && errno == ELOOP) {
        return refuse(file, error, "is a symbolic link", "move it away");
    }
    return file->fd >= 0 || fail(file, error, "open it", errno);
}

bool file_open(struct file *file, int dir, const char *name, struct buf *error)
{
    *file = (struct file){.dir = -1, .fd = -1};
    size_t len = strlen(name);
    if (len == 0 || len > NAME_MAX || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0) {
        buf_text(error, "journal: not a plain file name; give one without '/'");
        return false;
    }
    memcpy(file->name, name, len + 1);
    file->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (file->dir < 0) {
        return fail(file, error, "keep its directory open", errno);
    }
    uint64_t size;
    if (!open_or_make(file, error) || !file_size(file, &size, error)) {
        file_close(file);
        return false;
    }
    return true;
}

static void close_one(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

void file_close(struct file *file)
{
    close_one(&file->fd);
    close_one(&file->dir);
}

/* 0, or an error number. */
static int lock_within(int fd, int operation, int64_t wait_ms)
{
    const uint64_t until = clock_mono_ns() + (uint64_t)wait_ms * 1000000u;
    struct timespec pause = {.tv_nsec = 20000};
    for (;;) {
        if (flock(fd, operation | LOCK_NB) == 0) {
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return errno;
        }
        if (clock_mono_ns() >= until) {
            return EWOULDBLOCK;
        }
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000) {
            pause.tv_nsec *= 2;
        }
    }
}

bool file_lock(struct file *file, struct buf *error)
{
    int number = lock_within(file->fd, LOCK_EX, JOURNAL_WAIT_MS);
    if (number == EWOULDBLOCK) {
        return refuse(file, error, "another process has held its lock for too long",
                      "find it with 'fuser' and end it if it is stopped");
    }
    return number == 0 || fail(file, error, "lock it", number);
}

void file_unlock(struct file *file)
{
    (void)flock(file->fd, LOCK_UN);
}

bool file_size(struct file *file, uint64_t *ret_size, struct buf *error)
{
    struct stat open_file, named;
    if (fstat(file->fd, &open_file) != 0) {
        return fail(file, error, "look at it", errno);
    }
    if (fstatat(file->dir, file->name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT
                   ? refuse(file, error, "was removed or renamed while in use", "restart callgate")
                   : fail(file, error, "look at its name", errno);
    }
    if (open_file.st_dev != named.st_dev || open_file.st_ino != named.st_ino) {
        return refuse(file, error, "another file has taken its name", "restart callgate");
    }
    if (!check_status(file, &open_file, error)) {
        return false;
    }
    *ret_size = (uint64_t)open_file.st_size;
    return true;
}

static int write_all(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t written = write(fd, bytes.ptr, bytes.len);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? errno : EIO;
        }
        bytes = slice_from(bytes, (size_t)written);
    }
    return 0;
}

static int cut(int fd, uint64_t size)
{
    int result;
    do {
        result = ftruncate(fd, (off_t)size);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

bool file_append(struct file *file, uint64_t size, struct slice bytes, bool *ret_broken, struct buf *error)
{
    int number = write_all(file->fd, bytes);
    if (number == 0) {
        return true;
    }
    /* What was written of it must not stand: the calls it tells of are denied. */
    if (cut(file->fd, size) != 0) {
        *ret_broken = true;
    }
    return fail(file, error, "write to it", number);
}

bool file_cut(struct file *file, uint64_t size, struct buf *error)
{
    int number = cut(file->fd, size);
    return number == 0 || fail(file, error, "shorten it", number);
}

bool file_flush(struct file *file, struct buf *error)
{
    int result;
    do {
        result = fdatasync(file->fd);
    } while (result != 0 && errno == EINTR);
    return result == 0 || fail(file, error, "flush it to disk", errno);
}

bool file_flush_dir(struct file *file, struct buf *error)
{
    return fsync(file->dir) == 0 || fail(file, error, "flush its directory to disk", errno);
}

int file_open_to_read(const char *path, uint64_t *ret_size, struct buf *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
        buf_printf(error, "%s: cannot read it: %s", path, strerror(fd < 0 ? errno : EISDIR));
        close_one(&fd);
        return -1;
    }
    *ret_size = UINT64_MAX;
    if (S_ISREG(status.st_mode)) {
        /* A commit writes under the lock: the size seen while holding it is that of whole commits. A file
         * that cannot be locked (a copy on a read-only disk) is read as it is. */
        bool locked = lock_within(fd, LOCK_SH, JOURNAL_WAIT_MS) == 0;
        bool looked = fstat(fd, &status) == 0;
        if (locked) {
            (void)flock(fd, LOCK_UN);
        }
        if (!looked) {
            buf_printf(error, "%s: cannot look at it: %s", path, strerror(errno));
            close_one(&fd);
            return -1;
        }
        *ret_size = (uint64_t)status.st_size;
    }
    return fd;
}

ptrdiff_t file_read(int fd, uint64_t at, char *bytes, size_t len)
{
    ssize_t got;
    do {
        got = at == UINT64_MAX ? read(fd, bytes, len) : pread(fd, bytes, len, (off_t)at);
    } while (got < 0 && errno == EINTR);
    return got;
}
