/* Doors that stand open outside: sockets with names in the file system. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine/view_internal.h"

/* Whether a socket is one that the confined program could reach by its name. Those of /tmp, /dev and /proc are out
 * of sight by themselves. */
static bool counts(const char *path)
{
    static const char *const private[] = {"/tmp/", "/dev/", "/proc/"};
    for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++) {
        if (strncmp(path, private[i], strlen(private[i])) == 0) {
            return false;
        }
    }
    return path[0] == '/' && access(path, F_OK) == 0;
}

bool view_add_sockets(struct view *view, const struct view_options *options)
{
    char run[64], *line = NULL;
    size_t size = 0;
    snprintf(run, sizeof(run), "/run/user/%u", (unsigned)geteuid());
    bool ok = access(run, F_OK) != 0 || view_add(view, VIEW_HIDDEN, slice_of(run), "other programs' sockets");
    FILE *file = fopen("/proc/net/unix", "re");
    while (ok && file != NULL && getline(&line, &size, file) > 0) {
        char *path = strchr(line, '/');
        if (path != NULL) {
            path[strcspn(path, "\n")] = '\0';
            ok = !counts(path) || slice_eq(slice_of(path), options->gate_socket) ||
                 view_add(view, VIEW_HIDDEN, slice_of(path), "a socket that a program outside listens on");
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    free(line);
    return ok;
}
