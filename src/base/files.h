/* Files of people, changed whole or not at all. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"

/* A file as it was read. Where its name is a symbolic link, `path` is the file that the link leads to: that
 * is what is replaced, the link stays. Owns both. */
struct text_file {
    struct buf path; /* ends in a NUL that its length does not count */
    struct buf text;
    bool existed;
    struct stat st;
};

/* Reads a file that may be missing. False, with a message, when it cannot be read, is no regular file, or is
 * longer than `most` bytes. */
MUST_USE bool text_file_read(struct text_file *ret_file, const char *path, size_t most,
                             struct buf *ret_error);
void text_file_finish(struct text_file *file);

/* Puts a text in its place: written beside it, flushed, renamed over it; mode and owner as they were. A new
 * file has `mode`, and missing directories above it are made. False, with a message and nothing changed, when
 * that fails or the file is not what was read any more. */
MUST_USE bool text_file_replace(const struct text_file *file, struct slice text, mode_t mode,
                                struct buf *ret_error);

/* Removes a file that is what was read. */
MUST_USE bool text_file_remove(const struct text_file *file, struct buf *ret_error);

#endif
