/* What a state directory knows of the places that something was put into: for `uninstall`. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "install/internal.h"
#include "install/wrap.h"

#define PLACES_MOST 4096u

/* Calls with the text of each file of a folder of the state directory whose name ends so. */
static bool each_file(const char *state_dir, const char *folder, const char *ending,
                      bool (*take)(void *context, const char *name, struct slice text), void *context,
                      struct buf *ret_error)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    bool ok = true;
    DIR *stream =
        snprintf(path, sizeof(path), "%s/%s", state_dir, folder) < (int)sizeof(path) ? opendir(path) : NULL;
    if (stream == NULL) {
        if (errno != ENOENT && errno != ENOTDIR) {
            buf_printf(ret_error, "%s cannot be read: %s", path, strerror(errno));
            return false;
        }
        return true;
    }
    while (ok && (entry = readdir(stream)) != NULL) {
        struct buf text;
        if (!slice_ends_with(slice_of(entry->d_name), slice_of(ending))) {
            continue;
        }
        buf_init(&text, LIMIT_MESSAGE_BYTES);
        if (file_read_at(dirfd(stream), entry->d_name, &text)) {
            ok = take(context, entry->d_name, buf_slice_of(&text));
        }
        buf_finish(&text);
    }
    closedir(stream);
    if (!ok) {
        buf_text(ret_error, "no memory, or too many records");
    }
    return ok;
}

/* ---- Hooks ---- */

struct finding_places {
    struct arena *arena;
    struct recorded_place *list;
    size_t count;
};

static bool take_record(void *context, const char *name, struct slice text)
{
    struct finding_places *f = context;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_doc doc;
    struct json_error error;
    bool ok = true;
    (void)name;
    json_init(&doc);
    const struct json_value *root = json_parse(&doc, text, &options, &error) ? json_root(&doc) : NULL,
                            *host = json_get(&doc, root, "host"),
                            *settings = json_get(&doc, root, "settings"),
                            *protect = json_get(&doc, root, "protect");
    if (json_is(host, JSON_STRING) && json_is(settings, JSON_STRING)) {
        struct slice host_name = arena_copy(f->arena, json_str(host));
        struct recorded_place place = {
            .host = host_name.ptr != NULL ? host_find(host_name.ptr) : NULL,
            .settings = arena_copy(f->arena, json_str(settings)).ptr,
        };
        bool protects = json_is(protect, JSON_STRING);
        place.protect = protects ? arena_copy(f->arena, json_str(protect)).ptr : NULL;
        ok = (!protects || place.protect != NULL) && host_name.ptr != NULL && place.settings != NULL &&
             f->count < PLACES_MOST;
        if (ok && place.host != NULL && place.settings[0] == '/') {
            f->list[f->count++] = place;
        }
    }
    json_finish(&doc);
    return ok;
}

bool installed_places(const char *state_dir, struct arena *arena, struct recorded_place **ret_list,
                      size_t *ret_count, struct buf *ret_error)
{
    struct finding_places f = {.arena = arena};
    f.list = arena_array(arena, PLACES_MOST, sizeof(*f.list));
    if (f.list == NULL || !each_file(state_dir, "hooks", ".json", take_record, &f, ret_error)) {
        return false;
    }
    *ret_list = f.list;
    *ret_count = f.count;
    return true;
}

/* ---- Wrapped files ---- */

struct finding_files {
    struct arena *arena;
    const char **list;
    size_t count;
};

static bool take_file(void *context, const char *name, struct slice text)
{
    struct finding_files *f = context;
    (void)name;
    if (text.len == 0 || text.ptr[0] != '/' || memchr(text.ptr, '\0', text.len) != NULL) {
        return true;
    }
    const char *file = f->count < PLACES_MOST ? arena_copy(f->arena, text).ptr : NULL;
    if (file != NULL) {
        f->list[f->count++] = file;
    }
    return file != NULL;
}

bool wrapped_files(const char *state_dir, struct arena *arena, const char ***ret_files, size_t *ret_count,
                   struct buf *ret_error)
{
    struct finding_files f = {.arena = arena};
    f.list = arena_array(arena, PLACES_MOST, sizeof(*f.list));
    if (f.list == NULL || !each_file(state_dir, "wrap", ".place", take_file, &f, ret_error)) {
        return false;
    }
    *ret_files = f.list;
    *ret_count = f.count;
    return true;
}
