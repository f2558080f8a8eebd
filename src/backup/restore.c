/* Putting a backup in place: proved first, then exchanged by renaming; what was there is kept beside. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/files.h"
#include "gate/gate.h"
#include "gate/state.h"
#include "json/json.h"

#define PATH_ROOM 8192

struct restoring {
    const struct backup_options *options;
    struct unpacked unpacked;
    char beside[64]; /* the ending of what was there */
    struct buf *report, *error;
};

static bool fail(struct restoring *r, const char *path, const char *what)
{
    buf_printf(r->error, "%s %s: %s", path, what, strerror(errno));
    return false;
}

/* ---- What is there ---- */

static bool broker_runs(const char *state_dir)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof(path), "%s/serve.lock", state_dir);
    int lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool runs = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0;
    if (lock >= 0) {
        close(lock);
    }
    return runs;
}

/* A gate that runs would go on writing into the directory that was moved away. */
static bool nobody_runs(struct restoring *r)
{
    const char *dir = r->options->state_dir;
    struct stat st;
    struct buf gates;
    if (lstat(dir, &st) != 0) {
        return errno == ENOENT || fail(r, dir, "cannot be looked at");
    }
    buf_init(&gates, LIMIT_MESSAGE_BYTES);
    bool ok = gates_write_json(dir, &gates, r->error);
    if (ok && (!slice_is(buf_slice_of(&gates), "[]") || broker_runs(dir))) {
        buf_printf(r->error, "a gate or a broker runs in %s ('callgate status'): end it first", dir);
        ok = false;
    }
    buf_finish(&gates);
    return ok;
}

/* Whether a directory holds something; one that is not there does not. */
static bool has_something(const char *path)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;
    bool found = false;
    while (stream != NULL && !found && (entry = readdir(stream)) != NULL) {
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return found;
}

/* ---- Settings ---- */

static bool read_file(const char *path, struct buf *text)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = fd >= 0 && file_read_all(fd, text);
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

/* One file of the settings. With `look`, only whether another one stands there: then *ret_differs. */
static bool restore_setting(struct restoring *r, const char *name, bool look, bool *ret_differs)
{
    char from[2 * PATH_ROOM], to[2 * PATH_ROOM], kept[2 * PATH_ROOM + 64];
    struct buf text;
    struct text_file there;
    snprintf(from, sizeof(from), "%s/" CONFIG_FOLDER "/%s", r->unpacked.path, name);
    snprintf(to, sizeof(to), "%s/%s", r->options->config_dir, name);
    buf_init(&text, (size_t)LIMIT_POLICY_BYTES + 1);
    bool ok = read_file(from, &text) || fail(r, name, "cannot be read");
    if (ok && (ok = text_file_read(&there, to, LIMIT_POLICY_BYTES, r->error))) {
        bool same = there.existed && slice_eq(buf_slice_of(&there.text), buf_slice_of(&text));
        *ret_differs = there.existed && !same;
        if (!look && !same) {
            snprintf(kept, sizeof(kept), "%s%s", to, r->beside);
            ok = !there.existed || link(there.path.ptr, kept) == 0 || fail(r, to, "cannot be kept beside");
            ok = ok && text_file_replace(&there, buf_slice_of(&text), 0600, r->error);
            buf_printf(r->report, "%s%s%s\n", to, there.existed ? "; what was there: " : "",
                       there.existed ? kept : "");
        }
        text_file_finish(&there);
    }
    buf_finish(&text);
    return ok;
}

/* All of them. *ret_differ: the first that stands there and is another one. */
static bool each_setting(struct restoring *r, bool look, char ret_differs[PATH_ROOM])
{
    char path[PATH_ROOM];
    const struct dirent *entry;
    bool ok = true;
    ret_differs[0] = '\0';
    snprintf(path, sizeof(path), "%s/" CONFIG_FOLDER, r->unpacked.path);
    DIR *stream = opendir(path);
    while (stream != NULL && ok && (entry = readdir(stream)) != NULL) {
        bool differs = false;
        if (entry->d_name[0] == '.') {
            continue;
        }
        ok = restore_setting(r, entry->d_name, look, &differs);
        if (differs && ret_differs[0] == '\0') {
            snprintf(ret_differs, PATH_ROOM, "%s/%s", r->options->config_dir, entry->d_name);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return ok;
}

static bool may_replace(struct restoring *r)
{
    char differs[PATH_ROOM];
    if (!each_setting(r, true, differs)) {
        return false;
    }
    bool state = has_something(r->options->state_dir);
    if (r->options->replace || (!state && differs[0] == '\0')) {
        return true;
    }
    buf_printf(r->error,
               "%s is there already; --replace puts the backup in its place, and keeps what was there beside",
               state ? r->options->state_dir : differs);
    return false;
}

/* ---- State ---- */

/* The journal tells that it was put back, and from when it is. */
static bool tell_journal(struct restoring *r, const char *state)
{
    const struct json_options json = {.max_depth = 4, .max_bytes = MANIFEST_BYTES};
    struct json_doc doc;
    struct json_error json_error;
    struct buf detail;
    if (!r->unpacked.has_journal) {
        return true;
    }
    int dir = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct journal *journal =
        dir >= 0 ? journal_open(dir, STATE_JOURNAL, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, r->error) : NULL;
    buf_init(&detail, PATH_ROOM);
    json_init(&doc);
    if (json_parse(&doc, buf_slice_of(&r->unpacked.manifest), &json, &json_error)) {
        const struct json_value *made = json_get(&doc, json_root(&doc), "made");
        buf_printf(&detail, "{\"lastSeq\":%llu,\"made\":", (unsigned long long)r->unpacked.journal.last_seq);
        json_write_string(&detail, json_is(made, JSON_STRING) ? json_str(made) : SLICE("?"));
        buf_byte(&detail, '}');
    }
    const struct event event = {.kind = "system.restored", .detail = buf_slice_of(&detail)};
    bool ok = journal != NULL && journal_stage(journal, &event) && journal_commit(journal, true, r->error);
    if (!ok && r->error->len == 0) {
        buf_text(r->error, "the restored journal cannot be written to");
    }
    journal_close(journal);
    json_finish(&doc);
    buf_finish(&detail);
    if (dir >= 0) {
        close(dir);
    }
    return ok;
}

static bool exchange_state(struct restoring *r, const char *state)
{
    char kept[PATH_ROOM + 64];
    const char *dir = r->options->state_dir;
    snprintf(kept, sizeof(kept), "%s%s", dir, r->beside);
    bool moved = has_something(dir);
    if (moved ? rename(dir, kept) != 0 : rmdir(dir) != 0 && errno != ENOENT) {
        return fail(r, dir, "cannot be moved away");
    }
    if (rename(state, dir) != 0) {
        (void)fail(r, dir, "cannot be put in place");
        if (moved && rename(kept, dir) != 0) {
            buf_printf(r->error, "; what was there is at %s", kept);
        }
        return false;
    }
    buf_printf(r->report, "%s: %llu event(s) of the journal, verified\n", dir,
               (unsigned long long)r->unpacked.journal.events);
    if (moved) {
        buf_printf(r->report, "what was there: %s\n", kept);
    }
    return true;
}

static void end_name(struct restoring *r)
{
    char now[CLOCK_ISO_SIZE];
    clock_iso8601(clock_wall_ms(), now);
    snprintf(r->beside, sizeof(r->beside), ".before-%.19s", now);
    for (char *at = r->beside; *at != '\0'; at++) {
        *at = *at == ':' ? '-' : *at;
    }
}

static bool restore(struct restoring *r)
{
    char state[PATH_ROOM], differs[PATH_ROOM];
    snprintf(state, sizeof(state), "%s/" STATE_FOLDER, r->unpacked.path);
    if (mkdir(state, 0700) != 0 && errno != EEXIST) { /* a backup without a state has none of its files */
        return fail(r, state, "cannot be made");
    }
    return may_replace(r) && tell_journal(r, state) && nobody_runs(r) && exchange_state(r, state) &&
           each_setting(r, false, differs);
}

/* Makes what is missing above the state directory. */
static bool make_above(struct restoring *r)
{
    char path[PATH_ROOM];
    size_t len = strlen(r->options->state_dir);
    if (len == 0 || len >= sizeof(path)) {
        buf_text(r->error, "the state directory has no usable name");
        return false;
    }
    memcpy(path, r->options->state_dir, len + 1);
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/') {
            continue;
        }
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            return fail(r, path, "cannot be made");
        }
        *at = '/';
    }
    return true;
}

bool backup_restore(const struct backup_options *options, struct buf *ret_report, struct buf *ret_error)
{
    struct restoring r = {.options = options, .report = ret_report, .error = ret_error};
    end_name(&r);
    if (!nobody_runs(&r) || !make_above(&r)) {
        return false;
    }
    bool ok = unpacked_make(&r.unpacked, options->file, options->state_dir, ret_error) && restore(&r);
    unpacked_finish(&r.unpacked);
    return ok;
}
