/* Which gates run: one locked file each. The lock says that the process lives; nothing else could, for a
 * process number is given again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/inside.h"
#include "gate/state.h"

#define STATUS_CEILING (1u << 20)

static int open_gates(int state_dir, struct buf *ret_error)
{
    int dir = -1;
    if (mkdirat(state_dir, STATE_GATES, 0700) == 0 || errno == EEXIST)
        dir = openat(state_dir, STATE_GATES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        buf_printf(ret_error, "the list of running gates cannot be opened: %s", strerror(errno));
    return dir;
}

bool registry_enter(struct registry *registry, int state_dir, struct buf *ret_error)
{
    uint32_t random;
    char file[sizeof registry->name + 8];
    *registry = (struct registry){.dir = open_gates(state_dir, ret_error), .lock = -1};
    if (registry->dir < 0)
        return false;
    if (random_bytes(&random, sizeof random)) {
        snprintf(registry->name, sizeof registry->name, "%ld-%08x", (long)getpid(), random);
        snprintf(file, sizeof file, "%s.lock", registry->name);
        registry->lock = openat(registry->dir, file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (registry->lock >= 0 && flock(registry->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    buf_printf(ret_error, "this gate cannot be entered among the running ones: %s", strerror(errno));
    registry_leave(registry);
    return false;
}

static bool write_whole(int fd, struct slice text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text = slice_from(text, (size_t)n);
    }
    return true;
}

bool registry_write(struct registry *registry, struct slice json)
{
    char new_file[sizeof registry->name + 8], file[sizeof registry->name + 8];
    snprintf(new_file, sizeof new_file, "%s.new", registry->name);
    snprintf(file, sizeof file, "%s.json", registry->name);
    int fd = openat(registry->dir, new_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool written = write_whole(fd, json);
    close(fd);
    return written && renameat(registry->dir, new_file, registry->dir, file) == 0;
}

static void remove_entry(int dir, const char *name)
{
    static const char *const endings[] = {".new", ".json", ".lock"};
    char file[sizeof((struct registry *)0)->name + 8];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(file, sizeof file, "%s%s", name, endings[i]);
        unlinkat(dir, file, 0);
    }
}

void registry_leave(struct registry *registry)
{
    if (registry->dir < 0)
        return;
    if (registry->name[0])
        remove_entry(registry->dir, registry->name);
    if (registry->lock >= 0)
        close(registry->lock);
    close(registry->dir);
    *registry = (struct registry){.dir = -1, .lock = -1};
}

static void append_file(int dir, const char *name, struct buf *buf)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    struct buf text;
    buf_init(&text, STATUS_CEILING);
    ssize_t n = 0;
    char *room;
    while ((room = buf_reserve(&text, 16 << 10)) && (n = read(fd, room, 16 << 10)) > 0)
        buf_added(&text, (size_t)n);
    close(fd);
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = STATUS_CEILING};
    json_init(&doc);
    if (n == 0 && json_parse(&doc, buf_slice_of(&text), &options, &error)) {
        if (buf->len && buf->ptr[buf->len - 1] != '[')
            buf_byte(buf, ',');
        buf_slice(buf, buf_slice_of(&text));
    }
    json_finish(&doc);
    buf_finish(&text);
}

/* Appends the entry of one `.lock` file, or removes it when its process is gone. */
static void visit(int dir, const char *lock_name, size_t stem, struct buf *buf)
{
    char name[sizeof((struct registry *)0)->name], file[sizeof name + 8];
    if (stem >= sizeof name)
        return;
    memcpy(name, lock_name, stem);
    name[stem] = '\0';
    int lock = openat(dir, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
        remove_entry(dir, name);
    } else {
        snprintf(file, sizeof file, "%s.json", name);
        append_file(dir, file, buf);
    }
    close(lock);
}

bool gates_write_json(const char *state_dir, struct buf *buf, struct buf *ret_error)
{
    int state = state_open(state_dir, ret_error);
    int dir = state < 0 ? -1 : open_gates(state, ret_error);
    DIR *stream = dir < 0 ? NULL : fdopendir(dir);
    if (stream) {
        const struct dirent *entry;
        buf_byte(buf, '[');
        while ((entry = readdir(stream)) != NULL) {
            struct slice name = slice_of(entry->d_name);
            if (name.len > 5 && slice_ends_with(name, SLICE(".lock")))
                visit(dirfd(stream), entry->d_name, name.len - 5, buf);
        }
        buf_byte(buf, ']');
        closedir(stream);
    } else if (dir >= 0) {
        close(dir);
    }
    if (state >= 0)
        close(state);
    return stream && buf_ok(buf);
}
