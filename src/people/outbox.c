/* The outbox: notices as files, one for each target, until the sender has delivered them. */
#include "people/outbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "people/internal.h"

#define ITEM_NAME_SIZE 48

enum outbox_read outbox_read_file(int dir, const char *name, struct buf *ret_text)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? OUTBOX_ABSENT : OUTBOX_FAILED;
    }
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    while (ok) {
        char *room = buf_reserve(ret_text, 64 << 10);
        ssize_t n = room != NULL ? read(fd, room, 64 << 10) : -1;
        if (n == 0) {
            break;
        }
        ok = n > 0 || (n < 0 && room != NULL && errno == EINTR);
        if (n > 0) {
            buf_added(ret_text, (size_t)n);
        }
    }
    close(fd);
    return ok ? OUTBOX_READ : OUTBOX_FAILED;
}

bool outbox_write_file(int dir, const char *name, struct slice text)
{
    char beside[ITEM_NAME_SIZE + 32];
    uint32_t random;
    if (!random_bytes(&random, sizeof(random))) {
        return false;
    }
    snprintf(beside, sizeof(beside), ".%.48s.%08x", name, random);
    int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    while (ok && text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        ok = n > 0 || (n < 0 && errno == EINTR);
        text = n > 0 ? slice_from(text, (size_t)n) : text;
    }
    if (fd >= 0) {
        ok = close(fd) == 0 && ok && renameat(dir, beside, dir, name) == 0;
    }
    if (!ok && fd >= 0) {
        int why = errno;
        (void)unlinkat(dir, beside, 0);
        errno = why;
    }
    return ok;
}

int outbox_open(int state_dir)
{
    if (mkdirat(state_dir, OUTBOX_DIR, 0700) != 0 && errno != EEXIST) {
        return -1;
    }
    return openat(state_dir, OUTBOX_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A name that sorts by time, then by chance; the kind stands in it so that the sender can tell webhooks, which
 * are kept, from the rest, of which only the newest matter. */
static bool put(int outbox, const struct notice_target *target, struct slice notice)
{
    struct buf item;
    uint32_t random;
    char name[ITEM_NAME_SIZE];
    if (!random_bytes(&random, sizeof(random))) {
        return false;
    }
    snprintf(name, sizeof(name), "%015lld-%08x-%c", (long long)clock_wall_ms(), random,
             target->kind == NOTICE_WEBHOOK ? 'w' : 'n');
    buf_init(&item, OUTBOX_ITEM_BYTES);
    buf_text(&item, "{\"notice\":");
    buf_slice(&item, notice);
    buf_text(&item, ",\"target\":");
    notice_target_write(&item, target);
    buf_byte(&item, '}');
    bool ok = buf_ok(&item) && outbox_write_file(outbox, name, buf_slice_of(&item));
    buf_finish(&item);
    return ok;
}

/* ---- The sender's start ---- */

/* Whether nobody holds the sender's lock. A sender that is about to end lets go of it before it looks into the
 * outbox for the last time, so a notice put in before this question is never left lying. */
static bool no_sender(int outbox)
{
    int fd = openat(outbox, OUTBOX_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    bool free_now = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return free_now;
}

/* Starts `callgate notices send` as a process of nobody: a child's child in a session of its own, so that it
 * outlives a hook, and no signal of a terminal reaches it. */
static bool start_sender(const char *state_path)
{
    pid_t child = fork();
    if (child == 0) {
        if (setsid() < 0 || fork() != 0) {
            _exit(0);
        }
        int null = open("/dev/null", O_RDWR);
        if (null >= 0) {
            for (int fd = 0; fd <= 2; fd++) {
                (void)dup2(null, fd);
            }
        }
        (void)close_range(3, ~0u, 0);
        char *const argv[] = {"callgate", "notices", "send", "--state", (char *)state_path, NULL};
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return child > 0;
}

bool outbox_post(int state_dir, const char *state_path, struct slice notice, const char *command,
                 struct buf *ret_error)
{
    struct notice_targets targets;
    if (!notice_targets_read(&targets, state_dir, ret_error)) {
        return false;
    }
    const struct notice_target own = {
        .kind = NOTICE_COMMAND,
        .argv = {slice_of(command != NULL ? command : "")},
        .argc = 1,
    };
    if (targets.count == 0 && command == NULL) {
        notice_targets_finish(&targets);
        return true;
    }
    int outbox = outbox_open(state_dir);
    bool ok = outbox >= 0;
    for (size_t i = 0; ok && i < targets.count; i++) {
        ok = put(outbox, &targets.list[i], notice);
    }
    ok = ok && (command == NULL || put(outbox, &own, notice));
    if (!ok) {
        buf_printf(ret_error, "nobody is told of a request: the outbox cannot be written: %s",
                   strerror(errno));
    } else if (no_sender(outbox) && !start_sender(state_path)) {
        buf_printf(ret_error, "nobody is told of a request: no sender can be started: %s", strerror(errno));
        ok = false;
    }
    if (outbox >= 0) {
        close(outbox);
    }
    notice_targets_finish(&targets);
    return ok;
}

static void take_state(struct outbox_state *state, struct slice text)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 4, .max_bytes = 1u << 20};
    json_init(&doc);
    if (json_parse(&doc, text, &options, &error) && json_is(json_root(&doc), JSON_OBJECT)) {
        const struct json_value *dropped = json_get(&doc, json_root(&doc), "dropped");
        const struct json_value *list = json_get(&doc, json_root(&doc), "failing");
        const struct json_value *first = json_is(list, JSON_ARRAY) ? json_first(&doc, list) : NULL;
        const struct json_value *since = json_get(&doc, first, "since"), *why = json_get(&doc, first, "why");
        int64_t count = 0;
        if (json_is(dropped, JSON_NUMBER) && json_number_int(json_str(dropped), &count) == JSON_INT_OK &&
            count > 0) {
            state->dropped = (uint64_t)count;
        }
        if (json_is(since, JSON_STRING) && json_is(why, JSON_STRING)) {
            state->failing = true;
            snprintf(state->since, sizeof(state->since), "%.*s", SLICE_FMT(json_str(since)));
            snprintf(state->why, sizeof(state->why), "%.*s", SLICE_FMT(json_str(why)));
        }
    }
    json_finish(&doc);
}

static size_t count_waiting(int outbox)
{
    int copy = dup(outbox);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    size_t count = 0;
    if (dir == NULL) {
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t len = strlen(entry->d_name);
        count += len > 2 && entry->d_name[0] != '.' && entry->d_name[len - 2] == '-' &&
                 (entry->d_name[len - 1] == 'n' || entry->d_name[len - 1] == 'w');
    }
    closedir(dir);
    return count;
}

bool outbox_read_state(struct outbox_state *ret_state, int state_dir)
{
    struct outbox_state state = {0};
    int outbox = openat(state_dir, OUTBOX_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct buf text;
    buf_init(&text, 1u << 20);
    enum outbox_read found = outbox < 0 ? OUTBOX_ABSENT : outbox_read_file(outbox, OUTBOX_STATE, &text);
    if (found == OUTBOX_READ) {
        take_state(&state, buf_slice_of(&text));
    }
    if (outbox >= 0) {
        state.waiting = count_waiting(outbox);
        close(outbox);
    }
    buf_finish(&text);
    if (found == OUTBOX_FAILED) {
        return false;
    }
    *ret_state = state;
    return true;
}
