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

/* Whether a string begins with `file:`: in any case, bytes up to a space before it ignored. */
bool path_is_uri(struct slice text);

/* Decodes a `file:` URI and appends the path. A failure of ret_path gives PATH_URI_UNREADABLE. */
enum path_uri {
    PATH_URI_NONE,       /* does not begin with `file:` */
    PATH_URI_UNREADABLE, /* does, and is not one of the forms that are read */
    PATH_URI_OK,
};
enum path_uri path_decode_uri(struct slice text, struct buf *ret_path);

/* ---- Parts of a resolution, for who resolves many strings from the same starts ---- */

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

/* The first prefix that was this file at load, or 0, and the next such one. */
uint32_t path_prefixes_of_file(const struct path_prefixes *prefixes, dev_t dev, ino_t ino);
uint32_t path_prefixes_next_of_file(const struct path_prefixes *prefixes, uint32_t id);

/* The prefixes that were no directories at load. */
const uint32_t *path_prefixes_files(const struct path_prefixes *prefixes, size_t *ret_count);

/* Calls `visit` with each prefix that is below a canonical path and not equal to it, in no order, until it
 * returns false. */
bool path_prefixes_below(const struct path_prefixes *prefixes, struct slice path,
                         bool (*visit)(void *context, uint32_t id), void *context);

#endif
