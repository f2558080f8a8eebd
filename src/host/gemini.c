/* Gemini CLI: BeforeTool.
 *
 * Its runner takes JSON on standard output whatever the exit code, and plain text of either stream as an
 * allow below code 2 and as a deny from there on: a deny goes out both ways. */
#include "host/internal.h"

#include <string.h>

static const struct host_event events[] = {
    {
        .name = "BeforeTool",
        .deny = "{\"decision\":\"deny\",\"reason\":\"" HOST_DENY_TEXT "\"}\n",
        .ask = "{\"decision\":\"ask\",\"systemMessage\":\"Callgate asks for your approval.\"}\n",
        .none = "",
        .allow = "{\"decision\":\"allow\"}\n",
        .deny_code = 2,
    },
};

static const char *const silent[] = {
    "AfterTool",    "BeforeAgent",  "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection",
    "Notification", "SessionStart", "SessionEnd", "PreCompress", NULL,
};

/* The host cuts a long name in the middle: nobody can tell whose it is. */
static bool is_cut(struct slice tool)
{
    return tool.len == 63 && memcmp(tool.ptr + 30, "...", 3) == 0;
}

/* The host says server and tool beside the flattened name. */
static bool take_context(struct host_message *message, const struct json_value *context)
{
    const struct json_value *server = json_get(&message->doc, context, "server_name"),
                            *tool = json_get(&message->doc, context, "tool_name");
    if (!json_is(server, JSON_STRING) || server->str_len == 0 || !json_is(tool, JSON_STRING) ||
        tool->str_len == 0) {
        return message_fault(message, "'mcp_context' does not tell server and tool");
    }
    if (!message_take_name(message, json_str(tool))) {
        return false;
    }
    message->names[0].server = json_str(server);
    message->names[0].has_server = true;
    return true;
}

static bool add_servers(struct host_message *message, const struct host_places *places,
                        struct host_servers *servers)
{
    struct config_file user;
    servers->others = ".:";
    config_open(&user, places->home, ".gemini/settings.json");
    bool ok = servers_add(message, servers, &user, json_get(&user.doc, user.root, "mcpServers")) &&
              servers_add_above(message, servers, message->cwd, ".gemini/settings.json", "mcpServers");
    config_close(&user);
    return ok;
}

static bool take_name(struct host_message *message, const struct host_places *places)
{
    static const struct slice prefix = {"mcp_", 4};
    const struct json_value *context = json_get(&message->doc, json_root(&message->doc), "mcp_context");
    struct host_servers servers = {0};
    struct slice tool;
    if (!message_text(message, "tool_name", "'tool_name' is not a non-empty string", &tool)) {
        return false;
    }
    if (context != NULL && !json_is(context, JSON_NULL)) {
        return take_context(message, context);
    }
    if (!slice_starts_with(tool, prefix)) {
        return message_take_name(message, tool);
    }
    if (is_cut(tool)) {
        return message_fault(message, "a name that the host has cut");
    }
    return add_servers(message, places, &servers) &&
           split_name(message, slice_from(tool, prefix.len), SLICE("_"), &servers, tool, false);
}

/* Its tools that take patterns, and the argument that has them. */
static bool take_patterns(struct host_message *message)
{
    const struct call_name *name = &message->names[0];
    if (message->name_count == 1 && !name->has_server && slice_is(name->tool, "read_many_files")) {
        return message_add_patterns(message, "include");
    }
    if (message->name_count == 1 && !name->has_server && slice_is(name->tool, "glob")) {
        return message_add_patterns(message, "pattern");
    }
    return true;
}

static bool read_gemini(struct host_message *message, const struct host_places *places)
{
    if (!message_take_event(message, &host_gemini, "hook_event_name")) {
        return false;
    }
    if (message->silent) {
        return true;
    }
    return message_take_session(message, "session_id") && message_take_cwd(message, "cwd") &&
           take_name(message, places) &&
           message_take_input(message, json_get(&message->doc, json_root(&message->doc), "tool_input")) &&
           take_patterns(message);
}

static const char *const write_tools[] = {"write_file", "replace", NULL};

static const struct steering_file steering_files[] = {
    {STEERING_HOME, ".gemini/settings.json", STEERING_JSON},
    {STEERING_HOME, ".gemini/trustedFolders.json", STEERING_OTHER},
    {STEERING_HOME, ".gemini/.env", STEERING_OTHER}, /* can name other settings for the whole machine */
    {STEERING_HOME, ".env", STEERING_OTHER},
    {STEERING_HOME, ".gemini/hooks", STEERING_OTHER},
    {STEERING_HOME, ".gemini/extensions", STEERING_OTHER},
    {STEERING_HOME, ".gemini/policies", STEERING_OTHER},
    {STEERING_PROJECT, ".gemini/settings.json", STEERING_JSON},
    {STEERING_PROJECT, ".gemini/.env", STEERING_OTHER},
    {STEERING_PROJECT, ".gemini/hooks", STEERING_OTHER},
    {STEERING_PROJECT, ".gemini/extensions", STEERING_OTHER},
    {STEERING_SYSTEM, "/etc/gemini-cli", STEERING_OTHER},
    {STEERING_SYSTEM, "/etc/gemini-cli/settings.json", STEERING_JSON},
    {STEERING_SYSTEM, "/etc/gemini-cli/system-defaults.json", STEERING_JSON},
};

static const struct steering_switch steering_switches[] = {
    {"hooksConfig.enabled", "false", false, "no hook runs"},
    {"hooksConfig.disabled", "\"callgate\"", false, "this hook does not run"},
    {"hooks.enabled", "false", false, "no hook runs"},
    {"hooks.disabled", "\"callgate\"", false, "this hook does not run"},
    {"tools.enableHooks", "false", false, "no hook runs"},
};

static const struct host_steering steering = {
    .files = steering_files,
    .file_count = sizeof(steering_files) / sizeof(*steering_files),
    .switches = steering_switches,
    .switch_count = sizeof(steering_switches) / sizeof(*steering_switches),
    .projects = {".gemini/trustedFolders.json", NULL, STEERING_JSON},
};

static const struct host_resource_tool resource_tools[] = {{"read_mcp_resource", "resources/read"},
                                                           {NULL, NULL}};

static const struct host_settings shape = {
    .user = ".gemini/settings.json",
    .project = ".gemini/settings.json",
    .managed = "/etc/gemini-cli/settings.json",
    .groups = true,
    .matcher = "*",
    .entry = ",\"name\":\"callgate\"",
    .timeout_unit_ms = 1,
    .margin_ms = 10000,
    .write_tools = write_tools,
    .note = "Gemini CLI has no switch that turns a hook that failed into a deny; it skips the hooks of "
            "projects in "
            "folders that are not trusted.",
};

const struct host host_gemini = {
    .name = "gemini",
    .summary = "Gemini CLI",
    .deadline_ms = 50000,
    .events = events,
    .event_count = sizeof(events) / sizeof(*events),
    .silent = silent,
    .path_arguments =
        "{\"pathArguments\":{\"read_file\":[\"absolute_path\"],\"list_directory\":[\"dir_path\"],"
        "\"glob\":[\"dir_path\",\"pattern\",\"patternPaths\"],\"grep_search\":[\"dir_path\"],\"search_file_"
        "content\":[\"dir_"
        "path\"],"
        "\"read_many_files\":[\"include\",\"patternPaths\",\"-exclude\"],\"exit_plan_mode\":[\"plan_path\","
        "\"plan_filename\"],"
        "\"run_shell_command\":[\"dir_path\",\"read\",\"write\"]},"
        "\"treeArguments\":{\"glob\":[\"dir_path\"],\"grep_search\":[\"dir_path\"],"
        "\"search_file_content\":[\"dir_path\"]}}",
    .resource_tools = resource_tools,
    .shape = &shape,
    .steering = &steering,
    .read = read_gemini,
    .servers = add_servers,
};
