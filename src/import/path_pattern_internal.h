/* Path patterns as Claude Code has them, gitignore's: what of them a match can say. Nothing outside src/import
 * includes this. */
#ifndef IMPORT_PATH_PATTERN_INTERNAL_H
#define IMPORT_PATH_PATTERN_INTERNAL_H

#include "base/arena.h"
#include "base/buffer.h"

/* Where patterns that are not absolute start. A ptr of NULL: it is not known. */
struct import_places {
    struct slice source;  /* of `/path` */
    struct slice working; /* of `path` and `./path`; not known: that of whoever loads the policy */
};

enum import_path_result {
    IMPORT_PATH_NONE = 0, /* nothing of it can be said; `note` says why */
    IMPORT_PATH_EXACT,
    IMPORT_PATH_MORE,      /* the match covers more than the pattern; `note` says what */
    IMPORT_PATH_LESS,      /* the match covers less */
    IMPORT_PATH_EXCEPTION, /* `!…`: takes paths out of rules before it */
};

/* What a match would have; ptr NULL: without this field. Lives in the arena. */
struct import_path {
    struct slice prefix, component;
    const char *note;
};

/* widen: the match may cover more than the pattern (of a deny or an ask), else only less (of an allow). */
enum import_path_result import_path_read(struct slice pattern, bool widen, const struct import_places *places,
                                         struct arena *arena, struct import_path *ret_path);

#endif
