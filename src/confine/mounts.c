/* The view of the file system: what is hidden, what stays to be seen below that, what can be written.
 *
 * The order matters. Everything becomes read-only at once, then the writable places are opened again, and the
 * frozen ones below them closed. Only then is what is to be kept taken as a detached copy of its mount, because a
 * copy is as writable as its place is at that moment. Masks come last, because a mask over a place that is bound
 * again later would be lost. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/enter_internal.h"

#define DIRECTORY_MODE 0755

static int clone_tree(const char *path)
{
    return (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

static bool put_tree(int tree, const char *path)
{
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

static bool set_attributes(const char *path, unsigned flags, uint64_t set, uint64_t clear)
{
    struct mount_attr attr = {.attr_set = set, .attr_clr = clear};
    return syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attr, sizeof(attr)) == 0;
}

/* Makes each place a mount point of its own. */
static bool bind_places(const struct enter_places *places, const char *what)
{
    for (size_t i = 0; i < places->count; i++) {
        if (mount(places->list[i], places->list[i], NULL, MS_BIND | MS_REC, NULL) != 0) {
            enter_complain(what, places->list[i]);
            return false;
        }
    }
    return true;
}

static bool set_places(const struct enter_places *places, uint64_t set, uint64_t clear, const char *what)
{
    for (size_t i = 0; i < places->count; i++) {
        if (!set_attributes(places->list[i], AT_RECURSIVE, set, clear)) {
            enter_complain(what, places->list[i]);
            return false;
        }
    }
    return true;
}

/* ---- Hiding ---- */

static bool is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return strncmp(path, above, len) == 0 && path[len] == '/';
}

/* Makes the directories and, at the end, the mount point of a kept place inside an empty mask. */
static bool make_way(const char *mask, const char *path, bool directory)
{
    char at[4096];
    size_t len = strlen(path);
    if (len >= sizeof(at)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(at, path, len + 1);
    for (char *end = at + strlen(mask) + 1; (end = strchr(end, '/')) != NULL; end++) {
        *end = '\0';
        if (mkdir(at, DIRECTORY_MODE) != 0 && errno != EEXIST) {
            return false;
        }
        *end = '/';
    }
    if (directory) {
        return mkdir(at, DIRECTORY_MODE) == 0 || errno == EEXIST;
    }
    int fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

struct kept_tree {
    int tree;
    bool directory;
};

/* Hides a directory: an empty one that can be read lies over it, because programs take "no such file" for an
 * answer and stop at "permission denied". What is kept below is put back into it. */
static bool hide_directory(const char *path, const struct enter_options *options,
                           const struct kept_tree *kept)
{
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=1m") != 0) {
        return false;
    }
    for (size_t i = 0; i < options->kept.count; i++) {
        const char *place = options->kept.list[i];
        if (is_below(place, path) && kept[i].tree >= 0 &&
            (!make_way(path, place, kept[i].directory) || !put_tree(kept[i].tree, place))) {
            return false;
        }
    }
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 NULL) == 0;
}

static bool hide_file(const char *path, int empty)
{
    int copy = (int)syscall(SYS_open_tree, empty, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    bool ok = copy >= 0 && put_tree(copy, path);
    if (copy >= 0) {
        close(copy);
    }
    return ok;
}

static bool hide_all(const struct enter_options *options, const struct kept_tree *kept, int empty)
{
    for (size_t i = 0; i < options->hidden.count; i++) {
        const char *path = options->hidden.list[i];
        struct stat st;
        if (stat(path, &st) != 0) {
            continue; /* not there, or below what an earlier mask hides */
        }
        if (!(S_ISDIR(st.st_mode) ? hide_directory(path, options, kept) : hide_file(path, empty))) {
            enter_complain("cannot hide", path);
            return false;
        }
    }
    return true;
}

/* ---- The whole ---- */

static bool take_kept(const struct enter_options *options, struct kept_tree *kept)
{
    for (size_t i = 0; i < options->kept.count; i++) {
        struct stat st;
        kept[i] = (struct kept_tree){.tree = -1};
        if (stat(options->kept.list[i], &st) != 0) {
            continue;
        }
        kept[i].directory = S_ISDIR(st.st_mode);
        kept[i].tree = clone_tree(options->kept.list[i]);
        if (kept[i].tree < 0) {
            enter_complain("cannot keep", options->kept.list[i]);
            return false;
        }
    }
    return true;
}

/* A place for temporary files that nobody outside sees, and where nothing of others is: terminal multiplexers and
 * display servers listen there. */
static bool private_temporary(const char *path)
{
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
        enter_complain("cannot make a private", path);
        return false;
    }
    return true;
}

static bool make_view(const struct enter_options *options, struct kept_tree *kept)
{
    int empty = -1;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        int why = errno;
        enter_complain("mounts cannot be made private", NULL);
        enter_explain(why);
        return false;
    }
    bool ok = bind_places(&options->writable, "cannot bind") && bind_places(&options->frozen, "cannot bind");
    if (ok && !set_attributes("/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)) {
        enter_complain("the system cannot be made read-only", NULL);
        ok = false;
    }
    ok = ok && set_places(&options->writable, 0, MOUNT_ATTR_RDONLY, "cannot make writable") &&
         set_places(&options->frozen, MOUNT_ATTR_RDONLY, 0, "cannot make read-only") &&
         take_kept(options, kept) && enter_devices(&empty) && private_temporary("/tmp") &&
         hide_all(options, kept, empty);
    if (ok && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
        int why = errno;
        enter_complain("a /proc of its own cannot be mounted", NULL);
        enter_explain(why);
        ok = false;
    }
    if (empty >= 0) {
        close(empty);
    }
    return ok;
}

bool enter_mounts(const struct enter_options *options)
{
    char cwd[4096];
    struct kept_tree *kept = calloc(options->kept.count + 1, sizeof(*kept));
    bool known = getcwd(cwd, sizeof(cwd)) != NULL;
    bool ok = kept != NULL && make_view(options, kept);
    for (size_t i = 0; kept != NULL && i < options->kept.count; i++) {
        if (kept[i].tree > 0) {
            close(kept[i].tree);
        }
    }
    free(kept);
    /* By its name again: the old working directory stands on a mount below the new ones. */
    if (ok && (!known || chdir(cwd) != 0) && chdir("/") != 0) {
        enter_complain("no working directory", NULL);
        ok = false;
    }
    return ok;
}
