/* How often each rule decided, and when last: read from the journal, kept in the state directory up to where it was read,
 * so that the next look reads only what came since. */
#ifndef JOURNAL_COUNTS_H
#define JOURNAL_COUNTS_H

#include "base/buffer.h"
#include "base/intern.h"

struct journal_count {
    uint64_t allow, deny, require;
    char last[32]; /* the newest event's time, as text; "" for none */
};

/* Owns its rules' names and counts until journal_counts_finish. */
struct journal_counts {
    struct arena arena;
    struct intern rules;
    struct journal_count *list; /* list[id - 1] */
    uint32_t cap;
    uint64_t seq;           /* of the last event counted */
    uint64_t offset, inode; /* bytes of which file of the journal are counted */
};

/* Reads the counts of a state directory (open, and its path) up to the end of its journal `name`, over all parts. False
 * with a message. journal_counts_finish in any case. */
MUST_USE bool journal_counts_read(struct journal_counts *ret_counts, int dir, const char *dir_path,
                                  const char *name, struct buf *ret_error);
void journal_counts_finish(struct journal_counts *counts);

/* A rule's count; zero for one that never decided. */
struct journal_count journal_counts_of(const struct journal_counts *counts, struct slice rule);

#endif
