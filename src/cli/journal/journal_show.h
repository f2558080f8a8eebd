/* A journal for a person: one line an event. */
#ifndef CLI_JOURNAL_SHOW_H
#define CLI_JOURNAL_SHOW_H

#include "journal/reader.h"

/* Which events, and how. */
struct shown {
    struct journal_filter filter;
    bool calls;  /* as calls, for `explain`: only decisions */
    bool json;   /* as they stand in the journal */
    bool follow; /* and then what comes, until it is interrupted */
    size_t tail; /* only the last ones; 0: all */
};

int journal_show(const char *const *files, size_t count, const struct shown *shown);

#endif
