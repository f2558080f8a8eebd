/* `check --tools`: a policy held against the tools that servers offer. */
#include "cli/policy/check_tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "call/readings.h"
#include "cli/calls/calls.h"
#include "tools/tools.h"

#define FILE_BYTES ((size_t)64 << 20)

/* ---- What is offered ---- */

struct offered {
    struct slice server; /* ptr NULL: not told */
    struct slice name;
    const struct json_doc *doc;
    const struct json_value *properties; /* of its input schema; NULL: none are told */
};

/* One list of tools: of a server that the state directory knows, or of a file. */
struct tool_source {
    struct tool_source *next;
    struct json_doc doc;
    struct buf text;
};

struct offers {
    struct arena *arena;
    struct tool_source *sources;
    struct offered *list;
    size_t count, cap;
    struct slice *servers;
    size_t server_count;
};

static bool add_offered(struct offers *o, const struct offered *tool)
{
    if (o->count == o->cap) {
        size_t cap = o->cap > 0 ? 2 * o->cap : 64;
        struct offered *list = arena_array(o->arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        if (o->count > 0) {
            memcpy(list, o->list, o->count * sizeof(*list));
        }
        o->list = list;
        o->cap = cap;
    }
    o->list[o->count++] = *tool;
    return true;
}

static bool add_server(struct offers *o, struct slice server)
{
    struct slice *list = arena_array(o->arena, o->server_count + 1, sizeof(*list));
    if (list == NULL) {
        return false;
    }
    if (o->server_count > 0) {
        memcpy(list, o->servers, o->server_count * sizeof(*list));
    }
    list[o->server_count++] = server;
    o->servers = list;
    return true;
}

/* Takes the tools of an array of definitions. */
static bool add_tools(struct offers *o, const struct json_doc *doc, const struct json_value *tools,
                      struct slice server)
{
    bool ok = true;
    for (const struct json_value *v = json_first(doc, tools); v != NULL && ok;
         v = json_right(doc, tools, v)) {
        const struct json_value *name = json_get(doc, v, "name"),
                                *properties = json_get(doc, json_get(doc, v, "inputSchema"), "properties");
        if (json_is(name, JSON_STRING)) {
            ok = add_offered(
                o, &(struct offered){.server = server,
                                     .name = json_str(name),
                                     .doc = doc,
                                     .properties = json_is(properties, JSON_OBJECT) ? properties : NULL});
        }
    }
    return ok;
}

/* A text that is a list of tools, the result of `tools/list`, or its whole response. */
static bool take_text(struct offers *o, struct slice text, struct slice server)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 8, .max_bytes = FILE_BYTES};
    struct json_error error;
    struct tool_source *source = calloc(1, sizeof(*source));
    if (source == NULL) {
        return false;
    }
    json_init(&source->doc);
    buf_init(&source->text, FILE_BYTES);
    buf_slice(&source->text, text);
    source->next = o->sources;
    o->sources = source;
    if (!buf_ok(&source->text) || !json_parse(&source->doc, buf_slice_of(&source->text), &options, &error)) {
        return false;
    }
    const struct json_value *root = json_root(&source->doc);
    if (json_get(&source->doc, root, "result") != NULL) {
        root = json_get(&source->doc, root, "result");
    }
    const struct json_value *tools = json_is(root, JSON_ARRAY) ? root : json_get(&source->doc, root, "tools");
    return json_is(tools, JSON_ARRAY) && add_tools(o, &source->doc, tools, server);
}

static bool take_book(struct offers *o, const char *state_dir, struct slice key)
{
    struct buf error, text;
    size_t count = 0;
    buf_init(&error, (size_t)64 << 10);
    buf_init(&text, FILE_BYTES);
    struct tool_book *book = tool_book_open(state_dir, key, &error);
    const struct tool *tools = book != NULL ? tool_book_tools(book, &count) : NULL;
    buf_byte(&text, '[');
    for (size_t i = 0; i < count; i++) {
        const struct tool_definition *definition =
            tools[i].seen.text != NULL ? &tools[i].seen : &tools[i].accepted;
        if (definition->text != NULL && tools[i].offered) {
            buf_text(&text, text.len > 1 ? "," : "");
            buf_bytes(&text, definition->text, definition->len);
        }
    }
    buf_byte(&text, ']');
    struct slice server = arena_copy(o->arena, key);
    bool ok = book != NULL && buf_ok(&text) && server.ptr != NULL && add_server(o, server) &&
              take_text(o, buf_slice_of(&text), server);
    if (book == NULL) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    tool_book_close(book);
    buf_finish(&text);
    buf_finish(&error);
    return ok;
}

static bool take_state(struct offers *o, const char *state_dir)
{
    struct buf keys, error;
    buf_init(&keys, (size_t)16 << 20);
    buf_init(&error, (size_t)64 << 10);
    bool ok = tool_books_list(state_dir, &keys, &error);
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    struct slice rest = buf_slice_of(&keys);
    while (ok && rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        struct slice key = {rest.ptr, (size_t)(end - rest.ptr)};
        rest = slice_from(rest, key.len + 1);
        /* A server without a name is not what a rule names. */
        ok = slice_starts_with(key, SLICE("command-")) || take_book(o, state_dir, key);
    }
    buf_finish(&keys);
    buf_finish(&error);
    return ok;
}

/* `SERVER=FILE`, or a file whose server is not told. */
static bool take_file(struct offers *o, const char *argument)
{
    struct text_file file;
    struct buf error;
    const char *equals = strchr(argument, '='), *name = equals != NULL ? equals + 1 : argument;
    struct slice server = {0};
    buf_init_message(&error, MESSAGE_BYTES);
    bool ok = true;
    if (equals != NULL) {
        server = (struct slice){argument, (size_t)(equals - argument)};
        ok = add_server(o, server);
    }
    ok = ok && text_file_read(&file, name, FILE_BYTES, &error);
    if (ok) {
        ok = file.existed && take_text(o, buf_slice_of(&file.text), server);
        if (!ok) {
            say("%s is not there, or no list of tools: write the result of tools/list into it", name);
        }
        text_file_finish(&file);
    } else {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return ok;
}

/* ---- Names ---- */

/* How many letters two names differ by, at most `most` + 1. */
static size_t distance(struct slice a, struct slice b, size_t most)
{
    size_t row[65], above;
    if (a.len > 64 || b.len > 64 || a.len > b.len + most || b.len > a.len + most) {
        return most + 1;
    }
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        above = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t same = above + (a.ptr[i - 1] != b.ptr[j - 1]);
            above = row[j];
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = same < other ? same : other;
        }
    }
    return row[b.len];
}

struct nearest {
    struct slice wanted, name;
    size_t best;
};

static void consider(struct nearest *nearest, struct slice name)
{
    size_t most = nearest->wanted.len < 4 ? 1 : nearest->wanted.len < 9 ? 2 : 3;
    size_t far = distance(nearest->wanted, name, most);
    if (far <= most && (nearest->name.ptr == NULL || far < nearest->best)) {
        nearest->name = name;
        nearest->best = far;
    }
}

struct tools_check {
    const struct policy *policy;
    const struct path_base *base;
    struct offers offers;
    struct findings *warnings;
};

static void warn(struct tools_check *c, const struct rule *rule, const char *code, const char *what,
                 struct slice name, struct nearest nearest)
{
    struct finding *f =
        nearest.name.ptr != NULL
            ? findings_add(
                  c->warnings, code, "rule '%.*s' names %s '%.*s', which no list has: did you mean '%.*s'?",
                  SLICE_FMT(policy_text(c->policy, rule->id)), what, SLICE_FMT(name), SLICE_FMT(nearest.name))
            : findings_add(c->warnings, code, "rule '%.*s' names %s '%.*s', which no list has",
                           SLICE_FMT(policy_text(c->policy, rule->id)), what, SLICE_FMT(name));
    if (f != NULL) {
        f->file = rule->file;
        f->file_name = c->policy->files[rule->file].name;
        f->line = rule->line;
        f->column = rule->column;
        f->rule = policy_text(c->policy, rule->id);
    }
}

static bool is_of(const struct tools_check *c, const struct rule *rule, const struct offered *tool)
{
    struct match_values servers = match_values(c->policy, &rule->match.server);
    for (uint32_t i = 0; i < servers.count; i++) {
        if (tool->server.ptr != NULL && slice_eq(policy_text(c->policy, servers.list[i]), tool->server)) {
            return true;
        }
    }
    return servers.count == 0;
}

static void check_servers(struct tools_check *c, const struct rule *rule)
{
    struct match_values servers = match_values(c->policy, &rule->match.server);
    for (uint32_t i = 0; i < servers.count && c->offers.server_count > 0; i++) {
        struct slice name = policy_text(c->policy, servers.list[i]);
        struct nearest nearest = {.wanted = name};
        bool known = false;
        for (size_t s = 0; s < c->offers.server_count; s++) {
            known = known || slice_eq(c->offers.servers[s], name);
            consider(&nearest, c->offers.servers[s]);
        }
        if (!known) {
            warn(c, rule, "unknown-server", "server", name, nearest);
        }
    }
}

/* A rule that names no server may be about tools of an agent's own: of those only what looks misspelt is told. */
static void check_names(struct tools_check *c, const struct rule *rule)
{
    struct match_values tools = match_values(c->policy, &rule->match.tool);
    for (uint32_t i = 0; i < tools.count; i++) {
        struct slice name = policy_text(c->policy, tools.list[i]);
        struct nearest nearest = {.wanted = name};
        bool known = slice_is(name, "*"), any = false;
        for (size_t t = 0; t < c->offers.count; t++) {
            const struct offered *tool = &c->offers.list[t];
            if (is_of(c, rule, tool)) {
                any = true;
                known = known || slice_eq(tool->name, name);
                consider(&nearest, tool->name);
            }
        }
        if (!known && any && (rule->match.server != 0 || nearest.name.ptr != NULL)) {
            warn(c, rule, "unknown-tool", "tool", name, nearest);
        }
    }
}

/* ---- Arguments of rules ---- */

static bool names_tool(const struct tools_check *c, const struct rule *rule, const struct offered *tool)
{
    struct match_values tools = match_values(c->policy, &rule->match.tool),
                        prefixes = match_values(c->policy, &rule->match.tool_prefix);
    for (uint32_t i = 0; i < tools.count; i++) {
        if (slice_eq(policy_text(c->policy, tools.list[i]), tool->name)) {
            return is_of(c, rule, tool);
        }
    }
    for (uint32_t i = 0; i < prefixes.count; i++) {
        if (slice_starts_with(tool->name, policy_text(c->policy, prefixes.list[i]))) {
            return is_of(c, rule, tool);
        }
    }
    return tools.count == 0 && prefixes.count == 0 && rule->match.server != 0 && is_of(c, rule, tool);
}

static void check_arguments(struct tools_check *c, const struct rule *rule)
{
    const struct match_arg *args = rule_exact_args(c->policy, rule);
    for (uint32_t i = 0; i < rule->match.arg_count; i++) {
        struct slice name = policy_text(c->policy, args[i].key);
        struct nearest nearest = {.wanted = name};
        bool known = false, told = false;
        for (size_t t = 0; t < c->offers.count; t++) {
            const struct offered *tool = &c->offers.list[t];
            if (!names_tool(c, rule, tool)) {
                continue;
            }
            known = known || tool->properties == NULL;
            told = true;
            for (const struct json_value *key =
                     tool->properties != NULL ? json_first(tool->doc, tool->properties) : NULL;
                 key != NULL; key = json_right(tool->doc, tool->properties, key)) {
                known = known || slice_eq(json_str(key), name);
                consider(&nearest, json_str(key));
            }
        }
        if (told && !known) {
            warn(c, rule, "unknown-argument", "argument", name, nearest);
        }
    }
}

/* ---- Arguments of tools that are read as nothing ---- */

struct look {
    const char *what, *list, *probe;
    const char *const *words, *const *formats, *const *phrases;
};

static const char *const path_words[] = {"path",   "file",      "filename", "filepath", "dir",
                                         "folder", "directory", "paths",    "files",    NULL};
static const char *const path_formats[] = {"path", "file-path", "uri-reference", NULL};
static const char *const path_phrases[] = {"path to", "file path", "absolute path", "relative path", NULL};
static const char *const command_words[] = {"command", "cmd", "shell", "script", "commands", NULL};
static const char *const command_phrases[] = {"shell command", "command to run", "command to execute", NULL};
static const char *const url_words[] = {"url", "urls", "endpoint", "webhook", "link", "href", NULL};
static const char *const url_formats[] = {"uri", "url", "iri", NULL};
static const char *const none[] = {NULL};

static const struct look looks[] = {
    {"a path", "pathArguments", "zz/probe.txt", path_words, path_formats, path_phrases},
    {"a command", "commandArguments", "zzprobe --zz", command_words, none, command_phrases},
    {"a URL", "urlArguments", "probe.example/x", url_words, url_formats, none},
};

static bool has_part(struct slice text, const char *part, bool word)
{
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= text.len; at++) {
        bool begins = at == 0 || text.ptr[at - 1] == '_' || text.ptr[at - 1] == '-' ||
                      text.ptr[at - 1] == '.' || (text.ptr[at] >= 'A' && text.ptr[at] <= 'Z');
        bool ends = at + len == text.len || text.ptr[at + len] == '_' || text.ptr[at + len] == '-' ||
                    text.ptr[at + len] == '.' || (text.ptr[at + len] >= 'A' && text.ptr[at + len] <= 'Z');
        if (slice_eq_ascii_case((struct slice){text.ptr + at, len}, (struct slice){part, len}) &&
            (!word || (begins && ends))) {
            return true;
        }
    }
    return false;
}

static bool has_any(struct slice text, const char *const *parts, bool word)
{
    for (; *parts != NULL; parts++) {
        if (word ? has_part(text, *parts, true) : has_part(text, *parts, false)) {
            return true;
        }
    }
    return false;
}

static struct slice text_member(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    return json_is(value, JSON_STRING) ? json_str(value) : SLICE("");
}

/* Whether an argument may hold a text: by its type, where it tells one. */
static bool may_be_text(const struct json_doc *doc, const struct json_value *schema)
{
    struct slice type = text_member(doc, schema, "type");
    return type.len == 0 || slice_is(type, "string") || slice_is(type, "array");
}

static bool looks_like(const struct look *look, const struct json_doc *doc, struct slice name,
                       const struct json_value *schema)
{
    struct slice format = text_member(doc, schema, "format");
    return may_be_text(doc, schema) &&
           (has_any(name, look->words, true) || (format.len > 0 && has_any(format, look->formats, true)) ||
            has_any(text_member(doc, schema, "description"), look->phrases, false));
}

/* Whether a text under this name of this tool is read as what it looks like: a path, a command or a host. */
static bool is_read(struct tools_check *c, struct readings *readings, struct call_reader *reader,
                    const struct look *look, const struct offered *tool, struct slice name)
{
    struct buf text;
    bool read = false;
    struct reading_interest interest = {.classes = 1u << READING_FIELD_PATH | 1u << READING_FIELD_COMMAND |
                                                   1u << READING_FIELD_HOST};
    const struct call_defaults defaults = {
        .server = tool->server, .channel = SLICE("C1"), .thread = SLICE("1.1")};
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    buf_text(&text, "{\"tool\":");
    json_write_string(&text, tool->name);
    buf_text(&text, ",\"input\":{");
    json_write_string(&text, name);
    buf_text(&text, ":");
    json_write_string(&text, slice_of(look->probe));
    buf_text(&text, "}}");
    if (!buf_ok(&text) || call_read(reader, buf_slice_of(&text), &defaults) != CALL_OK ||
        readings_make(readings, &reader->call, c->base, c->policy->arguments, c->policy->prefixes, &interest,
                      0) != READINGS_OK) {
        buf_finish(&text);
        return true;
    }
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *r = &readings->list[i];
        bool path = r->kind != READING_NO_PATH, host = r->host_kind != READING_NO_HOST;
        read = read || (!r->aside && (look == &looks[0]   ? path
                                      : look == &looks[1] ? r->command != NULL
                                                          : host));
    }
    buf_finish(&text);
    return read;
}

/* It stands at no rule: at the policy's first file. */
static void place_at_policy(const struct tools_check *c, struct finding *f)
{
    if (f != NULL && c->policy->file_count > 0) {
        f->file_name = c->policy->files[0].name;
        f->line = f->column = 1;
    }
}

static void check_unread(struct tools_check *c, struct readings *readings, struct call_reader *reader,
                         const struct offered *tool)
{
    const struct json_value *key = tool->properties != NULL ? json_first(tool->doc, tool->properties) : NULL;
    for (; key != NULL; key = json_right(tool->doc, tool->properties, key)) {
        for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
            if (looks_like(&looks[i], tool->doc, json_str(key), json_member_value(key)) &&
                !is_read(c, readings, reader, &looks[i], tool, json_str(key))) {
                place_at_policy(
                    c, findings_add(c->warnings, "unread-argument",
                                    "argument '%.*s' of tool '%.*s'%s%.*s looks like %s and is read as none: "
                                    "\"%s\": {\"%.*s\": [\"%.*s\"]} makes it one",
                                    SLICE_FMT(json_str(key)), SLICE_FMT(tool->name),
                                    tool->server.ptr != NULL ? " of server " : "", SLICE_FMT(tool->server),
                                    looks[i].what, looks[i].list, SLICE_FMT(tool->name),
                                    SLICE_FMT(json_str(key))));
                break;
            }
        }
    }
}

/* ---- Tools that no rule names ---- */

static void check_unnamed(struct tools_check *c, struct judge *judge, const struct offered *tool)
{
    struct buf text;
    for (uint32_t i = 0; i < c->policy->rule_count; i++) {
        if (names_tool(c, &c->policy->rules[i], tool)) {
            return;
        }
    }
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    judge->defaults.server = tool->server;
    buf_text(&text, "{\"tool\":");
    json_write_string(&text, tool->name);
    buf_text(&text, ",\"input\":{}}");
    struct decision decision = judge_text(judge, buf_slice_of(&text));
    const char *becomes = decision.kind == DECISION_ALLOW     ? "allowed"
                          : decision.kind == DECISION_REQUIRE ? "put before people"
                                                              : "denied";
    struct slice rule = decision.rule != NULL ? policy_text(c->policy, decision.rule->id) : SLICE("default");
    place_at_policy(c, findings_add(c->warnings, "unnamed-tool",
                                    "no rule names tool '%.*s'%s%.*s: a call of it is %s (rule '%.*s')",
                                    SLICE_FMT(tool->name), tool->server.ptr != NULL ? " of server " : "",
                                    SLICE_FMT(tool->server), becomes, SLICE_FMT(rule)));
    buf_finish(&text);
}

static bool check_all(struct tools_check *c)
{
    struct judge judge;
    struct readings readings;
    struct call_reader reader;
    for (uint32_t i = 0; i < c->policy->rule_count; i++) {
        const struct rule *rule = &c->policy->rules[i];
        check_servers(c, rule);
        check_names(c, rule);
        check_arguments(c, rule);
    }
    if (!judge_init(&judge, c->policy, c->base)) {
        return false;
    }
    bool ok = readings_init(&readings) && call_reader_init(&reader);
    for (size_t i = 0; ok && i < c->offers.count; i++) {
        check_unread(c, &readings, &reader, &c->offers.list[i]);
        check_unnamed(c, &judge, &c->offers.list[i]);
    }
    if (ok) {
        call_reader_finish(&reader);
        readings_finish(&readings);
    }
    judge_finish(&judge);
    return ok;
}

bool check_tools(const struct policy *policy, const struct path_base *base, const char *state_dir,
                 const struct option_list *files, struct findings *warnings)
{
    struct arena arena;
    arena_init(&arena, 1u << 30);
    struct tools_check c = {.policy = policy, .base = base, .offers.arena = &arena, .warnings = warnings};
    bool ok = files->count > 0 || take_state(&c.offers, state_dir);
    for (size_t i = 0; i < files->count && ok; i++) {
        ok = take_file(&c.offers, files->items[i]);
    }
    if (ok && c.offers.count == 0) {
        say("no server's tools are known here: 'callgate run' keeps them, or name a list with --tools-file");
    }
    ok = ok && check_all(&c);
    while (c.offers.sources != NULL) {
        struct tool_source *source = c.offers.sources;
        c.offers.sources = source->next;
        json_finish(&source->doc);
        buf_finish(&source->text);
        free(source);
    }
    arena_finish(&arena);
    return ok;
}
