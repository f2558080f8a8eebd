/* Claude Code's settings files, read for their permission lists. There: deny before ask before allow, over
 * all files; here the same order in one document. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "document/schema.h"
#include "import/claude_internal.h"

struct settings_file {
    const struct import_file *file;
    struct json_doc doc;
    struct claude_places places;
};

/* ---- What stands beside the lists ---- */

struct known_setting {
    const char *name, *why;
};

static const struct known_setting permissions_settings[] = {
    {"defaultMode", "what becomes of a call that no rule matches stays Claude Code's to say"},
    {"additionalDirectories", "in which directories Claude Code does not ask is no rule"},
    {"disableBypassPermissionsMode", "which modes there are is no rule"},
};
static const struct known_setting other_settings[] = {
    {"disableAllHooks", "it switches a hook of callgate's off: take it out of the settings"},
    {"hooks", "hooks stay Claude Code's: 'callgate hook install' puts one of callgate's beside them"},
    {"sandbox", "the limits of shell commands are no rules"},
    {"allowManagedPermissionRulesOnly", "import the files whose rules count, and no others"},
    {"allowedMcpServers", "which servers may start is no rule"},
    {"deniedMcpServers", "which servers may start is no rule"},
    {"disabledMcpjsonServers", "which servers may start is no rule"},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *why_left_out(const struct known_setting *known, size_t count, struct slice key)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_is(key, known[i].name)) {
            return known[i].why;
        }
    }
    return NULL;
}

/* What a misspelt setting was meant to be: of these, one letter or two away. NULL: nothing here. */
static const char *meant_by(struct slice key)
{
    static const struct choice choices[] = {{"permissions", 0, NULL},
                                            {"deny", 0, NULL},
                                            {"ask", 0, NULL},
                                            {"allow", 0, NULL},
                                            {"defaultMode", 0, NULL},
                                            {"additionalDirectories", 0, NULL},
                                            {"disableBypassPermissionsMode", 0, NULL},
                                            {"disableAllHooks", 0, NULL},
                                            {NULL, 0, NULL}};
    return schema_advise_choice(choices, key);
}

/* "FILE: permissions.deny[3] " in the arena. */
static struct slice place_of(struct importer *im, const struct settings_file *in, const char *where,
                             struct slice key, const uint32_t *index)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    utf8_append_printable(&text, in->file->name);
    buf_printf(&text, ": %s", where);
    utf8_append_printable(&text, key);
    if (index != NULL) {
        buf_printf(&text, "[%u]", *index);
    }
    buf_byte(&text, ' ');
    struct slice place = buf_ok(&text) ? arena_copy(&im->arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    im->failed = im->failed || place.ptr == NULL;
    return place.ptr != NULL ? place : SLICE("");
}

static void tell_setting(struct importer *im, const struct settings_file *in, const char *where,
                         const struct json_value *key, const char *why)
{
    const struct json_value *value = json_member_value(key);
    struct slice place = place_of(im, in, where, json_str(key), NULL);
    claude_tell_setting(im, place,
                        value->type == JSON_OBJECT ? SLICE("{...}") : json_text_of(&in->doc, value), why);
}

static const char *why_unknown(struct importer *im, struct slice key)
{
    const char *meant = meant_by(key);
    char text[128];
    if (meant == NULL) {
        return "a setting that is not known here";
    }
    snprintf(text, sizeof(text), "a setting that is not known here: did you mean '%s'?", meant);
    const char *copy = arena_copy(&im->arena, slice_of(text)).ptr;
    return copy != NULL ? copy : "a setting that is not known here";
}

static bool is_list(struct slice name)
{
    for (enum claude_list list = 0; list < CLAUDE_LISTS; list++) {
        if (slice_is(name, claude_list_name(list))) {
            return true;
        }
    }
    return false;
}

static void tell_settings(struct importer *im, const struct settings_file *in)
{
    const struct json_doc *doc = &in->doc;
    const struct json_value *root = json_root(doc), *key;
    const struct json_value *permissions = json_get(doc, root, "permissions");
    for (key = json_is(permissions, JSON_OBJECT) ? json_first(doc, permissions) : NULL; key != NULL;
         key = json_right(doc, permissions, key)) {
        const char *why = why_left_out(permissions_settings, COUNT(permissions_settings), json_str(key));
        if (!is_list(json_str(key))) {
            tell_setting(im, in, "permissions.", key, why != NULL ? why : why_unknown(im, json_str(key)));
        }
    }
    for (key = json_first(doc, root); key != NULL; key = json_right(doc, root, key)) {
        const char *why = why_left_out(other_settings, COUNT(other_settings), json_str(key));
        if (why == NULL && !slice_is(json_str(key), "permissions") && meant_by(json_str(key)) != NULL) {
            why = why_unknown(im, json_str(key)); /* others have nothing to do with permissions */
        }
        if (why != NULL) {
            tell_setting(im, in, "", key, why);
        }
    }
}

/* ---- The lists ---- */

static const struct json_value *list_of(const struct settings_file *in, enum claude_list list)
{
    const struct json_value *permissions = json_get(&in->doc, json_root(&in->doc), "permissions");
    return json_get(&in->doc, permissions, claude_list_name(list));
}

static bool names_files(const struct json_value *entry)
{
    return json_is(entry, JSON_STRING) && (slice_starts_with(json_str(entry), SLICE("Read")) ||
                                           slice_starts_with(json_str(entry), SLICE("Edit")));
}

static bool limits_files(const struct settings_file *in)
{
    for (enum claude_list list = LIST_OF_DENY; list <= LIST_OF_ASK; list++) {
        const struct json_value *entries = list_of(in, list), *at;
        for (at = entries != NULL ? json_first(&in->doc, entries) : NULL; at != NULL;
             at = json_right(&in->doc, entries, at)) {
            if (names_files(at)) {
                return true;
            }
        }
    }
    return false;
}

static void import_list(struct importer *im, const struct settings_file *in, enum claude_list list,
                        uint32_t *number)
{
    const struct json_value *entries = list_of(in, list), *at;
    uint32_t index = 0;
    im->places = in->places;
    for (at = entries != NULL ? json_first(&in->doc, entries) : NULL; at != NULL;
         at = json_right(&in->doc, entries, at)) {
        struct claude_entry entry = {
            .list = list,
            .number = ++*number,
            .place = place_of(im, in, "permissions.", slice_of(claude_list_name(list)), &index),
        };
        index++;
        if (json_is(at, JSON_STRING)) {
            entry.text = json_str(at);
            claude_import_entry(im, &entry);
        } else {
            entry.text = json_text_of(&in->doc, at);
            claude_tell(im, &entry, CLAUDE_LEFT_OUT, "a rule is a string");
        }
    }
}

/* ---- Files ---- */

static struct slice parent_of(struct slice dir)
{
    while (dir.len > 1 && dir.ptr[dir.len - 1] != '/') {
        dir.len--;
    }
    if (dir.len > 1) {
        dir.len--;
    }
    return dir;
}

/* A project's settings lie in its folder `.claude`, and its paths start from the project; a user's start from
 * that folder itself, and what is relative from wherever a session runs. */
static struct claude_places places_of(const struct import_file *file, const struct import_options *options)
{
    if (options->project.ptr != NULL) {
        return (struct claude_places){.source = options->project, .working = options->project};
    }
    struct slice parent = parent_of(file->dir);
    if (!slice_ends_with(file->dir, SLICE("/.claude"))) {
        return (struct claude_places){0};
    }
    if (slice_eq(parent, options->base->home)) {
        return (struct claude_places){.source = file->dir};
    }
    return (struct claude_places){.source = parent, .working = parent};
}

static void place_message(struct buf *ret_error, const struct import_file *file, uint32_t offset)
{
    uint32_t line, column;
    json_place(file->text, offset, &line, &column);
    utf8_append_printable(ret_error, file->name);
    buf_printf(ret_error, ":%u:%u: ", line, column);
}

static bool wrong_type(struct buf *ret_error, const struct settings_file *in, const struct json_value *value,
                       const char *what)
{
    place_message(ret_error, in->file, value->offset);
    buf_printf(ret_error, "%s", what);
    return false;
}

static bool read_file(struct settings_file *in, const struct import_file *file,
                      const struct import_options *options, struct buf *ret_error)
{
    static const struct json_options json = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    in->file = file;
    in->places = places_of(file, options);
    if (!json_parse(&in->doc, file->text, &json, &error)) {
        place_message(ret_error, file, error.offset);
        buf_printf(ret_error, "these settings cannot be read: %s", error.detail);
        return false;
    }
    const struct json_value *root = json_root(&in->doc), *permissions;
    if (!json_is(root, JSON_OBJECT)) {
        return wrong_type(ret_error, in, root, "settings are an object");
    }
    permissions = json_get(&in->doc, root, "permissions");
    if (permissions != NULL && !json_is(permissions, JSON_OBJECT)) {
        return wrong_type(ret_error, in, permissions, "'permissions' is an object");
    }
    for (enum claude_list list = 0; list < CLAUDE_LISTS; list++) {
        const struct json_value *entries = list_of(in, list);
        if (entries != NULL && !json_is(entries, JSON_ARRAY)) {
            return wrong_type(ret_error, in, entries, "'deny', 'ask' and 'allow' are arrays");
        }
    }
    return true;
}

/* ---- All together ---- */

static void import_files(struct importer *im, const struct settings_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        im->limits_files = im->limits_files || limits_files(&files[i]);
    }
    for (enum claude_list list = 0; list < CLAUDE_LISTS; list++) {
        uint32_t number = 0;
        for (size_t i = 0; i < count; i++) {
            import_list(im, &files[i], list, &number);
        }
    }
    for (size_t i = 0; i < count; i++) {
        tell_settings(im, &files[i]);
    }
}

static bool write_document(struct importer *im)
{
    struct buf document;
    struct import_result *result = im->result;
    buf_init(&document, 64u << 20);
    buf_text(&document, "{\"version\":1,\"rules\":[");
    buf_slice(&document, buf_slice_of(&im->rules));
    buf_text(&document, "]}");
    bool good = !im->failed && buf_ok(&im->rules) && buf_ok(&document) &&
                policy_write_layout(&result->document, buf_slice_of(&document));
    buf_finish(&document);
    buf_printf(&result->report,
               "%u rule(s); of the settings, %u kept, %u made stricter or narrower, %u left out\n",
               result->rules, result->kept, result->changed, result->left_out);
    if (im->limits_files) {
        buf_text(&result->report,
                 "Claude Code holds the rules for files against some shell commands, too (cat, sed, > FILE): "
                 "no rule here does, a shell\ncommand is matched whole.\n");
    }
    buf_text(&result->report,
             "A call that no rule matches is allowed by no rule: a hook leaves it to Claude Code, which goes "
             "on as before.\nPaths are compared byte for byte, as the places that they lead to.\n");
    return good && buf_ok(&result->report);
}

void import_result_init(struct import_result *result)
{
    *result = (struct import_result){0};
    buf_init(&result->document, 128u << 20);
    buf_init(&result->report, 64u << 20);
}

void import_result_finish(struct import_result *result)
{
    buf_finish(&result->document);
    buf_finish(&result->report);
}

bool import_claude_settings(const struct import_file *files, size_t count,
                            const struct import_options *options, struct import_result *ret_result,
                            struct buf *ret_error)
{
    struct importer im = {.options = options, .result = ret_result};
    struct settings_file *read = calloc(count + 1, sizeof(*read));
    bool good = read != NULL;
    arena_init(&im.arena, 256u << 20);
    intern_init(&im.written, &im.arena);
    buf_init(&im.rules, 64u << 20);
    buf_init(&im.match, 1u << 20);
    for (size_t i = 0; read != NULL && i < count; i++) {
        json_init(&read[i].doc);
    }
    for (size_t i = 0; good && i < count; i++) {
        good = read_file(&read[i], &files[i], options, ret_error);
    }
    if (good) {
        import_files(&im, read, count);
        good = write_document(&im);
    }
    if (!good && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    for (size_t i = 0; read != NULL && i < count; i++) {
        json_finish(&read[i].doc);
    }
    free(read);
    buf_finish(&im.rules);
    buf_finish(&im.match);
    intern_finish(&im.written);
    arena_finish(&im.arena);
    return good;
}
