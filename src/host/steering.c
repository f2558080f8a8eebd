/* The files that steer hosts, found on this machine, and the switches in them. */
#include "host/steering_internal.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "host/internal.h"
#include "host/toml.h"

#define ROOM_AT_FIRST 64u

/* ---- Paths ---- */

static bool add(struct steering_paths *paths, struct slice dir, const struct steering_file *file)
{
    struct arena *arena = paths->arena;
    size_t len = strlen(file->path);
    while (dir.len > 0 && dir.ptr[dir.len - 1] == '/') {
        dir.len--;
    }
    char *path = arena_alloc(arena, dir.len + len + 2);
    if (path == NULL) {
        return false;
    }
    bool absolute = file->root == STEERING_SYSTEM;
    snprintf(path, dir.len + len + 2, "%.*s%s%s", absolute ? 0 : (int)dir.len, dir.ptr != NULL ? dir.ptr : "",
             absolute ? "" : "/", file->path);
    for (size_t i = 0; i < paths->count; i++) {
        if (strcmp(paths->list[i].path, path) == 0 && paths->list[i].file->form == file->form) {
            return true;
        }
    }
    if (paths->count == paths->cap) {
        size_t cap = paths->cap ? 2 * paths->cap : ROOM_AT_FIRST;
        struct steering_path *list = arena_array(arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        if (paths->count > 0) {
            memcpy(list, paths->list, paths->count * sizeof(*list));
        }
        paths->list = list;
        paths->cap = cap;
    }
    paths->list[paths->count++] = (struct steering_path){.path = path, .file = file};
    return true;
}

static bool add_root(struct steering_paths *paths, const struct host *host, enum steering_root root,
                     struct slice dir)
{
    bool ok = true;
    for (size_t i = 0; i < host->steering->file_count && ok; i++) {
        const struct steering_file *file = &host->steering->files[i];
        ok = file->root != root || add(paths, dir, file);
    }
    return ok;
}

bool steering_add_project(struct steering_paths *paths, const struct host *host, struct slice project)
{
    bool ok = true;
    for (struct slice dir = project; dir.ptr != NULL && ok; dir = directory_above(dir)) {
        ok = add_root(paths, host, STEERING_PROJECT, dir);
    }
    return ok;
}

static bool add_trusted(struct steering_paths *paths, const struct host *host, struct slice project)
{
    /* What is no path of a directory is another kind of entry. */
    return project.len == 0 || project.ptr[0] != '/' || project.len >= PATH_MAX ||
           add_root(paths, host, STEERING_PROJECT, project);
}

static bool add_trusted_by_json(struct steering_paths *paths, const struct host *host, struct slice home)
{
    const struct steering_projects *projects = &host->steering->projects;
    struct config_file config;
    bool ok = true;
    config_open(&config, home, projects->file);
    const struct json_value *list =
        projects->key != NULL ? json_get(&config.doc, config.root, projects->key) : config.root;
    if (json_is(list, JSON_OBJECT)) {
        for (const struct json_value *key = json_first(&config.doc, list); key != NULL && ok;
             key = json_right(&config.doc, list, key)) {
            ok = add_trusted(paths, host, json_str(key));
        }
    }
    config_close(&config);
    return ok;
}

static bool add_trusted_by_toml(struct steering_paths *paths, const struct host *host, struct slice home)
{
    const struct steering_projects *projects = &host->steering->projects;
    struct buf text, header;
    struct toml_line line = {0};
    bool ok = true;
    buf_init(&text, LIMIT_MESSAGE_BYTES + (128u << 10));
    buf_init(&header, LIMIT_MESSAGE_BYTES);
    struct slice rest = config_read(&text, home, projects->file) ? buf_slice_of(&text) : (struct slice){0};
    while (ok && toml_next(&rest, &line)) {
        buf_reset(&header);
        buf_byte(&header, '[');
        buf_slice(&header, line.table);
        buf_byte(&header, ']');
        if (line.key.ptr == NULL && buf_ok(&header)) {
            ok = add_trusted(paths, host, toml_table_name(buf_slice_of(&header), slice_of(projects->key)));
        }
    }
    buf_finish(&text);
    buf_finish(&header);
    return ok;
}

bool steering_add_all(struct steering_paths *paths, const struct host *host, struct slice home,
                      struct slice project)
{
    const struct steering_projects *projects = &host->steering->projects;
    bool ok = add_root(paths, host, STEERING_SYSTEM, (struct slice){0}) &&
              add_root(paths, host, STEERING_HOME, home) && steering_add_project(paths, host, project);
    if (projects->file == NULL || !ok) {
        return ok;
    }
    return projects->form == STEERING_TOML ? add_trusted_by_toml(paths, host, home)
                                           : add_trusted_by_json(paths, host, home);
}

/* ---- Switches ---- */

static bool is_off(const struct json_doc *doc, const struct json_value *value, const char *off)
{
    if (!json_is(value, JSON_ARRAY)) {
        return value != NULL && slice_is(json_text_of(doc, value), off);
    }
    for (const struct json_value *v = json_first(doc, value); v != NULL; v = json_right(doc, value, v)) {
        if (slice_is(json_text_of(doc, v), off)) {
            return true;
        }
    }
    return false;
}

/* The value of a dotted name, or NULL. */
static const struct json_value *value_at(const struct json_doc *doc, const struct json_value *root,
                                         const char *name)
{
    struct slice rest = slice_of(name);
    while (root != NULL && rest.len > 0) {
        const char *dot = memchr(rest.ptr, '.', rest.len);
        struct slice part = {rest.ptr, dot != NULL ? (size_t)(dot - rest.ptr) : rest.len};
        root = json_is(root, JSON_OBJECT) ? json_get_slice(doc, root, part) : NULL;
        rest = slice_from(rest, dot != NULL ? part.len + 1 : part.len);
    }
    return root;
}

static uint32_t switches_in_json(const struct host *host, struct slice dir, const char *name,
                                 bool *ret_unreadable)
{
    const struct host_steering *steering = host->steering;
    struct config_file config;
    uint32_t found = 0;
    config_open(&config, dir, name);
    *ret_unreadable = *ret_unreadable || (config.root == NULL && config.text.len > 0);
    for (size_t i = 0; i < steering->switch_count; i++) {
        const struct json_value *value = value_at(&config.doc, config.root, steering->switches[i].key);
        found |= is_off(&config.doc, value, steering->switches[i].off) ? 1u << i : 0;
    }
    config_close(&config);
    return found;
}

static uint32_t switches_in_toml(const struct host *host, struct slice dir, const char *name)
{
    const struct host_steering *steering = host->steering;
    struct toml_line line = {0};
    struct buf text;
    uint32_t found = 0;
    buf_init(&text, LIMIT_MESSAGE_BYTES + (128u << 10));
    struct slice rest = config_read(&text, dir, name) ? buf_slice_of(&text) : (struct slice){0};
    while (toml_next(&rest, &line)) {
        for (size_t i = 0; i < steering->switch_count; i++) {
            found |= toml_sets(&line, steering->switches[i].key, steering->switches[i].off) ? 1u << i : 0;
        }
    }
    buf_finish(&text);
    return found;
}

static bool ends_in(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && strcmp(name + len - end_len, end) == 0;
}

uint32_t steering_switches_in(const struct host *host, const struct steering_path *path, bool *ret_unreadable)
{
    enum steering_form form = path->file->form;
    uint32_t found = 0;
    *ret_unreadable = false;
    if (form == STEERING_OTHER || host->steering->switch_count == 0) {
        return 0;
    }
    DIR *dir = opendir(path->path);
    if (dir == NULL) {
        const char *name = strrchr(path->path, '/') + 1;
        struct slice above = {path->path, (size_t)(name - path->path) - 1};
        return form == STEERING_TOML ? switches_in_toml(host, above, name)
                                     : switches_in_json(host, above, name, ret_unreadable);
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (form == STEERING_TOML && ends_in(entry->d_name, ".toml")) {
            found |= switches_in_toml(host, slice_of(path->path), entry->d_name);
        } else if (form == STEERING_JSON && ends_in(entry->d_name, ".json")) {
            found |= switches_in_json(host, slice_of(path->path), entry->d_name, ret_unreadable);
        }
    }
    closedir(dir);
    return found;
}
