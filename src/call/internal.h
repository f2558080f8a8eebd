/* What the files of this room share; no other room includes it. */
#ifndef CALL_INTERNAL_H
#define CALL_INTERNAL_H

#include "call/readings.h"

/* ---- arguments.c ---- */

/* The lists as they are for calls of one name: per list (enum argument_list) and kind of key, what documents
 * changed. Borrows the arguments; made once for a name, asked for each of its arguments. */
enum argument_key {
    ARGUMENT_KEY_SERVER_TOOL = 0, /* applied last, so asked first */
    ARGUMENT_KEY_TOOL,
    ARGUMENT_KEY_ANY,
    ARGUMENT_KEYS,
};
struct argument_view {
    const struct argument_lists *arguments;
    uint32_t groups[2][ARGUMENT_KEYS]; /* 0: nothing was changed under this key */
    bool built_in_tree;
    bool changed; /* some group is not 0 */
};
struct argument_view argument_view_of(const struct argument_lists *arguments, const struct call_name *name);

/* Who says that an argument is one. */
enum argument_claim {
    ARGUMENT_CLAIM_NONE = 0,
    ARGUMENT_CLAIM_WORKSPACE, /* a workspace file, and nobody else */
    ARGUMENT_CLAIM_SURE,
};

/* Whether an argument at any depth is a path. */
enum argument_claim argument_is_path(const struct argument_view *view, struct slice argument);

/* Whether an argument at top level names a whole tree. */
enum argument_claim argument_is_tree(const struct argument_view *view, struct slice argument);

/* Walks the names of tree arguments, each once: the built-in one, then as they were added. Starts with {0};
 * false at the end. */
struct tree_position {
    unsigned stage;
    uint32_t change;
};
bool argument_next_tree(const struct argument_view *view, struct tree_position *position,
                        struct slice *ret_argument);

/* Whether two names certainly have the same path and tree arguments. */
bool argument_views_alike(const struct argument_view *a, const struct argument_view *b);

/* ---- places.c: one string of a call to its readings ---- */

/* A canonical path that was met under the present name. */
struct slot {
    uint32_t generation; /* another one: free */
    uint32_t reading;    /* its index in the list */
    uint64_t hash;
    bool spelt;    /* its same-file spellings were added */
    bool expanded; /* and the prefixes below it */
};

/* A prefix that is the same file as a step of the path at hand. */
struct same_file {
    uint32_t prefix;
    uint32_t step;
};

/* What a prefix that was no directory at load is now. */
struct file_now {
    dev_t dev;
    ino_t ino;
    uint32_t prefix;
};

#define TEXT_LEVELS 32 /* each level of array texts doubles the text: 16 MiB have fewer than 24 */

/* What readings_make works with; kept from call to call for its memory. */
struct scratch {
    struct readings *out;
    const struct call *call;
    const struct path_base *base;
    const struct path_prefixes *prefixes;
    unsigned flags;

    uint16_t name;    /* the present one */
    bool unreadable;  /* it has an unreadable reading */
    bool other_paths; /* it has a path that is not a base's, and not for a workspace file's sake alone */
    size_t strings;

    size_t work; /* of all names of the call */
    bool over;   /* that is more than a call may cost */

    uint64_t seed;
    struct slot *slots;
    size_t slot_mask, slots_used;
    uint32_t generation;

    struct path_start top, home; /* the root and the home directory */
    struct path_start *starts;   /* in the arena; made when the first relative string is met */
    size_t start_count;
    bool starts_made;

    struct same_file *matches;
    size_t match_count, match_cap;
    struct file_now *now; /* sorted; made when the first file with several links is met */
    size_t now_count, now_cap;
    bool now_made;
    uint32_t *ids;
    size_t id_count, id_cap;
    struct buf uri;
    char spelt[2 * LIMIT_PATH_BYTES + 1];

    struct json_doc texts[TEXT_LEVELS];
    unsigned texts_made;
};

/* Where a reading comes from. */
struct origin {
    uint32_t value; /* index in the call's document */
    bool tree;
};

/* All false only without memory, or when the call is over the limit of work (scratch->over). */
MUST_USE bool places_init(struct scratch *scratch);
void places_finish(struct scratch *scratch);
void places_begin_call(struct scratch *scratch);
void places_begin_name(struct scratch *scratch, uint16_t name);
MUST_USE bool places_add_plain(struct scratch *scratch, struct origin origin, struct slice text);
MUST_USE bool places_add_uri(struct scratch *scratch, struct origin origin, struct slice text);
MUST_USE bool places_add_unreadable(struct scratch *scratch, struct origin origin);

/* Whether an argument at top level is a base. */
bool is_base_name(struct slice name);

/* Appends a reading as it is. */
MUST_USE bool places_append(struct scratch *scratch, struct reading reading);

/* ---- same_file.c ---- */

/* Finds the prefixes that are the same file as a step of the path in the workspace, in the order of loading,
 * the deepest step first. False only without memory. */
MUST_USE bool same_files_find(struct scratch *scratch);

/* A match's prefix with the rest of that path: in scratch->spelt, and perhaps too long for a path. */
struct slice same_file_spell(struct scratch *scratch, const struct same_file *match);

/* Room for `count` elements and one more; false without memory or beyond `most`. */
MUST_USE bool call_grow(void **array, size_t count, size_t *cap, size_t size, size_t most);

#endif
