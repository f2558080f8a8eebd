/* Cursor: preToolUse, beforeShellExecution, beforeMCPExecution, beforeReadFile, beforeTabFileRead.
 *
 * Code 2 is a deny whatever was printed. No opinion is an object without a permission: with its fail-closed
 * switch on, nothing at all would be an answer that cannot be read. */
#include "host/internal.h"

#include <string.h>

#define DENY                                                                                                 \
    "{\"permission\":\"deny\",\"user_message\":\"" HOST_DENY_TEXT "\",\"agent_message\":\"" HOST_DENY_TEXT   \
    "\"}\n"
#define ASK   "{\"permission\":\"ask\",\"user_message\":\"Callgate asks for your approval.\"}\n"
#define ALLOW "{\"permission\":\"allow\"}\n"
#define NONE  "{}\n"

/* Where there is no ask the host does not enforce it. */
static const struct host_event events[] = {
    {.name = "preToolUse", .deny = DENY, .none = NONE, .allow = ALLOW, .deny_code = 2},
    {.name = "beforeShellExecution", .deny = DENY, .ask = ASK, .none = NONE, .allow = ALLOW, .deny_code = 2},
    {.name = "beforeMCPExecution", .deny = DENY, .ask = ASK, .none = NONE, .allow = ALLOW, .deny_code = 2},
    {.name = "beforeReadFile", .deny = DENY, .none = NONE, .allow = ALLOW, .deny_code = 2},
    {.name = "beforeTabFileRead", .deny = DENY, .none = NONE, .allow = ALLOW, .deny_code = 2},
};

static const char *const silent[] = {
    "postToolUse",
    "postToolUseFailure",
    "afterShellExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "afterTabFileEdit",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeSubmitPrompt",
    "sessionStart",
    "sessionEnd",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "stop",
    NULL,
};

/* The working directory, or, where the message tells none, the first of the folders that are open. */
static bool take_places(struct host_message *message)
{
    static const char phrase[] = "neither 'cwd' nor 'workspace_roots' tell an absolute path";
    const struct json_doc *doc = &message->doc;
    const struct json_value *cwd = json_get(doc, json_root(doc), "cwd"),
                            *list = json_get(doc, json_root(doc), "workspace_roots"), *root;
    if (cwd != NULL && !json_is(cwd, JSON_STRING) && !json_is(cwd, JSON_NULL)) {
        return message_fault(message, phrase);
    }
    if (json_is(cwd, JSON_STRING)) {
        message->cwd = json_str(cwd);
    }
    size_t count = json_is(list, JSON_ARRAY) ? list->count : 0;
    struct slice *roots = arena_array(&message->arena, count + 1, sizeof(*roots));
    if (roots == NULL) {
        return false;
    }
    for (root = count ? json_first(doc, list) : NULL; root != NULL; root = json_right(doc, list, root)) {
        if (!json_is(root, JSON_STRING) || root->str_len == 0 || root->str[0] != '/') {
            return message_fault(message, phrase);
        }
        roots[message->root_count++] = json_str(root);
    }
    message->roots = roots;
    if (message->cwd.len == 0 && message->root_count > 0) {
        message->cwd = roots[0];
    }
    return message->cwd.len > 0 && message->cwd.ptr[0] == '/' ? true : message_fault(message, phrase);
}

/* ---- Calls ---- */

/* An input made of members of the message itself. */
static bool take_members(struct host_message *message, const char *const *members)
{
    const struct json_doc *doc = &message->doc;
    struct buf *text = &message->text;
    const char *between = "{";
    buf_reset(text);
    for (; *members != NULL; members++) {
        const struct json_value *value = json_get(doc, json_root(doc), *members);
        if (value == NULL) {
            continue;
        }
        buf_printf(text, "%s\"%s\":", between, *members);
        buf_slice(text, json_text_of(doc, value));
        between = ",";
    }
    buf_byte(text, '}');
    return buf_ok(text) && message_take_input_text(message, buf_slice_of(text));
}

static bool read_shell(struct host_message *message)
{
    static const char *const members[] = {"command", NULL};
    struct slice command;
    return message_text(message, "command", "'command' is not a non-empty string", &command) &&
           message_take_name(message, SLICE("Shell")) && take_members(message, members);
}

static bool read_file(struct host_message *message)
{
    static const char *const members[] = {"file_path", "attachments", NULL};
    struct slice path;
    return message_text(message, "file_path", "'file_path' is not a non-empty string", &path) &&
           message_take_name(message, SLICE("Read")) && take_members(message, members);
}

/* The input of a tool: an object, or the text of one. */
static bool take_input(struct host_message *message)
{
    const struct json_value *input = json_get(&message->doc, json_root(&message->doc), "tool_input");
    if (json_is(input, JSON_STRING)) {
        return message_take_input_text(message, json_str(input));
    }
    return message_take_input(message, input);
}

/* Whether a server of the configuration is the one whose command or URL the message tells: the command may
 * stand there with its arguments or without. */
static bool is_launched(const struct host_server *server, struct slice told)
{
    return slice_eq(server->launched, told) ||
           (slice_starts_with(server->launched, told) && server->launched.ptr[told.len] == ' ');
}

static bool take_servers(struct host_message *message, const struct host_servers *servers, struct slice told,
                         struct slice tool)
{
    message->names = arena_array(&message->arena, servers->count + 1, sizeof(*message->names));
    if (message->names == NULL) {
        return false;
    }
    for (size_t i = 0; i < servers->count && told.len; i++) {
        if (is_launched(&servers->list[i], told)) {
            message->names[message->name_count++] =
                (struct call_name){.server = servers->list[i].name, .has_server = true, .tool = tool};
        }
    }
    if (message->name_count == 0) {
        message->names[message->name_count++] = (struct call_name){.tool = tool};
        message->server_unknown = true;
    }
    return true;
}

static bool add_servers(struct host_message *message, const struct host_places *places,
                        struct host_servers *servers)
{
    struct config_file user;
    config_open(&user, places->home, ".cursor/mcp.json");
    bool ok = servers_add(message, servers, &user, json_get(&user.doc, user.root, "mcpServers"));
    config_close(&user);
    ok = ok && servers_add_above(message, servers, message->cwd, ".cursor/mcp.json", "mcpServers");
    for (size_t i = 0; i < message->root_count && ok; i++) {
        ok = servers_add_above(message, servers, message->roots[i], ".cursor/mcp.json", "mcpServers");
    }
    return ok;
}

static bool read_mcp(struct host_message *message, const struct host_places *places)
{
    const struct json_doc *doc = &message->doc;
    const struct json_value *url = json_get(doc, json_root(doc), "url"),
                            *command = json_get(doc, json_root(doc), "command");
    struct slice tool, told = json_is(url, JSON_STRING)       ? json_str(url)
                              : json_is(command, JSON_STRING) ? json_str(command)
                                                              : (struct slice){0};
    struct host_servers servers = {0};
    if (!message_text(message, "tool_name", "'tool_name' is not a non-empty string", &tool)) {
        return false;
    }
    return add_servers(message, places, &servers) && take_servers(message, &servers, told, tool) &&
           take_input(message);
}

static bool read_tool(struct host_message *message)
{
    static const struct slice mcp = {"MCP:", 4};
    struct slice tool;
    if (!message_text(message, "tool_name", "'tool_name' is not a non-empty string", &tool)) {
        return false;
    }
    message->server_unknown = slice_starts_with(tool, mcp) && tool.len > mcp.len;
    if (message->server_unknown) {
        tool = slice_from(tool, mcp.len);
    }
    if (!message_take_name(message, tool) || !take_input(message)) {
        return false;
    }
    return slice_is(tool, "ApplyPatch") ? message_add_patch_paths(message) : true;
}

static bool read_cursor(struct host_message *message, const struct host_places *places)
{
    if (!message_take_event(message, &host_cursor, "hook_event_name")) {
        return false;
    }
    if (message->silent) {
        return true;
    }
    if (!message_take_session(message, "conversation_id") || !take_places(message)) {
        return false;
    }
    const char *event = message->event->name;
    if (strcmp(event, "beforeShellExecution") == 0) {
        return read_shell(message);
    }
    if (strcmp(event, "beforeMCPExecution") == 0) {
        return read_mcp(message, places);
    }
    if (strcmp(event, "beforeReadFile") == 0 || strcmp(event, "beforeTabFileRead") == 0) {
        return read_file(message);
    }
    return read_tool(message);
}

static const char *const write_tools[] = {"Write",  "Edit",         "MultiEdit",  "StrReplace",
                                          "Delete", "EditNotebook", "ApplyPatch", NULL};

static const struct steering_file steering_files[] = {
    {STEERING_HOME, ".cursor/hooks.json", STEERING_OTHER},
    {STEERING_HOME, ".cursor/hooks", STEERING_OTHER},
    {STEERING_HOME, ".cursor/mcp.json", STEERING_OTHER},
    {STEERING_HOME, ".cursor/cli-config.json", STEERING_OTHER},
    {STEERING_HOME, ".cursor/permissions.json", STEERING_OTHER},
    {STEERING_PROJECT, ".cursor/hooks.json", STEERING_OTHER},
    {STEERING_PROJECT, ".cursor/hooks", STEERING_OTHER},
    {STEERING_PROJECT, ".cursor/mcp.json", STEERING_OTHER},
    {STEERING_PROJECT, ".cursor/cli.json", STEERING_OTHER},
    {STEERING_SYSTEM, "/etc/cursor", STEERING_OTHER},
};

static const struct host_steering steering = {
    .files = steering_files,
    .file_count = sizeof(steering_files) / sizeof(*steering_files),
};

static const struct host_resource_tool resource_tools[] = {{"FetchMcpResource", "resources/read"},
                                                           {NULL, NULL}};

static const struct host_settings shape = {
    .user = ".cursor/hooks.json",
    .project = ".cursor/hooks.json",
    .managed = "/etc/cursor/hooks.json",
    .entry = "",
    .timeout_unit_ms = 1000,
    .margin_ms = 5000,
    .fail_closed = "failClosed",
    .fail_closed_value = "true",
    .version = "1",
    .write_tools = write_tools,
    .note = "Older versions of Cursor do not know failClosed, and some know only the events before shell "
            "commands, MCP "
            "tools and reading. Cloud agents run the hooks of projects only.",
};

const struct host host_cursor = {
    .name = "cursor",
    .summary = "Cursor",
    .deadline_ms = 25000,
    .events = events,
    .event_count = sizeof(events) / sizeof(*events),
    .silent = silent,
    .path_arguments =
        "{\"pathArguments\":{\"ApplyPatch\":[\"patchPaths\"],\"Delete\":[\"target_file\"],"
        "\"EditNotebook\":[\"target_notebook\"],\"FetchMcpResource\":[\"downloadPath\"],\"Glob\":[\"target_"
        "directory\",\"glob_pattern\",\"pattern\"],"
        "\"LS\":[\"target_directory\"],\"Read\":[\"target_file\"],\"SemanticSearch\":[\"target_directories\"]"
        ","
        "\"Shell\":[\"working_directory\"],\"StrReplace\":[\"target_file\"],\"Write\":[\"target_file\"]},"
        "\"treeArguments\":{\"SemanticSearch\":[\"target_directories\"]}}",
    .resource_tools = resource_tools,
    .shape = &shape,
    .steering = &steering,
    .read = read_cursor,
    .servers = add_servers,
};
