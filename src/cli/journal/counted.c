/* Reads the counts of a state directory and says why it cannot. */
#include "cli/journal/counted.h"

#include <unistd.h>

#include "cli/command.h"
#include "gate/state.h"

bool counted_read(struct journal_counts *ret_counts, const char *state_dir)
{
    struct buf error;
    *ret_counts = (struct journal_counts){0};
    buf_init_message(&error, MESSAGE_BYTES);
    int dir = state_open(state_dir, &error);
    bool counted = dir >= 0 && journal_counts_read(ret_counts, dir, state_dir, STATE_JOURNAL, &error);
    if (!counted) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    if (dir >= 0) {
        (void)close(dir);
    }
    buf_finish(&error);
    return counted;
}
