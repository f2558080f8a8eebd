/* The text of a call of a box, with names that are like no others where the box is open. For this room only. */
#ifndef ANALYSIS_WITNESS_CALL_INTERNAL_H
#define ANALYSIS_WITNESS_CALL_INTERNAL_H

#include "analysis/witness_internal.h"

/* The names that are tried for one path argument. */
#define WITNESS_PATH_KEYS 8u
extern const char *const witness_path_keys[WITNESS_PATH_KEYS];

/* What a candidate is made of. */
struct candidate {
    const struct box *box;
    uint32_t point;
    enum witness_level level;
    struct slice server; /* ptr NULL: none */
    struct slice tool;
    bool with_path;       /* w->path is one more path */
    size_t key;           /* index in witness_path_keys, when the tool has no tree arguments */
    struct slice own_key; /* ptr NULL, or the only key for the path */
    bool number;          /* that key gets a number */
    bool as_written;      /* loose arguments have the values that stand in a match */
};

/* Writes a tool's name that begins with `prefix` (a symbol or 0) and is like no other. */
bool witness_write_fresh_tool(struct witness *w, struct buf *buf, uint32_t prefix);

/* Writes a path of the box that is like nothing else to w->path. */
bool witness_make_path(struct witness *w, const struct box *box);

/* Whether the box has an argument of this name already. */
bool witness_clashes(const struct witness *w, const struct box *box, struct slice key);

/* Writes the candidate's call to w->call. */
void witness_write_call(struct witness *w, const struct candidate *c);

#endif
