/* Which journals a command is about: those that are named, or else the one of a state directory. */
#ifndef CLI_JOURNALS_H
#define CLI_JOURNALS_H

#include "base/buffer.h"
#include "cli/command.h"

struct journals {
    const char *const *files;
    size_t count;
    const char *only;
    struct buf path; /* what `only` points to */
};

/* -1, or an exit code after saying what is wrong. `state`: the directory given with --state, or NULL. The
 * names are borrowed. journals_finish in any case; journals cannot be moved. */
int journals_find(struct journals *ret_journals, const struct command *command, const char *const *files,
                  size_t count, const char *state);
void journals_finish(struct journals *journals);

#endif
