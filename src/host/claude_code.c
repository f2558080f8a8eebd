/* Claude Code: PreToolUse and PermissionRequest. */
#include "host/internal.h"

static const struct host_event events[] = {
    {
        .name = "PreToolUse",
        .deny = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\","
                "\"permissionDecisionReason\":\"" HOST_DENY_TEXT "\"}}\n",
        .ask = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\","
               "\"permissionDecisionReason\":\"Callgate asks for your approval.\"}}\n",
        .none = "",
        .allow = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\","
                 "\"permissionDecisionReason\":\"Allowed by Callgate.\"}}\n",
    },
    {
        /* Newer versions do not heed an exit code here, so the text must say it. */
        .name = "PermissionRequest",
        .deny = "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":"
                "{\"behavior\":\"deny\",\"message\":\"" HOST_DENY_TEXT "\"}}}\n",
        .none = "",
        .allow = "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":"
                 "{\"behavior\":\"allow\"}}}\n",
        .dialog = true,
    },
};

/* Whatever is not named here and carries a call is judged. */
static const char *const silent[] = {
    "PostToolUse",        "PostToolUseFailure",
    "PermissionDenied",   "Notification",
    "UserPromptSubmit",   "SessionStart",
    "SessionEnd",         "Stop",
    "StopFailure",        "SubagentStart",
    "SubagentStop",       "PreCompact",
    "PostCompact",        "Setup",
    "TaskCreated",        "TaskCompleted",
    "TeammateIdle",       "ConfigChange",
    "CwdChanged",         "FileChanged",
    "InstructionsLoaded", "WorktreeCreate",
    "WorktreeRemove",     NULL,
};

static enum host_mode mode_of(const struct host_message *message)
{
    static const char *const asks[] = {"default", "plan", "acceptEdits"};
    static const char *const asks_nobody[] = {"bypassPermissions", "auto", "dontAsk"};
    const struct json_value *mode = json_get(&message->doc, json_root(&message->doc), "permission_mode");
    if (!json_is(mode, JSON_STRING)) {
        return HOST_MODE_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
        if (slice_is(json_str(mode), asks[i])) {
            return HOST_MODE_ASKS;
        }
        if (slice_is(json_str(mode), asks_nobody[i])) {
            return HOST_MODE_ASKS_NOBODY;
        }
    }
    return HOST_MODE_UNKNOWN;
}

/* ~/.claude.json holds the user's servers, and those of each project under its directory. */
static bool add_user_servers(struct host_message *message, struct host_servers *servers,
                             const struct host_places *places)
{
    struct config_file config;
    config_open(&config, places->home, ".claude.json");
    const struct json_doc *doc = &config.doc;
    const struct json_value *projects = json_get(doc, config.root, "projects");
    bool ok = servers_add(message, servers, &config, json_get(doc, config.root, "mcpServers"));
    for (struct slice dir = message->cwd; dir.ptr != NULL && ok; dir = directory_above(dir)) {
        struct slice key = dir;
        while (key.len > 1 && key.ptr[key.len - 1] == '/') {
            key.len--;
        }
        ok = servers_add(message, servers, &config,
                         json_get(doc, json_get_slice(doc, projects, key), "mcpServers"));
    }
    config_close(&config);
    return ok;
}

static bool add_servers(struct host_message *message, const struct host_places *places,
                        struct host_servers *servers)
{
    struct config_file managed;
    config_open(&managed, SLICE("/etc/claude-code"), "managed-mcp.json");
    bool ok = servers_add(message, servers, &managed, json_get(&managed.doc, managed.root, "mcpServers")) &&
              add_user_servers(message, servers, places) &&
              servers_add_above(message, servers, message->cwd, ".mcp.json", "mcpServers");
    config_close(&managed);
    return ok;
}

static bool read_claude_code(struct host_message *message, const struct host_places *places)
{
    if (!message_take_event(message, &host_claude_code, "hook_event_name")) {
        return false;
    }
    if (message->silent) {
        return true;
    }
    message->mode = mode_of(message);
    return message_take_session(message, "session_id") && message_take_cwd(message, "cwd") &&
           message_take_mcp_name(message, &host_claude_code, places) &&
           message_take_input(message, json_get(&message->doc, json_root(&message->doc), "tool_input"));
}

static const char *const write_tools[] = {"Write", "Edit", "MultiEdit", "NotebookEdit", NULL};

static const struct steering_file steering_files[] = {
    {STEERING_HOME, ".claude/settings.json", STEERING_JSON},
    {STEERING_HOME, ".claude/settings.local.json", STEERING_JSON},
    {STEERING_HOME, ".claude/remote-settings.json", STEERING_JSON},
    {STEERING_HOME, ".claude.json", STEERING_JSON},
    {STEERING_HOME, ".claude/hooks", STEERING_OTHER},
    {STEERING_HOME, ".claude/plugins", STEERING_OTHER},
    {STEERING_HOME, ".claude/agents", STEERING_OTHER}, /* may carry hooks of their own, as skills may */
    {STEERING_HOME, ".claude/skills", STEERING_OTHER},
    {STEERING_PROJECT, ".claude/settings.json", STEERING_JSON},
    {STEERING_PROJECT, ".claude/settings.local.json", STEERING_JSON},
    {STEERING_PROJECT, ".claude/hooks", STEERING_OTHER},
    {STEERING_PROJECT, ".claude/agents", STEERING_OTHER},
    {STEERING_PROJECT, ".claude/skills", STEERING_OTHER},
    {STEERING_PROJECT, ".mcp.json", STEERING_OTHER},
    {STEERING_SYSTEM, "/etc/claude-code", STEERING_OTHER},
    {STEERING_SYSTEM, "/etc/claude-code/managed-settings.json", STEERING_JSON},
    {STEERING_SYSTEM, "/etc/claude-code/managed-settings.d", STEERING_JSON},
};

static const struct steering_switch steering_switches[] = {
    {"disableAllHooks", "true", true, "no hook runs but a managed one"},
    {"allowManagedHooksOnly", "true", true, "no hook runs but a managed one"},
    {"strictPluginOnlyCustomization", "true", true, "no hook runs but of plugins and managed ones"},
    {"strictPluginOnlyCustomization", "\"hooks\"", true, "no hook runs but of plugins and managed ones"},
};

static const struct host_steering steering = {
    .files = steering_files,
    .file_count = sizeof(steering_files) / sizeof(*steering_files),
    .switches = steering_switches,
    .switch_count = sizeof(steering_switches) / sizeof(*steering_switches),
    .anywhere = "settings.local.json",
    .projects = {".claude.json", "projects", STEERING_JSON},
};

static const struct host_resource_tool resource_tools[] = {
    {"ReadMcpResourceTool", "resources/read"},
    {"ReadMcpResourceDirTool", "resources/directory/read"},
    {NULL, NULL}};

static const struct host_settings shape = {
    .user = ".claude/settings.json",
    .project = ".claude/settings.json",
    .managed = "/etc/claude-code/managed-settings.json",
    .groups = true,
    .args = true,
    .matcher = "*",
    .entry = "",
    .timeout_unit_ms = 1000,
    .margin_ms = 30000,
    .fail_closed = "onFailure",
    .fail_closed_value = "\"block\"",
    .write_tools = write_tools,
};

const struct host host_claude_code = {
    .name = "claude-code",
    .summary = "Claude Code",
    .deadline_ms = 570000,
    .events = events,
    .event_count = sizeof(events) / sizeof(*events),
    .silent = silent,
    .path_arguments = "{\"pathArguments\":{\"Glob\":[\"pattern\"],\"EnterWorktree\":[\"name\"]},"
                      "\"treeArguments\":{\"LS\":[\"path\"]}}",
    .says_why = true,
    .resource_tools = resource_tools,
    .shape = &shape,
    .steering = &steering,
    .read = read_claude_code,
    .servers = add_servers,
};
