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
#define FILE_SIZE      (sizeof((struct registry *)0)->name + 10)

static int open_gates(int state_dir, struct buf *ret_error)
{
    int dir = -1;
    if (mkdirat(state_dir, STATE_GATES, 0700) == 0 || errno == EEXIST) {
        dir = openat(state_dir, STATE_GATES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (dir < 0) {
        buf_printf(ret_error, "the list of running gates cannot be opened: %s", strerror(errno));
    }
    return dir;
}

bool registry_enter(struct registry *registry, int state_dir, struct buf *ret_error)
{
    uint32_t random;
    char file[FILE_SIZE];
    *registry = (struct registry){.dir = open_gates(state_dir, ret_error), .lock = -1};
    if (registry->dir < 0) {
        return false;
    }
    if (random_bytes(&random, sizeof(random))) {
        snprintf(registry->name, sizeof(registry->name), "%ld-%08x", (long)getpid(), random);
        snprintf(file, sizeof(file), "%s.lock", registry->name);
        registry->lock = openat(registry->dir, file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (registry->lock >= 0 && flock(registry->lock, LOCK_EX | LOCK_NB) == 0) {
        return true;
    }
    buf_printf(ret_error, "this gate cannot be entered among the running ones: %s", strerror(errno));
    registry_leave(registry);
    return false;
}

static bool write_whole(int fd, struct slice text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        text = slice_from(text, (size_t)n);
    }
    return true;
}

bool registry_write(struct registry *registry, const char *ending, struct slice json)
{
    char new_file[FILE_SIZE], file[FILE_SIZE];
    snprintf(new_file, sizeof(new_file), "%s.new", registry->name);
    snprintf(file, sizeof(file), "%s%s", registry->name, ending);
    if (json.len == 0) {
        return unlinkat(registry->dir, file, 0) == 0 || errno == ENOENT;
    }
    int fd = openat(registry->dir, new_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    bool written = write_whole(fd, json);
    close(fd);
    return written && renameat(registry->dir, new_file, registry->dir, file) == 0;
}

static void remove_entry(int dir, const char *name)
{
    static const char *const endings[] = {".new", REGISTRY_REFUSED, REGISTRY_STATUS, ".lock"};
    char file[FILE_SIZE];
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        snprintf(file, sizeof(file), "%s%s", name, endings[i]);
        unlinkat(dir, file, 0);
    }
}

void registry_leave(struct registry *registry)
{
    if (registry->dir < 0) {
        return;
    }
    if (registry->name[0]) {
        remove_entry(registry->dir, registry->name);
    }
    if (registry->lock >= 0) {
        close(registry->lock);
    }
    close(registry->dir);
    *registry = (struct registry){.dir = -1, .lock = -1};
}

/* Appends a file's text, or nothing when it is not there or is no JSON object. */
static void append_file(int dir, const char *name, const char *ending, struct buf *buf)
{
    char file[FILE_SIZE];
    snprintf(file, sizeof(file), "%s%s", name, ending);
    int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct buf text;
    buf_init(&text, STATUS_CEILING + (16u << 10));
    ssize_t n = 0;
    char *room;
    while ((room = buf_reserve(&text, 16 << 10)) != NULL && (n = read(fd, room, 16 << 10)) > 0) {
        buf_added(&text, (size_t)n);
    }
    close(fd);
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = STATUS_CEILING};
    json_init(&doc);
    if (n == 0 && json_parse(&doc, buf_slice_of(&text), &options, &error) &&
        json_is(json_root(&doc), JSON_OBJECT)) {
        buf_slice(buf, json_text_of(&doc, json_root(&doc)));
    }
    json_finish(&doc);
    buf_finish(&text);
}

static void append_gate(int dir, const char *name, struct buf *buf)
{
    struct buf status;
    buf_init(&status, STATUS_CEILING);
    append_file(dir, name, REGISTRY_STATUS, &status);
    if (status.len > 2 && buf_ok(&status)) {
        if (buf->ptr[buf->len - 1] != '[') {
            buf_byte(buf, ',');
        }
        buf_slice(buf, (struct slice){status.ptr, status.len - 1});
        buf_text(buf, ",\"refused\":");
        size_t before = buf->len;
        append_file(dir, name, REGISTRY_REFUSED, buf);
        if (buf->len == before) {
            buf_text(buf, "null");
        }
        buf_byte(buf, '}');
    }
    buf_finish(&status);
}

/* Calls with each gate that runs; removes the entries of those that do not any more. */
static bool each_gate(const char *state_dir, void (*visit)(int dir, const char *name, struct buf *buf),
                      struct buf *buf, struct buf *ret_error)
{
    int state = state_open(state_dir, ret_error);
    int dir = state < 0 ? -1 : open_gates(state, ret_error);
    DIR *stream = dir < 0 ? NULL : fdopendir(dir);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        char name[sizeof((struct registry *)0)->name];
        struct slice file = slice_of(entry->d_name);
        if (file.len <= 5 || !slice_ends_with(file, SLICE(".lock")) || file.len - 5 >= sizeof(name)) {
            continue;
        }
        memcpy(name, file.ptr, file.len - 5);
        name[file.len - 5] = '\0';
        int lock = openat(dir, entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (lock < 0) {
            continue;
        }
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
            remove_entry(dir, name);
        } else {
            visit(dir, name, buf);
        }
        close(lock);
    }
    if (stream != NULL) {
        closedir(stream);
    } else if (dir >= 0) {
        close(dir);
    }
    if (state >= 0) {
        close(state);
    }
    return stream != NULL;
}

bool gates_write_json(const char *state_dir, struct buf *buf, struct buf *ret_error)
{
    buf_byte(buf, '[');
    bool read = each_gate(state_dir, append_gate, buf, ret_error);
    buf_byte(buf, ']');
    return read && buf_ok(buf);
}

static void dismiss_one(int dir, const char *name, struct buf *buf)
{
    char file[FILE_SIZE];
    snprintf(file, sizeof(file), "%s%s", name, REGISTRY_REFUSED);
    if (unlinkat(dir, file, 0) == 0) {
        buf_byte(buf, '.');
    }
}

bool gates_dismiss(const char *state_dir, size_t *ret_count, struct buf *ret_error)
{
    struct buf dots;
    buf_init(&dots, 1u << 16);
    bool read = each_gate(state_dir, dismiss_one, &dots, ret_error);
    *ret_count = dots.len;
    buf_finish(&dots);
    return read;
}
