/* Making a backup: journal and store of one moment, the other files as they are, and the proof that it is whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approval/approval.h"
#include "backup/internal.h"
#include "base/clock.h"
#include "gate/state.h"
#include "journal/snapshot.h"
#include "json/json.h"

#define PATH_ROOM 8192

struct writing {
    const struct backup_options *options;
    struct archive archive;
    char partial[4096]; /* the archive until it is verified */
    char copy[4096];    /* of the store */
    struct buf *report, *error;
    size_t count;
};

static bool fail(struct writing *w, const char *path, const char *what)
{
    buf_printf(w->error, "%s %s: %s", path, what, strerror(errno));
    return false;
}

/* ---- Files as they are ---- */

/* What is no part of a backup: who runs, what is on its way, and what is copied in another way. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {STATE_GATES, "outbox", "serve.lock"};
    struct slice text = slice_of(name);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (slice_is(text, names[i])) {
            return true;
        }
    }
    return name[0] == '.' || slice_starts_with(text, SLICE(STATE_JOURNAL)) ||
           slice_starts_with(text, SLICE(STATE_APPROVALS)) || slice_ends_with(text, SLICE(".new")) ||
           memmem(name, text.len, ".callgate-", 10) != NULL;
}

static bool add_file(struct writing *w, int dir, const char *name, const char *entry, bool *ret_is_folder)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool ok = true;
    if (fd < 0) {
        /* A socket cannot be opened, and what has gone meanwhile was not there. */
        return errno == ENXIO || errno == ENOENT || fail(w, entry, "cannot be opened");
    }
    if (fstat(fd, &st) != 0) {
        ok = fail(w, entry, "cannot be looked at");
    } else if (S_ISREG(st.st_mode)) {
        ok = archive_add(&w->archive, entry, fd, (uint64_t)st.st_size, w->error);
        w->count++;
    }
    *ret_is_folder = ok && S_ISDIR(st.st_mode);
    close(fd);
    return ok;
}

/* The plain files of a directory, and of its folders where `folders`. */
static bool add_files(struct writing *w, int at, const char *path, const char *prefix, bool folders)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool ok = true;
    if (stream == NULL) {
        ok = errno == ENOENT || fail(w, path, "cannot be opened");
        if (fd >= 0) {
            close(fd);
        }
        return ok;
    }
    while (ok && (entry = readdir(stream)) != NULL) {
        char name[PATH_ROOM];
        bool is_folder = false;
        if (is_left_out(entry->d_name)) {
            continue;
        }
        snprintf(name, sizeof(name), "%s/%s", prefix, entry->d_name);
        ok = add_file(w, fd, entry->d_name, name, &is_folder);
        if (ok && is_folder && folders) {
            ok = add_files(w, fd, entry->d_name, name, false);
        }
    }
    closedir(stream);
    return ok;
}

/* ---- Journal and store ---- */

static bool add_journal(struct writing *w, const struct journal_snapshot *snapshot)
{
    bool ok = true;
    for (size_t i = 0; i < snapshot->count && ok; i++) {
        char name[PATH_ROOM];
        snprintf(name, sizeof(name), STATE_FOLDER "/%s", snapshot->parts[i].name);
        ok = archive_add(&w->archive, name, snapshot->parts[i].fd, snapshot->parts[i].size, w->error);
        w->count++;
    }
    return ok;
}

static bool add_store(struct writing *w)
{
    struct stat st;
    int fd = open(w->copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || fail(w, w->copy, "cannot be opened");
    }
    bool ok = fstat(fd, &st) == 0 &&
              archive_add(&w->archive, STATE_FOLDER "/" STATE_APPROVALS, fd, (uint64_t)st.st_size, w->error);
    close(fd);
    w->count++;
    return ok;
}

/* The write lock of the store keeps every answer of people out, in journal and store, while both are looked at. What is
 * read through is another connection: SQLite copies nothing for one that is in the middle of a change. */
static bool look_at_once(struct writing *w, struct journal_snapshot *snapshot)
{
    const char *dir = w->options->state_dir;
    char path[PATH_ROOM];
    struct stat st;
    snprintf(path, sizeof(path), "%s/" STATE_APPROVALS, dir);
    if (lstat(path, &st) != 0) {
        return journal_snapshot_take(snapshot, dir, STATE_JOURNAL, w->error);
    }
    struct store *lock = store_open(dir, w->error);
    struct store *reader = lock != NULL ? store_open(dir, w->error) : NULL;
    bool ok = reader != NULL;
    if (ok && !store_begin(lock)) {
        buf_text(w->error, store_error(lock));
        ok = false;
    }
    ok = ok && journal_snapshot_take(snapshot, dir, STATE_JOURNAL, w->error);
    if (ok && !store_copy(reader, w->copy)) {
        buf_text(w->error, store_error(reader));
        ok = false;
    }
    if (lock != NULL) {
        store_rollback(lock);
    }
    store_close(reader);
    store_close(lock);
    return ok;
}

static bool add_all(struct writing *w)
{
    struct journal_snapshot snapshot = {0};
    bool ok = look_at_once(w, &snapshot) && add_journal(w, &snapshot) && add_store(w) &&
              add_files(w, AT_FDCWD, w->options->state_dir, STATE_FOLDER, true) &&
              add_files(w, AT_FDCWD, w->options->config_dir, CONFIG_FOLDER, false);
    journal_snapshot_finish(&snapshot);
    return ok;
}

static void write_head(struct buf *head, const struct backup_options *options)
{
    char now[CLOCK_ISO_SIZE];
    clock_iso8601(clock_wall_ms(), now);
    buf_printf(head, "\"v\":1,\"made\":\"%s\",\"program\":", now);
    json_write_bytes(head, slice_of(options->program));
    buf_text(head, ",\"stateDir\":");
    json_write_bytes(head, slice_of(options->state_dir));
    buf_byte(head, ',');
}

/* ---- The whole ---- */

static bool make(struct writing *w)
{
    struct buf head;
    w->archive.fd = open(w->partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (w->archive.fd < 0) {
        return fail(w, w->partial, "cannot be made");
    }
    buf_init(&head, PATH_ROOM * 8);
    write_head(&head, w->options);
    bool ok = add_all(w) && archive_end(&w->archive, buf_slice_of(&head), w->error);
    if (close(w->archive.fd) != 0 && ok) {
        ok = fail(w, w->partial, "cannot be written");
    }
    buf_finish(&head);
    return ok;
}

static bool prove(struct writing *w)
{
    struct unpacked unpacked;
    bool ok = unpacked_make(&unpacked, w->partial, w->partial, w->error);
    if (ok) {
        buf_printf(w->report, "%s: %zu file(s), %llu event(s) of the journal, verified\n", w->options->file,
                   w->count, (unsigned long long)unpacked.journal.events);
        if (unpacked.journal.continues > 0) {
            buf_printf(w->report,
                       "the journal's first part follows event %llu, which is not there any more\n",
                       (unsigned long long)unpacked.journal.continues);
        }
    }
    unpacked_finish(&unpacked);
    return ok;
}

static bool put_in_place(struct writing *w)
{
    const char *file = w->options->file;
    int result = w->options->replace ? rename(w->partial, file)
                                     : renameat2(AT_FDCWD, w->partial, AT_FDCWD, file, RENAME_NOREPLACE);
    return result == 0 || fail(w, file, "cannot be put in place");
}

bool backup_write(const struct backup_options *options, struct buf *ret_report, struct buf *ret_error)
{
    struct writing w = {.options = options, .report = ret_report, .error = ret_error};
    struct stat st;
    if (!options->replace && lstat(options->file, &st) == 0) {
        buf_printf(ret_error, "%s is there already; --replace puts the backup in its place", options->file);
        return false;
    }
    if (stat(options->state_dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        buf_printf(ret_error, "there is no state directory %s", options->state_dir);
        return false;
    }
    int len = snprintf(w.partial, sizeof(w.partial), "%s.callgate-%ld", options->file, (long)getpid());
    int copy_len = snprintf(w.copy, sizeof(w.copy), "%s.store", w.partial);
    if (len < 0 || copy_len < 0 || (size_t)copy_len >= sizeof(w.copy)) {
        buf_text(ret_error, "the file's name is too long");
        return false;
    }
    buf_init(&w.archive.files, MANIFEST_BYTES / 2);
    bool ok = make(&w) && prove(&w) && put_in_place(&w);
    (void)unlink(w.copy);
    if (!ok) {
        (void)unlink(w.partial);
    }
    buf_finish(&w.archive.files);
    return ok;
}
