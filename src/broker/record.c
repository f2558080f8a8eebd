/* What a broker was started with, kept in its state directory: a client that finds it gone starts it again with the same
 * policy, and `status` tells of it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "broker/internal.h"
#include "json/json.h"

#define RECORD_BYTES ((size_t)1 << 20)

bool serve_record_write(int dir, const struct broker_options *options, struct buf *ret_error)
{
    char now[CLOCK_ISO_SIZE], *real = realpath(options->socket, NULL);
    struct buf json;
    buf_init(&json, RECORD_BYTES);
    clock_iso8601(clock_wall_ms(), now);
    buf_printf(&json, "{\"pid\":%ld,\"protocol\":%u,\"started\":\"%s\",\"version\":", (long)getpid(),
               BROKER_VERSION, now);
    json_write_string(&json, slice_of(CALLGATE_VERSION));
    buf_text(&json, ",\"socket\":");
    json_write_bytes(&json, slice_of(real != NULL ? real : options->socket));
    buf_text(&json, ",\"words\":[");
    for (size_t i = 0; i < options->word_count; i++) {
        buf_text(&json, i > 0 ? "," : "");
        json_write_bytes(&json, slice_of(options->words[i]));
    }
    buf_text(&json, "]}\n");
    free(real);
    bool done =
        buf_ok(&json) && file_replace_at(dir, SERVE_RECORD ".new", SERVE_RECORD, buf_slice_of(&json), true);
    if (!done) {
        buf_printf(ret_error, "what the broker was started with cannot be kept: %s", strerror(errno));
    }
    buf_finish(&json);
    return done;
}

/* False when it cannot be read; *ret_there: there is one. */
static bool read_record(const char *state_dir, struct buf *text, bool *ret_there)
{
    int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    errno = dir < 0 ? errno : 0;
    bool read = dir >= 0 && file_read_at(dir, SERVE_RECORD, text);
    *ret_there = read;
    bool absent = !read && errno == ENOENT;
    if (dir >= 0) {
        close(dir);
    }
    return read || absent;
}

bool serve_record_read(struct serve_record *ret_record, const char *state_dir)
{
    const struct json_options options = {.max_depth = 3, .max_bytes = RECORD_BYTES};
    struct serve_record *r = ret_record;
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    *r = (struct serve_record){.socket = ""};
    arena_init(&r->arena, 4 * RECORD_BYTES);
    buf_init(&text, RECORD_BYTES);
    json_init(&doc);
    bool ok = read_record(state_dir, &text, &r->there);
    if (ok && r->there) {
        ok = json_parse(&doc, buf_slice_of(&text), &options, &error);
        const struct json_value *root = ok ? json_root(&doc) : NULL, *socket = json_get(&doc, root, "socket"),
                                *words = json_get(&doc, root, "words"), *v;
        ok = json_is(socket, JSON_STRING) && json_is(words, JSON_ARRAY);
        r->socket = ok ? arena_copy(&r->arena, json_str(socket)).ptr : NULL;
        r->words = ok ? arena_array(&r->arena, (size_t)words->count + 1, sizeof(*r->words)) : NULL;
        ok = r->socket != NULL && r->words != NULL;
        for (v = ok ? json_first(&doc, words) : NULL; v != NULL && ok; v = json_right(&doc, words, v)) {
            const char *word = json_is(v, JSON_STRING) ? arena_copy(&r->arena, json_str(v)).ptr : NULL;
            ok = word != NULL;
            r->words[r->count++] = word;
        }
    }
    json_finish(&doc);
    buf_finish(&text);
    if (!ok) {
        serve_record_finish(r);
    }
    return ok;
}

void serve_record_finish(struct serve_record *record)
{
    arena_finish(&record->arena);
    *record = (struct serve_record){.socket = ""};
}

/* ---- For `status` ---- */

static bool is_locked(const char *state_dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/" SERVE_LOCK, state_dir);
    int lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool locked = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0;
    if (lock >= 0) {
        close(lock);
    }
    return locked;
}

bool broker_write_status(struct buf *buf, const char *state_dir)
{
    const struct json_options options = {.max_depth = 3, .max_bytes = RECORD_BYTES};
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    bool there = false, listens = false;
    buf_init(&text, RECORD_BYTES);
    json_init(&doc);
    bool known = read_record(state_dir, &text, &there) && there &&
                 json_parse(&doc, buf_slice_of(&text), &options, &error) &&
                 json_is(json_root(&doc), JSON_OBJECT);
    if (!known) {
        buf_text(buf, "null");
    } else {
        const struct json_value *socket = json_get(&doc, json_root(&doc), "socket");
        struct slice name = json_is(socket, JSON_STRING) ? json_str(socket) : SLICE("");
        char path[PATH_MAX];
        int len = snprintf(path, sizeof(path), "%.*s", SLICE_FMT(name));
        int fd = len > 0 && (size_t)len < sizeof(path) ? address_connect(path) : -1;
        listens = fd >= 0;
        if (fd >= 0) {
            close(fd);
        }
        struct slice record = json_text_of(&doc, json_root(&doc));
        buf_bytes(buf, record.ptr, record.len - 1);
        buf_printf(buf, ",\"running\":%s,\"listens\":%s}", is_locked(state_dir) ? "true" : "false",
                   listens ? "true" : "false");
    }
    json_finish(&doc);
    buf_finish(&text);
    return buf_ok(buf);
}
