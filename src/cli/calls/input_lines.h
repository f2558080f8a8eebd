/* Lines of any length from a file: for the commands that read one call a line. */
#ifndef CLI_INPUT_LINES_H
#define CLI_INPUT_LINES_H

#include "base/buffer.h"

/* A line longer than the limit is read past and given as `too_long`. Owns its buffer; the descriptor is the
 * caller's. */
struct input_lines {
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

void input_lines_init(struct input_lines *lines, int fd, size_t limit);
void input_lines_finish(struct input_lines *lines);

/* The next line without its LF (a CR before the LF is a part of the line end); valid until the next call. */
enum line_result input_lines_next(struct input_lines *lines, struct slice *ret_line);

#endif
