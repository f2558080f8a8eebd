/* Names that the policy denies wherever they stand, as far as they stand below writable directories now. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/view_internal.h"
#include "policy/policy.h"

#define DEPTH_MOST 64u

struct search {
    struct view *view;
    const struct view_options *options;
    struct view_question *found;
    size_t count, cap, looked;
    bool failed;
};

static bool matches(const struct view_options *options, struct slice path)
{
    const char *slash = memrchr(path.ptr, '/', path.len);
    struct slice name = slice_from(path, slash != NULL ? (size_t)(slash - path.ptr) : 0); /* with its slash */
    const struct reading_interest *interest = &options->policy->interest;
    for (size_t i = 0; i < interest->component_count; i++) {
        if (path_has_component(name, interest->components[i])) {
            return true;
        }
    }
    return false;
}

static void keep(struct search *s, struct slice path)
{
    if (s->count == s->cap) {
        size_t cap = s->cap > 0 ? s->cap * 2 : 64;
        struct view_question *list = arena_array(&s->view->arena, cap, sizeof(*list));
        if (list == NULL) {
            s->failed = true;
            return;
        }
        if (s->count > 0) {
            memcpy(list, s->found, s->count * sizeof(*list));
        }
        s->found = list;
        s->cap = cap;
    }
    struct slice copy = arena_copy(&s->view->arena, path);
    s->failed = s->failed || copy.ptr == NULL;
    s->found[s->count++] = (struct view_question){.path = copy};
}

/* Links are not followed: what they lead to stands elsewhere and is hidden there. */
static void walk(struct search *s, int dir, char *path, size_t len, unsigned depth)
{
    DIR *stream = fdopendir(dir);
    if (stream == NULL) {
        close(dir);
        return;
    }
    for (struct dirent *entry; !s->failed && (entry = readdir(stream)) != NULL;) {
        size_t name = strlen(entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            len + name + 2 > PATH_MAX) {
            continue;
        }
        if (++s->looked > VIEW_ENTRIES_MOST) {
            s->view->cut = true;
            break;
        }
        path[len] = '/';
        memcpy(path + len + 1, entry->d_name, name + 1);
        size_t whole = len + 1 + name;
        if (matches(s->options, (struct slice){path, whole})) {
            keep(s, (struct slice){path, whole});
        } else if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && depth < DEPTH_MOST) {
            int below = openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (below >= 0) {
                walk(s, below, path, whole, depth + 1);
            }
        }
        path[len] = '\0';
    }
    closedir(stream);
}

bool view_find_names(struct view *view, const struct view_options *options, struct buf *ret_error)
{
    struct search s = {.view = view, .options = options};
    char path[PATH_MAX];
    for (size_t i = 0; options->policy->interest.component_count > 0 && i < options->writable_count; i++) {
        struct slice place = options->writable[i].path;
        if (place.len >= sizeof(path)) {
            continue;
        }
        memcpy(path, place.ptr, place.len);
        path[place.len] = '\0';
        int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0) {
            walk(&s, dir, path, place.len, 0);
        }
    }
    if (s.failed) {
        buf_text(ret_error, "no memory");
        return false;
    }
    if (!view_prove(options->policy, options->base, s.found, s.count, &view->arena, ret_error)) {
        return false;
    }
    for (size_t i = 0; i < s.count; i++) {
        bool ok = view_add(view, s.found[i].proved ? VIEW_HIDDEN : VIEW_VISIBLE, s.found[i].path,
                           s.found[i].proved ? "every call to a file of this name is denied"
                                             : "a rule may let a call to it through");
        if (!ok) {
            buf_text(ret_error, "no memory");
            return false;
        }
    }
    return true;
}
