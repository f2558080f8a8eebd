/* Servers in a configuration of JSON, with comments and trailing commas. */
#include "install/mcp_entries.h"
#include "install/settings.h"

/* Offsets of the document are those of the text. */
static struct span span_of(const struct json_value *v)
{
    return (struct span){v->offset, v->offset + v->length};
}

static struct slice copied(struct server_entries *entries, const struct json_value *v)
{
    return json_is(v, JSON_STRING) ? arena_copy(entries->arena, json_str(v)) : (struct slice){0};
}

/* The elements of an array of strings. */
static bool take_words(struct server_entries *entries, const struct json_doc *doc, struct server_entry *entry,
                       const struct json_value *array)
{
    entry->args = span_of(array);
    entry->words = arena_array(entries->arena, (size_t)array->count + 1, sizeof(*entry->words));
    entry->decoded = arena_array(entries->arena, (size_t)array->count + 1, sizeof(*entry->decoded));
    if (entry->words == NULL || entry->decoded == NULL) {
        return false;
    }
    for (const struct json_value *v = json_first(doc, array); v != NULL; v = json_right(doc, array, v)) {
        entry->words[entry->word_count] = span_of(v);
        entry->decoded[entry->word_count++] = copied(entries, v);
    }
    return true;
}

/* The URL of a server that is reached and not started, by whatever name hosts give it. */
static struct slice url_of(struct server_entries *entries, const struct json_doc *doc,
                           const struct json_value *server)
{
    static const char *const keys[] = {"url", "httpUrl", "serverUrl", "uri"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct json_value *value = json_get(doc, server, keys[i]);
        if (json_is(value, JSON_STRING)) {
            return copied(entries, value);
        }
    }
    return (struct slice){0};
}

/* What the server's environment gets. Values that are no strings are passed over. */
static bool take_env(struct server_entries *entries, const struct json_doc *doc, struct server_entry *entry,
                     const struct json_value *env)
{
    if (!json_is(env, JSON_OBJECT)) {
        return true;
    }
    entry->env = arena_array(entries->arena, (size_t)env->count + 1, sizeof(*entry->env));
    for (const struct json_value *key = entry->env != NULL ? json_first(doc, env) : NULL; key != NULL;
         key = json_right(doc, env, key)) {
        const struct json_value *value = json_member_value(key);
        struct buf text;
        buf_init(&text, 1u << 20);
        buf_slice(&text, json_str(key));
        buf_byte(&text, '=');
        buf_slice(&text, value->type == JSON_STRING ? json_str(value) : SLICE(""));
        struct slice copy =
            buf_ok(&text) ? arena_copy(entries->arena, buf_slice_of(&text)) : (struct slice){0};
        buf_finish(&text);
        if (copy.ptr == NULL) {
            return false;
        }
        if (value->type == JSON_STRING) {
            entry->env[entry->env_count++] = copy;
        }
    }
    return entry->env != NULL;
}

static bool take_server(struct server_entries *entries, const struct json_doc *doc,
                        const struct json_value *key)
{
    const struct json_value *server = json_member_value(key), *command = json_get(doc, server, "command"),
                            *args = json_get(doc, server, "args");
    struct server_entry entry = {.name = copied(entries, key)};
    if (server->type != JSON_OBJECT) {
        return true; /* some other setting */
    }
    const struct json_value *env = json_get(doc, server, "env");
    if (!take_env(entries, doc, &entry, env != NULL ? env : json_get(doc, server, "environment"))) {
        return false;
    }
    entry.url = url_of(entries, doc, server);
    if (json_is(command, JSON_ARRAY)) {
        entry.command_is_list = true;
        entry.command = span_of(command);
        if (!take_words(entries, doc, &entry, command)) {
            return false;
        }
        entry.program = entry.word_count > 0 ? entry.decoded[0] : (struct slice){0};
    } else if (json_is(command, JSON_STRING)) {
        entry.command = span_of(command);
        entry.program = copied(entries, command);
        if (json_is(args, JSON_ARRAY) && !take_words(entries, doc, &entry, args)) {
            return false;
        }
    }
    bool odd = json_is(command, JSON_STRING) && args != NULL && !json_is(args, JSON_ARRAY);
    if (odd || (entry.program.len == 0 && entry.url.ptr == NULL)) {
        entries->not_read += command != NULL;
        return true;
    }
    return server_entries_add(entries, &entry);
}

static bool take_servers(struct server_entries *entries, const struct settings *settings,
                         const struct json_value *object)
{
    bool ok = true;
    if (!json_is(object, JSON_OBJECT)) {
        return true;
    }
    for (const struct json_value *key = json_first(&settings->doc, object); key != NULL && ok;
         key = json_right(&settings->doc, object, key)) {
        ok = take_server(entries, &settings->doc, key);
    }
    return ok;
}

/* Where hosts keep them: under `mcpServers`; `servers` (VS Code); `mcp` (opencode) or `mcp.servers` (VS Code's
 * settings); `context_servers`; and `mcpServers` of each project in ~/.claude.json. */
static bool take_all(struct server_entries *entries, const struct settings *settings)
{
    const struct json_doc *doc = &settings->doc;
    const struct json_value *root = settings->root, *mcp = json_get(doc, root, "mcp"),
                            *nested = json_is(mcp, JSON_OBJECT) ? json_get(doc, mcp, "servers") : NULL,
                            *projects = json_get(doc, root, "projects");
    bool ok = take_servers(entries, settings, json_get(doc, root, "mcpServers")) &&
              take_servers(entries, settings, json_get(doc, root, "servers")) &&
              take_servers(entries, settings, json_get(doc, root, "context_servers")) &&
              take_servers(entries, settings, json_is(nested, JSON_OBJECT) ? nested : mcp);
    if (!json_is(projects, JSON_OBJECT)) {
        return ok;
    }
    for (const struct json_value *key = json_first(doc, projects); key != NULL && ok;
         key = json_right(doc, projects, key)) {
        const struct json_value *project = json_member_value(key);
        ok = project->type != JSON_OBJECT ||
             take_servers(entries, settings, json_get(doc, project, "mcpServers"));
    }
    return ok;
}

bool server_entries_json(struct server_entries *entries, const char *file, struct slice text,
                         struct buf *ret_error)
{
    struct settings settings;
    if (!settings_init(&settings, file, text, ret_error)) {
        return false;
    }
    bool ok = take_all(entries, &settings);
    settings_finish(&settings);
    if (!ok) {
        buf_text(ret_error, "no memory");
    }
    return ok;
}
