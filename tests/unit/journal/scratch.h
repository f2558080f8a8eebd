/* What the tests of the journal share: a directory of their own, files in it, and events. */
#ifndef TESTS_JOURNAL_SCRATCH_H
#define TESTS_JOURNAL_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal/journal.h"

struct scratch {
    char path[64];
    int fd;
};

static inline void scratch_open(struct scratch *scratch)
{
    /* In memory where that is possible: the tests flush thousands of times. */
    strcpy(scratch->path, "/dev/shm/callgate-test-XXXXXX");
    bool made =
        mkdtemp(scratch->path) != NULL || mkdtemp(strcpy(scratch->path, "/tmp/callgate-test-XXXXXX")) != NULL;
    scratch->fd = made ? open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (scratch->fd < 0) {
        perror("scratch");
        exit(1);
    }
}

/* Files only. */
static inline void scratch_close(struct scratch *scratch)
{
    DIR *dir = fdopendir(scratch->fd);
    struct dirent *entry;
    rewinddir(dir);
    while ((entry = readdir(dir)) != NULL) {
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
    (void)rmdir(scratch->path);
}

static inline const char *scratch_path(const struct scratch *scratch, const char *name, char out[128])
{
    (void)snprintf(out, 128, "%s/%s", scratch->path, name);
    return out;
}

/* The whole of a file; the caller frees ptr. */
static inline struct buf scratch_read(const struct scratch *scratch, const char *name)
{
    struct buf bytes;
    struct stat status;
    buf_init(&bytes, (size_t)1 << 30);
    int fd = openat(scratch->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0) {
        char *room = buf_reserve(&bytes, (size_t)status.st_size);
        ssize_t got = room == NULL ? 0 : read(fd, room, (size_t)status.st_size);
        buf_added(&bytes, got > 0 ? (size_t)got : 0);
    }
    (void)close(fd);
    return bytes;
}

static inline void scratch_write(const struct scratch *scratch, const char *name, struct slice bytes)
{
    int fd = openat(scratch->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes.ptr, bytes.len) != (ssize_t)bytes.len) {
        perror("scratch_write");
        exit(1);
    }
    (void)close(fd);
}

/* The line with this number, from 1, without its end. */
static inline struct slice line_of(struct slice text, size_t number)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    for (; number > 1; number--) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (next == NULL) {
            return (struct slice){NULL, 0};
        }
        at = next + 1;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return (struct slice){at, (size_t)((stop == NULL ? end : stop) - at)};
}

static inline bool has(struct slice text, const char *needle)
{
    return text.len != 0 && memmem(text.ptr, text.len, needle, strlen(needle)) != NULL;
}

static inline bool error_has(struct buf *error, const char *needle)
{
    bool found = has(buf_slice_of(error), needle);
    if (!found) {
        printf("    error is: %.*s\n", (int)error->len, error->ptr == NULL ? "" : error->ptr);
    }
    buf_reset(error);
    return found;
}

#endif
