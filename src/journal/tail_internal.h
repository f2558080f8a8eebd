/* The end of a journal: its last event, and what a crash may have left behind it. Inside this room. */
#ifndef JOURNAL_TAIL_INTERNAL_H
#define JOURNAL_TAIL_INTERNAL_H

#include "journal/file_internal.h"
#include "journal/line_internal.h"

/* The longest end without a line end that is taken for a write that a crash cut short: one commit. */
#define TORN_MAX JOURNAL_BATCH_MAX

struct tail {
    uint64_t whole;     /* bytes up to and with the last line end */
    struct chain chain; /* at the last line; seq 0: there is no line */
    char ts[32];        /* of the last line */
    struct slice torn;  /* what stands behind the last line end; in the buffer given */
};

/* Reads the tail of a file of `size` bytes and checks its last line by itself. LINE_UNREAD with errno set
 * when the file could not be read (ENOMEM: memory). `bytes` is working room. */
MUST_USE enum line_result tail_read(const struct journal_file *file, uint64_t size, struct buf *bytes,
                                    struct line_reader *reader, struct tail *ret_tail,
                                    struct journal_fault *ret_fault);

/* Reads the line that begins at an offset, which must end before `size`, and checks it by itself. */
MUST_USE enum line_result tail_read_line(const struct journal_file *file, uint64_t at, uint64_t size,
                                         struct buf *bytes, struct line_reader *reader, struct line *ret_line,
                                         struct journal_fault *ret_fault);

#endif
