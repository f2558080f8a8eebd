/* Opens the state directory after checking whose it is. */
#include "gate/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes every missing directory of `dir`, which is changed on the way and put back. */
static bool make_missing(char *dir)
{
    for (char *at = dir + 1;; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char was = *at;
        *at = '\0';
        bool made = mkdir(dir, 0700) == 0 || errno == EEXIST;
        *at = was;
        if (!made) {
            return false;
        }
        if (was == '\0') {
            return true;
        }
    }
}

static int fail(struct buf *ret_error, const char *dir, const char *why)
{
    buf_printf(ret_error, "state directory %s %s", dir, why);
    return -1;
}

int state_open(const char *dir, struct buf *ret_error)
{
    char copy[PATH_MAX];
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/') {
        len--;
    }
    if (len == 0 || len >= sizeof(copy)) {
        return fail(ret_error, dir, "has no usable name");
    }
    memcpy(copy, dir, len);
    copy[len] = '\0';

    int fd = open(copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make_missing(copy)) {
        fd = open(copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0) {
        buf_printf(ret_error, "state directory %s cannot be opened: %s", dir,
                   errno == ELOOP || errno == ENOTDIR ? "it is no directory (a link is not followed)"
                                                      : strerror(errno));
        return -1;
    }
    struct stat st;
    const char *why = NULL;
    if (fstat(fd, &st) != 0) {
        why = "cannot be examined";
    } else if (st.st_uid != geteuid()) {
        why = "belongs to another user: name one of your own with --state";
    } else if (st.st_mode & 077) {
        why = "can be entered by others: chmod 700 it";
    }
    if (why != NULL) {
        close(fd);
        return fail(ret_error, dir, why);
    }
    return fd;
}
