/* The writer's own state, inside this room: what the files share that make a commit.
 *
 * append.c stages and commits; ending.c finds the place at which a commit begins; rotate.c begins a new part. */
#ifndef JOURNAL_APPEND_INTERNAL_H
#define JOURNAL_APPEND_INTERNAL_H

#include <stdint.h>

#include "journal/event_internal.h"
#include "journal/file_internal.h"
#include "journal/journal.h"
#include "journal/tail_internal.h"

struct journal {
    struct journal_file file;
    enum journal_fsync mode;
    struct slice boot_detail; /* while it is opened: what the first event of a new file tells */
    uint64_t max_size;        /* a commit that would make the file longer begins a new part; 0: no limit */
    struct line_reader reader;
    struct hasher hasher;
    struct json_doc detail; /* of the event being staged */

    struct buf parts; /* bytes of the staged events */
    struct event_parts *staged;
    size_t count, cap;

    struct buf lines; /* what a commit writes */
    struct buf tail;  /* working room */

    uint64_t end;       /* size of the file after what this process last wrote or read */
    struct chain chain; /* the event that ends there */
    bool dirty;         /* written and not flushed */
    bool broken;        /* the file may hold what should not be there: nothing more is written */
};

/* What a commit found at the end of the file, and what has to stand there before anything else. */
struct ending {
    uint64_t whole, size;         /* a torn line stands between them */
    bool complete;                /* the torn line is a whole event that only lacks its line end */
    struct chain chain;           /* at `whole`, or at the completed line */
    struct event_parts recovered; /* the event that tells of a torn line that is cut off */
    bool has_recovered;
    struct event_parts first; /* the boot of a file that is empty */
    bool has_first;
};

/* ---- ending.c ---- */

/* Brings `ending` up to the file, going over to a new part if the file was rotated. Under the lock. */
MUST_USE bool ending_find(struct journal *journal, struct ending *ret_ending, struct buf *error);
MUST_USE bool ending_no_memory(const struct journal *journal, struct buf *error); /* always false */

/* ---- rotate.c ---- */

/* Makes the boot of an empty file: the next of `previous`'s chain (seq 0: of none). `given` is what it tells beside the
 * anchor, an object or an empty text. */
MUST_USE bool rotate_begin(struct journal *journal, const struct chain *previous, struct slice given,
                           struct ending *ending, struct buf *error);

/* Goes on in the file that has the journal's name now, because the open one (which ends at `last`) has another name.
 * `may_begin`: that file may be empty. Locks it before the open one is given up. */
MUST_USE bool rotate_follow(struct journal *journal, const struct chain *last, bool may_begin,
                            struct buf *error);

/* Gives the open file, which ends at `last`, the name of a part that is over. Under the lock. */
MUST_USE bool rotate_rename(struct journal *journal, const struct chain *last, struct buf *error);

/* The last event of the newest part in the journal's directory that no file continues; seq 0: there is none. */
MUST_USE bool rotate_newest_part(struct journal *journal, struct chain *ret_last, struct buf *error);

#endif
