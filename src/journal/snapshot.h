/* A journal as it stood at one moment, for a copy of it. SPEC.md section 9. */
#ifndef JOURNAL_SNAPSHOT_H
#define JOURNAL_SNAPSHOT_H

#include "base/buffer.h"

struct journal_part {
    char *name;    /* below the directory */
    int fd;        /* to read */
    uint64_t size; /* of the whole events that it had; it may grow meanwhile */
};

/* Oldest first. Owns descriptors and names until journal_snapshot_finish. */
struct journal_snapshot {
    struct journal_part *parts;
    size_t count;
};

/* All parts of the journal `name` in a directory at one moment, under its lock: no event is half in it, and none that
 * stands in a later part lacks one of an earlier. A journal that is not there has no parts. False with a message. */
MUST_USE bool journal_snapshot_take(struct journal_snapshot *ret_snapshot, const char *dir, const char *name,
                                    struct buf *ret_error);
void journal_snapshot_finish(struct journal_snapshot *snapshot);

#endif
