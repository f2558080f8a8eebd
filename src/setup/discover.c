/* The servers in the MCP configurations of this user and project. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "setup/setup.h"
#include "json/json.h"

static struct found_server *find(const struct found *found, struct slice name)
{
    for (size_t i = 0; i < found->count; i++) {
        if (slice_eq(found->list[i].entry.name, name)) {
            return &found->list[i];
        }
    }
    return NULL;
}

static bool add(struct found *found, const struct server_entry *entry, const struct mcp_config *config,
                const char *file)
{
    struct found_server *known = find(found, entry->name);
    if (known != NULL && (!known->of_project || config->of_project)) {
        return true;
    }
    struct found_server server = {
        .entry = *entry, .client = config->client, .file = file, .of_project = config->of_project};
    if (known != NULL) {
        *known = server; /* the user's own stands for the project's */
        return true;
    }
    if (found->count == found->cap) {
        size_t cap = found->cap > 0 ? 2 * found->cap : 16;
        struct found_server *list = arena_array(found->arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        if (found->count > 0) {
            memcpy(list, found->list, found->count * sizeof(*list));
        }
        found->list = list;
        found->cap = cap;
    }
    found->list[found->count++] = server;
    return true;
}

static bool read_config(struct found *found, const struct mcp_config *config, const char *path,
                        struct buf *ret_report)
{
    struct text_file file;
    struct buf error;
    struct server_entries entries = {.arena = found->arena};
    size_t len = strlen(path);
    buf_init_message(&error, 1u << 16);
    bool toml = len > 5 && strcmp(path + len - 5, ".toml") == 0, ok = true;
    bool read = text_file_read(&file, path, LIMIT_MESSAGE_BYTES, &error);
    if (read && file.existed) {
        const char *name = arena_copy(found->arena, buf_slice_of(&file.path)).ptr;
        ok = name != NULL;
        bool parsed = toml ? server_entries_toml(&entries, buf_slice_of(&file.text))
                           : server_entries_json(&entries, path, buf_slice_of(&file.text), &error);
        for (size_t i = 0; i < entries.count && ok && parsed; i++) {
            ok = add(found, &entries.list[i], config, name);
        }
    }
    if (read) {
        text_file_finish(&file);
    }
    if (error.len > 0) {
        buf_printf(ret_report, "passed over: %.*s\n", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    return ok;
}

bool setup_find_servers(struct found *found, struct slice home, struct slice project, struct buf *ret_report)
{
    bool ok = true;
    for (size_t i = 0; i < mcp_config_count && ok; i++) {
        const struct mcp_config *config = &mcp_configs[i];
        struct slice dir = config->of_project ? project : home;
        char path[PATH_MAX + 64];
        if (config->of_project && slice_eq(project, home)) {
            continue;
        }
        snprintf(path, sizeof(path), "%.*s%s%s", SLICE_FMT(dir),
                 dir.len > 0 && dir.ptr[dir.len - 1] == '/' ? "" : "/", config->file);
        ok = read_config(found, config, path, ret_report);
    }
    return ok;
}
