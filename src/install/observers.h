/* Where `--observe` stands: hooks and gates that deny and hold nothing, found to be told of and to be ended.
 *
 * What `hook install` and `wrap` wrote is remembered in the state directory, beside the places where hosts look by
 * themselves. */
#ifndef INSTALL_OBSERVERS_H
#define INSTALL_OBSERVERS_H

#include "install/install.h"

struct observer {
    struct install_place place; /* of a hook; host NULL: a server of an MCP configuration */
    struct installed_hook hook; /* the first of that place */
    const char *file;           /* the settings or the configuration */
    struct slice server;
    const char *state; /* its --state; NULL: the default place */
};

/* Finds them all, in the arena. What cannot be read is told in ret_report, a line each, and passed over. False when
 * memory ran out. */
MUST_USE bool observers_find(const char *state_dir, struct slice home, struct slice project,
                             struct arena *arena, struct observer **ret_list, size_t *ret_count,
                             struct buf *ret_report);

/* Appends "the hook of claude-code in FILE", "the gate of server NAME in FILE". */
void observer_write(struct buf *buf, const struct observer *observer);

/* Takes --observe out of the settings or the configuration; what is done is told in ret_report. `state_dir` is the
 * default place, where it has no --state. False with a message. */
MUST_USE bool observer_end(const struct observer *observer, const char *state_dir, bool dry_run,
                           struct buf *ret_report, struct buf *ret_error);

#endif
