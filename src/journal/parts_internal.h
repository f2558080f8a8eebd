/* The files in a directory that are parts of a journal, inside this room.
 *
 * A part is found by its name, which begins with the journal's, and put in its place by what it says: the boot that begins
 * it names the last event of the part before. So the names of logrotate are as good as ours. */
#ifndef JOURNAL_PARTS_INTERNAL_H
#define JOURNAL_PARTS_INTERNAL_H

#include <limits.h>
#include <stddef.h>

#include "journal/event_internal.h"

struct part {
    char name[NAME_MAX + 1];
    struct chain last;     /* its last event */
    struct chain previous; /* the last event of the part before; seq 0: none */
    char ts[32];           /* of its last event */
};

/* Owns its list until parts_finish. */
struct parts {
    struct part *list;
    size_t count, cap;
    char journal[NAME_MAX + 1]; /* the name of the part that is written to */
};

/* Finds the parts of the journal `name`, in no order. A file that is no journal is none of them. */
MUST_USE bool parts_list(int dir, const char *name, struct parts *ret_parts, struct buf *error);
void parts_finish(struct parts *parts);

const struct part *parts_named(const struct parts *parts, const char *name);
const struct part *parts_before(const struct parts *parts, const struct part *part);

/* The part that is over and that was written to last; NULL: there is none. */
const struct part *parts_newest(const struct parts *parts);

#endif
