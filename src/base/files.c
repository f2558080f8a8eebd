/* Replaces whole files of people: written beside, flushed, renamed over. */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"

static bool fail(struct buf *ret_error, const char *path, const char *what)
{
    buf_printf(ret_error, "%s %s: %s", path, what, strerror(errno));
    return false;
}

static bool open_and_read(struct text_file *file, size_t most, struct buf *ret_error)
{
    const char *path = file->path.ptr;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return fail(ret_error, path, "cannot be opened");
    }
    const char *refused = fstat(fd, &file->st) != 0 ? strerror(errno) : file_kind_refused(file->st.st_mode);
    bool ok = refused == NULL && file->st.st_size <= (off_t)most;
    if (refused != NULL) {
        buf_printf(ret_error, "%s %s", path, refused);
    } else if (!ok) {
        buf_printf(ret_error, "%s is longer than the %zu MiB that are read", path, most >> 20);
    } else if (!(ok = file_read_all(fd, &file->text))) {
        buf_printf(ret_error, "%s cannot be read", path);
    }
    close(fd);
    file->existed = true;
    return ok;
}

bool text_file_read(struct text_file *ret_file, const char *path, size_t most, struct buf *ret_error)
{
    struct stat link;
    *ret_file = (struct text_file){0};
    buf_init(&ret_file->path, PATH_MAX);
    buf_init(&ret_file->text, most + (128u << 10));
    char *real = realpath(path, NULL);
    int why = errno;
    bool missing = real == NULL && why == ENOENT && lstat(path, &link) != 0;
    if (real == NULL && !missing) {
        errno = why;
        fail(ret_error, path, lstat(path, &link) == 0 ? "is a link to nothing" : "cannot be found");
        text_file_finish(ret_file);
        return false;
    }
    buf_text(&ret_file->path, real != NULL ? real : path);
    buf_byte(&ret_file->path, '\0');
    free(real);
    if (buf_ok(&ret_file->path)) {
        ret_file->path.len--;
        if (missing || open_and_read(ret_file, most, ret_error)) {
            return true;
        }
    } else {
        buf_text(ret_error, "a name is too long");
    }
    text_file_finish(ret_file);
    return false;
}

void text_file_finish(struct text_file *file)
{
    buf_finish(&file->path);
    buf_finish(&file->text);
    *file = (struct text_file){0};
}

/* Whether nobody has changed it since it was read. */
static bool is_as_read(const struct text_file *file, struct buf *ret_error)
{
    struct stat now;
    bool exists = lstat(file->path.ptr, &now) == 0;
    bool same = file->existed
                    ? exists && now.st_ino == file->st.st_ino && now.st_dev == file->st.st_dev &&
                          now.st_size == file->st.st_size && now.st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
                          now.st_mtim.tv_nsec == file->st.st_mtim.tv_nsec
                    : !exists && errno == ENOENT;
    if (!same) {
        buf_printf(ret_error, "%s was changed by somebody else meanwhile: try again", file->path.ptr);
    }
    return same;
}

static bool make_directories(char *path, mode_t mode)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') {
            continue;
        }
        *at = '\0';
        bool made = mkdir(path, mode) == 0;
        bool there = made || errno == EEXIST;
        if (made && chmod(path, mode) != 0) { /* whatever the umask is */
            there = false;
        }
        *at = '/';
        if (!there) {
            return false;
        }
    }
    return true;
}

/* The new text in a file beside the old one. */
static bool write_beside(const struct text_file *file, const char *name, struct slice text, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    bool ok = file_write_whole(fd, text);
    if (file->existed && (file->st.st_uid != geteuid() || file->st.st_gid != getegid())) {
        ok = ok && fchown(fd, file->st.st_uid, file->st.st_gid) == 0;
    }
    ok = ok && fchmod(fd, file->existed ? file->st.st_mode & 07777 : mode) == 0 && fsync(fd) == 0;
    if (close(fd) != 0) {
        ok = false;
    }
    if (!ok) {
        unlink(name);
    }
    return ok;
}

static void flush_directory(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash != NULL && slash != path ? (size_t)(slash - path) : 1;
    memcpy(dir, path, len);
    dir[len] = '\0';
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
}

bool text_file_replace(const struct text_file *file, struct slice text, mode_t mode, struct buf *ret_error)
{
    char name[PATH_MAX];
    uint64_t number;
    const char *path = file->path.ptr;
    if (!file->existed && !make_directories(file->path.ptr, mode == 0600 ? 0700 : 0755)) {
        return fail(ret_error, path, "cannot be made: its directory is missing");
    }
    if (!random_bytes(&number, sizeof(number)) ||
        (size_t)snprintf(name, sizeof(name), "%s.callgate-%016llx", path, (unsigned long long)number) >=
            sizeof(name)) {
        buf_text(ret_error, "a name is too long");
        return false;
    }
    if (!write_beside(file, name, text, mode)) {
        return fail(ret_error, path, "cannot be written");
    }
    if (!is_as_read(file, ret_error)) {
        unlink(name);
        return false;
    }
    if (rename(name, path) != 0) {
        fail(ret_error, path, "cannot be replaced");
        unlink(name);
        return false;
    }
    flush_directory(path);
    return true;
}

bool text_file_remove(const struct text_file *file, struct buf *ret_error)
{
    if (!is_as_read(file, ret_error)) {
        return false;
    }
    if (unlink(file->path.ptr) != 0) {
        return fail(ret_error, file->path.ptr, "cannot be removed");
    }
    flush_directory(file->path.ptr);
    return true;
}
