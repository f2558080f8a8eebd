/* Whole files through descriptors: read to the end, written whole, exchanged for another. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

#include "base/buffer.h"

/* Opens a file to read it. What is no regular file is refused at once, because a pipe may never end and a device holds
 * no text; but a descriptor that this program was started with (/dev/stdin, /dev/fd/N) may be a pipe: a shell made it
 * so. -1 with the reason in *ret_why, for people: "is a directory", "cannot be opened: No such file or directory". */
int file_open_text(const char *path, const char **ret_why);

/* What a file that is no regular one is: "is a directory", "is a pipe", "is a device", "is a socket". NULL: it is
 * regular. `mode` is of fstat. */
const char *file_kind_refused(mode_t mode);

/* Appends what a descriptor has left, which must be less than the buffer's ceiling. False, with errno
 * set, when it cannot be read (EFBIG: it is as long as the ceiling or longer; ENOMEM). The descriptor stays the caller's. */
MUST_USE bool file_read_all(int fd, struct buf *text);

/* Writes all of a text. False, with errno set, when it cannot be. */
MUST_USE bool file_write_whole(int fd, struct slice text);

/* Opens a file of a directory without following a link or waiting for a pipe, and appends its text. False with
 * errno set; ENOENT when it is not there. */
MUST_USE bool file_read_at(int dir, const char *name, struct buf *text);

/* Puts a text of mode 0600 in the place of a file of a directory, by way of `beside`, a name that is no other
 * process's. With `flush` it is on the disk before this returns. False with errno set; then the old text
 * stays. */
MUST_USE bool file_replace_at(int dir, const char *beside, const char *name, struct slice text, bool flush);

#endif
