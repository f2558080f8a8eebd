/* Gemini CLI's policy files (TOML). There the rule of the highest priority that matches decides; of equal ones the first
 * is taken here, after those that are stricter. */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

#include "import/toml_internal.h"

#define NAMES_MOST 1000u

struct gemini_rule {
    const struct import_file *file;
    size_t offset;
    struct slice tool, server, prefix;       /* JSON text: a string or a list of them; ptr NULL: absent */
    struct slice arguments, regex, narrowed; /* what no match can say; ptr NULL: absent */
    enum import_list list;
    bool decided, redirects, failed;
    int64_t priority;
};

struct gemini {
    struct importer im;
    struct gemini_rule *rules;
    size_t count, cap;
    struct buf *error;
};

static bool refuse(struct gemini *in, const struct import_file *file, size_t offset, const char *why)
{
    import_place_message(in->error, file, offset);
    buf_printf(in->error, "this policy cannot be read: %s", why);
    return false;
}

/* ---- Reading ---- */

static bool is_text(struct slice json, const char *text)
{
    size_t len = strlen(text);
    return json.len == len + 2 && json.ptr[0] == '"' && memcmp(json.ptr + 1, text, len) == 0;
}

static struct gemini_rule *add_rule(struct gemini *in)
{
    if (in->count == in->cap) {
        size_t cap = in->cap > 0 ? in->cap * 2 : 64;
        struct gemini_rule *more = reallocarray(in->rules, cap, sizeof(*more));
        if (more == NULL) {
            in->im.failed = true;
            return NULL;
        }
        in->rules = more;
        in->cap = cap;
    }
    return &in->rules[in->count++];
}

static bool take_field(struct gemini *in, struct gemini_rule *rule, const struct toml_item *item)
{
    static const char *const names[] = {"deny", "ask_user", "allow"};
    static const char *const words[] = {"denyMessage", "deny_message", "description",
                                        "name",        "interactive",  NULL};
    const struct toml_key *key = &item->key;
    struct slice value = item->value;
    if (toml_key_is(key, "toolName")) {
        rule->tool = value;
    } else if (toml_key_is(key, "mcpName")) {
        rule->server = value;
    } else if (toml_key_is(key, "commandPrefix")) {
        rule->prefix = value;
    } else if (toml_key_is(key, "commandRegex")) {
        rule->regex = value;
    } else if (toml_key_is(key, "argsPattern")) {
        rule->arguments = value;
    } else if (toml_key_is(key, "allowRedirection") || toml_key_is(key, "allow_redirection")) {
        rule->redirects = slice_is(value, "true");
    } else if (toml_key_is(key, "priority")) {
        rule->priority = strtoll(value.ptr, NULL, 10);
    } else if (toml_key_is(key, "decision")) {
        for (enum import_list list = 0; list < IMPORT_LISTS; list++) {
            if (is_text(value, names[list])) {
                rule->list = list;
                rule->decided = true;
            }
        }
        return rule->decided || refuse(in, rule->file, item->offset, "'decision' is allow, deny or ask_user");
    } else {
        for (const char *const *word = words; *word != NULL; word++) {
            if (toml_key_is(key, *word) && strcmp(*word, "interactive") != 0) {
                return true;
            }
        }
        rule->narrowed = key->parts[0]; /* `modes`, `subagent` and the like: it holds for some calls only */
    }
    return true;
}

static bool read_file(struct gemini *in, const struct import_file *file)
{
    struct toml_reader reader;
    struct toml_item item;
    struct gemini_rule *rule = NULL;
    toml_reader_init(&reader, file->text, &in->im.arena);
    while (toml_reader_next(&reader, &item)) {
        bool of_rule = item.element && toml_key_is(&item.table, "rule");
        if (item.value.ptr == NULL) {
            rule = of_rule ? add_rule(in) : NULL;
            if (rule != NULL) {
                *rule = (struct gemini_rule){.file = file, .offset = item.offset};
            } else if (!of_rule) {
                struct slice place = import_place(&in->im, file, "", item.table.parts[0], NULL);
                import_tell_setting(&in->im, place, SLICE("[...]"), "no rule");
            }
        } else if (rule != NULL && !take_field(in, rule, &item)) {
            return false;
        }
    }
    for (size_t i = 0; reader.error == NULL && i < in->count; i++) {
        if (!in->rules[i].decided) {
            return refuse(in, in->rules[i].file, in->rules[i].offset, "a rule without 'decision'");
        }
    }
    return reader.error == NULL || refuse(in, file, reader.at, reader.error);
}

/* ---- Saying ---- */

/* A string or a list of them, as texts. */
static struct texts texts_of(struct importer *im, struct slice json)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH,
                                                .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_doc doc;
    struct json_error error;
    struct slice *list = arena_array(&im->arena, NAMES_MOST, sizeof(*list));
    size_t count = 0;
    json_init(&doc);
    if (list == NULL || (json.ptr != NULL && !json_parse(&doc, json, &options, &error))) {
        im->failed = true;
    }
    const struct json_value *root = json.ptr != NULL ? json_root(&doc) : NULL, *at = NULL;
    if (json_is(root, JSON_STRING) && list != NULL) {
        list[count++] = arena_copy(&im->arena, json_str(root));
    }
    for (at = json_is(root, JSON_ARRAY) ? json_first(&doc, root) : NULL; at != NULL && count < NAMES_MOST;
         at = json_right(&doc, root, at)) {
        if (json_is(at, JSON_STRING) && list != NULL) {
            list[count++] = arena_copy(&im->arena, json_str(at));
        }
    }
    json_finish(&doc);
    return (struct texts){list, count};
}

static struct slice shown(struct importer *im, const struct gemini_rule *rule)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    const struct slice parts[] = {rule->server, rule->tool, rule->prefix, rule->regex, rule->arguments};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (parts[i].ptr != NULL) {
            buf_text(&text, text.len > 0 ? " " : "");
            buf_slice(&text, parts[i]);
        }
    }
    struct slice copy = arena_copy(&im->arena, text.len > 0 ? buf_slice_of(&text) : SLICE("every tool"));
    im->failed = im->failed || copy.ptr == NULL || !buf_ok(&text);
    buf_finish(&text);
    return copy.ptr != NULL ? copy : SLICE("");
}

/* A rule that covers more than it should must not ask before a deny of the same calls. */
static bool put(struct importer *im, struct import_entry *entry, const struct import_match *match, bool exact)
{
    return !exact && entry->list == IMPORT_ASK ? import_defer(im, entry, match)
                                               : import_add(im, entry, match);
}

/* One name of `toolName`; with `mcpName` it is the server's own tool. False: it cannot be said. */
static bool add_tool(struct importer *im, struct import_entry *entry, struct slice server, struct slice tool,
                     bool exact)
{
    struct import_match match = {.server = server};
    if (server.ptr == NULL && slice_starts_with(tool, SLICE("mcp_")) && !slice_is(tool, "mcp_*")) {
        return exact && import_add_splits(im, entry, slice_from(tool, 4), SLICE("_"));
    }
    if (server.ptr == NULL && (tool.ptr == NULL || slice_is(tool, "*"))) {
        match.tools = import_one(im, SLICE("*"));
    } else if (tool.ptr != NULL && !slice_is(tool, "*")) {
        match.tools = import_one(im, tool);
        if (memchr(tool.ptr, '*', tool.len) != NULL) {
            return false;
        }
    }
    return put(im, entry, &match, exact);
}

/* Whether a rule without conditions on commands lets every command of the shell through: then those with redirections
 * to files are asked about first, as there. */
static bool guard_redirections(struct importer *im, struct import_entry *entry,
                               const struct gemini_rule *rule, struct texts tools)
{
    static const char *const files[] = {">", "<", NULL};
    bool shell = tools.count == 0 && rule->server.ptr == NULL;
    for (size_t i = 0; i < tools.count; i++) {
        shell = shell || slice_is(tools.list[i], "run_shell_command") || slice_is(tools.list[i], "*");
    }
    if (entry->list != IMPORT_ALLOW || rule->redirects || !shell || rule->server.ptr != NULL) {
        return true;
    }
    struct import_match match = {.tools = import_one(im, SLICE("run_shell_command")),
                                 .command_prefixes = import_texts(im, files)};
    return import_add_as(im, entry, IMPORT_ASK, &match);
}

static void write_tools(struct importer *im, struct import_entry *entry, const struct gemini_rule *rule)
{
    struct texts tools = texts_of(im, rule->tool), servers = texts_of(im, rule->server);
    struct slice server = servers.count > 0 ? servers.list[0] : (struct slice){0};
    bool allow = entry->list == IMPORT_ALLOW,
         more = rule->arguments.ptr != NULL || rule->narrowed.ptr != NULL;
    bool good = true;
    if (allow && more) {
        import_tell(im, entry, IMPORT_LEFT_OUT,
                    "what holds for some calls of a tool only can't be said exactly");
        return;
    }
    if (slice_is(server, "*")) {
        good = !allow && put(im, entry, &(struct import_match){.tools = import_one(im, SLICE("*"))}, false);
        import_tell(im, entry, good ? IMPORT_STRICTER : IMPORT_LEFT_OUT,
                    good ? "every call: whether a server is named cannot be asked here"
                         : "whether a server is named cannot be asked here");
        return;
    }
    good = guard_redirections(im, entry, rule, tools);
    for (size_t i = 0; good && i < (tools.count > 0 ? tools.count : 1); i++) {
        struct slice tool = tools.count > 0 ? tools.list[i] : (struct slice){0};
        good = add_tool(im, entry, server, tool, !more);
    }
    if (!good && !allow &&
        put(im, entry, &(struct import_match){.tools = import_one(im, SLICE("*"))}, false)) {
        import_tell(im, entry, IMPORT_STRICTER, "every call: this name can't be said exactly");
    } else if (!good) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this name can't be said exactly");
    } else {
        import_tell(im, entry, more ? IMPORT_STRICTER : IMPORT_KEPT, more ? "every call of the tool" : "");
    }
}

/* Rules with conditions on the text of a command. */
static void write_commands(struct importer *im, struct import_entry *entry, const struct gemini_rule *rule)
{
    struct texts prefixes = texts_of(im, rule->prefix);
    struct import_match match = {.tools = import_one(im, SLICE("run_shell_command"))};
    bool allow = entry->list == IMPORT_ALLOW, said = rule->prefix.ptr != NULL && rule->regex.ptr == NULL;
    bool more = rule->arguments.ptr != NULL || rule->narrowed.ptr != NULL, less = false;
    struct slice *list = arena_array(&im->arena, prefixes.count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; list != NULL && i < prefixes.count; i++) {
        struct import_command command;
        struct buf text;
        buf_init(&text, 1u << 20);
        buf_slice(&text, prefixes.list[i]);
        buf_text(&text, " *");
        struct slice pattern = arena_copy(&im->arena, buf_slice_of(&text));
        buf_finish(&text);
        bool exact = pattern.ptr != NULL && memchr(prefixes.list[i].ptr, '*', prefixes.list[i].len) == NULL &&
                     import_command_read(im, pattern, !allow, false, &command) == IMPORT_COMMAND_EXACT;
        bool there = false;
        for (size_t j = 0; exact && j < count; j++) {
            there = there || slice_eq(list[j], command.prefix);
        }
        if (exact && !there) {
            list[count++] = command.prefix;
        }
        less = less || !exact;
    }
    match.command_prefixes = (struct texts){list, count};
    if (allow && (!said || more || count == 0)) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this condition can't be said exactly");
        return;
    }
    if (!said || less) {
        match.command_prefixes.count = allow ? count : 0;
    }
    if (!put(im, entry, &match, said && !less && !more)) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this condition can't be said here");
    } else if (!said || less) {
        import_tell(im, entry, allow ? IMPORT_NARROWER : IMPORT_STRICTER,
                    allow ? "without the beginnings that can't be said exactly"
                          : "every command of the shell");
    } else {
        import_tell(im, entry, more ? IMPORT_STRICTER : IMPORT_KEPT,
                    more ? "whatever else the rule asks for" : "");
    }
}

static int by_priority(const void *one, const void *other)
{
    const struct gemini_rule *a = one, *b = other;
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->list != b->list) {
        return a->list < b->list ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void write_all(struct gemini *in)
{
    struct importer *im = &in->im;
    if (in->count > 0) {
        qsort(in->rules, in->count, sizeof(*in->rules), by_priority);
    }
    for (size_t i = 0; i < in->count; i++) {
        const struct gemini_rule *rule = &in->rules[i];
        struct buf text;
        buf_init(&text, 1u << 16);
        import_place_message(&text, rule->file, rule->offset);
        struct slice place = arena_copy(&im->arena, buf_slice_of(&text));
        buf_finish(&text);
        im->failed = im->failed || place.ptr == NULL;
        struct import_entry entry =
            import_entry(im, rule->list, shown(im, rule), place.ptr ? place : SLICE(""));
        if (rule->prefix.ptr != NULL || rule->regex.ptr != NULL) {
            write_commands(im, &entry, rule);
        } else {
            write_tools(im, &entry, rule);
        }
    }
}

static const char *const notes =
    "A command is compared by its words, each command of a text by itself; one that cannot be read is asked "
    "about where a\n"
    "rule denies or asks about commands. Of rules of one priority the stricter are asked first.\n"
    "A call that no rule matches is allowed by no rule: a hook leaves it to Gemini CLI, which goes on as "
    "before.\n";

bool import_gemini(const struct import_file *files, size_t count, const struct import_options *options,
                   struct import_result *ret_result, struct buf *ret_error)
{
    struct gemini in = {.error = ret_error};
    bool good = true;
    import_init(&in.im, options, ret_result, "Gemini CLI's policy");
    for (size_t i = 0; good && i < count; i++) {
        good = read_file(&in, &files[i]);
    }
    if (good) {
        write_all(&in);
        good = import_write(&in.im, notes);
    }
    if (!good && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    free(in.rules);
    import_finish(&in.im);
    return good;
}
