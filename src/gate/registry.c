/* Which gates run: one locked file each. The lock says that the process lives; nothing else could, for a
 * process number is given again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "gate/internal.h"
#include "gate/state.h"

#define FILE_SIZE (sizeof((struct registry *)0)->name + 10)

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

/* The entry gets its name when it is locked already: whoever looks at the names takes one that is not locked
 * for that of a process that has ended, and removes it. */
static bool lock_entry(struct registry *registry)
{
    uint32_t random;
    char file[FILE_SIZE], locked[FILE_SIZE];
    if (!random_bytes(&random, sizeof(random))) {
        return false;
    }
    snprintf(registry->name, sizeof(registry->name), "%ld-%08x", (long)getpid(), random);
    snprintf(file, sizeof(file), "%s.starts", registry->name);
    snprintf(locked, sizeof(locked), "%s.lock", registry->name);
    registry->lock = openat(registry->dir, file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (registry->lock < 0) {
        return false;
    }
    if (flock(registry->lock, LOCK_EX | LOCK_NB) == 0 &&
        renameat(registry->dir, file, registry->dir, locked) == 0) {
        return true;
    }
    int saved = errno;
    unlinkat(registry->dir, file, 0);
    errno = saved;
    return false;
}

bool registry_enter(struct registry *registry, int state_dir, struct buf *ret_error)
{
    *registry = (struct registry){.dir = open_gates(state_dir, ret_error), .lock = -1};
    if (registry->dir < 0) {
        return false;
    }
    errno = 0;
    if (lock_entry(registry)) {
        return true;
    }
    buf_printf(ret_error, "this gate cannot be entered among the running ones: %s",
               errno != 0 ? strerror(errno) : "no random numbers");
    registry_leave(registry);
    return false;
}

bool registry_write(struct registry *registry, const char *ending, struct slice json)
{
    char new_file[FILE_SIZE], file[FILE_SIZE];
    snprintf(new_file, sizeof(new_file), "%s.new", registry->name);
    snprintf(file, sizeof(file), "%s%s", registry->name, ending);
    if (json.len == 0) {
        return unlinkat(registry->dir, file, 0) == 0 || errno == ENOENT;
    }
    return file_replace_at(registry->dir, new_file, file, json, false);
}

static void remove_entry(int dir, const char *name)
{
    static const char *const endings[] = {".new", REGISTRY_REFUSED, REGISTRY_CLAIM, REGISTRY_STATUS, ".lock"};
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

bool registry_is_alive(int state_dir, struct slice name)
{
    char file[sizeof(STATE_GATES) + FILE_SIZE];
    if (name.len == 0 || name.len >= sizeof(((struct registry *)0)->name) ||
        memchr(name.ptr, '/', name.len) != NULL) {
        return true;
    }
    snprintf(file, sizeof(file), STATE_GATES "/%.*s.lock", SLICE_FMT(name));
    int lock = openat(state_dir, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0) {
        return errno != ENOENT;
    }
    bool dead = flock(lock, LOCK_SH | LOCK_NB) == 0;
    close(lock);
    return !dead;
}

/* Appends a file's text, or nothing when it is not there or is no JSON object. */
static void append_file(int dir, const char *name, const char *ending, struct buf *buf)
{
    char file[FILE_SIZE];
    snprintf(file, sizeof(file), "%s%s", name, ending);
    struct buf text;
    buf_init(&text, REGISTRY_FILE_MOST + 1);
    bool read = file_read_at(dir, file, &text);
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = REGISTRY_FILE_MOST};
    json_init(&doc);
    if (read && json_parse(&doc, buf_slice_of(&text), &options, &error) &&
        json_is(json_root(&doc), JSON_OBJECT)) {
        buf_slice(buf, json_text_of(&doc, json_root(&doc)));
    }
    json_finish(&doc);
    buf_finish(&text);
}

static void append_gate(int dir, const char *name, struct buf *buf)
{
    struct buf status;
    buf_init(&status, REGISTRY_FILE_MOST);
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

static void append_claim(int dir, const char *name, struct buf *buf)
{
    struct buf claim;
    buf_init(&claim, REGISTRY_FILE_MOST);
    append_file(dir, name, REGISTRY_CLAIM, &claim);
    if (claim.len > 0 && buf_ok(&claim)) {
        buf_text(buf, buf->ptr[buf->len - 1] != '[' ? "," : "");
        buf_slice(buf, buf_slice_of(&claim));
    }
    buf_finish(&claim);
}

bool registry_claims(const char *state_dir, struct buf *buf, struct buf *ret_error)
{
    buf_byte(buf, '[');
    bool read = each_gate(state_dir, append_claim, buf, ret_error);
    buf_byte(buf, ']');
    return read && buf_ok(buf);
}
