/* The state directory and whose it is. */
#ifndef GATE_STATE_H
#define GATE_STATE_H

#include "base/buffer.h"

#define STATE_JOURNAL   "journal.jsonl"
#define STATE_APPROVALS "approvals.db"
#define STATE_GATES     "gates"

/* Opens a directory, making it (0700) and what is missing above it (0700) first. It must be a directory of
 * this user that nobody else can enter; a symbolic link as its last component is refused. -1 with a message
 * in ret_error. */
int state_open(const char *dir, struct buf *ret_error);

#endif
