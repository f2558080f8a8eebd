/* opencode: its plugin (shims/opencode) sends {"tool","sessionID","callID","args","directory"} and throws on
 * anything but a clear no-deny.
 *
 * opencode has no hook that runs a program, so the shape of both messages is ours. */
#include "host/internal.h"

#include <string.h>

static const struct host_event events[] = {
    {
        .name = "tool.execute.before",
        .deny = "{\"decision\":\"deny\",\"reason\":\"" HOST_DENY_TEXT "\"}\n",
        .none = "{\"decision\":\"none\"}\n",
        .allow = "{\"decision\":\"allow\"}\n",
        .deny_code = 2,
    },
};

static const char *const silent[] = {NULL};

/* Names of its own tools that look like a server's. */
static const char *const own[] = {"apply_patch", "plan_enter", "plan_exit", "todo_read", "todo_write", NULL};

static bool is_own(struct slice tool)
{
    for (const char *const *name = own; *name != NULL; name++) {
        if (slice_is(tool, *name)) {
            return true;
        }
    }
    return false;
}

static bool add_file(struct host_message *message, struct host_servers *servers, struct slice dir,
                     const char *file)
{
    struct config_file config;
    config_open(&config, dir, file);
    bool ok = servers_add(message, servers, &config, json_get(&config.doc, config.root, "mcp"));
    config_close(&config);
    return ok;
}

static bool add_servers(struct host_message *message, const struct host_places *places,
                        struct host_servers *servers)
{
    return add_file(message, servers, places->home, ".config/opencode/opencode.json") &&
           add_file(message, servers, places->home, ".config/opencode/opencode.jsonc") &&
           add_file(message, servers, places->home, ".config/opencode/config.json") &&
           servers_add_above(message, servers, message->cwd, "opencode.json", "mcp") &&
           servers_add_above(message, servers, message->cwd, "opencode.jsonc", "mcp");
}

/* SERVER_TOOL, or a tool of a plugin with a `_` in its name. */
static bool take_name(struct host_message *message, const struct host_places *places)
{
    struct host_servers servers = {0};
    struct slice tool;
    if (!message_text(message, "tool", "'tool' is not a non-empty string", &tool)) {
        return false;
    }
    if (is_own(tool) || memchr(tool.ptr, '_', tool.len) == NULL) {
        return message_take_name(message, tool);
    }
    return add_servers(message, places, &servers) &&
           split_name(message, tool, SLICE("_"), &servers, tool, true);
}

static bool read_opencode(struct host_message *message, const struct host_places *places)
{
    if (!message_take_session(message, "sessionID") || !message_take_cwd(message, "directory") ||
        !take_name(message, places) ||
        !message_take_input(message, json_get(&message->doc, json_root(&message->doc), "args"))) {
        return false;
    }
    bool patch = slice_is(message->names[0].tool, "apply_patch") || slice_is(message->names[0].tool, "patch");
    return patch ? message_add_patch_paths(message) : true;
}

static const char *const write_tools[] = {"write", "edit", "multiedit", "patch", "apply_patch", NULL};

static const struct steering_file steering_files[] = {
    {STEERING_HOME, ".config/opencode", STEERING_OTHER}, /* settings, plugins, tools */
    {STEERING_HOME, ".opencode", STEERING_OTHER},        {STEERING_PROJECT, ".opencode", STEERING_OTHER},
    {STEERING_PROJECT, "opencode.json", STEERING_OTHER}, {STEERING_PROJECT, "opencode.jsonc", STEERING_OTHER},
    {STEERING_SYSTEM, "/etc/opencode", STEERING_OTHER},
};

static const struct host_steering steering = {
    .files = steering_files,
    .file_count = sizeof(steering_files) / sizeof(*steering_files),
};

static const struct host_resource_tool resource_tools[] = {{NULL, NULL}};

static const struct host_settings shape = {
    .user = ".config/opencode/plugins/callgate.js",
    .project = ".opencode/plugins/callgate.js",
    .plugin = true,
    .entry = "",
    .timeout_unit_ms = 1,
    .margin_ms = 30000,
    .write_tools = write_tools,
};

const struct host host_opencode = {
    .name = "opencode",
    .summary = "opencode",
    .deadline_ms = 570000,
    .events = events,
    .event_count = sizeof(events) / sizeof(*events),
    .silent = silent,
    .path_arguments = "{\"pathArguments\":{\"apply_patch\":[\"patchPaths\"],\"patch\":[\"patchPaths\"],"
                      "\"glob\":[\"pattern\"]},"
                      "\"treeArguments\":{\"glob\":[\"path\"],\"grep\":[\"path\"],\"list\":[\"path\"]}}",
    .resource_tools = resource_tools,
    .shape = &shape,
    .steering = &steering,
    .read = read_opencode,
    .servers = add_servers,
};
