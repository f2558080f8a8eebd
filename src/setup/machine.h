/* What `callgate setup` does to a machine, and its undoing. For root, once.
 *
 * Before anything is changed, what stands there is kept under /var/lib/callgate-setup together with what will be
 * written. Undoing goes by that record alone: it restores content, mode and owner, and touches nothing that somebody
 * else has changed since. All paths are below `root`, which is "" for this machine. */
#ifndef SETUP_MACHINE_H
#define SETUP_MACHINE_H

#include "base/arena.h"
#include "base/buffer.h"

enum machine_kind {
    MACHINE_DIRECTORY,
    MACHINE_FILE,
    MACHINE_LINK,
};

struct machine_step {
    enum machine_kind kind;
    const char *path;
    struct slice text; /* of a file; of a link its target */
    const char *why;   /* for people */
};

#define MACHINE_STEPS_MOST 16u
struct machine_plan {
    struct machine_step steps[MACHINE_STEPS_MOST];
    size_t count;
};

/* Whether a machine was set up, and that not undone. */
bool machine_is_set_up(const char *root);

/* Does all steps, or undoes those that it did and says why. */
MUST_USE bool machine_do(const char *root, const struct machine_plan *plan, struct buf *ret_error);

/* Restores what machine_do changed; appends a line for each place. `by_force`: also what was changed since. False with
 * the places that were, and then nothing is restored; or with what failed. */
MUST_USE bool machine_undo(const char *root, bool by_force, struct buf *ret_report, struct buf *ret_error);

#endif
