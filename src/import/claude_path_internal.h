/* Path patterns of Claude Code's permission rules: what of them a match can say. Nothing outside src/import
 * includes this. */
#ifndef IMPORT_CLAUDE_PATH_INTERNAL_H
#define IMPORT_CLAUDE_PATH_INTERNAL_H

#include "base/arena.h"
#include "base/buffer.h"

/* Where patterns that are not absolute start. A ptr of NULL: it is not known. */
struct claude_places {
    struct slice source;  /* of `/path` */
    struct slice working; /* of `path` and `./path`; not known: that of whoever loads the policy */
};

enum claude_path_result {
    CLAUDE_PATH_NONE = 0, /* nothing of it can be said; `note` says why */
    CLAUDE_PATH_EXACT,
    CLAUDE_PATH_MORE,      /* the match covers more than the pattern; `note` says what */
    CLAUDE_PATH_LESS,      /* the match covers less */
    CLAUDE_PATH_EXCEPTION, /* `!…`: takes paths out of rules before it */
};

/* What a match would have; ptr NULL: without this field. Lives in the arena. */
struct claude_path {
    struct slice prefix, component;
    const char *note;
};

/* widen: the match may cover more than the pattern (of a deny or an ask), else only less (of an allow). */
enum claude_path_result claude_path_read(struct slice pattern, bool widen, const struct claude_places *places,
                                         struct arena *arena, struct claude_path *ret_path);

#endif
