/* A prefix that is the same file as a step of the path at hand, under another spelling: a hard link, a bind mount, or
 * a directory that was moved. Known by device and inode, as they were at load and at every look since.
 *
 * A look must be cheap, because each call that may have run asks for one. What a name in a directory stands for cannot
 * change without the directory's ctime, so the directories that hold the prefixes are asked, each once, and only of
 * those that changed the prefixes. A ctime is as coarse as the kernel's tick: a directory that changed shortly before
 * the look is asked again at the next, whatever its ctime is then. A prefix whose name is a link is always asked. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "path/internal.h"

#define SETTLED_MS   2000
#define MATCHES_MOST ((size_t)8 << 20)

/* A file that a prefix is or was. */
struct file {
    dev_t dev;
    ino_t ino;
    uint32_t prefix; /* 0: free */
};

/* A directory that holds prefixes, as it was at the last look. */
struct holder {
    uint32_t first; /* its prefixes, through `next` */
    size_t len;     /* of its path, which is the start of its first prefix's */
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    bool settled; /* what it holds stands as long as it is what it was */
};

struct path_files {
    uint64_t serial; /* of the prefixes; 0: none */
    const struct path_prefixes *prefixes;
    struct file *files;
    size_t file_count, file_mask;
    struct holder *holders;
    uint32_t *next; /* by prefix id - 1: the next one in the same directory; 0 at the end */
    bool *link;     /* by prefix id - 1: its name is a link */
    size_t holder_count;
    struct path_same *found;
    size_t found_cap;
};

struct path_files *path_files_create(void)
{
    return calloc(1, sizeof(struct path_files));
}

static void forget(struct path_files *files)
{
    free(files->files);
    free(files->holders);
    free(files->next);
    free(files->link);
    files->files = NULL;
    files->holders = NULL;
    files->next = NULL;
    files->link = NULL;
    files->serial = 0;
    files->file_count = files->holder_count = 0;
}

void path_files_destroy(struct path_files *files)
{
    if (files != NULL) {
        forget(files);
        free(files->found);
        free(files);
    }
}

/* ---- The table ---- */

static size_t hash_file(dev_t dev, ino_t ino)
{
    uint64_t hash = ((uint64_t)dev * 0x9E3779B97F4A7C15u) ^ (uint64_t)ino;
    hash *= 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 32);
}

static void put_file(struct file *table, size_t mask, struct file file)
{
    size_t at = hash_file(file.dev, file.ino) & mask;
    while (table[at].prefix != 0) {
        at = (at + 1) & mask;
    }
    table[at] = file;
}

static bool knows(const struct path_files *files, struct file file)
{
    for (size_t at = hash_file(file.dev, file.ino) & files->file_mask; files->files[at].prefix != 0;
         at = (at + 1) & files->file_mask) {
        const struct file *other = &files->files[at];
        if (other->dev == file.dev && other->ino == file.ino && other->prefix == file.prefix) {
            return true;
        }
    }
    return false;
}

static bool add_file(struct path_files *files, struct file file)
{
    if (knows(files, file)) {
        return true;
    }
    if (2 * (files->file_count + 1) > files->file_mask) {
        size_t mask = 2 * files->file_mask + 1;
        struct file *table = mask > SIZE_MAX / 2 / sizeof(*table) ? NULL : calloc(mask + 1, sizeof(*table));
        if (table == NULL) {
            return false;
        }
        for (size_t i = 0; i <= files->file_mask; i++) {
            if (files->files[i].prefix != 0) {
                put_file(table, mask, files->files[i]);
            }
        }
        free(files->files);
        files->files = table;
        files->file_mask = mask;
    }
    put_file(files->files, files->file_mask, file);
    files->file_count++;
    return true;
}

/* ---- Looking ---- */

static size_t parent_len(struct slice path)
{
    const char *slash = path.len == 1 ? path.ptr : memrchr(path.ptr, '/', path.len);
    return slash == path.ptr ? 1 : (size_t)(slash - path.ptr);
}

static int compare_parents(const void *a, const void *b, void *context)
{
    const struct path_prefixes *prefixes = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    struct slice x = prefixes->list[left - 1].path, y = prefixes->list[right - 1].path;
    int order = slice_cmp((struct slice){x.ptr, parent_len(x)}, (struct slice){y.ptr, parent_len(y)});
    return order != 0 ? order : left < right ? -1 : left > right;
}

/* Sorts the prefixes by the directories that hold them. */
static bool make_holders(struct path_files *files, const struct path_prefixes *prefixes)
{
    uint32_t *ids = calloc((size_t)prefixes->count + 1, sizeof(*ids));
    files->holders = calloc((size_t)prefixes->count + 1, sizeof(*files->holders));
    files->next = calloc((size_t)prefixes->count + 1, sizeof(*files->next));
    files->link = calloc((size_t)prefixes->count + 1, sizeof(*files->link));
    if (ids == NULL || files->holders == NULL || files->next == NULL || files->link == NULL) {
        free(ids);
        return false;
    }
    for (uint32_t i = 0; i < prefixes->count; i++) {
        ids[i] = i + 1;
    }
    qsort_r(ids, prefixes->count, sizeof(*ids), compare_parents, (void *)(uintptr_t)prefixes);
    for (uint32_t i = 0; i < prefixes->count; i++) {
        struct slice path = prefixes->list[ids[i] - 1].path;
        struct slice parent = {path.ptr, parent_len(path)};
        struct holder *last = files->holder_count == 0 ? NULL : &files->holders[files->holder_count - 1];
        if (last != NULL &&
            slice_eq(parent, (struct slice){prefixes->list[last->first - 1].path.ptr, last->len})) {
            files->next[ids[i - 1] - 1] = ids[i];
        } else {
            files->holders[files->holder_count++] = (struct holder){.first = ids[i], .len = parent.len};
        }
    }
    free(ids);
    return true;
}

/* The files of the prefixes at load. */
static bool begin(struct path_files *files, const struct path_prefixes *prefixes)
{
    forget(files);
    files->prefixes = prefixes;
    files->file_mask = 15;
    files->files = calloc(16, sizeof(*files->files));
    if (files->files == NULL || !make_holders(files, prefixes)) {
        forget(files);
        return false;
    }
    for (uint32_t i = 0; i < prefixes->count; i++) {
        const struct path_prefix *prefix = &prefixes->list[i];
        if (prefix->exists && !add_file(files, (struct file){prefix->dev, prefix->ino, i + 1})) {
            forget(files);
            return false;
        }
    }
    files->serial = path_prefixes_serial(prefixes);
    return true;
}

static bool look_at_prefix(struct path_files *files, uint32_t id)
{
    struct stat st;
    const char *path = files->prefixes->list[id - 1].path.ptr;
    if (lstat(path, &st) != 0) {
        files->link[id - 1] = false;
        return true;
    }
    files->link[id - 1] = S_ISLNK(st.st_mode);
    if (files->link[id - 1] && stat(path, &st) != 0) {
        return true;
    }
    return add_file(files, (struct file){st.st_dev, st.st_ino, id});
}

/* Whether the prefixes in a directory may be others than at the last look. */
static bool has_changed(const struct path_files *files, struct holder *holder, int64_t now)
{
    char path[LIMIT_PATH_BYTES + 1];
    struct stat st;
    struct holder was = *holder;
    memcpy(path, files->prefixes->list[holder->first - 1].path.ptr, holder->len);
    path[holder->len] = '\0';
    if (stat(path, &st) != 0) {
        st = (struct stat){.st_dev = 0};
    }
    holder->dev = st.st_dev;
    holder->ino = st.st_ino;
    holder->changed = st.st_ctim;
    holder->settled = (int64_t)st.st_ctim.tv_sec * 1000 + SETTLED_MS < now;
    return !was.settled || was.dev != holder->dev || was.ino != holder->ino ||
           was.changed.tv_sec != holder->changed.tv_sec || was.changed.tv_nsec != holder->changed.tv_nsec;
}

bool path_files_look(struct path_files *files, const struct path_prefixes *prefixes, bool still)
{
    if (files->serial != path_prefixes_serial(prefixes) && !begin(files, prefixes)) {
        return false;
    }
    files->prefixes = prefixes;
    if (still) {
        return true;
    }
    int64_t now = files->holder_count == 0 ? 0 : clock_wall_ms();
    for (size_t i = 0; i < files->holder_count; i++) {
        bool changed = has_changed(files, &files->holders[i], now);
        for (uint32_t id = files->holders[i].first; id != 0; id = files->next[id - 1]) {
            if ((changed || files->link[id - 1]) && !look_at_prefix(files, id)) {
                files->serial = 0;
                return false;
            }
        }
    }
    return true;
}

/* ---- Finding ---- */

static int compare_same(const void *a, const void *b)
{
    const struct path_same *left = a, *right = b;
    if (left->prefix != right->prefix) {
        return left->prefix < right->prefix ? -1 : 1;
    }
    return left->step > right->step ? -1 : left->step < right->step;
}

static bool add_found(struct path_files *files, const struct path_resolved *place, uint32_t prefix,
                      size_t step, size_t *count)
{
    struct slice spelt = files->prefixes->list[prefix - 1].path;
    void *found = files->found;
    if (slice_eq(spelt, (struct slice){place->text, place->steps[step].end})) {
        return true;
    }
    if (!path_room(&found, *count, &files->found_cap, sizeof(*files->found), MATCHES_MOST)) {
        return false;
    }
    files->found = found;
    files->found[(*count)++] = (struct path_same){prefix, (uint32_t)step};
    return true;
}

bool path_files_find(struct path_files *files, const struct path_resolved *place,
                     const struct path_same **ret_list, size_t *ret_count)
{
    size_t count = 0;
    if (files->file_count > 0) {
        for (size_t i = 0; i < place->step_count; i++) {
            const struct path_step *step = &place->steps[i];
            for (size_t at = hash_file(step->dev, step->ino) & files->file_mask; files->files[at].prefix != 0;
                 at = (at + 1) & files->file_mask) {
                const struct file *file = &files->files[at];
                if (file->dev == step->dev && file->ino == step->ino &&
                    !add_found(files, place, file->prefix, i, &count)) {
                    return false;
                }
            }
        }
    }
    if (count > 1) {
        qsort(files->found, count, sizeof(*files->found), compare_same);
    }
    *ret_list = files->found;
    *ret_count = count;
    return true;
}
