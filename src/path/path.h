/* From strings to canonical paths, from a call to its readings. SPEC.md section 4.
 *
 * This is the only room that looks at files for a decision. It reads nothing but names, links and inode
 * numbers: never a file's content. Bytes are compared; nothing is case-folded or normalised. */
#ifndef PATH_PATH_H
#define PATH_PATH_H

#include <sys/types.h>

#include "path/call.h"

/* Where relative paths and `~` start. Absolute paths as text; cwd and roots need not be canonical.
 * Borrowed. */
struct path_base {
    struct slice cwd, home;
    const struct slice *roots;
    size_t root_count;
};

/* ---- One string to one canonical path ---- */

enum path_mode {
    PATH_TEXTUAL, /* `..` removed from the text before links are followed: what most runtimes do */
    PATH_KERNEL,  /* `..` taken after links are followed: what the kernel does */
};

/* What one existing component on the way to a canonical path is. */
struct path_step {
    dev_t dev;
    ino_t ino;
    uint16_t end; /* the canonical path's first `end` bytes name it; the root's is 1 */
    bool directory;
    bool linked; /* not a directory, and has more than one name */
};

/* The result of one resolution, and its workspace: about 230 KB, most of them touched only when links are
 * followed, so keep it off the stack. Owns nothing. */
#define PATH_MAX_STEPS (LIMIT_PATH_BYTES / 2 + 2)
struct path_resolved {
    bool readable;
    bool exists; /* the whole path does */
    size_t len;
    char text[LIMIT_PATH_BYTES + 1]; /* a NUL follows the path */
    size_t step_count;               /* the existing components, the root first */
    struct path_step steps[PATH_MAX_STEPS];

    /* The rest is the resolver's own: how many links were followed, a directory that it holds during the
     * walk, what is still to be walked (the innermost text last), and the texts that it points into. */
    unsigned links;
    size_t work; /* components walked, those of links included; one asked of the kernel counts 16 */
    int held;
    size_t held_len, held_steps;
    size_t rest_count;
    struct slice rest[LIMIT_LINKS + 2];
    char reduced[2 * LIMIT_PATH_BYTES + 2];
    char targets[LIMIT_LINKS][LIMIT_PATH_BYTES + 1];
};

/* Resolves `text` from the directory `start` (absolute text; used only when `text` is relative): the two are
 * joined by a slash and read as one. What does not exist, or lies below a file, is kept; `..` removes it
 * again. Unreadable: a NUL, a text, a start or a canonical path of more than LIMIT_PATH_BYTES, a start that
 * is not absolute, a loop or more than LIMIT_LINKS links, a symbolic link under /proc, and anything on the
 * way that neither exists nor does not. */
void path_resolve(struct path_resolved *ret, struct slice start, struct slice text, enum path_mode mode);

/* Whether a canonical path is equal to or below another: at a component boundary; `/` is above every one. */
bool path_is_under(struct slice path, struct slice above);

/* Whether some component of a canonical path is `pattern`, ends with it (`*x`) or begins with it (`x*`). */
bool path_has_component(struct slice path, struct slice pattern);

/* Decodes a `file:` URI and appends the path. A failure of ret_path gives PATH_URI_UNREADABLE. */
enum path_uri {
    PATH_URI_NONE,       /* does not begin with `file:` */
    PATH_URI_UNREADABLE, /* does, and is not one of the forms that are read */
    PATH_URI_OK,
};
enum path_uri path_decode_uri(struct slice text, struct buf *ret_path);

/* ---- Which arguments are paths ---- */

enum path_list {
    PATH_LIST_PATHS, /* pathArguments */
    PATH_LIST_TREES, /* treeArguments */
};

/* The built-in lists and what documents add and take away. Owned by whoever creates it (a policy); immutable
 * once the loading is over. */
struct path_arguments;
MUST_USE struct path_arguments *path_arguments_create(void);
void path_arguments_destroy(struct path_arguments *arguments);

/* One entry of a document: `key` is a tool's name, `SERVER/TOOL` or `*`; `name` is an argument's, or `-` and
 * an argument's. In the order of the documents. What a workspace file adds gives a call more readings and
 * takes none away: the reading without a path stays if nothing but such names gives the call paths. False
 * when there is no memory. */
enum path_source {
    PATH_SOURCE_OPERATOR,
    PATH_SOURCE_WORKSPACE, /* an agent can write it */
};
MUST_USE bool path_arguments_change(struct path_arguments *arguments, enum path_list list, struct slice key,
                                    struct slice name, enum path_source source);

/* ---- The prefixes of the loaded rules ---- */

struct path_prefix {
    struct slice path; /* canonical */
    dev_t dev;
    ino_t ino;
    bool exists;    /* at load */
    bool directory; /* at load */
};

/* Every distinct canonical prefix of a policy, in the order in which the first rule with each was loaded.
 * Owns its texts. Immutable once the loading is over. */
struct path_prefixes {
    struct path_prefix *list; /* a prefix's id is its index + 1 */
    uint32_t count;
    struct path_prefix_tables *tables; /* by text, by file, by nesting: the room's own */
};

struct path_prefixes *path_prefixes_create(void);
void path_prefixes_destroy(struct path_prefixes *prefixes);

enum path_prefix_result {
    PATH_PREFIX_NO_MEMORY = 0,
    PATH_PREFIX_UNREADABLE,
    PATH_PREFIX_AMBIGUOUS, /* `..` before and after links give two different places */
    PATH_PREFIX_OK,
};

/* Canonicalises a rule's pathPrefix from base->cwd (`~` and `~/…` mean home) and gives its id (from 1). When
 * ambiguous, ret_two, if not NULL, gets both places as "A and B" for the message. */
MUST_USE enum path_prefix_result path_prefixes_add(struct path_prefixes *prefixes,
                                                   const struct path_base *base, struct slice text,
                                                   uint32_t *ret_id, struct buf *ret_two);

/* Call once when all are added: builds the tables for readings and for path_prefixes_above. */
MUST_USE bool path_prefixes_seal(struct path_prefixes *prefixes);

/* Calls with each prefix that is equal to or above a canonical path, the shortest first. Linear in the path's
 * length. Returns how many there are; writes at most `max` ids. Allocates nothing. */
size_t path_prefixes_above(const struct path_prefixes *prefixes, struct slice path, uint32_t *ret_ids,
                           size_t max);

/* ---- A call's readings ---- */

enum reading_kind {
    READING_UNREADABLE = 0,
    READING_NO_PATH = 1,
    READING_PATH = 2,
};

/* Where a reading came from, for explain and for the people who approve. */
enum reading_form {
    READING_FORM_NONE,
    READING_FORM_WRITTEN, /* as written */
    READING_FORM_HOME,    /* `~` as the home directory */
    READING_FORM_URI,     /* a file: URI decoded */
};
enum reading_via {
    READING_VIA_RESOLUTION,
    READING_VIA_SAME_FILE, /* a loaded prefix that is the same file under another spelling */
    READING_VIA_TREE,      /* a loaded prefix inside a tree argument */
};

struct reading {
    uint8_t kind;   /* enum reading_kind */
    uint8_t form;   /* enum reading_form */
    uint8_t via;    /* enum reading_via */
    uint8_t mode;   /* enum path_mode */
    uint16_t name;  /* index in call->names */
    uint32_t value; /* index in call->doc->values of the string (or unreadable value) it came from; 0: none */
    struct slice start; /* the directory a relative string started from; empty for an absolute one */
    struct slice path;  /* canonical; empty unless kind is READING_PATH */
};

/* The readings of one call, in the order of SPEC.md section 4, equal ones once. Owns them until the next
 * readings_make or readings_finish. Reused for many calls it settles on no allocations. */
struct readings {
    struct reading *list;
    size_t count, cap;
    struct arena arena;
    struct path_resolved *workspace;
    size_t strings; /* how many strings were read as paths */
    void *scratch;  /* the room's own */
};

enum readings_result {
    READINGS_NO_MEMORY = 0, /* deny */
    READINGS_OVER_LIMIT, /* deny: more than LIMIT_CALL_PATHS strings are read as paths, or they are more work
                            than LIMIT_CALL_WORK */
    READINGS_OK,
};

enum readings_flags {
    READINGS_REMOTE = 1,     /* the server's paths are not this machine's: no path argument is read */
    READINGS_NO_RESOLVE = 2, /* no rule can depend on a path: count the strings, look at no file, give one
                                reading without a path for each name */
};

MUST_USE bool readings_init(struct readings *readings);
void readings_finish(struct readings *readings);

/* Makes the readings of a call. Looks at files, so two runs may differ: the caller keeps what was judged. */
MUST_USE enum readings_result readings_make(struct readings *readings, const struct call *call,
                                            const struct path_base *base,
                                            const struct path_arguments *arguments,
                                            const struct path_prefixes *prefixes, unsigned flags);

#endif
