/* From one string to its canonical paths; the prefixes of the loaded rules. SPEC.md section 4.1.
 *
 * This is the only room that looks at files for a decision. It reads nothing but names, links and inode
 * numbers: never a file's content. Bytes are compared; nothing is case-folded or normalised. */
#ifndef PATH_PATH_H
#define PATH_PATH_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/limits.h"

/* Where relative paths and `~` start. Absolute paths as text; cwd and roots need not be canonical.
 * Borrowed. */
struct path_base {
    struct slice cwd, home;
    struct slice server_home; /* the server's own HOME, if that is another; else empty */
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
    size_t link_len; /* when the text's last component, a `.` left out, is a link: its name itself, else 0 */
    size_t
        target_at; /* the canonicaliser's own: how many texts stand below the first link's that is walked */
    char link[LIMIT_PATH_BYTES + 1];

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

/* An absolute path of the two without `.` and `..`, links not looked at; `/` when one of them is too long. */
#define PATH_TEXTUAL_BYTES (2 * LIMIT_PATH_BYTES + 2)
struct slice path_textual(struct slice start, struct slice text, char room[PATH_TEXTUAL_BYTES]);

/* Whether a canonical path is equal to or below another: at a component boundary; `/` is above every one. */
bool path_is_under(struct slice path, struct slice above);

/* Whether some component of a canonical path is `pattern`, ends with it (`*x`) or begins with it (`x*`). */
bool path_has_component(struct slice path, struct slice pattern);

/* Whether a string begins with `file:`: in any case, white space before it ignored. */
bool path_is_uri(struct slice text);

/* Whether it does to every reader: behind ASCII's spaces and control characters only. */
bool path_is_uri_to_all(struct slice text);

/* Decodes a `file:` URI and appends the path. A failure of ret_path gives PATH_URI_UNREADABLE. */
enum path_uri {
    PATH_URI_NONE,       /* does not begin with `file:` */
    PATH_URI_UNREADABLE, /* does, and is not one of the forms that are read */
    PATH_URI_OK,
};
enum path_uri path_decode_uri(struct slice text, struct buf *ret_path);

/* ---- Other forms of a string ---- */

/* Whether a text is `~` or begins with `~/`, and then what stands behind, relative to the home directory. */
bool path_is_home(struct slice text);
struct slice path_below_home(struct slice text);

/* Whether a text begins with `~NAME`, and then the name and what stands behind, relative to that user's home. */
bool path_is_user_home(struct slice text, struct slice *ret_name, struct slice *ret_rest);

/* Appends the home directory of a user; false when the user database has no such user. */
MUST_USE bool path_user_home(struct slice name, struct buf *ret_home);

bool path_is_ascii(struct slice text);

/* The Unicode normal forms. True, and the form in *ret_text, when it differs from the text; that stands until the
 * next one is made. False too for a text that is no UTF-8, or longer than a path. */
enum path_normal {
    PATH_NORMAL_NFC,
    PATH_NORMAL_NFD,
};
struct path_unicode;
MUST_USE struct path_unicode *path_unicode_create(void);
void path_unicode_destroy(struct path_unicode *unicode);
bool path_normal_form(struct path_unicode *unicode, struct slice text, enum path_normal form,
                      struct slice *ret_text);

/* The text without white space, Unicode's included, at its ends. */
struct slice path_trim(struct slice text);

/* ---- Parts of a resolution, for who resolves many strings from the same starts ---- */

/* Looks at what a path names itself, not following a last link; false unless something is there. */
MUST_USE bool path_look(const char *path, struct path_step *ret_step);

/* Whether a component of text is `..`: without one the two modes are the same. */
bool path_has_dotdot(struct slice text);

/* Whether a text is empty or of slashes and `.` alone: as a relative one it is where it starts. */
bool path_is_here(struct slice text);

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
    bool relative; /* some were resolved from the working directory or the home directory */
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

/* A number that no other prefixes have. */
uint64_t path_prefixes_serial(const struct path_prefixes *prefixes);

/* Calls `visit` with each prefix that is below a canonical path and not equal to it, in no order, until it
 * returns false. */
bool path_prefixes_below(const struct path_prefixes *prefixes, struct slice path,
                         bool (*visit)(void *context, uint32_t id), void *context);

/* ---- Trees: the entries below a directory ---- */

/* Patterns of pathComponent, made ready for many names. Borrows the patterns. */
struct path_names;
MUST_USE struct path_names *path_names_create(const struct slice *patterns, size_t count);
void path_names_destroy(struct path_names *names);
bool path_names_have(const struct path_names *names, struct slice name);

/* Whether a name is `pattern`, ends with it (`*x`) or begins with it (`x*`). */
bool path_name_meets(struct slice name, struct slice pattern);

/* Whether a name is one that a pattern with `*`, `?` and `[…]` stands for. A name's leading dot is no exception. */
bool path_glob_meets(struct slice pattern, struct slice name);

/* Which entries are asked for, and where they go. */
struct path_ask {
    const struct path_names *names; /* NULL: every name */
    const struct slice *filters;    /* globs, one of which must meet the name too; none: every name */
    size_t filter_count;
    bool hidden; /* entries whose names begin with `.` count, and are gone into */
    bool deep;   /* the directories below, too; links are not followed */
    bool (*found)(void *context, struct slice path); /* false ends the walk: PATH_WALK_FAILED */
    void *context;
};
enum path_walk {
    PATH_WALK_FAILED = 0, /* no memory, or `found` ended it */
    PATH_WALK_OVER,       /* more entries than were left */
    PATH_WALK_OK,
};

/* Walks the entries of a directory, depth first, names in byte order; those that can't be opened are passed over.
 * Takes the entries that it looks at from *left. The walker may be used again and again. */
struct path_walker;
MUST_USE struct path_walker *path_walker_create(void);
void path_walker_destroy(struct path_walker *walker);
MUST_USE enum path_walk path_walk_entries(struct path_walker *walker, struct slice directory,
                                          const struct path_ask *ask, size_t *left);

/* ---- Globs: what a text with wildcards stands for at this moment ---- */

/* Whether a text may have a wildcard: `*`, `?`, `[…]`, or `{…}` with a comma. */
bool path_has_glob(struct slice text);

/* Where what a text stands for goes. All return false to end it. */
struct path_glob {
    const struct slice *starts; /* directories, absolute, for a relative text */
    size_t start_count;
    /* A path, absolute and not canonical. A tree is one of which the entries count whose name the filter meets (its
     * ptr is NULL: all). */
    bool (*found)(void *context, struct slice path, bool tree, struct slice filter);
    /* A text in which no wildcard is left, to be read as any other. */
    bool (*plain)(void *context, struct slice text, bool tree);
    void *context;
};
struct path_globber;
MUST_USE struct path_globber *path_globber_create(struct path_walker *walker); /* borrows it */
void path_globber_destroy(struct path_globber *globber);
/* False without memory, or when it was ended. */
MUST_USE bool path_glob(struct path_globber *globber, struct slice text, const struct path_glob *glob);

/* Calls with each alternative of a text's braces: PATH_WALK_FAILED without memory, PATH_WALK_OVER when there are too
 * many, or `found` ended it. */
MUST_USE enum path_walk path_alternatives(struct path_globber *globber, struct slice text,
                                          bool (*found)(void *context, struct slice text), void *context);
size_t path_glob_work(const struct path_globber *globber); /* of the last one, as path_resolved's */

/* ---- Which files the prefixes are ---- */

/* The files that the prefixes of one policy have been, by device and inode: as they were at load, and at every look
 * since. So what is made, replaced or moved after the load is known for what it is. */
struct path_files;
MUST_USE struct path_files *path_files_create(void);
void path_files_destroy(struct path_files *files);

/* Looks again at all prefixes, of which only those are asked of the kernel whose directories have changed. Begins
 * anew when they are other prefixes than before; `still` says that nothing can have changed since the last look. */
MUST_USE bool path_files_look(struct path_files *files, const struct path_prefixes *prefixes, bool still);

/* A prefix that is the same file as a step of a path. */
struct path_same {
    uint32_t prefix; /* its id */
    uint32_t step;
};

/* Finds the prefixes that are or were the same file as a step of a path, under another spelling than the step's, in the
 * order of loading, the deepest step first. The list stands until the next. False without memory. */
MUST_USE bool path_files_find(struct path_files *files, const struct path_resolved *place,
                              const struct path_same **ret_list, size_t *ret_count);

#endif
