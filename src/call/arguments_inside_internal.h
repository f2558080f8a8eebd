/* The lists of arguments as they are for calls of one name; no other room includes it. */
#ifndef CALL_ARGUMENTS_INSIDE_INTERNAL_H
#define CALL_ARGUMENTS_INSIDE_INTERNAL_H

#include "call/arguments_internal.h"
#include "call/call.h"

/* Per list (enum argument_list) and kind of key, what documents changed. Borrows the arguments; made once for a name,
 * asked for each of its arguments. */
enum argument_key {
    ARGUMENT_KEY_SERVER_TOOL = 0, /* applied last, so asked first */
    ARGUMENT_KEY_TOOL,
    ARGUMENT_KEY_SERVER,
    ARGUMENT_KEY_ANY,
    ARGUMENT_KEYS,
};
struct argument_view {
    const struct argument_lists *arguments;
    uint32_t groups[ARGUMENT_LISTS][ARGUMENT_KEYS]; /* 0: nothing was changed under this key */
    bool built_in_tree;
    bool changed;    /* some group is not 0 */
    bool names_only; /* the tool lists names only: no entries are looked for below its trees */
    bool no_trees;   /* the tool does not go below a directory that it is given */
    bool greps;      /* its `pattern` is what is searched for */
};
struct argument_view argument_view_of(const struct argument_lists *arguments, const struct call_name *name);

/* Who says that an argument is one. */
enum argument_claim {
    ARGUMENT_CLAIM_NONE = 0,
    ARGUMENT_CLAIM_TAKEN,     /* it is none, because a document takes it away */
    ARGUMENT_CLAIM_WORKSPACE, /* a workspace file says so, and nobody else */
    ARGUMENT_CLAIM_SURE,
};

/* Whether an argument is one of a list, where `built_in` says whether it is one without any document. */
enum argument_claim argument_is(const struct argument_view *view, enum argument_list list,
                                struct slice argument, bool built_in);

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

/* Whether two names certainly have the same arguments, and their tools are treated alike. */
bool argument_views_alike(const struct argument_view *a, const struct argument_view *b);

/* ---- names.c: what an argument's name says by itself ---- */

enum name_class {
    NAME_PATH = 1u << 0,      /* a built-in path argument */
    NAME_URI = 1u << 1,       /* `uri` */
    NAME_BASE = 1u << 2,      /* at top level a base */
    NAME_COMMAND = 1u << 3,   /* a built-in command argument */
    NAME_COMMANDS = 1u << 4,  /* `commands` */
    NAME_URL = 1u << 5,       /* a built-in URL argument */
    NAME_HOST = 1u << 6,      /* `host` or `hostname` */
    NAME_PROSE = 1u << 7,     /* has a word of what is written, not named */
    NAME_PLACE = 1u << 8,     /* has a word of files and folders */
    NAME_DIRECTORY = 1u << 9, /* has a word of where commands start */
    NAME_PATTERN = 1u << 10,  /* `pattern` */
    NAME_GLOB = 1u << 11,     /* at top level a filter of entries */
    NAME_ARGS = 1u << 12,     /* `args` or `arguments` */
};

/* Classes of the names that were met, so that a name that is met again is not taken apart again. */
#define NAME_CACHE_SLOTS 128u
#define NAME_CACHE_BYTES 27u
struct name_cache {
    struct {
        uint8_t len; /* 0: free */
        char text[NAME_CACHE_BYTES];
        uint32_t classes;
    } slots[NAME_CACHE_SLOTS];
};
uint32_t name_classes(struct name_cache *cache, struct slice name);

#endif
