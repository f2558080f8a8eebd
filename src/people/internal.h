/* What the files of notices share. Nothing outside src/people includes this. */
#ifndef PEOPLE_INTERNAL_H
#define PEOPLE_INTERNAL_H

#include "people/outbox.h"

#define NOTICE_TARGETS_MOST 16u
#define OUTBOX_ITEM_BYTES   (512u << 20) /* a request with its whole input stands in one */

enum outbox_read {
    OUTBOX_FAILED = 0,
    OUTBOX_ABSENT,
    OUTBOX_READ,
};

/* Reads a regular file of a directory whole. */
MUST_USE enum outbox_read outbox_read_file(int dir, const char *name, struct buf *ret_text);

/* Writes a file of mode 0600 whole: beside its place, then renamed. False with errno. */
MUST_USE bool outbox_write_file(int dir, const char *name, struct slice text);

/* Opens the outbox, made if missing. -1 with errno. */
int outbox_open(int state_dir);

#endif
