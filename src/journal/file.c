/* A journal's file: locking, appending, cutting, flushing, reading. */
#include "journal/file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "journal/journal.h"

static bool fail(struct journal_file *file, struct buf *error, const char *what, int number)
{
    buf_printf(error, "journal '%s': cannot %s: %s", file->name, what, strerror(number));
    return false;
}

static bool refuse(struct journal_file *file, struct buf *error, const char *why, const char *next_step)
{
    buf_printf(error, "journal '%s': %s; %s", file->name, why, next_step);
    return false;
}

static bool check_status(struct journal_file *file, const struct stat *status, struct buf *error)
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

static bool open_or_make(struct journal_file *file, struct buf *error)
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

/* The directory is another descriptor of the same, so that each file closes its own. */
static bool open_in(struct journal_file *file, int dir, struct buf *error)
{
    uint64_t size;
    file->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (file->dir < 0) {
        return fail(file, error, "keep its directory open", errno);
    }
    return open_or_make(file, error) && journal_file_end(file, &size, error) != JOURNAL_FILE_FAILED;
}

bool journal_file_open(struct journal_file *file, int dir, const char *name, struct buf *error)
{
    *file = (struct journal_file){.dir = -1, .fd = -1};
    size_t len = strlen(name);
    if (len == 0 || len > NAME_MAX || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0) {
        buf_text(error, "journal: not a plain file name; give one without '/'");
        return false;
    }
    memcpy(file->name, name, len + 1);
    if (!open_in(file, dir, error)) {
        journal_file_close(file);
        return false;
    }
    return true;
}

bool journal_file_open_next(const struct journal_file *file, struct journal_file *ret_next, struct buf *error)
{
    return journal_file_open(ret_next, file->dir, file->name, error);
}

static void close_one(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

void journal_file_close(struct journal_file *file)
{
    close_one(&file->fd);
    close_one(&file->dir);
}

bool journal_file_lock(struct journal_file *file, struct buf *error)
{
    int number = lock_within(file->fd, LOCK_EX, JOURNAL_WAIT_MS);
    if (number == EWOULDBLOCK) {
        return refuse(file, error, "another process has held its lock for too long",
                      "find it with 'fuser' and end it if it is stopped");
    }
    return number == 0 || fail(file, error, "lock it", number);
}

void journal_file_unlock(struct journal_file *file)
{
    (void)flock(file->fd, LOCK_UN);
}

enum journal_file_state journal_file_end(struct journal_file *file, uint64_t *ret_size, struct buf *error)
{
    struct stat open_file, named;
    if (fstat(file->fd, &open_file) != 0) {
        (void)fail(file, error, "look at it", errno);
        return JOURNAL_FILE_FAILED;
    }
    bool is_named = fstatat(file->dir, file->name, &named, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_named && errno != ENOENT) {
        (void)fail(file, error, "look at its name", errno);
        return JOURNAL_FILE_FAILED;
    }
    if (!check_status(file, &open_file, error)) {
        return JOURNAL_FILE_FAILED;
    }
    *ret_size = (uint64_t)open_file.st_size;
    if (is_named && open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino) {
        return JOURNAL_FILE_SAME;
    }
    return open_file.st_nlink > 0 ? JOURNAL_FILE_RENAMED : JOURNAL_FILE_REMOVED;
}

bool journal_file_rename(struct journal_file *file, const char *name)
{
    return renameat2(file->dir, file->name, file->dir, name, RENAME_NOREPLACE) == 0;
}

bool journal_file_identity(const struct journal_file *file, uint64_t *ret_dev, uint64_t *ret_ino)
{
    struct stat status;
    if (fstat(file->fd, &status) != 0) {
        return false;
    }
    *ret_dev = (uint64_t)status.st_dev;
    *ret_ino = (uint64_t)status.st_ino;
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

bool journal_file_append(struct journal_file *file, uint64_t size, struct slice bytes, bool *ret_broken,
                         struct buf *error)
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

bool journal_file_cut(struct journal_file *file, uint64_t size, struct buf *error)
{
    int number = cut(file->fd, size);
    return number == 0 || fail(file, error, "shorten it", number);
}

bool journal_file_flush(struct journal_file *file, struct buf *error)
{
    int result;
    do {
        result = fdatasync(file->fd);
    } while (result != 0 && errno == EINTR);
    return result == 0 || fail(file, error, "flush it to disk", errno);
}

bool journal_file_flush_dir(struct journal_file *file, struct buf *error)
{
    return fsync(file->dir) == 0 || fail(file, error, "flush its directory to disk", errno);
}

bool journal_file_whole_size(const struct journal_file *file, uint64_t *ret_size)
{
    /* A commit writes under the lock: the size seen while holding it is that of whole commits. A file that cannot be
     * locked (a copy on a read-only disk) is read as it is. */
    struct stat status;
    bool locked = lock_within(file->fd, LOCK_SH, JOURNAL_WAIT_MS) == 0;
    bool looked = fstat(file->fd, &status) == 0;
    if (locked) {
        (void)flock(file->fd, LOCK_UN);
    }
    if (looked) {
        *ret_size = (uint64_t)status.st_size;
    }
    return looked;
}

bool journal_file_open_to_read(struct journal_file *ret_file, const char *path, uint64_t *ret_size,
                               struct buf *error)
{
    struct stat status;
    struct journal_file file = {.dir = -1};
    const char *why = NULL;
    file.fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : file_open_text(path, &why);
    if (file.fd < 0 || fstat(file.fd, &status) != 0) {
        buf_printf(error, "%s: cannot read it: %s", path, why != NULL ? why : strerror(errno));
        journal_file_close(&file);
        return false;
    }
    uint64_t size = UINT64_MAX;
    if (S_ISREG(status.st_mode) && !journal_file_whole_size(&file, &size)) {
        buf_printf(error, "%s: cannot look at it: %s", path, strerror(errno));
        journal_file_close(&file);
        return false;
    }
    *ret_file = file;
    *ret_size = size;
    return true;
}

ptrdiff_t journal_file_read(const struct journal_file *file, uint64_t at, char *bytes, size_t len)
{
    ssize_t got;
    do {
        got = at == UINT64_MAX ? read(file->fd, bytes, len) : pread(file->fd, bytes, len, (off_t)at);
    } while (got < 0 && errno == EINTR);
    return got;
}
