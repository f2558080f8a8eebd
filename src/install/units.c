/* The systemd user units of a broker, taken out: the files that people copied there, and the links that
 * `systemctl --user enable` made to them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "install/install.h"

#define UNITS_DIR  ".config/systemd/user"
#define UNIT_BYTES ((size_t)64 << 10)

static const char *const units[] = {"callgate.socket", "callgate.service"};

/* The folders of links that the units' [Install] sections name. */
static const char *const wants[] = {"sockets.target.wants", "default.target.wants"};

struct removing {
    struct slice home;
    bool dry_run, found;
    struct buf *report, *error;
};

static bool remove_file(struct removing *r, const char *path)
{
    if (!r->dry_run && unlink(path) != 0 && errno != ENOENT) {
        buf_printf(r->error, "%s cannot be removed: %s", path, strerror(errno));
        return false;
    }
    r->found = true;
    buf_printf(r->report, "%s %s\n", r->dry_run ? "would remove" : "removed", path);
    return true;
}

/* Ours says so in its first line behind [Unit]: other programs may have units of these names. */
static bool is_ours(struct slice text)
{
    return memmem(text.ptr, text.len, "Documentation=man:callgate-serve(1)", 35) != NULL;
}

/* A link that `systemctl --user enable` made: to a unit of ours, wherever that is, or to one that is gone. */
static bool is_our_link(const char *path)
{
    struct stat st;
    char text[4096];
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT;
    }
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    return n > 0 && is_ours((struct slice){text, (size_t)n});
}

static bool remove_links(struct removing *r, const char *unit)
{
    char path[PATH_MAX];
    bool ok = true;
    for (size_t i = 0; i < sizeof(wants) / sizeof(*wants) && ok; i++) {
        int len =
            snprintf(path, sizeof(path), "%.*s/" UNITS_DIR "/%s/%s", SLICE_FMT(r->home), wants[i], unit);
        if (len < (int)sizeof(path) && is_our_link(path)) {
            ok = remove_file(r, path);
        }
    }
    return ok;
}

static bool remove_unit(struct removing *r, const char *unit)
{
    char path[PATH_MAX];
    struct text_file file;
    if (snprintf(path, sizeof(path), "%.*s/" UNITS_DIR "/%s", SLICE_FMT(r->home), unit) >=
        (int)sizeof(path)) {
        buf_text(r->error, "a name is too long");
        return false;
    }
    if (!remove_links(r, unit) || !text_file_read(&file, path, UNIT_BYTES, r->error)) {
        return false;
    }
    bool ok = !file.existed || !is_ours(buf_slice_of(&file.text)) || remove_file(r, path);
    text_file_finish(&file);
    return ok;
}

bool units_remove(struct slice home, bool dry_run, bool *ret_found, struct buf *ret_report,
                  struct buf *ret_error)
{
    struct removing r = {.home = home, .dry_run = dry_run, .report = ret_report, .error = ret_error};
    bool ok = true;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && ok; i++) {
        ok = remove_unit(&r, units[i]);
    }
    *ret_found = r.found;
    return ok;
}
