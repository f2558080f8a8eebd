/* Changes files of the machine, with a record from which each is restored. */
#include "setup/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define RECORD    "/var/lib/callgate-setup"
#define MOST      ((size_t)64 << 20)
#define LINE_MOST (PATH_MAX + 64)

/* What stands at a place. */
struct thing {
    char kind; /* '-' nothing, 'd' directory, 'f' file, 'l' link */
    unsigned mode, uid, gid;
    struct buf text; /* of a file; of a link its target */
};

struct place {
    char path[PATH_MAX];
};

static bool fail(struct buf *error, const char *what, const char *path)
{
    buf_printf(error, "%s %s: %s", what, path, strerror(errno));
    return false;
}

static bool name_place(struct place *ret_place, const char *root, const char *path, struct buf *error)
{
    int len = snprintf(ret_place->path, sizeof(ret_place->path), "%s%s", root, path);
    if (len > 0 && (size_t)len < sizeof(ret_place->path)) {
        return true;
    }
    buf_text(error, "a name is too long");
    return false;
}

static bool read_file(const char *path, struct buf *text)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool ok = fd >= 0 && file_read_all(fd, text);
    int why = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = why;
    return ok;
}

/* The text is the caller's to finish, whatever comes of it. */
static bool look(const char *path, struct thing *ret_thing, struct buf *error)
{
    struct stat st;
    char target[PATH_MAX];
    ssize_t len;
    *ret_thing = (struct thing){.kind = '-'};
    buf_init(&ret_thing->text, MOST);
    if (lstat(path, &st) != 0) {
        return errno == ENOENT || errno == ENOTDIR || fail(error, "cannot look at", path);
    }
    ret_thing->mode = st.st_mode & 07777;
    ret_thing->uid = st.st_uid;
    ret_thing->gid = st.st_gid;
    if (S_ISDIR(st.st_mode)) {
        ret_thing->kind = 'd';
        return true;
    }
    if (S_ISLNK(st.st_mode) && (len = readlink(path, target, sizeof(target))) > 0) {
        ret_thing->kind = 'l';
        buf_bytes(&ret_thing->text, target, (size_t)len);
        return buf_ok(&ret_thing->text);
    }
    if (!S_ISREG(st.st_mode)) {
        buf_printf(error, "%s is no regular file", path);
        return false;
    }
    ret_thing->kind = 'f';
    return read_file(path, &ret_thing->text) || fail(error, "cannot read", path);
}

static bool write_new(const char *path, struct slice text, const struct thing *as)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    bool ok = file_write_whole(fd, text) && (geteuid() != 0 || fchown(fd, as->uid, as->gid) == 0) &&
              fchmod(fd, as->mode) == 0 && fsync(fd) == 0;
    int why = errno;
    if (close(fd) != 0 || !ok) {
        unlink(path);
        errno = why;
        return false;
    }
    return true;
}

/* Puts a thing in the place of what stands there, whole or not at all. */
static bool put(const char *path, const struct thing *thing, struct buf *error)
{
    struct place beside;
    if (thing->kind == '-') {
        return unlink(path) == 0 || errno == ENOENT || fail(error, "cannot remove", path);
    }
    if (thing->kind == 'd') {
        return (mkdir(path, thing->mode) == 0 && chmod(path, thing->mode) == 0) || errno == EEXIST ||
               fail(error, "cannot make", path);
    }
    if (!name_place(&beside, path, ".callgate-setup", error)) {
        return false;
    }
    (void)unlink(beside.path); /* of a run that was ended halfway */
    char target[PATH_MAX] = "";
    struct slice text = buf_slice_of(&thing->text);
    bool made = false;
    if (thing->kind == 'l' && text.len < sizeof(target)) {
        memcpy(target, text.ptr, text.len);
        made = symlink(target, beside.path) == 0;
    } else if (thing->kind == 'f') {
        made = write_new(beside.path, text, thing);
    }
    if (made && rename(beside.path, path) == 0) {
        return true;
    }
    (void)fail(error, "cannot write", path);
    (void)unlink(beside.path);
    return false;
}

static bool is_same(const struct thing *a, const struct thing *b)
{
    return a->kind == b->kind &&
           (a->kind == '-' || a->kind == 'd' || slice_eq(buf_slice_of(&a->text), buf_slice_of(&b->text)));
}

/* ---- The record: a line for each step, and what was there and what was put there in files of their own ---- */

static bool record_path(struct place *ret_place, const char *root, size_t step, const char *which,
                        struct buf *error)
{
    char name[64];
    snprintf(name, sizeof(name), RECORD "/%zu.%s", step, which);
    return name_place(ret_place, root, name, error);
}

static bool record_thing(const char *root, size_t step, const char *which, const struct thing *thing,
                         struct buf *error)
{
    struct place place;
    const struct thing private = {.mode = 0600, .uid = geteuid(), .gid = getegid()};
    return record_path(&place, root, step, which, error) &&
           (write_new(place.path, buf_slice_of(&thing->text), &private) ||
            fail(error, "cannot keep a copy at", place.path));
}

static char kind_of(enum machine_kind kind)
{
    return kind == MACHINE_DIRECTORY ? 'd' : kind == MACHINE_FILE ? 'f' : 'l';
}

static void wanted(const struct machine_step *step, struct thing *ret_thing)
{
    *ret_thing = (struct thing){.kind = kind_of(step->kind),
                                .mode = step->kind == MACHINE_DIRECTORY ? 0755 : 0644,
                                .uid = geteuid(),
                                .gid = getegid()};
    buf_init(&ret_thing->text, MOST);
    buf_slice(&ret_thing->text, step->text);
}

static bool record_step(const char *root, size_t at, const struct machine_step *step, struct buf *record,
                        struct buf *error)
{
    struct place place;
    struct thing before = {0}, after;
    wanted(step, &after);
    bool ok = name_place(&place, root, step->path, error) && look(place.path, &before, error);
    if (ok && before.kind == 'd' && step->kind != MACHINE_DIRECTORY) {
        buf_printf(error, "%s is a directory", place.path);
        ok = false;
    }
    if (ok && before.kind == 'f' && step->kind == MACHINE_DIRECTORY) {
        buf_printf(error, "%s is no directory", place.path);
        ok = false;
    }
    ok = ok && record_thing(root, at, "before", &before, error) &&
         record_thing(root, at, "after", &after, error);
    if (ok) {
        buf_printf(record, "%c %c %o %u %u %s\n", before.kind, after.kind, before.mode, before.uid,
                   before.gid, step->path);
    }
    buf_finish(&before.text);
    buf_finish(&after.text);
    return ok;
}

static bool forget(const char *root, size_t count, struct buf *error)
{
    struct place place;
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        if (record_path(&place, root, i, "before", error)) {
            (void)unlink(place.path);
        }
        if (record_path(&place, root, i, "after", error)) {
            (void)unlink(place.path);
        }
    }
    ok = name_place(&place, root, RECORD "/record", error) && (unlink(place.path) == 0 || errno == ENOENT);
    return ok && name_place(&place, root, RECORD, error) && rmdir(place.path) == 0;
}

bool machine_is_set_up(const char *root)
{
    struct place place;
    struct buf error;
    buf_init(&error, 256);
    bool is = name_place(&place, root, RECORD "/record", &error) && access(place.path, F_OK) == 0;
    buf_finish(&error);
    return is;
}

static bool do_steps(const char *root, const struct machine_plan *plan, struct buf *error)
{
    struct place place;
    bool ok = true;
    for (size_t i = 0; ok && i < plan->count; i++) {
        struct thing after;
        wanted(&plan->steps[i], &after);
        ok = buf_ok(&after.text) && name_place(&place, root, plan->steps[i].path, error) &&
             put(place.path, &after, error);
        buf_finish(&after.text);
    }
    return ok;
}

bool machine_do(const char *root, const struct machine_plan *plan, struct buf *ret_error)
{
    struct place place;
    struct buf record, report;
    const struct thing private = {.mode = 0600, .uid = geteuid(), .gid = getegid()};
    if (machine_is_set_up(root)) {
        buf_text(ret_error, "it is done already");
        return false;
    }
    (void)forget(root, MACHINE_STEPS_MOST,
                 &(struct buf){0}); /* of a run that was ended before it changed anything */
    if (!name_place(&place, root, RECORD, ret_error) ||
        (mkdir(place.path, 0700) != 0 && !fail(ret_error, "cannot make", place.path))) {
        return false;
    }
    buf_init(&record, MACHINE_STEPS_MOST * LINE_MOST);
    buf_init(&report, MOST);
    bool ok = true;
    for (size_t i = 0; ok && i < plan->count; i++) {
        ok = record_step(root, i, &plan->steps[i], &record, ret_error);
    }
    ok = ok && buf_ok(&record) && name_place(&place, root, RECORD "/record", ret_error) &&
         (write_new(place.path, buf_slice_of(&record), &private) ||
          fail(ret_error, "cannot write", place.path));
    if (!ok) {
        (void)forget(root, plan->count, ret_error);
    } else if (!do_steps(root, plan, ret_error)) {
        ok = false;
        (void)!machine_undo(root, true, &report, ret_error);
    }
    buf_finish(&record);
    buf_finish(&report);
    return ok;
}

/* ---- Undoing ---- */

struct recorded {
    struct thing before, after, now;
    char path[PATH_MAX]; /* below the root */
    struct place place;
};

/* A number with a blank behind it. */
static bool read_number(const char **at, int base, uint32_t *ret_number)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(*at, &end, base);
    if (**at < '0' || **at > '9' || errno != 0 || number > UINT32_MAX || *end != ' ') {
        return false;
    }
    *at = end + 1;
    *ret_number = (uint32_t)number;
    return true;
}

/* KIND KIND MODE USER GROUP PATH: as record_step writes it. */
static bool read_line(const char *line, struct recorded *ret_step)
{
    struct thing *before = &ret_step->before;
    if (strlen(line) < 4 || line[1] != ' ' || line[3] != ' ') {
        return false;
    }
    const char *at = line + 4;
    uint32_t mode, user, group;
    if (!read_number(&at, 8, &mode) || !read_number(&at, 10, &user) || !read_number(&at, 10, &group) ||
        *at != '/' || strlen(at) >= sizeof(ret_step->path)) {
        return false;
    }
    before->kind = line[0];
    ret_step->after.kind = line[2];
    before->mode = mode;
    before->uid = user;
    before->gid = group;
    memcpy(ret_step->path, at, strlen(at) + 1);
    return true;
}

static bool read_step(const char *root, size_t at, const char *line, struct recorded *ret_step,
                      struct buf *error)
{
    struct place place;
    struct thing *before = &ret_step->before, *after = &ret_step->after;
    *ret_step = (struct recorded){0};
    buf_init(&before->text, MOST);
    buf_init(&after->text, MOST);
    buf_init(&ret_step->now.text, MOST);
    if (!read_line(line, ret_step)) {
        buf_text(error, "the record of what was done cannot be read");
        return false;
    }
    buf_finish(&ret_step->now.text);
    return name_place(&ret_step->place, root, ret_step->path, error) &&
           record_path(&place, root, at, "before", error) &&
           (read_file(place.path, &before->text) || fail(error, "cannot read", place.path)) &&
           record_path(&place, root, at, "after", error) &&
           (read_file(place.path, &after->text) || fail(error, "cannot read", place.path)) &&
           look(ret_step->place.path, &ret_step->now, error);
}

static bool restore(struct recorded *step, struct buf *report, struct buf *error)
{
    if (is_same(&step->now, &step->before)) {
        return true;
    }
    if (step->after.kind == 'd') { /* made by it: goes, unless something stands in it by now */
        bool gone = rmdir(step->place.path) == 0;
        buf_printf(report, "%s %s\n", gone ? "removed " : "kept    ", step->path);
        return gone || errno == ENOTEMPTY || errno == ENOENT ||
               fail(error, "cannot remove", step->place.path);
    }
    buf_printf(report, "%s %s\n", step->before.kind == '-' ? "removed " : "restored", step->path);
    return put(step->place.path, &step->before, error);
}

static bool undo_steps(struct recorded *steps, size_t count, bool by_force, struct buf *report,
                       struct buf *error)
{
    bool ok = true;
    for (size_t i = 0; !by_force && i < count; i++) {
        if (!is_same(&steps[i].now, &steps[i].before) && !is_same(&steps[i].now, &steps[i].after)) {
            buf_printf(error, "%s%s was changed since", ok ? "" : ", ", steps[i].path);
            ok = false;
        }
    }
    for (size_t i = count; ok && i > 0; i--) {
        ok = restore(&steps[i - 1], report, error);
    }
    return ok;
}

bool machine_undo(const char *root, bool by_force, struct buf *ret_report, struct buf *ret_error)
{
    static struct recorded steps[MACHINE_STEPS_MOST]; /* too long for a stack; for one caller at a time */
    struct place place;
    struct buf record;
    size_t count = 0;
    buf_init(&record, MOST);
    bool ok = name_place(&place, root, RECORD "/record", ret_error) &&
              (read_file(place.path, &record) || fail(ret_error, "cannot read", place.path));
    buf_byte(&record, '\0');
    for (char *line = ok ? record.ptr : NULL, *end; ok && (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        *end = '\0';
        ok = count < MACHINE_STEPS_MOST && read_step(root, count, line, &steps[count], ret_error);
        count += count < MACHINE_STEPS_MOST;
    }
    ok = ok && undo_steps(steps, count, by_force, ret_report, ret_error) && forget(root, count, ret_error);
    for (size_t i = 0; i < count; i++) {
        buf_finish(&steps[i].before.text);
        buf_finish(&steps[i].after.text);
        buf_finish(&steps[i].now.text);
    }
    buf_finish(&record);
    return ok;
}
