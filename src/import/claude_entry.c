/* One entry of Claude Code's permission lists: `Tool`, `Tool(what)`, `mcp__SERVER__TOOL`. */
#include "import/claude_internal.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Whole tools ---- */

/* A rule of one name there holds for several tools. What only a deny covers stands last. */
static const char *const read_tools[] = {"Read", "Grep", "Glob", "LS", "NotebookRead", NULL};
static const char *const read_deny_tools[] = {"Read", "Grep",  "Glob",      "LS", "NotebookRead",
                                              "Edit", "Write", "MultiEdit", NULL};
static const char *const edit_tools[] = {"Edit", "Write", "MultiEdit", "NotebookEdit", NULL};
static const char *const agent_tools[] = {"Agent", "Task", NULL}; /* the new name and the old */

static struct texts tools_of(struct importer *im, struct slice name, enum import_list list)
{
    if (slice_is(name, "Read")) {
        return import_texts(im, list == IMPORT_DENY ? read_deny_tools : read_tools);
    }
    if (slice_is(name, "Edit")) {
        return import_texts(im, edit_tools);
    }
    if (slice_is(name, "Agent") || slice_is(name, "Task")) {
        return import_texts(im, agent_tools);
    }
    return import_one(im, name);
}

/* The same match for each tool that the name stands for. */
static bool add_tools(struct importer *im, struct import_entry *entry, struct slice name,
                      struct import_match match)
{
    match.tools = tools_of(im, name, entry->list);
    return import_add(im, entry, &match);
}

static bool add_everything(struct importer *im, struct import_entry *entry)
{
    return import_add(im, entry, &(struct import_match){.tools = import_one(im, SLICE("*"))});
}

/* Claude Code holds a deny or an ask for files against the shell commands that it knows to read or write them. Here
 * one for reading holds for every command that names the file, one for writing for those that write; without a place
 * (NULL) each holds for the commands of its kind. */
static bool add_shell(struct importer *im, struct import_entry *entry, struct slice name,
                      const struct import_path *place)
{
    static const char *const writers[] = {">",     "tee",   "sed",   "cp",    "mv",       "rm",      "rmdir",
                                          "mkdir", "touch", "ln",    "dd",    "truncate", "install", "chmod",
                                          "chown", "rsync", "unzip", "patch", "shred",    NULL};
    static const char *const readers[] = {"<",    "awk",  "base64", "cat",  "cmp",     "comm", "cut",  "diff",
                                          "file", "fold", "grep",   "head", "hexdump", "jq",   "join", "less",
                                          "more", "nl",   "od",     "rg",   "sed",     "sort", "tac",  "tail",
                                          "tr",   "uniq", "wc",     "xxd",  "strings", NULL};
    struct import_match match = {.tools = import_one(im, SLICE("Bash"))};
    bool writes = slice_is(name, "Edit");
    if (entry->list == IMPORT_ALLOW || !(writes || slice_is(name, "Read"))) {
        return true;
    }
    if (writes || place == NULL) {
        match.command_prefixes = import_texts(im, writes ? writers : readers);
    }
    if (place != NULL) {
        match.path = place->prefix;
        match.component = place->component;
    }
    return import_add(im, entry, &match);
}

static const char *const no_such_name = "no tool has such a name";

/* A deny or an ask that covers more than the entry: the whole tool. */
static void widen(struct importer *im, struct import_entry *entry, struct slice name, const char *why)
{
    if (add_tools(im, entry, name, (struct import_match){0})) {
        import_tell(im, entry, IMPORT_STRICTER, why);
    } else {
        import_tell(im, entry, IMPORT_LEFT_OUT, no_such_name);
    }
}

static void bare(struct importer *im, struct import_entry *entry, struct slice name)
{
    struct import_match alone = {.tools = import_one(im, name)};
    bool good = entry->list == IMPORT_ALLOW ? import_add(im, entry, &alone)
                                            : add_tools(im, entry, name, (struct import_match){0}) &&
                                                  add_shell(im, entry, name, NULL);
    if (good) {
        import_tell(im, entry, IMPORT_KEPT, "");
    } else {
        import_tell(im, entry, IMPORT_LEFT_OUT, no_such_name);
    }
}

/* ---- Names with wildcards ---- */

static void import_glob(struct importer *im, struct import_entry *entry, struct slice name, size_t star)
{
    struct slice head = {name.ptr, star};
    if (entry->list == IMPORT_ALLOW) {
        import_tell(im, entry, IMPORT_LEFT_OUT,
                    "an allow needs a name without wildcards, or 'mcp__SERVER__*'");
    } else if (star > 0 && !slice_starts_with(head, SLICE("mcp_")) &&
               !slice_starts_with(SLICE("mcp__"), head) &&
               import_add(im, entry, &(struct import_match){.prefix = head})) {
        bool exact = star + 1 == name.len;
        import_tell(im, entry, exact ? IMPORT_KEPT : IMPORT_STRICTER,
                    exact ? "" : "every tool whose name begins so");
    } else if (add_everything(im, entry)) {
        bool exact = slice_is(name, "*");
        import_tell(im, entry, exact ? IMPORT_KEPT : IMPORT_STRICTER,
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

/* `rest` is SERVER__TOOL, the tool with at most a wildcard at its end. */
static bool add_mcp_tool(struct importer *im, struct import_entry *entry, struct slice rest, size_t split)
{
    struct import_match match = {.server = {rest.ptr, split}};
    struct slice tool = slice_from(rest, split + 2);
    if (slice_is(tool, "*")) {
        return import_add(im, entry, &match);
    }
    if (tool.ptr[tool.len - 1] != '*') {
        return import_add_splits(im, entry, rest, SLICE("__"));
    }
    match.prefix = (struct slice){tool.ptr, tool.len - 1};
    return import_add(im, entry, &match);
}

static void mcp(struct importer *im, struct import_entry *entry, struct slice name)
{
    struct slice rest = slice_from(name, 5);
    const char *star = memchr(rest.ptr, '*', rest.len);
    size_t star_at = star != NULL ? (size_t)(star - rest.ptr) : rest.len;
    size_t split = find_separator(rest, 1);
    bool has_tool = split + 2 < rest.len, ends_in_separator = split + 2 == rest.len;
    bool star_inside = has_tool && star_at + 1 < rest.len;
    struct import_match server = {.server = {rest.ptr, split}};
    if (rest.len == 0) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "it names no server");
    } else if (star_at < split || (star != NULL && !has_tool)) {
        import_glob(im, entry, name, star_at + 5);
    } else if (star_inside || ends_in_separator) {
        bool good = entry->list != IMPORT_ALLOW && import_add(im, entry, &server);
        import_tell(im, entry, good ? IMPORT_STRICTER : IMPORT_LEFT_OUT,
                    good ? "every tool of the server" : "this name can't be said exactly");
    } else {
        bool good = has_tool ? add_mcp_tool(im, entry, rest, split) : import_add(im, entry, &server);
        import_tell(im, entry, good ? IMPORT_KEPT : IMPORT_LEFT_OUT, good ? "" : no_such_name);
    }
}

/* ---- Paths ---- */

static void path(struct importer *im, struct import_entry *entry, struct slice name, struct slice pattern)
{
    struct import_path place;
    bool allow = entry->list == IMPORT_ALLOW;
    enum import_path_result said = import_path_read(pattern, !allow, &im->places, &im->arena, &place);
    if (said == IMPORT_PATH_EXCEPTION) {
        import_tell(im, entry, allow ? IMPORT_LEFT_OUT : IMPORT_STRICTER,
                    "an exception to the rules before it: what it takes out stays in");
        return;
    }
    struct import_match wanted = {.path = place.prefix, .component = place.component};
    if (said != IMPORT_PATH_NONE && add_tools(im, entry, name, wanted) &&
        add_shell(im, entry, name, &place)) {
        bool read = slice_is(name, "Read") || slice_is(name, "Edit");
        import_tell(im, entry,
                    said == IMPORT_PATH_LESS            ? IMPORT_NARROWER
                    : said == IMPORT_PATH_EXACT && read ? IMPORT_KEPT
                                                        : IMPORT_STRICTER,
                    read ? place.note
                         : "Claude Code itself never looks at it: it wants Read(...) or Edit(...)");
        return;
    }
    const char *why = said == IMPORT_PATH_NONE ? place.note : "this place cannot be resolved here";
    if (allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, why);
    } else {
        widen(im, entry, name, why);
        im->failed = im->failed || !add_tools(im, entry, SLICE("Bash"), (struct import_match){0});
    }
}

/* ---- Shell commands ---- */

/* The text of an entry as a command: the escapes that an entry has for its own parentheses taken away, and `:*` at its
 * end as ` *`. */
static struct slice command_text(struct importer *im, struct slice spec)
{
    struct buf text;
    bool legacy = slice_ends_with(spec, SLICE(":*"));
    size_t len = legacy ? spec.len - 2 : spec.len;
    buf_init(&text, 1u << 20);
    for (size_t i = 0; i < len; i++) {
        bool escape = spec.ptr[i] == '\\' && i + 1 < len && strchr("()\\", spec.ptr[i + 1]) != NULL;
        buf_byte(&text, spec.ptr[escape ? ++i : i]);
    }
    buf_text(&text, legacy ? " *" : "");
    struct slice copy = buf_ok(&text) ? arena_copy(&im->arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    im->failed = im->failed || copy.ptr == NULL;
    return copy.ptr != NULL ? copy : SLICE("");
}

/* Whether it may also be a rule about an argument, `name:value`. */
static bool may_be_argument(struct slice spec)
{
    size_t i = 0;
    while (i < spec.len && ((spec.ptr[i] >= 'a' && spec.ptr[i] <= 'z') || spec.ptr[i] == '_')) {
        i++;
    }
    return i > 0 && i < spec.len && spec.ptr[i] == ':' && !slice_is(slice_from(spec, i), ":*");
}

/* Whether an allow adds nothing to another one, whose beginning it has: leaving it out, or narrowing it, takes nothing
 * away. */
static bool is_covered(const struct importer *im, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(";&|<>()$`\n\\", text.ptr[i]) != NULL) {
            return false; /* it may be more than one command */
        }
    }
    text.len -= slice_ends_with(text, SLICE(" *")) ? 2 : 0;
    for (size_t i = 0; i < im->beginning_count; i++) {
        struct slice head = im->beginnings[i];
        if (slice_starts_with(text, head) && text.len > head.len && text.ptr[head.len] == ' ') {
            return true;
        }
    }
    return false;
}

bool claude_beginning(struct importer *im, struct slice entry, struct slice *ret)
{
    struct import_command said;
    if (!slice_starts_with(entry, SLICE("Bash(")) || !slice_ends_with(entry, SLICE(")"))) {
        return false;
    }
    struct slice text = command_text(im, (struct slice){entry.ptr + 5, entry.len - 6});
    if (import_command_read(im, text, false, false, &said) != IMPORT_COMMAND_EXACT ||
        said.prefix.ptr == NULL) {
        return false;
    }
    *ret = (struct slice){text.ptr, text.len - 2};
    return true;
}

static void command(struct importer *im, struct import_entry *entry, struct slice name, struct slice spec)
{
    if (entry->list != IMPORT_ALLOW && may_be_argument(spec)) {
        widen(im, entry, name, "every command: it may be a rule about an argument");
        return;
    }
    struct import_command said;
    struct slice text = command_text(im, spec);
    bool allow = entry->list == IMPORT_ALLOW;
    enum import_command_kind kind = import_command_read(im, text, !allow, false, &said);
    struct import_match match = {.tools = import_one(im, name),
                                 .commands = import_one(im, said.command),
                                 .command_prefixes = import_one(im, said.prefix),
                                 .command_word = said.word};
    if (said.text.ptr != NULL) {
        match.argument = SLICE("command");
        match.value = import_json_text(im, said.text);
    }
    if (kind == IMPORT_COMMAND_NONE && allow && is_covered(im, text)) {
        import_tell(im, entry, IMPORT_KEPT, "another allow has all of it");
    } else if (kind == IMPORT_COMMAND_NONE && allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, said.note);
    } else if (kind == IMPORT_COMMAND_NONE || kind == IMPORT_COMMAND_ALL) {
        widen(im, entry, name, said.note);
    } else if (import_add(im, entry, &match)) {
        import_tell(im, entry,
                    kind == IMPORT_COMMAND_EXACT  ? IMPORT_KEPT
                    : kind == IMPORT_COMMAND_MORE ? IMPORT_STRICTER
                                                  : IMPORT_NARROWER,
                    said.note);
    } else if (allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this command cannot be said here");
    } else {
        widen(im, entry, name, "every command: this one cannot be said here");
    }
}

/* What a PowerShell command is, no shell's grammar tells: only the very text is allowed. */
static void powershell(struct importer *im, struct import_entry *entry, struct slice name, struct slice spec)
{
    struct slice text = command_text(im, spec);
    struct import_match match = {.tools = import_one(im, name), .argument = SLICE("command")};
    if (entry->list != IMPORT_ALLOW) {
        widen(im, entry, name, "every command: PowerShell's are not read here");
        return;
    }
    if (memchr(text.ptr, '*', text.len) != NULL) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "PowerShell's commands are not read here");
        return;
    }
    match.value = import_json_text(im, text);
    bool good = import_add(im, entry, &match);
    import_tell(im, entry, good ? IMPORT_NARROWER : IMPORT_LEFT_OUT,
                good ? "this very text, not within another command" : "this command cannot be said here");
}

/* ---- Hosts ---- */

static void fetch(struct importer *im, struct import_entry *entry, struct slice name, struct slice spec)
{
    struct slice domain = slice_starts_with(spec, SLICE("domain:")) ? slice_from(spec, 7) : (struct slice){0};
    struct import_match match = {.tools = import_one(im, name), .host = domain};
    bool plain = domain.len > 0 && domain.ptr[0] != '.' &&
                 (memchr(domain.ptr, '*', domain.len) == NULL || slice_starts_with(domain, SLICE("*.")));
    if (plain && import_add(im, entry, &match)) {
        import_tell(im, entry, IMPORT_KEPT, "");
    } else if (entry->list == IMPORT_ALLOW) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this host can't be said exactly");
    } else {
        widen(im, entry, name, "every call of the tool: this host can't be said exactly");
    }
}

/* ---- Arguments ---- */

/* `Tool(name:value)` of a deny or an ask. Others look like this and are something else: only those that are
 * known are taken for it. */
static bool argument(struct importer *im, struct import_entry *entry, struct slice name, struct slice spec)
{
    static const struct {
        const char *tool, *argument;
    } known[] = {{"Agent", "model"},
                 {"Agent", "isolation"},
                 {"Agent", "run_in_background"},
                 {"Task", "model"},
                 {"Task", "isolation"},
                 {"Task", "run_in_background"},
                 {"Bash", "run_in_background"}};
    for (size_t i = 0; entry->list != IMPORT_ALLOW && i < COUNT(known); i++) {
        struct slice key = slice_of(known[i].argument);
        if (!slice_is(name, known[i].tool) || !slice_starts_with(spec, key) || spec.len <= key.len + 1 ||
            spec.ptr[key.len] != ':') {
            continue;
        }
        struct slice text = slice_from(spec, key.len + 1);
        bool plain =
            memchr(text.ptr, '*', text.len) == NULL && text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ';
        struct import_match match = {.argument = key, .value = plain ? import_json_text(im, text) : "null"};
        bool good = plain && add_tools(im, entry, name, match);
        if (good) {
            import_tell(im, entry, IMPORT_KEPT, "");
        }
        return good;
    }
    return false;
}

/* `Skill(NAME)`, `SlashCommand(/NAME)` and `Agent(NAME)`: one argument. */
static bool named(struct importer *im, struct import_entry *entry, struct slice name, struct slice spec)
{
    static const struct {
        const char *tool, *argument;
    } known[] = {{"Skill", "skill"},
                 {"SlashCommand", "command"},
                 {"Agent", "subagent_type"},
                 {"Task", "subagent_type"}};
    for (size_t i = 0; i < COUNT(known); i++) {
        /* Without the argument it is this agent, so that a deny of it must cover more. */
        bool usual = slice_is(spec, "general-purpose") && entry->list != IMPORT_ALLOW;
        bool plain = memchr(spec.ptr, '*', spec.len) == NULL && memchr(spec.ptr, ' ', spec.len) == NULL &&
                     memchr(spec.ptr, '\\', spec.len) == NULL && memchr(spec.ptr, ':', spec.len) == NULL;
        if (!slice_is(name, known[i].tool) || usual || !plain) {
            continue;
        }
        struct import_match match = {.argument = slice_of(known[i].argument),
                                     .value = import_json_text(im, spec)};
        if (add_tools(im, entry, name, match)) {
            import_tell(im, entry, IMPORT_KEPT, "");
            return true;
        }
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

static void special(struct importer *im, struct import_entry *entry, struct slice name, struct slice spec)
{
    static const char *const unread[] = {"Write", "MultiEdit", "NotebookEdit", "Glob",
                                         "Grep",  "LS",        "NotebookRead", NULL};
    bool allow = entry->list == IMPORT_ALLOW;
    if (slice_is(name, "Read") || slice_is(name, "Edit")) {
        path(im, entry, name, spec);
    } else if (is_one_of(name, unread) && allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT,
                    "Claude Code never looks at it: it wants Read(...) or Edit(...)");
    } else if (is_one_of(name, unread)) {
        path(im, entry, name, spec);
    } else if (argument(im, entry, name, spec)) {
        return;
    } else if (slice_is(name, "Bash")) {
        command(im, entry, name, spec);
    } else if (slice_is(name, "PowerShell")) {
        powershell(im, entry, name, spec);
    } else if (slice_is(name, "WebFetch")) {
        fetch(im, entry, name, spec);
    } else if (named(im, entry, name, spec)) {
        return;
    } else if (allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "a part of this tool's calls can't be said exactly");
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

void claude_import_entry(struct importer *im, struct import_entry *entry)
{
    struct slice name, spec;
    bool well_formed = split_entry(entry->text, &name, &spec);
    bool allow = entry->list == IMPORT_ALLOW;
    bool is_mcp = slice_starts_with(name, SLICE("mcp__"));
    const char *star = name.len ? memchr(name.ptr, '*', name.len) : NULL;
    bool empty = spec.ptr != NULL && spec.len == 0, whole = spec.ptr != NULL && slice_is(spec, "*");
    bool shell = slice_is(name, "Bash") || slice_is(name, "PowerShell");
    if (name.len == 0) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "it names no tool");
    } else if (is_mcp && (spec.ptr != NULL || !well_formed)) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "Claude Code skips rules for MCP tools with parentheses");
    } else if (is_mcp) {
        mcp(im, entry, name);
    } else if (star != NULL) {
        import_glob(im, entry, name, (size_t)(star - name.ptr));
    } else if (!well_formed && allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "it is not of the form Tool or Tool(what)");
    } else if (!well_formed) {
        widen(im, entry, name, "every call of the tool: the rule is not of the form Tool(what)");
    } else if (spec.ptr == NULL || (whole && shell) ||
               (slice_is(name, "WebFetch") && slice_is(spec, "domain:*"))) {
        bare(im, entry, name);
    } else if ((whole || empty) && allow) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "what it covers is not sure");
    } else if (whole || empty) {
        widen(im, entry, name, "every call of the tool");
    } else {
        special(im, entry, name, spec);
    }
}

void claude_import_directory(struct importer *im, struct import_entry *entry)
{
    struct slice dir = entry->text, start = im->places.working;
    struct import_match match = {.tools = tools_of(im, SLICE("Read"), IMPORT_ALLOW)};
    bool absolute =
        slice_starts_with(dir, SLICE("/")) || slice_starts_with(dir, SLICE("~/")) || slice_is(dir, "~");
    struct buf text;
    buf_init(&text, 1u << 20);
    if (!absolute && start.ptr != NULL) {
        buf_slice(&text, start);
        buf_byte(&text, '/');
    }
    buf_slice(&text, dir);
    match.path = arena_copy(&im->arena, buf_slice_of(&text));
    im->failed = im->failed || match.path.ptr == NULL || !buf_ok(&text);
    buf_finish(&text);
    if (dir.len == 0 || !import_add(im, entry, &match)) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "this place cannot be resolved here");
    } else {
        import_tell(im, entry, IMPORT_KEPT, "reading below it");
    }
}
