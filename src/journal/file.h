/* The journal's file: the one place that asks the system for it. Inside this room.
 *
 * Locked with flock, not with fcntl: the lock belongs to the open file and not to the process, so closing
 * another descriptor of the same file gives nothing up; the kernel releases it with the last descriptor,
 * however the process ends; and an operator can take it from a shell (`flock FILE COMMAND`) to copy a journal
 * between two commits. */
#ifndef JOURNAL_FILE_H
#define JOURNAL_FILE_H

#include <limits.h>
#include <stdint.h>

#include "base/buffer.h"

/* Owns both descriptors until file_close. */
struct file {
    int dir, fd;
    char name[NAME_MAX + 1];
};

/* All of these append a message for people to `error` when they fail; it names the file and the next step. */

/* Opens or makes `name` in a directory: a regular file of this user's, mode 0600, not through a link. */
MUST_USE bool file_open(struct file *file, int dir, const char *name, struct buf *error);
void file_close(struct file *file);

/* The lock of this file among all processes. Gives up after JOURNAL_WAIT_MS: a stopped process must not hang
 * every other one for ever. */
MUST_USE bool file_lock(struct file *file, struct buf *error);
void file_unlock(struct file *file);

/* The size of the file, after looking whether the open file still is the one of that name. Under the lock. */
MUST_USE bool file_size(struct file *file, uint64_t *ret_size, struct buf *error);

/* Appends bytes to a file of `size` bytes. On failure the file has that size again; if not even that could be
 * done, ret_broken is set. */
MUST_USE bool file_append(struct file *file, uint64_t size, struct slice bytes, bool *ret_broken,
                          struct buf *error);
MUST_USE bool file_cut(struct file *file, uint64_t size, struct buf *error);
MUST_USE bool file_flush(struct file *file, struct buf *error);
MUST_USE bool file_flush_dir(struct file *file, struct buf *error);

/* ---- Reading, also of files that are not ours ---- */

/* Opens a file by path for reading. ret_size is its size at a moment when no event was half written, or
 * UINT64_MAX if it is no regular file. -1 with a message. */
MUST_USE int file_open_to_read(const char *path, uint64_t *ret_size, struct buf *error);

/* Reads up to len bytes at an offset (at UINT64_MAX: the next ones); 0 at the end, negative when it cannot
 * (errno). */
MUST_USE ptrdiff_t file_read(int fd, uint64_t at, char *bytes, size_t len);

#endif
