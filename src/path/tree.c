/* The entries below a directory, as they stand now, whose names somebody asks for.
 *
 * A directory is read whole with getdents64, of its entries only those that count and the directories are kept and
 * sorted, and then it is closed: what is open at a time does not grow with the depth. A directory is opened by its
 * whole path, which costs the kernel little next to reading it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "path/internal.h"

#define READ_BYTES  (64u << 10)
#define ITEMS_MOST  ((size_t)1 << 20)
#define NAMES_BYTES ((size_t)64 << 20)

/* What getdents64 fills in. */
struct entry {
    uint64_t ino;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
};

/* An entry that was kept: its name stands in the walker's names. */
struct item {
    uint32_t at;
    uint16_t len;
    bool directory, counts;
};

/* A directory on the way: which of the items are left, and where its names begin. */
struct level {
    size_t first, next;
    size_t names;
    size_t path_len;
};

struct path_walker {
    char path[LIMIT_PATH_BYTES + 1];
    size_t path_len;
    struct buf names;
    struct item *items;
    size_t item_count, item_cap;
    struct level *levels;
    size_t level_count, level_cap;
    char read[READ_BYTES] __attribute__((aligned(8)));
};

struct path_walker *path_walker_create(void)
{
    struct path_walker *walker = calloc(1, sizeof(*walker));
    if (walker != NULL) {
        buf_init(&walker->names, NAMES_BYTES);
    }
    return walker;
}

void path_walker_destroy(struct path_walker *walker)
{
    if (walker == NULL) {
        return;
    }
    buf_finish(&walker->names);
    free(walker->items);
    free(walker->levels);
    free(walker);
}

bool path_room(void **array, size_t count, size_t *cap, size_t size, size_t most)
{
    if (count < *cap) {
        return true;
    }
    size_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = count >= most ? NULL : realloc(*array, more * size);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *cap = more;
    return true;
}

/* ---- Reading one directory ---- */

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static bool is_directory(int dir, const struct entry *entry)
{
    struct stat st;
    if (entry->type != DT_UNKNOWN) {
        return entry->type == DT_DIR;
    }
    return fstatat(dir, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_asked_for(const struct path_ask *ask, struct slice name)
{
    bool meets = ask->filter_count == 0;
    if (ask->names != NULL && !path_names_have(ask->names, name)) {
        return false;
    }
    for (size_t i = 0; i < ask->filter_count && !meets; i++) {
        meets = path_glob_meets(ask->filters[i], name);
    }
    return meets;
}

static bool keep(struct path_walker *walker, struct slice name, bool directory, bool counts)
{
    void *items = walker->items;
    if (!path_room(&items, walker->item_count, &walker->item_cap, sizeof(*walker->items), ITEMS_MOST)) {
        return false;
    }
    walker->items = items;
    walker->items[walker->item_count++] =
        (struct item){(uint32_t)walker->names.len, (uint16_t)name.len, directory, counts};
    buf_slice(&walker->names, name);
    return buf_ok(&walker->names);
}

static enum path_walk take_entries(struct path_walker *walker, const struct path_ask *ask, int dir,
                                   size_t len, size_t *left)
{
    for (size_t at = 0; at < len;) {
        const struct entry *entry = (const void *)(walker->read + at);
        at += entry->len;
        if (is_dots(entry->name)) {
            continue;
        }
        if (*left == 0) {
            return PATH_WALK_OVER;
        }
        --*left;
        struct slice name = slice_of(entry->name);
        if (!ask->hidden && name.ptr[0] == '.') {
            continue;
        }
        bool counts = is_asked_for(ask, name), directory = ask->deep && is_directory(dir, entry);
        if ((counts || directory) && !keep(walker, name, directory, counts)) {
            return PATH_WALK_FAILED;
        }
    }
    return PATH_WALK_OK;
}

static int compare_items(const void *a, const void *b, void *context)
{
    const struct item *left = a, *right = b;
    const char *names = context;
    return slice_cmp((struct slice){names + left->at, left->len},
                     (struct slice){names + right->at, right->len});
}

/* Reads the directory of walker->path and puts its level on top. One that can't be opened has no entries. */
static enum path_walk read_directory(struct path_walker *walker, const struct path_ask *ask, bool top,
                                     size_t *left)
{
    void *levels = walker->levels;
    if (!path_room(&levels, walker->level_count, &walker->level_cap, sizeof(*walker->levels),
                   LIMIT_PATH_BYTES)) {
        return PATH_WALK_FAILED;
    }
    walker->levels = levels;
    struct level *level = &walker->levels[walker->level_count++];
    *level = (struct level){walker->item_count, walker->item_count, walker->names.len, walker->path_len};
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (top ? 0 : O_NOFOLLOW);
    int dir = open(walker->path, flags);
    enum path_walk result = PATH_WALK_OK;
    while (dir >= 0 && result == PATH_WALK_OK) {
        long len = syscall(SYS_getdents64, dir, walker->read, READ_BYTES);
        if (len <= 0) {
            break;
        }
        result = take_entries(walker, ask, dir, (size_t)len, left);
    }
    if (dir >= 0) {
        (void)close(dir);
    }
    if (walker->item_count - level->first > 1) {
        qsort_r(walker->items + level->first, walker->item_count - level->first, sizeof(*walker->items),
                compare_items, walker->names.ptr);
    }
    return result;
}

/* ---- The walk ---- */

/* Sets the path to an entry of the directory; false when that is too long for a path. */
static bool go_to(struct path_walker *walker, size_t parent_len, struct slice name)
{
    size_t at = parent_len == 1 ? 1 : parent_len + 1;
    if (at + name.len > LIMIT_PATH_BYTES) {
        return false;
    }
    walker->path[at - 1] = '/';
    memcpy(walker->path + at, name.ptr, name.len);
    walker->path_len = at + name.len;
    walker->path[walker->path_len] = '\0';
    return true;
}

enum path_walk path_walk_entries(struct path_walker *walker, struct slice directory,
                                 const struct path_ask *ask, size_t *left)
{
    buf_reset(&walker->names);
    walker->item_count = walker->level_count = 0;
    if (directory.len > LIMIT_PATH_BYTES) {
        return PATH_WALK_OK;
    }
    memcpy(walker->path, directory.ptr, directory.len);
    walker->path[directory.len] = '\0';
    walker->path_len = directory.len;
    enum path_walk result = read_directory(walker, ask, true, left);
    while (result == PATH_WALK_OK && walker->level_count > 0) {
        struct level *level = &walker->levels[walker->level_count - 1];
        if (level->next == walker->item_count) {
            walker->item_count = level->first;
            walker->names.len = level->names;
            walker->level_count--;
            continue;
        }
        struct item item = walker->items[level->next++];
        if (!go_to(walker, level->path_len, (struct slice){walker->names.ptr + item.at, item.len})) {
            continue;
        }
        if (item.counts && !ask->found(ask->context, (struct slice){walker->path, walker->path_len})) {
            return PATH_WALK_FAILED;
        }
        if (item.directory) {
            result = read_directory(walker, ask, false, left);
        }
    }
    return result;
}
