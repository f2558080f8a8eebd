/* The counts of a state directory, for the commands that show them. */
#ifndef CLI_JOURNAL_COUNTED_H
#define CLI_JOURNAL_COUNTED_H

#include "journal/counts.h"

/* False after saying why not; journal_counts_finish in any case. */
MUST_USE bool counted_read(struct journal_counts *ret_counts, const char *state_dir);

#endif
