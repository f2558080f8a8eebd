/* Finding and starting the programs of libexec. */
#include "cli/libexec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

void libexec_path(const char *name, struct buf *ret_path)
{
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *end = NULL;
    if (len > 0) {
        own[len] = '\0';
        end = strrchr(own, '/');
    }
    if (end == NULL) {
        ret_path->failed = true;
        return;
    }
    *end = '\0';
    buf_printf(ret_path, "%s/%s%c", own, name, 0);
    if (buf_ok(ret_path) && access(ret_path->ptr, X_OK) != 0) {
        buf_reset(ret_path);
        buf_printf(ret_path, "%s/../libexec/callgate/%s%c", own, name, 0);
    }
}

int libexec_become(const char *name, char *const *argv)
{
    struct buf path;
    buf_init(&path, PATH_MAX);
    libexec_path(name, &path);
    if (buf_ok(&path)) {
        execv(path.ptr, argv);
    }
    say("%s cannot be started: %s; it is a program of its own: install the whole package", name,
        buf_ok(&path) ? strerror(errno) : "the place of this program cannot be told");
    buf_finish(&path);
    return EXIT_UNABLE;
}
