/* Which journals a command is about: those that are named, or else the one of a state directory with all of its parts. */
#ifndef CLI_JOURNALS_H
#define CLI_JOURNALS_H

#include "base/buffer.h"
#include "cli/command.h"
#include "journal/reader.h"

struct journals {
    const char *const *files;
    size_t count;
    const char *dir;            /* the state directory, if no file was named */
    struct buf path;            /* owns `dir` */
    struct journal_parts parts; /* owns the names unless they were given */
};

/* -1, or an exit code after saying what is wrong. `state`: the directory given with --state, or NULL. The
 * names are borrowed. journals_finish in any case. */
int journals_find(struct journals *ret_journals, const struct cli_command *command, const char *const *files,
                  size_t count, const char *state);
void journals_finish(struct journals *journals);

#endif
