/* What the files of this room share; no other room includes it. */
#ifndef PATH_INTERNAL_H
#define PATH_INTERNAL_H

#include "path/path.h"

/* ---- canonical.c ---- */

/* Looks at what a path names itself, not following a last link; false unless something is there. */
MUST_USE bool path_look(const char *path, struct path_step *ret_step);

/* Whether a component of text is `..`: without one the two modes are the same. */
bool path_has_dotdot(struct slice text);

/* Whether a text is `~` or begins with `~/`, and then what stands behind, relative to the home directory. */
bool path_is_home(struct slice text);
struct slice path_below_home(struct slice text);

/* Where relative strings start, with the state of a resolution that has walked its text (the kernel's way),
 * so that each string goes on from there. Texts and steps are borrowed. */
struct path_start {
    struct slice text;
    bool usable;   /* an absolute path, and none of its parts too long */
    bool dotdot;   /* the text has a `..` */
    bool walked;   /* the rest is set */
    bool readable; /* the walk succeeded */
    struct slice canonical;
    const struct path_step *steps;
    size_t step_count;
    unsigned links;
};

/* Resolves what stands in `start` (walked, readable) and then `text`, which has no NUL, the kernel's way. */
void path_resolve_on(struct path_resolved *ret, const struct path_start *start, struct slice text);

/* Resolves `text` and then `then`, which have no NUL, the kernel's way from a step of the path that `place`
 * holds, and replaces that. */
void path_resolve_again(struct path_resolved *place, size_t step, struct slice text, struct slice then);

/* ---- arguments.c ---- */

/* The lists as they are for calls of one name: per list (enum path_list) and kind of key, what documents
 * changed. Borrows the arguments; made once for a name, asked for each of its arguments. */
enum path_key {
    PATH_KEY_SERVER_TOOL = 0, /* applied last, so asked first */
    PATH_KEY_TOOL,
    PATH_KEY_ANY,
    PATH_KEYS,
};
struct path_argument_view {
    const struct path_arguments *arguments;
    uint32_t groups[2][PATH_KEYS]; /* 0: nothing was changed under this key */
    bool built_in_tree;
    bool changed; /* some group is not 0 */
};
struct path_argument_view path_argument_view_of(const struct path_arguments *arguments,
                                                const struct call_name *name);

/* Who says that an argument is one. */
enum path_claim {
    PATH_CLAIM_NONE = 0,
    PATH_CLAIM_WORKSPACE, /* a workspace file, and nobody else */
    PATH_CLAIM_SURE,
};

/* Whether an argument at any depth is a path. */
enum path_claim path_argument_is_path(const struct path_argument_view *view, struct slice argument);

/* Whether an argument at top level names a whole tree. */
enum path_claim path_argument_is_tree(const struct path_argument_view *view, struct slice argument);

/* Walks the names of tree arguments, each once: the built-in one, then as they were added. Starts with {0};
 * false at the end. */
struct path_tree_position {
    unsigned stage;
    uint32_t change;
};
bool path_argument_next_tree(const struct path_argument_view *view, struct path_tree_position *position,
                             struct slice *ret_argument);

/* Whether two names certainly have the same path and tree arguments. */
bool path_argument_views_alike(const struct path_argument_view *a, const struct path_argument_view *b);

/* ---- prefixes.c ---- */

/* The first prefix that was this file at load, or 0, and the next such one. */
uint32_t path_prefixes_of_file(const struct path_prefixes *prefixes, dev_t dev, ino_t ino);
uint32_t path_prefixes_next_of_file(const struct path_prefixes *prefixes, uint32_t id);

/* The prefixes that were no directories at load. */
const uint32_t *path_prefixes_files(const struct path_prefixes *prefixes, size_t *ret_count);

/* Calls `visit` with each prefix that is below a canonical path and not equal to it, in no order, until it
 * returns false. */
bool path_prefixes_below(const struct path_prefixes *prefixes, struct slice path,
                         bool (*visit)(void *context, uint32_t id), void *context);

/* ---- uri.c ---- */

/* Whether a string begins with `file:`: in any case, bytes up to a space before it ignored. */
bool path_is_uri(struct slice text);

/* ---- places.c: one string of a call to its readings ---- */

/* A canonical path that was met under the present name. */
struct path_slot {
    uint32_t generation; /* another one: free */
    uint32_t reading;    /* its index in the list */
    uint64_t hash;
    bool spelt;    /* its same-file spellings were added */
    bool expanded; /* and the prefixes below it */
};

/* A prefix that is the same file as a step of the path at hand. */
struct path_match {
    uint32_t prefix;
    uint32_t step;
};

/* What a prefix that was no directory at load is now. */
struct path_now {
    dev_t dev;
    ino_t ino;
    uint32_t prefix;
};

#define PATH_TEXT_LEVELS 32 /* each level of array texts doubles the text: 16 MiB have fewer than 24 */

/* What readings_make works with; kept from call to call for its memory. */
struct path_scratch {
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
    struct path_slot *slots;
    size_t slot_mask, slots_used;
    uint32_t generation;

    struct path_start top, home; /* the root and the home directory */
    struct path_start *starts;   /* in the arena; made when the first relative string is met */
    size_t start_count;
    bool starts_made;

    struct path_match *matches;
    size_t match_count, match_cap;
    struct path_now *now; /* sorted; made when the first file with several links is met */
    size_t now_count, now_cap;
    bool now_made;
    uint32_t *ids;
    size_t id_count, id_cap;
    struct buf uri;
    char spelt[2 * LIMIT_PATH_BYTES + 1];

    struct json_doc texts[PATH_TEXT_LEVELS];
    unsigned texts_made;
};

/* Where a reading comes from. */
struct path_origin {
    uint32_t value; /* index in the call's document */
    bool tree;
};

/* All false only without memory, or when the call is over the limit of work (scratch->over). */
MUST_USE bool path_places_init(struct path_scratch *scratch);
void path_places_finish(struct path_scratch *scratch);
void path_places_begin_call(struct path_scratch *scratch);
void path_places_begin_name(struct path_scratch *scratch, uint16_t name);
MUST_USE bool path_places_add_plain(struct path_scratch *scratch, struct path_origin origin,
                                    struct slice text);
MUST_USE bool path_places_add_uri(struct path_scratch *scratch, struct path_origin origin, struct slice text);
MUST_USE bool path_places_add_unreadable(struct path_scratch *scratch, struct path_origin origin);

/* Whether an argument at top level is a base. */
bool path_is_base_name(struct slice name);

/* Appends a reading as it is. */
MUST_USE bool path_places_append(struct path_scratch *scratch, struct reading reading);

/* ---- same_file.c ---- */

/* Finds the prefixes that are the same file as a step of the path in the workspace, in the order of loading,
 * the deepest step first. False only without memory. */
MUST_USE bool path_find_matches(struct path_scratch *scratch);

/* A match's prefix with the rest of that path: in scratch->spelt, and perhaps too long for a path. */
struct slice path_spell(struct path_scratch *scratch, const struct path_match *match);

/* Room for `count` elements and one more; false without memory or beyond `most`. */
MUST_USE bool path_grow(void **array, size_t count, size_t *cap, size_t size, size_t most);

#endif
