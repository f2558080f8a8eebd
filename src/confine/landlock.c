/* What a confinement by Landlock alone leaves open, in words. */
#include "confine/landlock.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"

#define ASK_VERSION 1u

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    return abi > 0 ? (int)abi : 0;
}

bool landlock_can_write(const struct view *view, struct slice path)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->list[i].kind == VIEW_WRITABLE && path_is_under(path, view->list[i].path)) {
            return true;
        }
    }
    return path_is_under(path, SLICE("/tmp")) || path_is_under(path, SLICE("/dev/shm"));
}

/* No socket with a name can be reached, so that none has to be hidden. */
static bool is_socket(struct slice path)
{
    struct stat st;
    return stat(path.ptr, &st) == 0 && S_ISSOCK(st.st_mode);
}

void landlock_write_gaps(struct buf *buf, const struct view *view, int abi)
{
    static const char *const always[] = {
        "modes, owners, times and attributes of your files, wherever they are (chmod, touch)",
        "that a hidden file is there, and its size and times (stat)",
        "/tmp and /dev/shm are those of outside: your files there can be read and written",
        "processes outside can be seen, with their command lines and limits",
        "what the program leaves behind runs on",
        "names that are denied and made later in a writable directory",
    };
    for (size_t i = 0; i < view->count; i++) {
        const struct view_place *place = &view->list[i];
        bool hidden = place->kind == VIEW_HIDDEN && !is_socket(place->path);
        if ((!hidden && place->kind != VIEW_FROZEN) || !landlock_can_write(view, place->path)) {
            continue;
        }
        buf_text(buf, "not held  ");
        utf8_append_printable(buf, place->path);
        buf_text(buf, hidden ? " can be read and written: it is denied, and lies in a writable directory\n"
                             : " can be written: it lies in a writable directory\n");
    }
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
        buf_printf(buf, "not held  %s\n", always[i]);
    }
    if (abi < LANDLOCK_ABI_WITH_SCOPES) {
        buf_printf(
            buf,
            "not held  signals to your processes outside: this kernel's Landlock is ABI %d, they take %d\n",
            abi, LANDLOCK_ABI_WITH_SCOPES);
    }
    if (abi < LANDLOCK_ABI_WITH_IOCTLS) {
        buf_printf(
            buf,
            "not held  what devices are told by ioctl: this kernel's Landlock is ABI %d, that takes %d\n",
            abi, LANDLOCK_ABI_WITH_IOCTLS);
    }
}
