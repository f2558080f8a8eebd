/* A journal at one moment: its parts, each open, with the size that it had when no event was half written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/file_internal.h"
#include "journal/reader.h"
#include "journal/snapshot.h"

#define TRIES 8

/* A crash in the middle of a write leaves a line without an end: what stands before it is the journal. */
static bool whole_lines(int fd, uint64_t *size)
{
    char piece[4096];
    while (*size > 0) {
        size_t len = *size < sizeof(piece) ? (size_t)*size : sizeof(piece);
        ssize_t n = pread(fd, piece, len, (off_t)(*size - len));
        if (n != (ssize_t)len) {
            return false;
        }
        const char *lf = memrchr(piece, '\n', len);
        if (lf != NULL) {
            *size -= len - (size_t)(lf - piece) - 1;
            return true;
        }
        *size -= len;
    }
    return true;
}

static bool open_parts(struct journal_snapshot *s, const char *dir, const char *name, struct buf *ret_error)
{
    struct journal_parts parts;
    if (!journal_parts_find(dir, name, &parts, ret_error)) {
        return false;
    }
    s->parts = calloc(parts.count + 1, sizeof(*s->parts));
    bool ok = s->parts != NULL;
    for (size_t i = 0; i < parts.count && ok; i++) {
        struct stat st;
        struct journal_part *part = &s->parts[s->count];
        const char *slash = strrchr(parts.files[i], '/');
        int fd = open(parts.files[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
        part->name = ok ? strdup(slash != NULL ? slash + 1 : parts.files[i]) : NULL;
        if (!ok || part->name == NULL) {
            buf_printf(ret_error, "%s cannot be opened: %s", parts.files[i], strerror(errno));
            if (fd >= 0) {
                close(fd);
            }
            ok = false;
            break;
        }
        part->fd = fd;
        part->size = (uint64_t)st.st_size;
        s->count++;
        ok = whole_lines(fd, &part->size);
    }
    journal_parts_finish(&parts);
    return ok;
}

/* Once, under the lock of the file that has the journal's name. *ret_moved: it was rotated meanwhile. */
static bool take_once(struct journal_snapshot *s, int state, const char *dir, const char *name,
                      bool *ret_moved, struct buf *ret_error)
{
    struct journal_file file;
    uint64_t size;
    *ret_moved = false;
    if (!journal_file_open(&file, state, name, ret_error)) {
        return false;
    }
    bool ok = journal_file_lock(&file, ret_error);
    if (ok) {
        enum journal_file_state where = journal_file_end(&file, &size, ret_error);
        *ret_moved = where == JOURNAL_FILE_RENAMED || where == JOURNAL_FILE_REMOVED;
        ok = where == JOURNAL_FILE_SAME && open_parts(s, dir, name, ret_error);
        journal_file_unlock(&file);
    }
    journal_file_close(&file);
    return ok;
}

bool journal_snapshot_take(struct journal_snapshot *ret_snapshot, const char *dir, const char *name,
                           struct buf *ret_error)
{
    struct stat st;
    bool moved = true, ok = false;
    *ret_snapshot = (struct journal_snapshot){0};
    int state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state < 0) {
        buf_printf(ret_error, "%s cannot be opened: %s", dir, strerror(errno));
        return false;
    }
    if (fstatat(state, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
        close(state);
        return true; /* nothing has been recorded yet */
    }
    for (int i = 0; i < TRIES && !ok && moved; i++) {
        ok = take_once(ret_snapshot, state, dir, name, &moved, ret_error);
    }
    if (!ok && moved && ret_error->len == 0) {
        buf_printf(ret_error, "journal '%s': it is rotated all the time", name);
    }
    close(state);
    if (!ok) {
        journal_snapshot_finish(ret_snapshot);
    }
    return ok;
}

void journal_snapshot_finish(struct journal_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        close(snapshot->parts[i].fd);
        free(snapshot->parts[i].name);
    }
    free(snapshot->parts);
    *snapshot = (struct journal_snapshot){0};
}
