/* The policy as a view of the system: what is hidden from a confined program, what it can write.
 *
 * A place is hidden only where the exact analysis proves that no call to it is allowed or waits for people, whatever
 * its tool, server or session. What a rule says of tools, arguments or sessions the kernel cannot know; such places
 * stay visible, and the view says which they are. Nothing here changes the system.
 *
 * A view owns its texts until view_finish. */
#ifndef CONFINE_VIEW_H
#define CONFINE_VIEW_H

#include "analysis/analysis.h"

enum view_kind {
    VIEW_HIDDEN,
    VIEW_KEPT, /* below a hidden directory, and seen all the same, because some call to it may be allowed */
    VIEW_WRITABLE,
    VIEW_FROZEN,  /* below a writable directory, and read-only all the same */
    VIEW_ABSENT,  /* named by a document, and not there: neither opened nor closed */
    VIEW_VISIBLE, /* named by a rule, and neither hidden nor kept: what the kernel does not enforce */
};

struct view_place {
    enum view_kind kind;
    struct slice path;
    struct slice why; /* for people */
};

struct view {
    struct arena arena;
    struct view_place *list;
    size_t count, cap;
    bool cut; /* not every entry below the working directory was looked at: see VIEW_ENTRIES_MOST */
};

/* Entries looked at below writable directories, in search of names that rules deny. */
#define VIEW_ENTRIES_MOST 200000u

/* A place that somebody named: the command line, or a document (SPEC.md section 16). */
struct view_named {
    struct slice path; /* absolute, canonical where it is there */
    const char *why;   /* for people; who named it */
    bool there;
};

struct view_options {
    const struct policy *policy;
    const struct path_base *base;
    const struct view_named *writable; /* what is not there is told, and not opened */
    size_t writable_count;
    const struct view_named
        *read; /* read-only wherever it lies, whatever is writable above, below or at it */
    size_t read_count;
    const struct slice *frozen; /* read-only where it lies below a writable place; may be missing */
    size_t frozen_count;
    struct slice state_dir;   /* of the gate: always hidden */
    struct slice gate_socket; /* where a broker outside judges: seen all the same; ptr NULL: none */
};

/* Works the view out. False with a line for people in ret_error. */
MUST_USE bool view_make(struct view *ret_view, const struct view_options *options, struct buf *ret_error);
void view_finish(struct view *view);

/* Appends the view in words, a line for each place. `landlock`: without what only namespaces give. */
void view_write(struct buf *buf, const struct view *view, bool landlock);

/* The arguments of callgate-confine for it: "--hide", PATH, … in the view's arena; ends with NULL. NULL without
 * memory. `network`: its option about the network; NULL: none. `landlock`: without namespaces. `extra`: room for so many more at the end. */
char **view_arguments(struct view *view, const char *program, const char *network, bool landlock,
                      size_t extra, size_t *ret_count);

#endif
