/* The home directories of users, as `~NAME` means them. Read from /etc/passwd alone: other sources of the user
 * database are shared objects, and what the environment could load has no part in a decision. */
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "path/path.h"

#define NAME_MOST 256u

bool path_is_user_home(struct slice text, struct slice *ret_name, struct slice *ret_rest)
{
    if (text.len < 2 || text.ptr[0] != '~' || text.ptr[1] == '/') {
        return false;
    }
    const char *slash = memchr(text.ptr, '/', text.len);
    size_t end = slash == NULL ? text.len : (size_t)(slash - text.ptr);
    *ret_name = (struct slice){text.ptr + 1, end - 1};
    *ret_rest = slice_from(text, end);
    while (ret_rest->len > 0 && ret_rest->ptr[0] == '/') {
        *ret_rest = slice_from(*ret_rest, 1);
    }
    return true;
}

bool path_user_home(struct slice name, struct buf *ret_home)
{
    char strings[4096];
    struct passwd entry, *found = NULL;
    bool has = false;
    FILE *file = name.len > NAME_MOST ? NULL : fopen("/etc/passwd", "re");
    while (!has && file != NULL && fgetpwent_r(file, &entry, strings, sizeof(strings), &found) == 0) {
        has = slice_is(name, entry.pw_name) && entry.pw_dir[0] == '/';
    }
    if (has) {
        buf_text(ret_home, entry.pw_dir);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return has && buf_ok(ret_home);
}
