/* What a journal stands on, inside this room: something that can be locked among all writers, says where it ends, is
 * appended to, cut, flushed and read at an offset. Here that is a file; the writer, the tail, the verifier and the
 * reader use only what is declared here, so that another store can stand in its place.
 *
 * Locked with flock, not with fcntl: the lock belongs to the open file and not to the process, so closing
 * another descriptor of the same file gives nothing up; the kernel releases it with the last descriptor,
 * however the process ends; and an operator can take it from a shell (`flock FILE COMMAND`) to copy a journal
 * between two commits. */
#ifndef JOURNAL_FILE_INTERNAL_H
#define JOURNAL_FILE_INTERNAL_H

#include <limits.h>
#include <stdint.h>

#include "base/buffer.h"

/* Owns both descriptors until journal_file_close. */
struct journal_file {
    int dir, fd;
    char name[NAME_MAX + 1];
};

/* All of these append a message for people to `error` when they fail; it names the file and the next step. */

/* Opens or makes `name` in a directory: a regular file of this user's, mode 0600, not through a link. */
MUST_USE bool journal_file_open(struct journal_file *file, int dir, const char *name, struct buf *error);
void journal_file_close(struct journal_file *file);

/* The lock of this file among all processes. Gives up after JOURNAL_WAIT_MS: a stopped process must not hang
 * every other one for ever. */
MUST_USE bool journal_file_lock(struct journal_file *file, struct buf *error);
void journal_file_unlock(struct journal_file *file);

enum journal_file_state {
    JOURNAL_FILE_FAILED = 0, /* with a message */
    JOURNAL_FILE_SAME,       /* the open file is the one of that name */
    JOURNAL_FILE_RENAMED,    /* it has another name now, and its own name is free or another file's */
    JOURNAL_FILE_REMOVED,    /* it has no name any more */
};

/* Where the file ends, and whether the open file still is the one of that name. Under the lock. */
MUST_USE enum journal_file_state journal_file_end(struct journal_file *file, uint64_t *ret_size,
                                                  struct buf *error);

/* Opens, or makes, what has the file's name now. The open file stays as it is. */
MUST_USE bool journal_file_open_next(const struct journal_file *file, struct journal_file *ret_next,
                                     struct buf *error);

/* Gives the open file another name in its directory; false with EEXIST if that is taken. */
MUST_USE bool journal_file_rename(struct journal_file *file, const char *name);

/* What tells one file from another. */
MUST_USE bool journal_file_identity(const struct journal_file *file, uint64_t *ret_dev, uint64_t *ret_ino);

/* Appends bytes to a file of `size` bytes. On failure the file has that size again; if not even that could be
 * done, ret_broken is set. */
MUST_USE bool journal_file_append(struct journal_file *file, uint64_t size, struct slice bytes,
                                  bool *ret_broken, struct buf *error);
MUST_USE bool journal_file_cut(struct journal_file *file, uint64_t size, struct buf *error);
MUST_USE bool journal_file_flush(struct journal_file *file, struct buf *error);
MUST_USE bool journal_file_flush_dir(struct journal_file *file, struct buf *error);

/* ---- Reading, also of files that are not ours ---- */

/* Opens a file by path for reading ("-": standard input). ret_size is its size at a moment when no event was half
 * written, or UINT64_MAX if it is no regular file. */
MUST_USE bool journal_file_open_to_read(struct journal_file *ret_file, const char *path, uint64_t *ret_size,
                                        struct buf *error);

/* The size of a regular file at a moment when no event is half written. */
MUST_USE bool journal_file_whole_size(const struct journal_file *file, uint64_t *ret_size);

/* Reads up to len bytes at an offset (at UINT64_MAX: the next ones); 0 at the end, negative when it cannot
 * (errno). */
MUST_USE ptrdiff_t journal_file_read(const struct journal_file *file, uint64_t at, char *bytes, size_t len);

#endif
