/* One entry of Claude Code's permission lists: `Tool`, `Tool(what)`, `mcp__SERVER__TOOL`. */
#include "import/claude_internal.h"

#include <string.h>

/* ---- Whole tools ---- */

/* A rule of one name there holds for several tools. What only a deny covers stands last. */
static const char *const read_tools[] = {"Read", "Grep",  "Glob",      "LS", "NotebookRead",
                                         "Edit", "Write", "MultiEdit", NULL};
#define READ_TOOLS 5u
static const char *const edit_tools[] = {"Edit", "Write", "MultiEdit", "NotebookEdit", NULL};
static const char *const agent_tools[] = {"Agent", "Task", NULL}; /* the new name and the old */

struct tools {
    const char *const *names; /* NULL: the name alone */
    size_t count;
};

static struct tools tools_of(struct slice name, enum claude_list list)
{
    if (slice_is(name, "Read")) {
        return (struct tools){read_tools, list == LIST_OF_DENY ? 8 : READ_TOOLS};
    }
    if (slice_is(name, "Edit")) {
        return (struct tools){edit_tools, 4};
    }
    if (slice_is(name, "Agent") || slice_is(name, "Task")) {
        return (struct tools){agent_tools, 2};
    }
    return (struct tools){NULL, 1};
}

/* Every call of the agent: a match must have a field, and each call has one of two actors. */
static bool add_everything(struct importer *im, struct claude_entry *entry)
{
    return claude_add_rule(im, entry, &(struct claude_match){.actor = SLICE("claude_process")}) &&
           claude_add_rule(im, entry, &(struct claude_match){.actor = SLICE("session_owner")});
}

/* The same match for each tool that the name stands for; `one` for the name alone. */
static bool add_tools(struct importer *im, struct claude_entry *entry, struct slice name,
                      struct claude_match match, bool one)
{
    struct tools tools = one ? (struct tools){NULL, 1} : tools_of(name, entry->list);
    for (size_t i = 0; i < tools.count; i++) {
        match.tool = tools.names != NULL ? slice_of(tools.names[i]) : name;
        if (!claude_add_rule(im, entry, &match)) {
            return false;
        }
    }
    return true;
}

static const char *const no_such_name = "no tool has such a name";

/* A deny or an ask that covers more than the entry: the whole tool. */
static void widen(struct importer *im, struct claude_entry *entry, struct slice name, const char *why)
{
    if (add_tools(im, entry, name, (struct claude_match){0}, false)) {
        claude_tell(im, entry, CLAUDE_STRICTER, why);
    } else {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, no_such_name);
    }
}

static void bare(struct importer *im, struct claude_entry *entry, struct slice name)
{
    if (add_tools(im, entry, name, (struct claude_match){0}, entry->list == LIST_OF_ALLOW)) {
        claude_tell(im, entry, CLAUDE_KEPT, "");
    } else {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, no_such_name);
    }
}

/* ---- Names with wildcards ---- */

static void import_glob(struct importer *im, struct claude_entry *entry, struct slice name, size_t star)
{
    struct slice head = {name.ptr, star};
    if (entry->list == LIST_OF_ALLOW) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT,
                    "an allow needs a name without wildcards, or 'mcp__SERVER__*'");
    } else if (star > 0 && !slice_starts_with(head, SLICE("mcp_")) &&
               !slice_starts_with(SLICE("mcp__"), head) &&
               claude_add_rule(im, entry, &(struct claude_match){.prefix = head})) {
        bool exact = star + 1 == name.len;
        claude_tell(im, entry, exact ? CLAUDE_KEPT : CLAUDE_STRICTER,
                    exact ? "" : "every tool whose name begins so");
    } else if (add_everything(im, entry)) {
        bool exact = slice_is(name, "*");
        claude_tell(im, entry, exact ? CLAUDE_KEPT : CLAUDE_STRICTER,
                    exact ? "" : "every call: whether a server is named cannot be asked here");
    }
}

/* ---- MCP ---- */

static size_t find_separator(struct slice text, size_t from)
{
    for (size_t i = from; i + 1 < text.len; i++) {
        if (text.ptr[i] == '_' && text.ptr[i + 1] == '_') {
            return i;
        }
    }
    return text.len;
}

/* The flattened name may split in several ways: each is the same name there. */
static bool add_splits(struct importer *im, struct claude_entry *entry, struct slice rest)
{
    bool good = true;
    for (size_t at = find_separator(rest, 1); good && at + 2 < rest.len; at = find_separator(rest, at + 1)) {
        good = claude_add_rule(
            im, entry, &(struct claude_match){.server = {rest.ptr, at}, .tool = slice_from(rest, at + 2)});
    }
    return good;
}

/* `rest` is SERVER__TOOL, the tool with at most a wildcard at its end. */
static bool add_mcp_tool(struct importer *im, struct claude_entry *entry, struct slice rest, size_t split)
{
    struct slice server = {rest.ptr, split}, tool = slice_from(rest, split + 2);
    if (slice_is(tool, "*")) {
        return claude_add_rule(im, entry, &(struct claude_match){.server = server});
    }
    if (tool.ptr[tool.len - 1] != '*') {
        return add_splits(im, entry, rest);
    }
    tool.len--;
    return claude_add_rule(im, entry, &(struct claude_match){.server = server, .prefix = tool});
}

static void mcp(struct importer *im, struct claude_entry *entry, struct slice name)
{
    struct slice rest = slice_from(name, 5);
    const char *star = memchr(rest.ptr, '*', rest.len);
    size_t star_at = star != NULL ? (size_t)(star - rest.ptr) : rest.len;
    size_t split = find_separator(rest, 1);
    bool has_tool = split + 2 < rest.len, ends_in_separator = split + 2 == rest.len;
    bool star_inside = has_tool && star_at + 1 < rest.len;
    struct claude_match server = {.server = {rest.ptr, split}};
    if (rest.len == 0) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "it names no server");
    } else if (star_at < split || (star != NULL && !has_tool)) {
        import_glob(im, entry, name, star_at + 5);
    } else if (star_inside || ends_in_separator) {
        bool good = entry->list != LIST_OF_ALLOW && claude_add_rule(im, entry, &server);
        claude_tell(im, entry, good ? CLAUDE_STRICTER : CLAUDE_LEFT_OUT,
                    good ? "every tool of the server" : "this name can't be said exactly");
    } else {
        bool good = has_tool ? add_mcp_tool(im, entry, rest, split) : claude_add_rule(im, entry, &server);
        claude_tell(im, entry, good ? CLAUDE_KEPT : CLAUDE_LEFT_OUT, good ? "" : no_such_name);
    }
}

/* ---- Paths ---- */

static void path(struct importer *im, struct claude_entry *entry, struct slice name, struct slice pattern)
{
    struct claude_path place;
    bool allow = entry->list == LIST_OF_ALLOW;
    enum claude_path_result said = claude_path_read(pattern, !allow, &im->places, &im->arena, &place);
    if (said == CLAUDE_PATH_EXCEPTION) {
        claude_tell(im, entry, allow ? CLAUDE_LEFT_OUT : CLAUDE_STRICTER,
                    "an exception to the rules before it: what it takes out stays in");
        return;
    }
    struct claude_match wanted = {.path = place.prefix, .component = place.component};
    if (said != CLAUDE_PATH_NONE && add_tools(im, entry, name, wanted, false)) {
        bool read = slice_is(name, "Read") || slice_is(name, "Edit");
        claude_tell(im, entry,
                    said == CLAUDE_PATH_LESS            ? CLAUDE_NARROWER
                    : said == CLAUDE_PATH_EXACT && read ? CLAUDE_KEPT
                                                        : CLAUDE_STRICTER,
                    read ? place.note
                         : "Claude Code itself never looks at it: it wants Read(...) or Edit(...)");
        return;
    }
    const char *why = said == CLAUDE_PATH_NONE ? place.note : "this place cannot be resolved here";
    if (allow) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, why);
    } else {
        widen(im, entry, name, why);
    }
}

/* ---- Shell commands ---- */

/* What no shell gives another meaning. */
static bool is_plain_command(struct slice command)
{
    for (size_t i = 0; i < command.len; i++) {
        char c = command.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr(" _-./:=@%+,", c) != NULL);
        if (!plain) {
            return false;
        }
    }
    return command.len > 0 && command.ptr[0] != ' ' && command.ptr[command.len - 1] != ' ';
}

/* Whether a word of the command is a program that is known to read or write the files it names: there the
 * rules for files hold for these, too. */
static bool names_file_program(struct slice command)
{
    static const char *const programs[] = {
        "awk",   "base64", "cat",     "cd",    "chmod",   "chown",    "cmp",     "comm",  "cp",
        "cut",   "dd",     "diff",    "du",    "file",    "find",     "fold",    "grep",  "head",
        "jq",    "join",   "less",    "ln",    "ls",      "mkdir",    "more",    "mv",    "nl",
        "od",    "paste",  "rg",      "rm",    "rmdir",   "sed",      "sort",    "stat",  "tac",
        "tail",  "tar",    "tee",     "touch", "tr",      "uniq",     "wc",      "xargs", "xxd",
        "egrep", "fgrep",  "strings", "tree",  "hexdump", "truncate", "install", "rsync", "zip",
    };
    while (command.len > 0) {
        const char *space = memchr(command.ptr, ' ', command.len);
        struct slice word = {command.ptr, space != NULL ? (size_t)(space - command.ptr) : command.len};
        command = slice_from(command, space != NULL ? word.len + 1 : word.len);
        for (size_t i = word.len; i > 0; i--) {
            if (word.ptr[i - 1] == '/') {
                word = slice_from(word, i);
                break;
            }
        }
        for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
            if (slice_is(word, programs[i])) {
                return true;
            }
        }
    }
    return false;
}

static const char *const files_too =
    "Claude Code holds the rules for files against shell commands, too; here a command is opaque";

static void allow_command(struct importer *im, struct claude_entry *entry, struct slice name,
                          struct slice command)
{
    struct buf value;
    if (!is_plain_command(command)) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT,
                    "only one plain command can be said exactly: no wildcard, no shell syntax");
        return;
    }
    if (im->limits_files && names_file_program(command)) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, files_too);
        return;
    }
    buf_init(&value, 1u << 20);
    json_write_string(&value, command);
    buf_byte(&value, '\0');
    if (!buf_ok(&value)) {
        im->failed = true;
    } else if (claude_add_rule(
                   im, entry,
                   &(struct claude_match){.tool = name, .argument = SLICE("command"), .value = value.ptr})) {
        claude_tell(im, entry, CLAUDE_NARROWER, "this very text, not within another command");
    } else {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "this command cannot be said here");
    }
    buf_finish(&value);
}

/* ---- Arguments ---- */

/* `Tool(name:value)` of a deny or an ask. Others look like this and are something else: only those that are
 * known are taken for it. */
static bool add_argument(struct importer *im, struct claude_entry *entry, struct slice name, struct slice key,
                         struct slice text)
{
    struct buf value;
    buf_init(&value, 1u << 20);
    json_write_string(&value, text);
    buf_byte(&value, '\0');
    struct claude_match match = {.argument = key, .value = value.ptr};
    bool good = buf_ok(&value) && add_tools(im, entry, name, match, false);
    if (good && (slice_is(text, "true") || slice_is(text, "false"))) {
        match.value = slice_is(text, "true") ? "true" : "false";
        good = add_tools(im, entry, name, match, false);
    }
    im->failed = im->failed || !buf_ok(&value);
    buf_finish(&value);
    return good;
}

static bool argument(struct importer *im, struct claude_entry *entry, struct slice name, struct slice spec)
{
    if (entry->list == LIST_OF_ALLOW) {
        return false;
    }
    static const struct {
        const char *tool, *argument;
    } known[] = {{"Agent", "model"},
                 {"Agent", "isolation"},
                 {"Agent", "run_in_background"},
                 {"Task", "model"},
                 {"Task", "isolation"},
                 {"Task", "run_in_background"},
                 {"Bash", "run_in_background"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct slice key = slice_of(known[i].argument);
        if (!slice_is(name, known[i].tool) || !slice_starts_with(spec, key) || spec.len <= key.len + 1 ||
            spec.ptr[key.len] != ':') {
            continue;
        }
        struct slice text = slice_from(spec, key.len + 1);
        bool plain =
            memchr(text.ptr, '*', text.len) == NULL && text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ';
        bool good = plain && add_argument(im, entry, name, key, text);
        if (good) {
            claude_tell(im, entry, CLAUDE_KEPT, "");
        }
        return good;
    }
    return false;
}

/* ---- Entries ---- */

static bool is_one_of(struct slice name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (slice_is(name, *names)) {
            return true;
        }
    }
    return false;
}

static void special(struct importer *im, struct claude_entry *entry, struct slice name, struct slice spec)
{
    static const char *const shells[] = {"Bash", "PowerShell", NULL};
    static const char *const unread[] = {"Write", "MultiEdit", "NotebookEdit", "Glob",
                                         "Grep",  "LS",        "NotebookRead", NULL};
    bool allow = entry->list == LIST_OF_ALLOW;
    if (slice_is(name, "Read") || slice_is(name, "Edit")) {
        path(im, entry, name, spec);
    } else if (is_one_of(name, unread) && allow) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT,
                    "Claude Code never looks at it: it wants Read(...) or Edit(...)");
    } else if (is_one_of(name, unread)) {
        path(im, entry, name, spec);
    } else if (is_one_of(name, shells) && allow) {
        allow_command(im, entry, name, spec);
    } else if (argument(im, entry, name, spec)) {
        return;
    } else if (is_one_of(name, shells)) {
        widen(im, entry, name, "every command: what a shell makes of one cannot be told here");
    } else if (allow) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "a part of this tool's calls can't be said exactly");
    } else {
        widen(im, entry, name, "every call of the tool: a part of them can't be said exactly");
    }
}

/* The name and what stands in the parentheses. False: it is not of this form. */
static bool split_entry(struct slice text, struct slice *ret_name, struct slice *ret_spec)
{
    const char *open = memchr(text.ptr, '(', text.len);
    *ret_name = (struct slice){text.ptr, open != NULL ? (size_t)(open - text.ptr) : text.len};
    *ret_spec = (struct slice){0};
    if (open == NULL) {
        return text.len > 0;
    }
    if (text.ptr[text.len - 1] != ')') {
        return false;
    }
    *ret_spec = (struct slice){open + 1, text.len - ret_name->len - 2};
    return ret_name->len > 0;
}

void claude_import_entry(struct importer *im, struct claude_entry *entry)
{
    struct slice name, spec;
    bool well_formed = split_entry(entry->text, &name, &spec);
    bool allow = entry->list == LIST_OF_ALLOW;
    bool is_mcp = slice_starts_with(name, SLICE("mcp__"));
    const char *star = name.len ? memchr(name.ptr, '*', name.len) : NULL;
    bool empty = spec.ptr != NULL && spec.len == 0, whole = spec.ptr != NULL && slice_is(spec, "*");
    bool shell = slice_is(name, "Bash") || slice_is(name, "PowerShell");
    if (name.len == 0) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "it names no tool");
    } else if (is_mcp && (spec.ptr != NULL || !well_formed)) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "Claude Code skips rules for MCP tools with parentheses");
    } else if (is_mcp) {
        mcp(im, entry, name);
    } else if (star != NULL) {
        import_glob(im, entry, name, (size_t)(star - name.ptr));
    } else if (!well_formed && allow) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "it is not of the form Tool or Tool(what)");
    } else if (!well_formed) {
        widen(im, entry, name, "every call of the tool: the rule is not of the form Tool(what)");
    } else if (allow && shell && im->limits_files && (spec.ptr == NULL || whole)) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, files_too);
    } else if (spec.ptr == NULL || (whole && shell) ||
               (slice_is(name, "WebFetch") && slice_is(spec, "domain:*"))) {
        bare(im, entry, name);
    } else if ((whole || empty) && allow) {
        claude_tell(im, entry, CLAUDE_LEFT_OUT, "what it covers is not sure");
    } else if (whole || empty) {
        widen(im, entry, name, "every call of the tool");
    } else {
        special(im, entry, name, spec);
    }
}
