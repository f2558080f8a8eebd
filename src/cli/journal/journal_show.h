/* A journal for a person: one line an event. */
#ifndef CLI_JOURNAL_SHOW_H
#define CLI_JOURNAL_SHOW_H

#include <stdbool.h>
#include <stddef.h>

/* Which events. */
struct shown {
    bool decisions, denied;
    bool calls;          /* as calls, for `explain`: only decisions */
    const char *session; /* CHANNEL or CHANNEL/THREAD; NULL: every one */
};

int journal_show(const char *const *files, size_t count, const struct shown *shown);

#endif
