/* Codex: its rules for commands (`.rules`, Starlark) and the approvals in `config.toml`. There the strictest of all rules
 * that match decides, and a command is compared only when all of its words are known. */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

#include "import/starlark_internal.h"
#include "import/toml_internal.h"

#define COMBINATIONS_MOST 1000u /* texts in one list of a match */
#define WORDS_MOST        32u

/* ---- Rules for commands ---- */

struct prefix_rule {
    struct import_entry entry;
    struct slice *prefixes;
    size_t count;
    bool lost;  /* some of its words no pattern can say */
    bool shell; /* it is about a shell, and so about all texts that are more than words */
};

struct codex {
    struct importer im;
    struct prefix_rule *rules;
    size_t count, cap;
    struct buf *error;
};

static size_t alternatives(const struct starlark_value *element)
{
    return element->is_list ? element->count : 1;
}

static struct slice alternative(const struct starlark_value *element, size_t index)
{
    return element->is_list ? element->items[index].text : element->text;
}

static bool is_pattern(const struct starlark_value *pattern)
{
    if (pattern == NULL || !pattern->is_list || pattern->count == 0 || pattern->count > WORDS_MOST) {
        return false;
    }
    for (size_t i = 0; i < pattern->count; i++) {
        const struct starlark_value *element = &pattern->items[i];
        for (size_t j = 0; element->is_list && j < element->count; j++) {
            if (element->items[j].is_list) {
                return false;
            }
        }
        if (alternatives(element) == 0) {
            return false;
        }
    }
    return true;
}

/* Every way to choose one of each element's alternatives, as the text of a pattern. */
static bool combine(struct importer *im, const struct starlark_value *pattern, struct prefix_rule *rule)
{
    size_t total = 1;
    if (pattern->count == 0 || pattern->count > WORDS_MOST) { /* the beginning of no command */
        rule->lost = true;
        return true;
    }
    for (size_t i = 0; i < pattern->count; i++) {
        size_t each = alternatives(&pattern->items[i]);
        if (total > COMBINATIONS_MOST / each) {
            rule->lost = true;
            return true;
        }
        total *= each;
    }
    rule->prefixes = arena_array(&im->arena, total, sizeof(*rule->prefixes));
    if (rule->prefixes == NULL) {
        return false;
    }
    for (size_t number = 0; number < total; number++) {
        struct slice words[WORDS_MOST] = {0};
        size_t left = number;
        for (size_t i = pattern->count; i > 0; i--) {
            size_t each = alternatives(&pattern->items[i - 1]);
            words[i - 1] = alternative(&pattern->items[i - 1], left % each);
            left /= each;
        }
        struct slice text = import_command_words(im, words, pattern->count);
        rule->shell = rule->shell || import_is_shell(words[0]);
        bool there = false;
        for (size_t i = 0; i < rule->count; i++) {
            there = there || slice_eq(rule->prefixes[i], text);
        }
        rule->lost = rule->lost || text.ptr == NULL;
        if (text.ptr != NULL && !there) {
            rule->prefixes[rule->count++] = text;
        }
    }
    return true;
}

/* "git push|fetch", as the report names it. */
static struct slice pattern_text(struct importer *im, const struct starlark_value *pattern)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    for (size_t i = 0; i < pattern->count; i++) {
        for (size_t j = 0; j < alternatives(&pattern->items[i]); j++) {
            buf_text(&text, j > 0 ? "|" : i > 0 ? " " : "");
            buf_slice(&text, alternative(&pattern->items[i], j));
        }
    }
    struct slice copy = buf_ok(&text) ? arena_copy(&im->arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    im->failed = im->failed || copy.ptr == NULL;
    return copy.ptr != NULL ? copy : SLICE("");
}

static struct slice place_of(struct importer *im, const struct import_file *file, size_t offset,
                             const char *what)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    import_place_message(&text, file, offset);
    buf_text(&text, what);
    struct slice copy = buf_ok(&text) ? arena_copy(&im->arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    im->failed = im->failed || copy.ptr == NULL;
    return copy.ptr != NULL ? copy : SLICE("");
}

static bool refuse(struct codex *in, const struct import_file *file, size_t offset, const char *why)
{
    import_place_message(in->error, file, offset);
    buf_printf(in->error, "these rules cannot be read: %s", why);
    return false;
}

static bool decision_of(const struct starlark_value *decision, enum import_list *ret)
{
    static const char *const names[] = {"forbidden", "prompt", "allow"};
    *ret = IMPORT_ALLOW;
    for (enum import_list list = 0; decision != NULL && list < IMPORT_LISTS; list++) {
        if (!decision->is_list && slice_is(decision->text, names[list])) {
            *ret = list;
            return true;
        }
    }
    return decision == NULL;
}

static bool take_prefix_rule(struct codex *in, const struct import_file *file,
                             const struct starlark_call *call)
{
    const struct starlark_value *pattern = starlark_argument(call, "pattern");
    enum import_list list;
    if (!is_pattern(pattern)) {
        return refuse(in, file, call->offset, "'pattern' is a list of words or of lists of words");
    }
    if (!decision_of(starlark_argument(call, "decision"), &list)) {
        return refuse(in, file, call->offset, "'decision' is allow, prompt or forbidden");
    }
    if (in->count == in->cap) {
        size_t cap = in->cap > 0 ? in->cap * 2 : 64;
        struct prefix_rule *more = reallocarray(in->rules, cap, sizeof(*more));
        if (more == NULL) {
            return false;
        }
        in->rules = more;
        in->cap = cap;
    }
    struct prefix_rule *rule = &in->rules[in->count++];
    *rule = (struct prefix_rule){
        .entry = import_entry(&in->im, list, pattern_text(&in->im, pattern),
                              place_of(&in->im, file, call->offset, "prefix_rule ")),
    };
    return combine(&in->im, pattern, rule);
}

static void take_other(struct codex *in, const struct import_file *file, const struct starlark_call *call)
{
    const struct starlark_value *host = starlark_argument(call, "host");
    const struct starlark_value *decision = starlark_argument(call, "decision");
    struct slice place = place_of(&in->im, file, call->offset, "");
    if (!slice_is(call->function, "network_rule")) {
        import_tell_setting(&in->im, place, call->function,
                            slice_is(call->function, "host_executable")
                                ? "a program is known by its words alone: an allow by no path, a deny by each"
                                : "this function is not known here");
        return;
    }
    bool denies = decision != NULL && !decision->is_list &&
                  (slice_is(decision->text, "deny") || slice_is(decision->text, "forbidden"));
    struct import_entry entry =
        import_entry(&in->im, denies ? IMPORT_DENY : IMPORT_ALLOW,
                     host != NULL && !host->is_list ? host->text : SLICE("network_rule"), place);
    struct import_match match = {.tools = import_one(&in->im, SLICE("Bash")), .host = entry.text};
    if (denies && import_add(&in->im, &entry, &match)) {
        import_tell(&in->im, &entry, IMPORT_STRICTER,
                    "every command that names the host: what the network does stays Codex's");
    } else {
        import_tell(&in->im, &entry, IMPORT_LEFT_OUT, "what the network does stays Codex's");
    }
}

static bool read_rules(struct codex *in, const struct import_file *file)
{
    struct starlark reader;
    struct starlark_call call;
    starlark_init(&reader, file->text, &in->im.arena);
    while (starlark_next(&reader, &call)) {
        if (!slice_is(call.function, "prefix_rule")) {
            take_other(in, file, &call);
        } else if (!take_prefix_rule(in, file, &call)) {
            return false;
        }
    }
    return reader.error == NULL || refuse(in, file, reader.at, reader.error);
}

static void write_rule(struct importer *im, struct prefix_rule *rule)
{
    struct import_entry *entry = &rule->entry;
    bool allow = entry->list == IMPORT_ALLOW;
    struct import_match match = {.tools = import_one(im, SLICE("Bash")),
                                 .command_prefixes = {rule->prefixes, rule->count}};
    bool whole = !allow && (rule->lost || rule->shell);
    if (whole) {
        match.command_prefixes.count = 0;
    }
    if ((rule->count == 0 && !whole) || !import_add(im, entry, &match)) {
        import_tell(im, entry, IMPORT_LEFT_OUT, "no pattern can say these words");
    } else if (whole) {
        import_tell(im, entry, IMPORT_STRICTER,
                    rule->shell
                        ? "every command: a shell's name stands there for each text that is more than words"
                        : "every command: no pattern can say these words");
    } else if (allow && (rule->lost || rule->shell)) {
        import_tell(im, entry, IMPORT_NARROWER,
                    rule->shell ? "what a shell is told to run with -c is judged by itself"
                                : "without the words that no pattern can say");
    } else {
        import_tell(im, entry, IMPORT_KEPT, "");
    }
}

/* There no rule speaks of a command whose words are not all known, so that one is never allowed by its beginning. Here
 * a rule about a word that no command has leaves such a command in doubt, and it is asked about. */
static void write_doubt(struct codex *in)
{
    struct importer *im = &in->im;
    struct slice *all = arena_array(&im->arena, COMBINATIONS_MOST, sizeof(*all));
    size_t count = 0;
    bool every = all == NULL;
    for (size_t i = 0; i < in->count && !every; i++) {
        const struct prefix_rule *rule = &in->rules[i];
        for (size_t j = 0; rule->entry.list == IMPORT_ALLOW && j < rule->count; j++) {
            bool there = false;
            for (size_t k = 0; k < count; k++) {
                there = there || slice_eq(all[k], rule->prefixes[j]);
            }
            every = every || (!there && count == COMBINATIONS_MOST);
            if (!there && !every) {
                all[count++] = rule->prefixes[j];
            }
        }
    }
    struct import_entry entry = {.text = SLICE("commands whose words are not all known"), .list = IMPORT_ASK};
    struct import_match match = {.tools = import_one(im, SLICE("Bash")),
                                 .command_prefixes = {all, every ? 0 : count},
                                 .command_word = SLICE("'words that are not known'")};
    if (count > 0 && !import_add(im, &entry, &match)) {
        im->failed = true;
    }
}

static void write_rules(struct codex *in)
{
    for (enum import_list list = 0; list < IMPORT_LISTS; list++) {
        if (list == IMPORT_ALLOW) {
            write_doubt(in);
        }
        for (size_t i = 0; i < in->count; i++) {
            if (in->rules[i].entry.list == list) {
                write_rule(&in->im, &in->rules[i]);
            }
        }
    }
}

/* ---- config.toml ---- */

static bool is_text(struct slice json, const char *text)
{
    size_t len = strlen(text);
    return json.len == len + 2 && memcmp(json.ptr + 1, text, len) == 0;
}

static void approval(struct importer *im, const struct import_file *file, const struct toml_item *item,
                     struct slice server, struct slice tool)
{
    bool ask = is_text(item->value, "prompt");
    struct import_match match = {.server = server, .tools = import_one(im, tool)};
    struct slice place =
        place_of(im, file, item->offset, tool.ptr != NULL ? "approval_mode of " : "approvals of ");
    struct import_entry entry =
        import_entry(im, ask ? IMPORT_ASK : IMPORT_ALLOW, tool.ptr != NULL ? tool : server, place);
    if (!ask && !is_text(item->value, "approve")) {
        import_tell(im, &entry, IMPORT_LEFT_OUT,
                    "what is asked about depends on what the tool says of itself");
    } else if (import_add(im, &entry, &match)) {
        import_tell(im, &entry, IMPORT_KEPT, "");
    } else {
        import_tell(im, &entry, IMPORT_LEFT_OUT, "no tool has such a name");
    }
}

static void disabled(struct importer *im, const struct import_file *file, const struct toml_item *item,
                     struct slice server)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH,
                                                .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    if (!json_parse(&doc, item->value, &options, &error)) {
        im->failed = true;
    }
    const struct json_value *list = json_root(&doc), *at;
    for (at = json_is(list, JSON_ARRAY) ? json_first(&doc, list) : NULL; at != NULL;
         at = json_right(&doc, list, at)) {
        struct slice name = json_is(at, JSON_STRING) ? arena_copy(&im->arena, json_str(at)) : SLICE("");
        struct import_entry entry =
            import_entry(im, IMPORT_DENY, name, place_of(im, file, item->offset, "disabled_tools "));
        struct import_match match = {.server = server, .tools = import_one(im, name)};
        bool good = name.len > 0 && import_add(im, &entry, &match);
        import_tell(im, &entry, good ? IMPORT_KEPT : IMPORT_LEFT_OUT, good ? "" : "no tool has such a name");
    }
    json_finish(&doc);
}

static void policy_of(struct importer *im, const struct import_file *file, const struct toml_item *item)
{
    static const char *const own[] = {"Bash", "apply_patch", NULL};
    struct slice place = place_of(im, file, item->offset, "approval_policy ");
    if (!is_text(item->value, "untrusted")) {
        import_tell_setting(im, place, item->value,
                            "what becomes of a call that no rule matches stays Codex's to say");
        return;
    }
    struct import_entry entry = import_entry(im, IMPORT_ASK, item->value, place);
    if (import_add(im, &entry, &(struct import_match){.tools = import_texts(im, own)})) {
        import_tell(im, &entry, IMPORT_STRICTER, "also commands that Codex itself knows to be safe");
    }
}

enum pass {
    PASS_DENIALS,
    PASS_TOOLS,
    PASS_SERVERS,
};

static void take_setting(struct importer *im, const struct import_file *file, const struct toml_item *item,
                         enum pass pass)
{
    const struct toml_key *table = &item->table, *key = &item->key;
    struct toml_key name = *table;
    for (size_t i = 0; i < key->count && name.count < TOML_KEYS; i++) {
        name.parts[name.count++] = key->parts[i];
    }
    struct slice last = name.parts[name.count - 1];
    bool of_server = name.count >= 3 && slice_is(name.parts[0], "mcp_servers");
    if (of_server && name.count == 5 && slice_is(name.parts[2], "tools") && slice_is(last, "approval_mode")) {
        if (pass == PASS_TOOLS) {
            approval(im, file, item, name.parts[1], name.parts[3]);
        }
    } else if (of_server && name.count == 3 && slice_is(last, "default_tools_approval_mode")) {
        if (pass == PASS_SERVERS) {
            approval(im, file, item, name.parts[1], (struct slice){0});
        }
    } else if (of_server && name.count == 3 && slice_is(last, "disabled_tools")) {
        if (pass == PASS_DENIALS) {
            disabled(im, file, item, name.parts[1]);
        }
    } else if (pass != PASS_SERVERS) {
        return;
    } else if (of_server && name.count == 3 && slice_is(last, "enabled_tools")) {
        import_tell_setting(im, place_of(im, file, item->offset, "enabled_tools "), item->value,
                            "a tool that is not offered cannot be called");
    } else if (name.count == 1 && slice_is(last, "approval_policy")) {
        policy_of(im, file, item);
    } else if (slice_is(last, "approval_policy") || slice_is(last, "sandbox_mode") ||
               slice_is(last, "default_permissions") || slice_is(last, "approvals_reviewer")) {
        import_tell_setting(im, place_of(im, file, item->offset, ""), last,
                            "what Codex does by itself is no rule");
    }
}

static bool read_config(struct codex *in, const struct import_file *file, enum pass pass)
{
    struct toml_reader reader;
    struct toml_item item;
    toml_reader_init(&reader, file->text, &in->im.arena);
    while (toml_reader_next(&reader, &item)) {
        if (item.value.ptr != NULL) {
            take_setting(&in->im, file, &item, pass);
        }
    }
    if (reader.error != NULL) {
        import_place_message(in->error, file, reader.at);
        buf_printf(in->error, "this configuration cannot be read: %s", reader.error);
    }
    return reader.error == NULL;
}

/* ---- All together ---- */

static const char *const notes = "A command is compared by its words, each command of a text by itself, and "
                                 "redirections to /dev/null or of one\n"
                                 "descriptor to another make no difference. One that cannot be read is asked "
                                 "about where a rule denies or asks.\n"
                                 "A call that no rule matches is allowed by no rule: a hook leaves it to "
                                 "Codex, which goes on as before.\n";

static bool is_config(const struct import_file *file)
{
    return slice_ends_with(file->name, SLICE(".toml"));
}

static bool read_all(struct codex *in, const struct import_file *files, size_t count)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = is_config(&files[i]) ? read_config(in, &files[i], PASS_DENIALS) : read_rules(in, &files[i]);
    }
    if (good) {
        write_rules(in);
    }
    for (enum pass pass = PASS_TOOLS; good && pass <= PASS_SERVERS; pass++) {
        for (size_t i = 0; good && i < count; i++) {
            good = !is_config(&files[i]) || read_config(in, &files[i], pass);
        }
    }
    return good;
}

bool import_codex(const struct import_file *files, size_t count, const struct import_options *options,
                  struct import_result *ret_result, struct buf *ret_error)
{
    struct codex in = {.error = ret_error};
    import_init(&in.im, options, ret_result, "Codex's rules");
    bool good = read_all(&in, files, count) && import_write(&in.im, notes);
    if (!good && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    free(in.rules);
    import_finish(&in.im);
    return good;
}
