/* The walk over the values of a document, for what the call's own arguments are and for what is read aside; no other
 * room includes it. */
#ifndef CALL_WALK_INTERNAL_H
#define CALL_WALK_INTERNAL_H

#include "base/fold.h"
#include "call/internal.h"

/* A value that the walk comes to. */
struct walked {
    const struct json_doc *doc;
    const struct json_value *value;
    const struct json_value *object, *key; /* the member that it is; NULL for an element of an array */
    uint32_t context;                      /* enum context */
    bool argument;                         /* it is a member of the input itself */
};

struct walk {
    bool (*scalar)(struct scratch *scratch, const struct walked *walked);
    bool (*command)(struct scratch *scratch,
                    const struct walked *walked); /* a command argument; NULL: not asked */
    bool top;                                     /* the root's members are arguments at top level */
};

/* Walks all that stands in `root`, an array or an object, depth first. */
MUST_USE bool walk_values(struct scratch *scratch, const struct walk *walk, const struct json_doc *doc,
                          const struct json_value *root, uint32_t context);

/* Whether a text may be that of a container between two brackets: worth a parse. */
bool walk_looks_like(struct slice text, char open, char close);

/* Whether a text begins as a URL of which hosts are read. */
bool walk_begins_as_url(struct slice text);

/* Reads the value of a command argument. commands.c. */
MUST_USE bool commands_take(struct scratch *scratch, const struct walked *walked);

/* Calls `add` with each text that a pathspec of git with magic (`:(top)NAME`, `:/NAME`, `:!NAME`) may mean, none
 * empty; with none for any other text. They stand until the call's readings end. pathspec.c. */
MUST_USE bool pathspec_each(struct scratch *scratch, const struct origin *origin, struct slice text,
                            bool (*add)(struct scratch *scratch, const struct origin *origin,
                                        struct slice text));

/* Whether a string may be read aside in some way: quick, and right where it says no. aside.c. */
bool aside_may_count(struct scratch *scratch, struct slice text, uint32_t context);

#endif
