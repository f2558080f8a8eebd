/* A policy document out of a template, the folders where work is, and what servers offer. */
#include <stdlib.h>
#include <string.h>

#include "setup/setup.h"
#include "setup/template_balanced.h"
#include "setup/template_observe.h"
#include "setup/template_strict.h"
#include "json/json.h"

const char *const setup_templates[] = {"strict", "balanced", "observe", NULL};

static const struct json_options template_options = {.max_depth = LIMIT_JSON_DEPTH,
                                                     .max_bytes = LIMIT_MESSAGE_BYTES};

struct writing {
    struct buf *buf;
    const struct setup_options *options;
    struct json_doc doc;
    bool strict, asks; /* asks: writes and sends are asked about (or denied by strict), else only listed */
};

/* ---- Folders ---- */

/* Whether a prefix of the template stands for each folder of work: `.` or `./…`. */
static bool is_of_folder(struct slice prefix)
{
    return slice_is(prefix, ".") || slice_starts_with(prefix, SLICE("./"));
}

static void write_prefix(struct writing *w, struct slice prefix, bool *first)
{
    size_t count = is_of_folder(prefix) ? w->options->folder_count : 1;
    for (size_t i = 0; i < count; i++) {
        buf_text(w->buf, *first ? "" : ", ");
        *first = false;
        if (!is_of_folder(prefix)) {
            json_write_bytes(w->buf, prefix);
            continue;
        }
        struct buf path;
        buf_init(&path, 1u << 16);
        buf_slice(&path, w->options->folders[i]);
        buf_slice(&path, slice_from(prefix, 1));
        json_write_bytes(w->buf, buf_slice_of(&path));
        buf_finish(&path);
    }
}

/* The prefixes of a rule of the template, as a list. */
static void write_prefixes(struct writing *w, const struct json_value *value)
{
    bool first = true;
    buf_byte(w->buf, '[');
    if (value->type == JSON_STRING) {
        write_prefix(w, json_str(value), &first);
    } else {
        for (const struct json_value *v = json_first(&w->doc, value); v != NULL;
             v = json_right(&w->doc, value, v)) {
            write_prefix(w, json_str(v), &first);
        }
    }
    buf_byte(w->buf, ']');
}

/* A match of the template: every member as it stands, but for the prefixes. */
static void write_match(struct writing *w, const struct json_value *match)
{
    const char *between = "{";
    for (const struct json_value *key = json_first(&w->doc, match); key != NULL;
         key = json_right(&w->doc, match, key)) {
        const struct json_value *value = json_member_value(key);
        buf_text(w->buf, between);
        buf_slice(w->buf, json_text_of(&w->doc, key));
        buf_text(w->buf, ": ");
        if (slice_is(json_str(key), "pathPrefix")) {
            write_prefixes(w, value);
        } else {
            buf_slice(w->buf, json_text_of(&w->doc, value));
        }
        between = ", ";
    }
    buf_byte(w->buf, '}');
}

/* A rule or an assertion of the template. */
static void write_object(struct writing *w, const struct json_value *object)
{
    const char *between = "{";
    for (const struct json_value *key = json_first(&w->doc, object); key != NULL;
         key = json_right(&w->doc, object, key)) {
        const struct json_value *value = json_member_value(key);
        buf_text(w->buf, between);
        buf_slice(w->buf, json_text_of(&w->doc, key));
        buf_text(w->buf, ": ");
        if (slice_is(json_str(key), "match")) {
            write_match(w, value);
        } else {
            buf_slice(w->buf, json_text_of(&w->doc, value));
        }
        between = ", ";
    }
    buf_byte(w->buf, '}');
}

/* ---- Servers ---- */

/* Which tools of a server a rule is for. */
struct group {
    const char *name;
    enum tool_kind kind;
    bool with_paths;
    const char *comment;
};

static bool is_in(const struct group *group, const struct offered_tool *tool)
{
    bool paths = group->kind != TOOL_READS || group->with_paths == tool->takes_path;
    return tool->kind == group->kind && paths;
}

static void write_tools(struct writing *w, const struct found_server *server, const struct group *group)
{
    bool first = true;
    buf_byte(w->buf, '[');
    for (size_t i = 0; i < server->tool_count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || slice_eq(server->tools[j].name, server->tools[i].name);
        }
        if (!seen && is_in(group, &server->tools[i])) {
            buf_text(w->buf, first ? "" : ", ");
            json_write_bytes(w->buf, server->tools[i].name);
            first = false;
        }
    }
    buf_byte(w->buf, ']');
}

/* Tools of unknown kind of which the server says that they only read: worth a word to the reader of the policy. */
static void write_hints(struct writing *w, const struct found_server *server)
{
    bool any = false;
    for (size_t i = 0; i < server->tool_count; i++) {
        if (server->tools[i].kind == TOOL_UNKNOWN && server->tools[i].says_read_only) {
            buf_text(w->buf, any ? ", " : " The server says that these only read: ");
            struct buf name;
            buf_init(&name, 1u << 16);
            json_write_bytes(&name, server->tools[i].name);
            if (buf_ok(&name)) {
                buf_bytes(w->buf, name.ptr + 1, name.len - 2);
            }
            buf_finish(&name);
            any = true;
        }
    }
}

static void write_group(struct writing *w, const struct found_server *server, const struct group *group)
{
    bool allows = group->kind == TOOL_READS;
    struct buf id;
    buf_init(&id, 1u << 16);
    /* An id has 120 characters at most. */
    buf_bytes(&id, server->entry.name.ptr, server->entry.name.len < 80 ? server->entry.name.len : 80);
    buf_printf(&id, "-%s", group->name);
    buf_text(w->buf, "{\"id\": ");
    json_write_bytes(w->buf, buf_slice_of(&id));
    buf_finish(&id);
    if (allows) {
        buf_text(w->buf, ", \"effect\": \"auto_approve\"");
    } else if (w->strict && group->kind != TOOL_WRITES) {
        buf_text(w->buf, ", \"effect\": \"deny\", \"reason\": \"sends, runs, or is not known\"");
    } else {
        buf_text(w->buf, ", \"effect\": \"require_approval\", \"scope\": \"once\"");
    }
    buf_text(w->buf, ", \"match\": {\"tool\": ");
    write_tools(w, server, group);
    buf_text(w->buf, ", \"server\": ");
    json_write_bytes(w->buf, server->entry.name);
    if (allows && group->with_paths) {
        bool first = true;
        buf_text(w->buf, ", \"pathPrefix\": [");
        write_prefix(w, SLICE("."), &first);
        buf_byte(w->buf, ']');
    }
    buf_printf(w->buf, "}, \"comment\": \"%s", group->comment);
    if (group->kind == TOOL_UNKNOWN) {
        write_hints(w, server);
    }
    buf_text(w->buf, "\"},\n    ");
}

static void write_server(struct writing *w, const struct found_server *server)
{
    static const struct group groups[] = {
        {"reads-files", TOOL_READS, true, "Read by their names, and only in the folders of work."},
        {"reads", TOOL_READS, false, "Read by their names, and take no path."},
        {"writes", TOOL_WRITES, false, "Change something by their names."},
        {"sends", TOOL_SENDS, false, "Send or run something by their names."},
        {"others", TOOL_UNKNOWN, false, "Their names do not tell what they do."},
    };
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        bool any = false;
        for (size_t j = 0; j < server->tool_count; j++) {
            any = any || is_in(&groups[i], &server->tools[j]);
        }
        if (any) {
            write_group(w, server, &groups[i]);
        }
    }
}

/* A tool of a server with the name of one of an agent's own that is harmless is not that. `quiet` is the template's rule
 * for those. */
static void write_same_names(struct writing *w, const struct json_value *quiet)
{
    const struct found *found = w->options->found;
    const struct json_value *match = json_get(&w->doc, quiet, "match"),
                            *tools = json_get(&w->doc, match, "tool");
    if (!w->asks || found->count == 0 || tools == NULL) {
        return;
    }
    buf_text(w->buf,
             w->strict
                 ? "{\"id\": \"servers-same-names\", \"effect\": \"deny\", \"reason\": \"a server's, and not "
                   "the agent's own\""
                 : "{\"id\": \"servers-same-names\", \"effect\": \"require_approval\", \"scope\": \"once\"");
    buf_text(w->buf, ", \"match\": {\"tool\": ");
    buf_slice(w->buf, json_text_of(&w->doc, tools));
    buf_text(w->buf, ", \"server\": [");
    for (size_t i = 0; i < found->count; i++) {
        buf_text(w->buf, i > 0 ? ", " : "");
        json_write_bytes(w->buf, found->list[i].entry.name);
    }
    buf_text(w->buf,
             "]}, \"comment\": \"A server's tool may have the name of one of the agent's own.\"},\n    ");
}

/* Behind what denies, and before what allows tools of an agent's own by name: a server's may have the same. */
static void write_servers(struct writing *w)
{
    for (size_t i = 0; w->asks && i < w->options->found->count; i++) {
        write_server(w, &w->options->found->list[i]);
    }
}

/* ---- The document ---- */

static struct slice template_of(const char *name)
{
    if (strcmp(name, "strict") == 0) {
        return slice_of(template_strict);
    }
    return slice_of(strcmp(name, "observe") == 0 ? template_observe : template_balanced);
}

/* The rule before which a template has those for servers; one without it has none. */
#define SERVERS_BEFORE "look"
#define QUIET_TOOLS    "quiet-tools"

static bool has_id(const struct writing *w, const struct json_value *rule, const char *id)
{
    const struct json_value *value = json_get(&w->doc, rule, "id");
    return json_is(value, JSON_STRING) && slice_is(json_str(value), id);
}

/* A list of rules or assertions. */
static void write_list(struct writing *w, const struct json_value *list)
{
    const char *between = "[\n    ";
    for (const struct json_value *v = json_first(&w->doc, list); v != NULL;
         v = json_right(&w->doc, list, v)) {
        buf_text(w->buf, between);
        if (has_id(w, v, QUIET_TOOLS)) {
            write_same_names(w, v);
        } else if (has_id(w, v, SERVERS_BEFORE)) {
            write_servers(w);
        }
        write_object(w, v);
        between = ",\n    ";
    }
    buf_text(w->buf, "\n  ]");
}

void setup_write_policy(struct buf *buf, const struct setup_options *options)
{
    struct writing w = {.buf = buf, .options = options};
    struct json_error error;
    const char *between = "{\n  ";
    w.strict = strcmp(options->template_name, "strict") == 0;
    w.asks = strcmp(options->template_name, "observe") != 0;
    json_init(&w.doc);
    if (!json_parse(&w.doc, template_of(options->template_name), &template_options, &error)) {
        buf->failed = true;
    }
    const struct json_value *root = buf->failed ? NULL : json_root(&w.doc);
    for (const struct json_value *key = root != NULL ? json_first(&w.doc, root) : NULL; key != NULL;
         key = json_right(&w.doc, root, key)) {
        buf_text(buf, between);
        buf_slice(buf, json_text_of(&w.doc, key));
        buf_text(buf, ": ");
        if (slice_is(json_str(key), "rules") || slice_is(json_str(key), "assertions")) {
            write_list(&w, json_member_value(key));
        } else {
            buf_slice(buf, json_text_of(&w.doc, json_member_value(key)));
        }
        between = ",\n  ";
    }
    buf_text(buf, "\n}\n");
    json_finish(&w.doc);
}
