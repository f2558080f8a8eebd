/* The proof of a backup: unpacked, every byte compared, the journal's chain verified, the store's integrity checked. */
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
#include "base/file.h"
#include "gate/state.h"
#include "journal/reader.h"

/* ---- Directories ---- */

static void remove_below(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    if (stream == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(fd, entry->d_name, 0) == 0) {
            continue;
        }
        remove_below(fd, entry->d_name);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(stream);
}

void remove_tree(const char *path)
{
    remove_below(AT_FDCWD, path);
    (void)rmdir(path);
}

/* ---- Verifying ---- */

static bool is_there(const char *folder, const char *file)
{
    char path[8192];
    struct stat st;
    return snprintf(path, sizeof(path), "%s/%s", folder, file) < (int)sizeof(path) && lstat(path, &st) == 0;
}

static bool verify_journal(struct unpacked *u, const char *state, struct buf *ret_error)
{
    struct journal_parts parts;
    bool ok = journal_parts_find(state, STATE_JOURNAL, &parts, ret_error);
    if (!ok) {
        return false;
    }
    u->has_journal = parts.count > 1 || is_there(state, STATE_JOURNAL);
    ok = !u->has_journal ||
         journal_verify(parts.files, parts.count, (struct slice){0}, &u->journal, ret_error);
    if (ok && u->journal.fault.reason != NULL) {
        const struct journal_fault *fault = &u->journal.fault;
        const char *slash = memrchr(fault->file.ptr, '/', fault->file.len);
        size_t skip = slash != NULL ? (size_t)(slash - fault->file.ptr) + 1 : 0;
        buf_printf(ret_error, "the journal in the backup does not verify: %.*s: line %llu: %s",
                   SLICE_FMT(slice_from(fault->file, skip)), (unsigned long long)fault->line, fault->reason);
        ok = false;
    }
    u->journal.fault = (struct journal_fault){0}; /* it borrows the names */
    journal_parts_finish(&parts);
    return ok;
}

static bool verify_store(const char *state, struct buf *ret_error)
{
    char path[8192];
    snprintf(path, sizeof(path), "%s/" STATE_APPROVALS, state);
    return !is_there(state, STATE_APPROVALS) || store_copy_check(path, ret_error);
}

static bool unpack(struct unpacked *u, const char *file, struct buf *ret_error)
{
    const char *why = NULL;
    int fd = file_open_text(file, &why);
    int into = fd >= 0 ? open(u->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    bool ok = into >= 0 && archive_unpack(fd, into, &u->manifest, ret_error);
    if (fd < 0) {
        buf_printf(ret_error, "%s %s", file, why);
    } else if (into < 0) {
        buf_printf(ret_error, "%s cannot be opened: %s", u->path, strerror(errno));
    }
    if (into >= 0) {
        close(into);
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

bool unpacked_make(struct unpacked *u, const char *file, const char *place, struct buf *ret_error)
{
    char path[sizeof(u->path)], state[sizeof(u->path) + 16];
    *u = (struct unpacked){.path = ""};
    buf_init(&u->manifest, MANIFEST_BYTES);
    int len = snprintf(path, sizeof(path), "%s.callgate-XXXXXX", place);
    if (len < 0 || (size_t)len >= sizeof(path) || mkdtemp(path) == NULL) {
        buf_printf(ret_error, "no directory can be made beside %s: %s", place, strerror(errno));
        return false;
    }
    memcpy(u->path, path, sizeof(path));
    snprintf(state, sizeof(state), "%s/" STATE_FOLDER, u->path);
    return unpack(u, file, ret_error) && verify_journal(u, state, ret_error) &&
           verify_store(state, ret_error);
}

void unpacked_finish(struct unpacked *u)
{
    if (u->path[0] != '\0') {
        remove_tree(u->path);
    }
    buf_finish(&u->manifest);
    *u = (struct unpacked){.path = ""};
}
