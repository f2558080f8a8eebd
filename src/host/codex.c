/* Codex: PreToolUse and PermissionRequest.
 *
 * Its reader is strict: an answer with a member too many is a hook that failed, and the call goes on. Code 2
 * with something on standard error is a deny whatever a login shell has printed to standard output before. */
#include "host/internal.h"

static const struct host_event events[] = {
    {
        /* No ask and no bare allow: here both are an answer that is not valid. */
        .name = "PreToolUse",
        .deny = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\","
                "\"permissionDecisionReason\":\"" HOST_DENY_TEXT "\"}}\n",
        .none = "",
        .deny_code = 2,
    },
    {
        .name = "PermissionRequest",
        .deny = "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":"
                "{\"behavior\":\"deny\",\"message\":\"" HOST_DENY_TEXT "\"}}}\n",
        .none = "",
        .allow = "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":"
                 "{\"behavior\":\"allow\"}}}\n",
        .deny_code = 2,
        .dialog = true,
    },
};

static const char *const silent[] = {
    "PostToolUse",   "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop",         "StopFailure",
    "SubagentStart", "SubagentStop", "PreCompact", "PostCompact",      "Notification", NULL,
};

static bool add_servers(struct host_message *message, const struct host_places *places,
                        struct host_servers *servers)
{
    static const struct slice table = {"mcp_servers", 11};
    bool ok = servers_add_toml(message, servers, places->home, ".codex/config.toml", table);
    servers->in_project = true;
    for (struct slice dir = message->cwd; dir.ptr != NULL && ok; dir = directory_above(dir)) {
        ok = servers_add_toml(message, servers, dir, ".codex/config.toml", table);
    }
    servers->in_project = false;
    return ok;
}

static bool read_codex(struct host_message *message, const struct host_places *places)
{
    if (!message_take_event(message, &host_codex, "hook_event_name")) {
        return false;
    }
    if (message->silent) {
        return true;
    }
    if (!message_take_session(message, "session_id") || !message_take_cwd(message, "cwd") ||
        !message_take_mcp_name(message, &host_codex, places) ||
        !message_take_input(message, json_get(&message->doc, json_root(&message->doc), "tool_input"))) {
        return false;
    }
    return slice_is(message->names[0].tool, "apply_patch") ? message_add_patch_paths(message) : true;
}

static const char *const write_tools[] = {"apply_patch", NULL};

static const struct steering_file steering_files[] = {
    {STEERING_HOME, ".codex", STEERING_TOML}, /* config.toml, profiles, hooks.json, what is trusted */
    {STEERING_PROJECT, ".codex", STEERING_TOML},
    {STEERING_SYSTEM, "/etc/codex", STEERING_TOML},
};

static const struct steering_switch steering_switches[] = {
    {"features.hooks", "false", false, "no hook runs"},
    {"features.codex_hooks", "false", false, "no hook runs"},
    {"allow_managed_hooks_only", "true", true, "no hook runs but a managed one"},
};

static const struct host_steering steering = {
    .files = steering_files,
    .file_count = sizeof(steering_files) / sizeof(*steering_files),
    .switches = steering_switches,
    .switch_count = sizeof(steering_switches) / sizeof(*steering_switches),
    .projects = {".codex/config.toml", "projects", STEERING_TOML},
};

static const struct host_resource_tool resource_tools[] = {{"read_mcp_resource", "resources/read"},
                                                           {NULL, NULL}};

static const struct host_settings shape = {
    .user = ".codex/hooks.json",
    .project = ".codex/hooks.json",
    .managed = "/etc/codex/hooks.json",
    .groups = true,
    .entry = "",
    .timeout_unit_ms = 1000,
    .margin_ms = 30000,
    .write_tools = write_tools,
    .note = "Codex runs a hook only once you have trusted it, and passes over one that has changed since: "
            "start codex "
            "and review its hooks (/hooks). It has no switch that turns a hook that failed into a deny.",
};

const struct host host_codex = {
    .name = "codex",
    .summary = "Codex",
    .deadline_ms = 570000,
    .events = events,
    .event_count = sizeof(events) / sizeof(*events),
    .silent = silent,
    .path_arguments = "{\"pathArguments\":{\"apply_patch\":[\"patchPaths\"]},\"commandArguments\":{\"apply_"
                      "patch\":[\"-command\"],"
                      "\"write_stdin\":[\"chars\"]}}",
    .resource_tools = resource_tools,
    .shape = &shape,
    .steering = &steering,
    .read = read_codex,
    .servers = add_servers,
};
