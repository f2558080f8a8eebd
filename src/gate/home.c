/* The home directory, from the user database: an agent may set HOME. */
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "gate/gate.h"

static bool find(struct passwd *entry, char *strings, size_t size)
{
    struct passwd *found = NULL;
#ifdef CALLGATE_STATIC
    /* The database's other sources are shared objects, which the environment could choose. */
    FILE *file = fopen("/etc/passwd", "re");
    while (file != NULL && fgetpwent_r(file, entry, strings, size, &found) == 0 &&
           found->pw_uid != getuid()) {
        found = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
#else
    if (getpwuid_r(getuid(), entry, strings, size, &found) != 0) {
        found = NULL;
    }
#endif
    return found != NULL;
}

bool gate_home_dir(struct buf *ret_path)
{
    struct passwd entry;
    char strings[16 << 10];
    if (!find(&entry, strings, sizeof(strings)) || entry.pw_dir[0] != '/') {
        return false;
    }
    buf_text(ret_path, entry.pw_dir);
    return buf_ok(ret_path);
}

bool gate_default_state_dir(struct buf *ret_path)
{
    if (!gate_home_dir(ret_path)) {
        return false;
    }
    buf_text(ret_path, "/.local/state/callgate");
    return buf_ok(ret_path);
}
