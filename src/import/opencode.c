/* opencode's `permission` block: for each permission a decision, or patterns with one each. There the last rule that
 * matches decides; here the first, so that they stand in the reverse order. */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

#include "host/jsonc.h"

#define RULES_MOST 20000u

struct opencode_rule {
    struct slice permission, pattern, action;
    const char *where;
    struct slice agent; /* ptr NULL: of every agent */
};

struct opencode {
    struct importer im;
    const struct import_file *file;
    struct json_doc doc;
    char *text;
    struct opencode_rule *rules;
    size_t count;
    bool outside_free;        /* a path outside the project is asked about by no rule */
    enum import_list outside; /* else what is done about it */
    bool failed;
    struct buf *error;
};

/* ---- Names ---- */

static const char *const edit_tools[] = {"edit", "write", "patch", "multiedit", "apply_patch", NULL};
static const char *const path_permissions[] = {"read", "edit", "list", "glob", "grep", NULL};
/* Commands whose arguments opencode looks at for places outside the project. */
static const char *const file_programs[] = {"cd",    "rm",    "cp",    "mv",  "mkdir",
                                            "touch", "chmod", "chown", "cat", NULL};

static bool is_one_of(struct slice name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (slice_is(name, *names)) {
            return true;
        }
    }
    return false;
}

static struct texts tools_of(struct importer *im, struct slice permission)
{
    return slice_is(permission, "edit") ? import_texts(im, edit_tools) : import_one(im, permission);
}

static bool is_whole(struct slice pattern)
{
    return slice_is(pattern, "*") || slice_is(pattern, "**");
}

/* ---- Rules ---- */

/* A rule that covers more than it should must not ask before a deny of the same calls. */
static bool put(struct importer *im, struct import_entry *entry, const struct import_match *match, bool exact)
{
    return !exact && entry->list == IMPORT_ASK ? import_defer(im, entry, match)
                                               : import_add(im, entry, match);
}

static struct slice project_of(const struct importer *im)
{
    return im->places.working.ptr != NULL ? im->places.working : SLICE(".");
}

static void add_whole(struct opencode *in, struct import_entry *entry, struct slice permission)
{
    struct importer *im = &in->im;
    bool allow = entry->list == IMPORT_ALLOW;
    struct import_match match = {.tools = tools_of(im, permission)};
    bool good = true;
    if (allow && !in->outside_free && is_one_of(permission, path_permissions)) {
        match.path = project_of(im);
    }
    if (allow && !in->outside_free && slice_is(permission, "bash")) {
        struct import_match inside = {.tools = match.tools,
                                      .command_prefixes = import_texts(im, file_programs)};
        struct import_match all = inside;
        inside.path = project_of(im);
        good = import_add(im, entry, &inside) && import_add_as(im, entry, in->outside, &all);
    }
    /* A server's tool stands there as SERVER_TOOL. */
    good = good && (memchr(permission.ptr, '_', permission.len) == NULL ||
                    import_add_splits(im, entry, permission, SLICE("_")));
    if (good && import_add(im, entry, &match)) {
        import_tell(im, entry, IMPORT_KEPT, "");
    } else {
        import_tell(im, entry, IMPORT_LEFT_OUT, "no tool has such a name");
    }
}

/* A permission with a wildcard: `*`, or the tools of a server, SERVER_*. */
static void add_named(struct opencode *in, struct import_entry *entry, struct slice permission)
{
    struct importer *im = &in->im;
    bool allow = entry->list == IMPORT_ALLOW, deep = memchr(permission.ptr, '?', permission.len) != NULL;
    const char *star = memchr(permission.ptr, '*', permission.len);
    struct slice head = {permission.ptr, (size_t)(star != NULL ? star - permission.ptr : 0)};
    bool prefix = star != NULL && !deep && head.len + 1 == permission.len && head.len > 0;
    bool good = false;
    if (slice_is(permission, "*")) {
        if (allow && !in->outside_free) {
            import_tell(im, entry, IMPORT_LEFT_OUT, "outside the project opencode asks all the same");
            return;
        }
        good = import_add(im, entry, &(struct import_match){.tools = import_one(im, SLICE("*"))});
    } else if (prefix) {
        good = import_add_splits(im, entry, permission, SLICE("_"));
        good = good && import_add(im, entry, &(struct import_match){.prefix = head});
    }
    if (good) {
        import_tell(im, entry, IMPORT_KEPT, "");
    } else if (!allow && put(im, entry, &(struct import_match){.tools = import_one(im, SLICE("*"))}, false)) {
        import_tell(im, entry, IMPORT_STRICTER, "every tool: this name can't be said exactly");
    } else {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this name can't be said exactly");
    }
}

static void add_command(struct opencode *in, struct import_entry *entry, struct slice permission,
                        struct slice pattern)
{
    struct importer *im = &in->im;
    struct import_command said;
    bool allow = entry->list == IMPORT_ALLOW;
    enum import_command_kind kind = import_command_read(im, pattern, !allow, true, &said);
    struct import_match match = {.tools = import_one(im, permission),
                                 .commands = import_one(im, said.command),
                                 .command_prefixes = import_one(im, said.prefix),
                                 .command_word = said.word};
    if (kind == IMPORT_COMMAND_ALL && allow) {
        add_whole(in, entry, permission);
        return;
    }
    if (allow && !in->outside_free && is_one_of(said.program, file_programs)) {
        match.path = project_of(im);
    }
    if (said.text.ptr != NULL && !in->outside_free) {
        kind = IMPORT_COMMAND_NONE; /* where such a text leads is not known */
    } else if (said.text.ptr != NULL) {
        match.argument = SLICE("command");
        match.value = import_json_text(im, said.text);
    }
    if (allow && kind == IMPORT_COMMAND_NONE) {
        import_tell(im, entry, IMPORT_LEFT_OUT, said.note);
    } else if (kind != IMPORT_COMMAND_NONE && kind != IMPORT_COMMAND_ALL &&
               put(im, entry, &match, kind == IMPORT_COMMAND_EXACT)) {
        import_tell(im, entry,
                    kind == IMPORT_COMMAND_EXACT  ? IMPORT_KEPT
                    : kind == IMPORT_COMMAND_MORE ? IMPORT_STRICTER
                                                  : IMPORT_NARROWER,
                    said.note);
    } else if (allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this command cannot be said here");
    } else if (put(im, entry, &(struct import_match){.tools = import_one(im, permission)},
                   is_whole(pattern))) {
        import_tell(im, entry, is_whole(pattern) ? IMPORT_KEPT : IMPORT_STRICTER, said.note);
    }
}

/* A path pattern: `*` stands for any text, `/` included. What a match can say: all below a directory, and, of a deny or
 * an ask, a name at the end. */
static void add_path(struct opencode *in, struct import_entry *entry, struct slice permission,
                     struct slice pattern)
{
    struct importer *im = &in->im;
    bool allow = entry->list == IMPORT_ALLOW;
    struct slice rest = pattern;
    struct import_match match = {.tools = tools_of(im, permission)};
    while (slice_starts_with(rest, SLICE("**/"))) {
        rest = slice_from(rest, 3);
    }
    bool below = slice_ends_with(rest, SLICE("/**")) || slice_ends_with(rest, SLICE("/*"));
    struct slice dir = {rest.ptr, rest.len - (slice_ends_with(rest, SLICE("/**")) ? 3 : below ? 2 : 0)};
    bool plain =
        memchr(dir.ptr, '*', dir.len) == NULL && memchr(dir.ptr, '?', dir.len) == NULL && dir.len > 0;
    if (plain && rest.len == pattern.len && (below || !allow) &&
        (!allow || (slice_is(permission, "edit") && (in->outside_free || dir.ptr[0] != '/')))) {
        struct buf text;
        bool absolute = dir.ptr[0] == '/' || dir.ptr[0] == '~';
        buf_init(&text, 1u << 16);
        if (!absolute && im->places.working.ptr != NULL) {
            buf_slice(&text, im->places.working);
            buf_byte(&text, '/');
        }
        buf_slice(&text, dir);
        match.path = arena_copy(&im->arena, buf_slice_of(&text));
        buf_finish(&text);
        /* What a path is compared as is sure of `edit` alone: a question about another must not take a deny's place. */
        bool sure = slice_is(permission, "edit") || entry->list != IMPORT_ASK;
        bool exact = (below || allow) && sure;
        if (match.path.ptr != NULL && put(im, entry, &match, exact)) {
            import_tell(im, entry, exact ? IMPORT_KEPT : IMPORT_STRICTER,
                        exact  ? ""
                        : sure ? "and all that is below it"
                               : "asked about after all others");
            return;
        }
        match.path = (struct slice){0};
    }
    if (allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "which files these are can't be said exactly");
        return;
    }
    /* Any path that the pattern matches has a last component that is, or ends or begins with, what stands there. */
    const char *slash = memrchr(rest.ptr, '/', rest.len);
    struct slice name = slash != NULL && !below ? slice_from(rest, (size_t)(slash - rest.ptr) + 1) : rest;
    match.component = below || memchr(name.ptr, '/', name.len) != NULL ? (struct slice){0} : name;
    if (match.component.ptr != NULL && put(im, entry, &match, false)) {
        import_tell(im, entry, IMPORT_STRICTER, "and all below a directory of such a name");
        return;
    }
    match.component = (struct slice){0};
    if (put(im, entry, &match, false)) {
        import_tell(im, entry, IMPORT_STRICTER, "every call of the tool");
    }
}

/* `task` and `skill`: a name that is one argument. */
static void add_argument(struct opencode *in, struct import_entry *entry, struct slice permission,
                         struct slice pattern)
{
    struct importer *im = &in->im;
    bool task = slice_is(permission, "task"), skill = slice_is(permission, "skill");
    bool plain =
        memchr(pattern.ptr, '*', pattern.len) == NULL && memchr(pattern.ptr, '?', pattern.len) == NULL;
    struct import_match match = {.tools = import_one(im, permission)};
    if ((task || skill) && plain) {
        match.argument = task ? SLICE("subagent_type") : SLICE("name");
        match.value = import_json_text(im, pattern);
        if (import_add(im, entry, &match)) {
            import_tell(im, entry, IMPORT_KEPT, "");
            return;
        }
        match.argument = (struct slice){0};
    }
    if (entry->list == IMPORT_ALLOW) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "a part of this tool's calls can't be said exactly");
    } else if (put(im, entry, &match, false)) {
        import_tell(im, entry, IMPORT_STRICTER, "every call of the tool");
    }
}

/* Of places outside the project: for the tools that take paths, and for the commands that opencode looks into. An allow
 * is no rule here: what allows reaches to the project's end at most. */
static void add_outside(struct opencode *in, struct import_entry *entry, struct slice pattern)
{
    static const char *const tools[] = {"read",  "list",  "glob",      "grep",        "edit",
                                        "write", "patch", "multiedit", "apply_patch", NULL};
    struct importer *im = &in->im;
    struct import_match paths = {.tools = import_texts(im, tools)};
    struct import_match commands = {.tools = import_one(im, SLICE("bash")),
                                    .command_prefixes = import_texts(im, file_programs)};
    size_t tail = slice_ends_with(pattern, SLICE("/**")) ? 3 : slice_ends_with(pattern, SLICE("/*")) ? 2 : 0;
    struct slice dir = {pattern.ptr, pattern.len - tail};
    bool absolute = dir.len > 1 && (dir.ptr[0] == '/' || slice_starts_with(dir, SLICE("~/")));
    bool plain = tail > 0 && absolute && memchr(dir.ptr, '*', dir.len) == NULL &&
                 memchr(dir.ptr, '?', dir.len) == NULL;
    if (is_whole(pattern)) {
        import_tell(im, entry, IMPORT_KEPT,
                    "in the rules that allow; where none does, opencode asks as before");
        return;
    }
    if (entry->list == IMPORT_ALLOW) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "an allow reaches to the project's end at most");
        return;
    }
    paths.path = commands.path = plain ? dir : (struct slice){0};
    if (import_add(im, entry, &paths) && import_add(im, entry, &commands)) {
        import_tell(im, entry, plain ? IMPORT_KEPT : IMPORT_STRICTER, plain ? "" : "whatever the place is");
    } else {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this place cannot be resolved here");
    }
}

static void add_rule(struct opencode *in, struct import_entry *entry, const struct opencode_rule *rule)
{
    static const char *const no_tools[] = {"doom_loop", "plan_enter", "plan_exit", NULL};
    struct slice permission = rule->permission;
    bool wild = memchr(permission.ptr, '*', permission.len) != NULL ||
                memchr(permission.ptr, '?', permission.len) != NULL;
    if (rule->agent.ptr != NULL) {
        import_tell(&in->im, entry, IMPORT_LEFT_OUT,
                    "which agent calls cannot be asked here: opencode still asks");
    } else if (is_one_of(permission, no_tools)) {
        import_tell(&in->im, entry, IMPORT_LEFT_OUT, "it is no tool");
    } else if (slice_is(permission, "external_directory")) {
        add_outside(in, entry, rule->pattern);
    } else if (wild && !is_whole(rule->pattern)) {
        if (entry->list == IMPORT_ALLOW) {
            import_tell(&in->im, entry, IMPORT_LEFT_OUT, "this can't be said exactly");
        } else {
            add_named(in, entry, permission);
        }
    } else if (wild) {
        add_named(in, entry, permission);
    } else if (is_whole(rule->pattern)) {
        add_whole(in, entry, permission);
    } else if (slice_is(permission, "bash")) {
        add_command(in, entry, permission, rule->pattern);
    } else if (slice_is(permission, "read") || slice_is(permission, "edit") || slice_is(permission, "list")) {
        add_path(in, entry, permission, rule->pattern);
    } else {
        add_argument(in, entry, permission, rule->pattern);
    }
}

/* ---- Reading ---- */

static bool action_of(struct slice action, enum import_list *ret)
{
    static const char *const names[] = {"deny", "ask", "allow"};
    for (enum import_list list = 0; list < IMPORT_LISTS; list++) {
        if (slice_is(action, names[list])) {
            *ret = list;
            return true;
        }
    }
    return false;
}

static bool refuse(struct opencode *in, const struct json_value *value, const char *why)
{
    import_place_message(in->error, in->file, value->offset);
    buf_text(in->error, why);
    return false;
}

static bool take(struct opencode *in, struct slice permission, struct slice pattern,
                 const struct json_value *value, struct slice agent)
{
    enum import_list list;
    if (!json_is(value, JSON_STRING) || !action_of(json_str(value), &list)) {
        return refuse(in, value, "a permission is allow, ask or deny");
    }
    if (in->count == RULES_MOST) {
        return refuse(in, value, "too many permissions");
    }
    in->rules[in->count++] = (struct opencode_rule){
        .permission = permission, .pattern = pattern, .action = json_str(value), .agent = agent};
    return true;
}

static bool take_block(struct opencode *in, const struct json_value *block, struct slice agent)
{
    const struct json_value *key, *inner;
    if (json_is(block, JSON_STRING)) {
        return take(in, SLICE("*"), SLICE("*"), block, agent);
    }
    if (block != NULL && !json_is(block, JSON_OBJECT)) {
        return refuse(in, block, "'permission' is an object or one of allow, ask and deny");
    }
    for (key = block != NULL ? json_first(&in->doc, block) : NULL; key != NULL;
         key = json_right(&in->doc, block, key)) {
        const struct json_value *value = json_member_value(key);
        if (!json_is(value, JSON_OBJECT)) {
            if (!take(in, json_str(key), SLICE("*"), value, agent)) {
                return false;
            }
            continue;
        }
        for (inner = json_first(&in->doc, value); inner != NULL; inner = json_right(&in->doc, value, inner)) {
            if (!take(in, json_str(key), json_str(inner), json_member_value(inner), agent)) {
                return false;
            }
        }
    }
    return true;
}

static bool take_all(struct opencode *in)
{
    const struct json_value *root = json_root(&in->doc), *agents, *key;
    if (!json_is(root, JSON_OBJECT)) {
        return refuse(in, root, "a configuration is an object");
    }
    if (!take_block(in, json_get(&in->doc, root, "permission"), (struct slice){0})) {
        return false;
    }
    agents = json_get(&in->doc, root, "agent");
    for (key = json_is(agents, JSON_OBJECT) ? json_first(&in->doc, agents) : NULL; key != NULL;
         key = json_right(&in->doc, agents, key)) {
        if (!take_block(in, json_get(&in->doc, json_member_value(key), "permission"), json_str(key))) {
            return false;
        }
    }
    return true;
}

/* ---- Writing ---- */

/* What is done about places outside the project, where it is the same for all of them; else the strictest. */
static void find_outside(struct opencode *in)
{
    in->outside = IMPORT_ASK;
    for (size_t i = 0; i < in->count; i++) {
        const struct opencode_rule *rule = &in->rules[i];
        bool meant = slice_is(rule->permission, "external_directory") || slice_is(rule->permission, "*");
        enum import_list list;
        if (!meant || rule->agent.ptr != NULL || !action_of(rule->action, &list)) {
            continue;
        }
        if (list == IMPORT_DENY) {
            in->outside = IMPORT_DENY;
        }
        bool own = slice_is(rule->permission, "external_directory");
        if (own && is_whole(rule->pattern)) {
            in->outside_free = list == IMPORT_ALLOW;
            in->outside = list == IMPORT_DENY ? IMPORT_DENY : IMPORT_ASK;
        } else if (list != IMPORT_ALLOW) {
            in->outside_free = false;
        }
    }
}

/* Where a rule stands: what denies places outside the project first, what asks about them last, and before those an
 * allow of names with wildcards, which may be meant to stand before all others there. */
enum turn {
    TURN_OUTSIDE_DENIALS,
    TURN_OWN,
    TURN_WIDE_ALLOWS,
    TURN_OUTSIDE,
    TURNS,
};

static enum turn turn_of(const struct opencode_rule *rule)
{
    bool wild = memchr(rule->permission.ptr, '*', rule->permission.len) != NULL;
    if (slice_is(rule->permission, "external_directory")) {
        return slice_is(rule->action, "deny") ? TURN_OUTSIDE_DENIALS : TURN_OUTSIDE;
    }
    return wild && slice_is(rule->action, "allow") ? TURN_WIDE_ALLOWS : TURN_OWN;
}

static void write_rules(struct opencode *in, enum turn turn)
{
    for (size_t i = in->count; i > 0; i--) {
        const struct opencode_rule *rule = &in->rules[i - 1];
        enum import_list list = IMPORT_ASK;
        if (turn_of(rule) != turn || !action_of(rule->action, &list)) {
            continue;
        }
        struct buf text;
        buf_init(&text, 1u << 20);
        buf_slice(&text, rule->agent.ptr != NULL ? SLICE("agent.") : SLICE(""));
        buf_slice(&text, rule->agent);
        buf_text(&text, rule->agent.ptr != NULL ? ".permission." : "permission.");
        buf_slice(&text, rule->permission);
        struct slice place = import_place(&in->im, in->file, "", buf_slice_of(&text), NULL);
        buf_finish(&text);
        struct import_entry entry = import_entry(&in->im, list, rule->pattern, place);
        add_rule(in, &entry, rule);
    }
}

static void tell_settings(struct opencode *in)
{
    const struct json_value *root = json_root(&in->doc);
    const struct json_value *tools = json_get(&in->doc, root, "tools"),
                            *newer = json_get(&in->doc, root, "permissions");
    const struct json_value *key;
    for (key = json_is(tools, JSON_OBJECT) ? json_first(&in->doc, tools) : NULL; key != NULL;
         key = json_right(&in->doc, tools, key)) {
        import_tell_setting(&in->im, import_place(&in->im, in->file, "tools.", json_str(key), NULL),
                            json_text_of(&in->doc, json_member_value(key)),
                            "a tool that is not offered cannot be called");
    }
    if (newer != NULL) {
        import_tell_setting(&in->im, import_place(&in->im, in->file, "", SLICE("permissions"), NULL),
                            SLICE("[...]"), "only 'permission' is read here");
    }
}

static bool import_one_file(struct opencode *in, const struct import_file *file)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH,
                                                .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    in->file = file;
    in->im.places.working = in->im.options->project;
    in->text = malloc(file->text.len + 1);
    in->rules = calloc(RULES_MOST, sizeof(*in->rules));
    if (in->text == NULL || in->rules == NULL) {
        return false;
    }
    memcpy(in->text, file->text.ptr, file->text.len);
    jsonc_blank(in->text, file->text.len);
    if (!json_parse(&in->doc, (struct slice){in->text, file->text.len}, &options, &error)) {
        import_place_message(in->error, file, error.offset);
        buf_printf(in->error, "this configuration cannot be read: %s", error.detail);
        return false;
    }
    if (!take_all(in)) {
        return false;
    }
    find_outside(in);
    for (enum turn turn = 0; turn < TURNS; turn++) {
        write_rules(in, turn);
    }
    tell_settings(in);
    return true;
}

static const char *const notes = "Rules stand in the reverse order: there the last one that matches decides. "
                                 "A command is compared by its words, each\n"
                                 "command of a text by itself; one that cannot be read is asked about where "
                                 "a rule denies or asks about commands.\n"
                                 "A call that no rule matches is allowed by no rule: the hook leaves it to "
                                 "opencode, which goes on as before.\n";

bool import_opencode(const struct import_file *files, size_t count, const struct import_options *options,
                     struct import_result *ret_result, struct buf *ret_error)
{
    struct opencode in = {.error = ret_error};
    bool good = count == 1;
    import_init(&in.im, options, ret_result, "opencode's configuration");
    json_init(&in.doc);
    if (!good) {
        buf_text(ret_error, "name one configuration: of several the last rule that matches would decide");
    }
    good = good && import_one_file(&in, &files[0]) && import_write(&in.im, notes);
    if (!good && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    json_finish(&in.doc);
    free(in.text);
    free(in.rules);
    import_finish(&in.im);
    return good;
}
