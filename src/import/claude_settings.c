/* Claude Code's settings files, read for their permission lists. There: deny before ask before allow, over
 * all files; here the same order in one document. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "document/schema.h"
#include "import/claude_internal.h"

struct settings_file {
    const struct import_file *file;
    struct json_doc doc;
    struct import_places places;
};

/* ---- What stands beside the lists ---- */

struct known_setting {
    const char *name, *why;
};

static const struct known_setting permissions_settings[] = {
    {"defaultMode", "what becomes of a call that no rule matches stays Claude Code's to say"},
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

static const char *list_name(enum import_list list)
{
    static const char *const names[] = {"deny", "ask", "allow"};
    return names[list];
}

static void tell_setting(struct importer *im, const struct settings_file *in, const char *where,
                         const struct json_value *key, const char *why)
{
    const struct json_value *value = json_member_value(key);
    struct slice place = import_place(im, in->file, where, json_str(key), NULL);
    import_tell_setting(im, place,
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
    for (enum import_list list = 0; list < IMPORT_LISTS; list++) {
        if (slice_is(name, list_name(list))) {
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
        if (!is_list(json_str(key)) && !slice_is(json_str(key), "additionalDirectories")) {
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

static const struct json_value *list_of(const struct settings_file *in, enum import_list list)
{
    const struct json_value *permissions = json_get(&in->doc, json_root(&in->doc), "permissions");
    return json_get(&in->doc, permissions, list_name(list));
}

static bool names_files(const struct json_value *entry)
{
    return json_is(entry, JSON_STRING) && (slice_starts_with(json_str(entry), SLICE("Read")) ||
                                           slice_starts_with(json_str(entry), SLICE("Edit")));
}

static bool limits_files(const struct settings_file *in)
{
    for (enum import_list list = IMPORT_DENY; list <= IMPORT_ASK; list++) {
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

static void import_list(struct importer *im, const struct settings_file *in, enum import_list list,
                        const struct json_value *entries, const char *name)
{
    bool directories = strcmp(name, "additionalDirectories") == 0;
    uint32_t index = 0;
    const struct json_value *at;
    im->places = in->places;
    for (at = entries != NULL ? json_first(&in->doc, entries) : NULL; at != NULL;
         at = json_right(&in->doc, entries, at)) {
        struct slice place = import_place(im, in->file, "permissions.", slice_of(name), &index);
        bool text = json_is(at, JSON_STRING);
        struct import_entry entry =
            import_entry(im, list, text ? json_str(at) : json_text_of(&in->doc, at), place);
        index++;
        if (!text) {
            import_tell(im, &entry, IMPORT_LEFT_OUT, "a rule is a string");
        } else if (directories) {
            claude_import_directory(im, &entry);
        } else {
            claude_import_entry(im, &entry);
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
static struct import_places places_of(const struct import_file *file, const struct import_options *options)
{
    if (options->project.ptr != NULL) {
        return (struct import_places){.source = options->project, .working = options->project};
    }
    struct slice parent = parent_of(file->dir);
    if (!slice_ends_with(file->dir, SLICE("/.claude"))) {
        return (struct import_places){0};
    }
    if (slice_eq(parent, options->base->home)) {
        return (struct import_places){.source = file->dir};
    }
    return (struct import_places){.source = parent, .working = parent};
}

static bool wrong_type(struct buf *ret_error, const struct settings_file *in, const struct json_value *value,
                       const char *what)
{
    import_place_message(ret_error, in->file, value->offset);
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
        import_place_message(ret_error, file, error.offset);
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
    for (enum import_list list = 0; list < IMPORT_LISTS; list++) {
        const struct json_value *entries = list_of(in, list);
        if (entries != NULL && !json_is(entries, JSON_ARRAY)) {
            return wrong_type(ret_error, in, entries, "'deny', 'ask' and 'allow' are arrays");
        }
    }
    const struct json_value *directories = json_get(&in->doc, permissions, "additionalDirectories");
    if (directories != NULL && !json_is(directories, JSON_ARRAY)) {
        return wrong_type(ret_error, in, directories, "'additionalDirectories' is an array");
    }
    return true;
}

/* ---- All together ---- */

#define BEGINNINGS_MOST 10000u

static void find_beginnings(struct importer *im, const struct settings_file *in)
{
    const struct json_value *entries = list_of(in, IMPORT_ALLOW), *at;
    for (at = entries != NULL ? json_first(&in->doc, entries) : NULL; at != NULL && im->beginnings != NULL;
         at = json_right(&in->doc, entries, at)) {
        struct slice head;
        if (json_is(at, JSON_STRING) && im->beginning_count < BEGINNINGS_MOST &&
            claude_beginning(im, json_str(at), &head)) {
            im->beginnings[im->beginning_count++] = head;
        }
    }
}

static void import_files(struct importer *im, const struct settings_file *files, size_t count)
{
    im->beginnings = arena_array(&im->arena, BEGINNINGS_MOST, sizeof(*im->beginnings));
    im->failed = im->failed || im->beginnings == NULL;
    for (size_t i = 0; i < count; i++) {
        im->limits_files = im->limits_files || limits_files(&files[i]);
        find_beginnings(im, &files[i]);
    }
    for (enum import_list list = 0; list < IMPORT_LISTS; list++) {
        for (size_t i = 0; i < count; i++) {
            import_list(im, &files[i], list, list_of(&files[i], list), list_name(list));
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct json_value *permissions =
            json_get(&files[i].doc, json_root(&files[i].doc), "permissions");
        import_list(im, &files[i], IMPORT_ALLOW,
                    json_get(&files[i].doc, permissions, "additionalDirectories"), "additionalDirectories");
    }
    for (size_t i = 0; i < count; i++) {
        tell_settings(im, &files[i]);
    }
}

static const char *const notes = "A command is compared by its words; behind an assignment none is allowed "
                                 "by a rule, and one that cannot be read\n"
                                 "is asked about where a rule denies or asks about commands. A * does not "
                                 "reach from one command into the next.\n"
                                 "A call that no rule matches is allowed by no rule: a hook leaves it to "
                                 "Claude Code, which goes on as before.\n"
                                 "Paths are compared byte for byte, as the places that they lead to.\n";
static const char *const files_too = "A deny or an ask for reading holds for shell commands that name the "
                                     "file, one for writing for those that write.\n";

static bool write_all(struct importer *im)
{
    struct buf text;
    buf_init(&text, 1u << 16);
    buf_text(&text, im->limits_files ? files_too : "");
    buf_text(&text, notes);
    buf_byte(&text, '\0');
    bool good = buf_ok(&text) && import_write(im, text.ptr);
    buf_finish(&text);
    return good;
}

bool import_claude_settings(const struct import_file *files, size_t count,
                            const struct import_options *options, struct import_result *ret_result,
                            struct buf *ret_error)
{
    struct importer im;
    struct settings_file *read = calloc(count + 1, sizeof(*read));
    bool good = read != NULL;
    import_init(&im, options, ret_result, "Claude Code's settings");
    for (size_t i = 0; read != NULL && i < count; i++) {
        json_init(&read[i].doc);
    }
    for (size_t i = 0; good && i < count; i++) {
        good = read_file(&read[i], &files[i], options, ret_error);
    }
    if (good) {
        import_files(&im, read, count);
        good = write_all(&im);
    }
    if (!good && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    for (size_t i = 0; read != NULL && i < count; i++) {
        json_finish(&read[i].doc);
    }
    free(read);
    import_finish(&im);
    return good;
}
