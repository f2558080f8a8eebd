/* How often each rule decided, and when last: read from the journal, kept in the state directory up to where
 * it was read, so that the next look reads only what came since. */
#ifndef CLI_COUNTS_H
#define CLI_COUNTS_H

#include "base/intern.h"

struct count {
    uint64_t allow, deny, require;
    char last[32]; /* the newest event's time, as text; "" for none */
};

/* Owns its rules' names and counts. */
struct counts {
    struct arena arena;
    struct intern rules;
    struct count *list; /* list[id - 1] */
    uint32_t cap;
    uint64_t seq;    /* of the last event counted */
    uint64_t offset; /* bytes of the journal that are counted */
};

/* Reads the counts of a state directory up to the end of its journal. False after saying why not. */
MUST_USE bool counts_read(struct counts *ret_counts, const char *state_dir);
void counts_finish(struct counts *counts);

/* A rule's count; zero for one that never decided. */
struct count counts_of(const struct counts *counts, struct slice rule);

#endif
