/* The systemd user units of a broker, taken out: the files that people copied from packaging/, and the links that
 * `systemctl --user enable` made to them. */
#include <errno.h>
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

static bool remove_links(struct removing *r, const char *unit)
{
    char path[PATH_MAX];
    struct stat st;
    bool ok = true;
    for (size_t i = 0; i < sizeof(wants) / sizeof(*wants) && ok; i++) {
        int len =
            snprintf(path, sizeof(path), "%.*s/" UNITS_DIR "/%s/%s", SLICE_FMT(r->home), wants[i], unit);
        if (len < (int)sizeof(path) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
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
    if (!text_file_read(&file, path, UNIT_BYTES, r->error)) {
        return false;
    }
    bool ok = true;
    if (file.existed && is_ours(buf_slice_of(&file.text))) {
        ok = remove_links(r, unit) && remove_file(r, path); /* the name itself, where it is a link */
    }
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
