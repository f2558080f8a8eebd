/* Lines of any length from a file: for the commands that read one call a line. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "base/buffer.h"

/* A line longer than the limit is read past and given as `too_long`. Owns its buffer; the descriptor is the
 * caller's. */
struct lines {
    int fd;
    size_t limit;
    uint64_t left; /* bytes that may still be read: all by default */
    struct buf buf;
    size_t at; /* the first byte not given yet */
    bool ended, failed, skipping;
};

enum line_result {
    LINE_END,
    LINE_FAILED,
    LINE_TOO_LONG,
    LINE_READ,
};

void lines_init(struct lines *lines, int fd, size_t limit);
void lines_finish(struct lines *lines);

/* The next line without its LF (a CR before the LF is a part of the line end); valid until the next call. */
enum line_result lines_next(struct lines *lines, struct slice *ret_line);

#endif
