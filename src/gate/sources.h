/* The policy files of a command: which, at which tier, read with the checks of SPEC.md section 2.
 *
 * A source set owns its names and texts. */
#ifndef GATE_SOURCES_H
#define GATE_SOURCES_H

#include "document/document.h"

/* Always loaded by the surfaces, if it is there, at the admin tier, before all others. */
#define SOURCES_ADMIN_FILE "/etc/callgate/policy.json"

struct source_file {
    const char *path;
    enum tier tier;
    bool at_tier;
    bool optional;    /* a standard place: may be missing */
    bool no_policy;   /* rules that came along with a hook: alone they are no policy */
    const char *text; /* the document itself, part of the program; `path` is its name. NULL: a file */
};

struct sources {
    struct source_file *files;
    size_t count;
    bool authored; /* files of the workspace tier alone are no policy: sources_load fails */
    struct arena arena;
};

MUST_USE bool sources_init(struct sources *sources);
void sources_finish(struct sources *sources);

/* Adds `[TIER=]FILE` as given to --policy. False with a message when TIER is no tier or memory ran out. A
 * name with no tier before its `=` is a file's name. */
MUST_USE bool sources_add(struct sources *sources, const char *argument, struct buf *ret_error);

/* Adds the standard places: SOURCES_ADMIN_FILE in front (all commands without --policy, and surfaces always),
 * and when `all`, behind it .config/callgate/policy.json under the home directory (tier user) and
 * .callgate/policy.json under the working directory (tier workspace). They may be missing. */
MUST_USE bool sources_add_places(struct sources *sources, const struct path_base *base, bool all);

/* Adds a copy of a file of another set. */
MUST_USE bool sources_add_file(struct sources *sources, const struct source_file *file);

/* Adds a document that is part of the program, in front of the others, as the operator's own: what a surface
 * knows of its callers' arguments. Later documents may take away what it adds. `text` is not copied. */
MUST_USE bool sources_add_built_in(struct sources *sources, const char *name, const char *text);

enum source_state {
    SOURCE_ABSENT, /* a standard place where no file is */
    SOURCE_USED,
    SOURCE_LEFT_OUT,  /* a workspace file that does not load, and never did */
    SOURCE_LAST_GOOD, /* a workspace file that does not load now: its last good form is used */
};
const char *source_state_name(enum source_state state);

/* The texts in use, one for each file, and what became of each. */
#define SOURCE_WHY_SIZE 512
struct source_texts {
    struct buf *list;
    enum source_state *states;
    char (*why)[SOURCE_WHY_SIZE]; /* of a workspace file that does not load: its first error; "" */
    size_t count;
};
void source_texts_finish(struct source_texts *texts);

/* Reads every file and loads them into one policy. An admin file is refused when it is no regular file, when
 * group or others can write it, or when it belongs to neither root nor this user, checked on the open
 * descriptor. What is wrong with a file itself (missing, unreadable, refused) is a finding with code "file"
 * and no place. NULL when there is no policy.
 *
 * `texts` may be NULL. Else it holds the last good forms from the load before (zeroed: there was none): a
 * workspace file that does not load now is taken in that form. On success it is replaced by the texts now in
 * use. */
MUST_USE struct policy *sources_load(const struct sources *sources, const struct path_base *base,
                                     struct source_texts *texts, struct findings *ret_errors);

/* Loads the texts that are in use once more, without reading any file. NULL when memory ran out. */
MUST_USE struct policy *sources_load_texts(const struct sources *sources, const struct path_base *base,
                                           const struct source_texts *texts);

/* Appends a line for each file, by name or at the user's place, that group or others can write: whoever can
 * may decide what the policy says. (An admin file is refused then; a workspace's is anyone's.) */
void sources_write_doubts(struct buf *buf, const struct sources *sources);

/* "FILE:LINE:COL: error: rule 'ID': …\n" for each finding. */
void sources_write_errors(struct buf *buf, const struct findings *errors);

#endif
