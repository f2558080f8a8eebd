/* Strings that may name a path or a host but are not known to, and what else a path argument may mean. All of it is
 * read aside: it tightens and never loosens. */
#include <stdlib.h>
#include <string.h>

#include "call/walk_internal.h"

/* ---- Which strings may name a path ---- */

static bool begins_as_path(struct slice text)
{
    return text.len > 0 && (text.ptr[0] == '/' || text.ptr[0] == '~' ||
                            slice_starts_with(text, SLICE("./")) || slice_starts_with(text, SLICE("../")));
}

/* No control character, and no blank either unless it begins as a path. */
static bool has_no_blanks(struct slice text)
{
    bool blanks = begins_as_path(text);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (byte < ' ' || byte == 0x7F || (byte == ' ' && !blanks)) {
            return false;
        }
    }
    return true;
}

/* Whether its first byte, a slash in it or its name says that it is one. */
static bool looks_like_path(struct slice text, uint32_t context)
{
    return (context & CONTEXT_PLACE) != 0 || (text.len > 0 && (text.ptr[0] == '~' || text.ptr[0] == '.' ||
                                                               slice_starts_with(text, SLICE(":(")) ||
                                                               memchr(text.ptr, '/', text.len) != NULL));
}

#define NO_CANDIDATE (CONTEXT_COMMAND | CONTEXT_URL | CONTEXT_NO_PATH | CONTEXT_PROSE)

static bool is_path_argument(struct slice text, uint32_t context)
{
    return (context & CONTEXT_PATH) != 0 && ((context & CONTEXT_URI) == 0 || path_is_uri(text));
}

static bool is_candidate(struct slice text, uint32_t context)
{
    return (context & NO_CANDIDATE) == 0 && text.len > 0 && text.len <= LIMIT_PATH_BYTES &&
           looks_like_path(text, context) && !walk_begins_as_url(text) && has_no_blanks(text);
}

static bool may_be_patch(struct slice text)
{
    return slice_starts_with(text, SLICE("***")) ||
           (text.len > 8 && memchr(text.ptr, '\n', text.len) != NULL);
}

bool aside_may_count(struct scratch *scratch, struct slice text, uint32_t context)
{
    bool json =
        text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '[' || (unsigned char)text.ptr[0] <= ' ');
    if (scratch->needs.aside_paths &&
        ((context & CONTEXT_PATH) != 0 || looks_like_path(text, context) || json || may_be_patch(text))) {
        return true;
    }
    return scratch->needs.aside_hosts && (json || (context & CONTEXT_HOST) != 0 ||
                                          (text.len > 4 && memmem(text.ptr, text.len, "://", 3) != NULL));
}

/* ---- One text ---- */

static bool add_text(struct scratch *scratch, const struct origin *origin, struct slice text)
{
    struct starts *starts;
    if (!call_count_string(scratch) || !starts_of_call(scratch, &starts)) {
        return false;
    }
    return (!path_is_uri(text) || places_add_uri(scratch, origin, text)) &&
           places_add_plain(scratch, origin, starts, text);
}

/* From each directory that is a path argument of the call. */
static bool add_joined(struct scratch *scratch, const struct origin *origin, struct slice text)
{
    bool relative = text.len == 0 || text.ptr[0] != '/';
    return !relative || scratch->directories.count == 0 ||
           places_add_plain(scratch, origin, &scratch->directories, text);
}

static bool is_variable(struct slice text, const char *name, struct slice *ret_rest)
{
    struct slice bare = slice_of(name);
    bool braces = text.len > bare.len + 2 && text.ptr[1] == '{';
    if (!slice_starts_with(slice_from(text, 1 + braces), bare)) {
        return false;
    }
    *ret_rest = slice_from(text, 1 + braces + bare.len);
    if (braces) {
        bool closed = ret_rest->len > 0 && ret_rest->ptr[0] == '}';
        *ret_rest = closed ? slice_from(*ret_rest, 1) : *ret_rest;
        return closed;
    }
    unsigned char next = ret_rest->len == 0 ? '/' : (unsigned char)ret_rest->ptr[0];
    unsigned char letter = next | 0x20;
    return !(letter >= 'a' && letter <= 'z') && !(next >= '0' && next <= '9') && next != '_';
}

/* Without memory it is as if there were none, and the fault is set: whoever adds the text next must look at it. */
bool aside_fill_in(struct scratch *scratch, struct slice text, struct slice *ret_text)
{
    struct slice rest, value;
    if (text.len < 4 || text.ptr[0] != '$') {
        return false;
    }
    if (is_variable(text, "HOME", &rest)) {
        value = scratch->base->home;
    } else if (is_variable(text, "PWD", &rest)) {
        value = scratch->base->cwd;
    } else {
        return false;
    }
    buf_reset(&scratch->text);
    buf_slice(&scratch->text, value);
    buf_slice(&scratch->text, rest);
    *ret_text = buf_slice_of(&scratch->text);
    return buf_ok(&scratch->text) || call_no_memory(scratch);
}

/* ---- Globs ---- */

struct glob_target {
    struct scratch *scratch;
    const struct origin *origin;
    struct starts *starts;
};

static bool add_glob_path(void *context, struct slice path, bool tree, struct slice filter)
{
    struct glob_target *target = context;
    struct scratch *scratch = target->scratch;
    const struct tree_ask ask = {
        .entries = !scratch->view.names_only,
        .hidden = true,
        .filters = &filter,
        .filter_count = filter.ptr == NULL ? 0 : 1,
    };
    struct origin origin = {.value = target->origin->value, .to = target->origin->to};
    origin.tree = tree ? &ask : NULL;
    return call_spend(scratch, 16) && places_add_absolute(scratch, &origin, READING_FORM_GLOB, path);
}

static bool add_glob_text(void *context, struct slice text, bool tree)
{
    struct glob_target *target = context;
    struct scratch *scratch = target->scratch;
    const struct tree_ask ask = {.entries = !scratch->view.names_only, .hidden = true};
    struct origin origin = {.value = target->origin->value, .to = target->origin->to};
    origin.tree = tree ? &ask : NULL;
    if (text.len > 0 && text.ptr[0] == '~') { /* what expands braces in a path leaves a `~` alone */
        buf_reset(&scratch->text);
        buf_text(&scratch->text, "./");
        buf_slice(&scratch->text, text);
        text = buf_slice_of(&scratch->text);
        if (!buf_ok(&scratch->text)) {
            return call_no_memory(scratch);
        }
    }
    return places_add_plain(scratch, &origin, target->starts, text);
}

#define GLOB_STARTS_MOST 64u

static bool glob_from(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                      struct slice text)
{
    struct slice texts[GLOB_STARTS_MOST];
    struct glob_target target = {scratch, origin, starts};
    struct path_glob glob = {
        .starts = texts,
        .found = add_glob_path,
        .plain = add_glob_text,
        .context = &target,
    };
    for (size_t i = 0; i < starts->count && glob.start_count < GLOB_STARTS_MOST; i++) {
        struct path_start *start = &starts->list[i];
        if (start->usable && !start_walk(scratch, start)) {
            return false;
        }
        if (start->readable) {
            texts[glob.start_count++] = start->text; /* not canonical: its last component may be a link */
        }
    }
    scratch->fault = READINGS_OK;
    bool good = path_glob(scratch->globber, text, &glob);
    if (!call_spend(scratch, path_glob_work(scratch->globber))) {
        return false;
    }
    return good || (scratch->fault == READINGS_OK ? call_no_memory(scratch) : false);
}

static bool glob_form(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                      struct slice text)
{
    if (path_is_home(text) && scratch->base->home.len > 0) {
        struct path_start home = start_of(scratch->base->home);
        struct starts homes = {.list = &home, .count = 1};
        if (!glob_from(scratch, origin, &homes, path_below_home(text))) {
            return false;
        }
    }
    return origin->home_only || glob_from(scratch, origin, starts, text);
}

/* A normal form of a text with wildcards, if it is another text. */
static bool glob_normal_form(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                             struct slice text, enum path_normal normal)
{
    struct slice form;
    if (!path_normal_form(scratch->unicode, text, normal, &form) || form.len > LIMIT_PATH_BYTES) {
        return true;
    }
    form = arena_copy(&scratch->out->arena, form);
    if (form.ptr == NULL) {
        return call_no_memory(scratch);
    }
    return call_spend(scratch, text.len * 2) && glob_form(scratch, origin, starts, form);
}

bool aside_glob(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                struct slice text)
{
    if (text.len > LIMIT_PATH_BYTES || !path_has_glob(text)) {
        return true;
    }
    return glob_form(scratch, origin, starts, text) &&
           (path_is_ascii(text) || (glob_normal_form(scratch, origin, starts, text, PATH_NORMAL_NFC) &&
                                    glob_normal_form(scratch, origin, starts, text, PATH_NORMAL_NFD)));
}

/* ---- The variants of one text ---- */

#define BARE_MOST 3

/* The text without white space at its ends, without a pair of quotes around that, and without white space in these:
 * those that differ from what is before them. */
static size_t strip(struct slice text, struct slice bare[BARE_MOST])
{
    struct slice left = path_trim(text);
    size_t count = 0;
    if (left.len != text.len) {
        bare[count++] = left;
    }
    char first = left.len < 2 ? '\0' : left.ptr[0];
    if ((first == '"' || first == '\'' || first == '`') && left.ptr[left.len - 1] == first) {
        struct slice inside = {left.ptr + 1, left.len - 2};
        bare[count++] = inside;
        left = path_trim(inside);
        if (left.len != inside.len) {
            bare[count++] = left;
        }
    }
    return count;
}

static bool add_uri_glob(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                         struct slice text)
{
    buf_reset(&scratch->uri);
    enum path_uri uri = path_decode_uri(text, &scratch->uri);
    if (!buf_ok(&scratch->uri)) {
        return call_no_memory(scratch);
    }
    if (uri != PATH_URI_OK) {
        return true;
    }
    struct slice path = arena_copy(&scratch->out->arena, buf_slice_of(&scratch->uri));
    return path.ptr == NULL ? call_no_memory(scratch) : aside_glob(scratch, origin, starts, path);
}

static bool add_globs(struct scratch *scratch, const struct origin *origin, struct slice text)
{
    struct starts *starts;
    bool uri = path_is_uri(text);
    if (!uri && !path_has_glob(text)) {
        return true;
    }
    bool joins = scratch->directories.count > 0 && text.ptr[0] != '/';
    return starts_of_call(scratch, &starts) && (!uri || add_uri_glob(scratch, origin, starts, text)) &&
           aside_glob(scratch, origin, starts, text) &&
           (!joins || aside_glob(scratch, origin, &scratch->directories, text));
}

static bool add_bare(struct scratch *scratch, const struct origin *origin, struct slice text)
{
    return add_text(scratch, origin, text) && add_joined(scratch, origin, text) &&
           add_globs(scratch, origin, text);
}

/* All that a path argument may mean besides what it is read as, and all that another string may mean. */
static bool add_variants(struct scratch *scratch, uint32_t context, uint32_t value, struct slice text,
                         bool argument)
{
    bool below = argument && (context & (CONTEXT_BASE | CONTEXT_NO_TREE)) == 0 && !scratch->view.no_trees;
    struct origin origin = {
        .value = value,
        .to = &scratch->aside,
        .aside_tree = below ? &scratch->tree : NULL,
    };
    struct slice bare[BARE_MOST], filled;
    if (text.len > LIMIT_PATH_BYTES) {
        return true;
    }
    if ((!argument && !add_text(scratch, &origin, text)) || !add_joined(scratch, &origin, text) ||
        !add_globs(scratch, &origin, text)) {
        return false;
    }
    origin.form = READING_FORM_EXPANDED;
    if (argument && aside_fill_in(scratch, text, &filled)) {
        filled = arena_copy(&scratch->out->arena, filled);
        if (filled.ptr == NULL) {
            return call_no_memory(scratch);
        }
        if (!add_text(scratch, &origin, filled) || !add_globs(scratch, &origin, filled)) {
            return false;
        }
    }
    if (scratch->fault != READINGS_OK) {
        return false;
    }
    origin.form = READING_FORM_BARE;
    size_t count = strip(text, bare);
    for (size_t i = 0; i < count; i++) {
        if (!add_bare(scratch, &origin, bare[i])) {
            return false;
        }
    }
    /* A directory that a pathspec names is meant with all below it. */
    origin.form = READING_FORM_PATHSPEC;
    origin.aside_tree = scratch->view.no_trees ? NULL : &scratch->tree;
    return pathspec_each(scratch, &origin, count == 0 ? text : bare[count - 1], add_bare);
}

/* ---- Patches ---- */

static const struct slice patch_headers[] = {
    {"*** Add File: ", 14},
    {"*** Update File: ", 17},
    {"*** Delete File: ", 17},
    {"*** Move to: ", 13},
    {"+++ b/", 6},
    {"--- a/", 6},
};

/* What stands behind a header: the whole line, because some appliers take it so, and what is in front of a tab. */
static bool add_patch_line(struct scratch *scratch, uint32_t value, struct slice line)
{
    for (size_t i = 0; i < sizeof(patch_headers) / sizeof(*patch_headers); i++) {
        if (slice_starts_with(line, patch_headers[i])) {
            line = slice_from(line, patch_headers[i].len);
            const char *tab = line.len == 0 ? NULL : memchr(line.ptr, '\t', line.len);
            struct slice name = {line.ptr,
                                 tab == NULL ? 0 : (size_t)(tab - line.ptr)}; /* a time may follow */
            return (line.len == 0 || add_variants(scratch, 0, value, line, false)) &&
                   (name.len == 0 || add_variants(scratch, 0, value, name, false));
        }
    }
    return true;
}

static bool add_patch(struct scratch *scratch, uint32_t value, struct slice text)
{
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        struct slice line = {text.ptr, end == NULL ? text.len : (size_t)(end - text.ptr)};
        text = slice_from(text, end == NULL ? text.len : line.len + 1);
        if (line.len > 6 && (line.ptr[0] == '*' || line.ptr[0] == '+' || line.ptr[0] == '-') &&
            !add_patch_line(scratch, value, line)) {
            return false;
        }
    }
    return true;
}

/* ---- Strings ---- */

static bool add_host(struct scratch *scratch, uint32_t context, uint32_t value, struct slice text, bool inner)
{
    struct url_host host;
    bool has = false;
    if (walk_begins_as_url(text)) { /* of the call itself it is no matter of this file */
        has = inner && url_read(text, &host) == URL_HOST;
    } else {
        has = !inner && (((context & CONTEXT_HOST) != 0 && url_read_host_port(text, &host)) ||
                         url_read_loosely(text, &host));
    }
    return !has || hosts_add(scratch, &scratch->aside, value, &host);
}

/* One string, of the call or, `inner`, of a text of JSON in it. */
static bool add_string(struct scratch *scratch, uint32_t context, uint32_t value, struct slice text,
                       bool inner)
{
    bool argument = !inner && is_path_argument(text, context);
    /* What stands inside a text is no argument, whatever its name. */
    const uint32_t arguments = CONTEXT_PATH | CONTEXT_URL | CONTEXT_COMMAND;
    bool candidate = !argument && is_candidate(text, inner ? context & ~arguments : context);
    if (scratch->needs.aside_hosts && !add_host(scratch, context, value, text, inner)) {
        return false;
    }
    if (!scratch->needs.aside_paths) {
        return true;
    }
    if ((argument || candidate) && !add_variants(scratch, context, value, text, argument)) {
        return false;
    }
    return inner || (context & CONTEXT_PROSE) != 0 || !may_be_patch(text) || add_patch(scratch, value, text);
}

static bool add_inner(struct scratch *scratch, const struct walked *walked)
{
    return walked->value->type != JSON_STRING ||
           add_string(scratch, walked->context, scratch->inner_value, json_str(walked->value), true);
}

/* The strings inside a text of JSON, under their own names; texts in it are texts. */
static bool add_json_text(struct scratch *scratch, uint32_t context, uint32_t value, struct slice text)
{
    static const struct walk inner = {.scalar = add_inner};
    const struct json_options options = {
        .max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES, .keep_duplicates = true};
    struct json_error error;
    if ((context & (CONTEXT_PROSE | CONTEXT_COMMAND | CONTEXT_NO_PATH)) != 0 ||
        !(walk_looks_like(text, '{', '}') || walk_looks_like(text, '[', ']'))) {
        return true;
    }
    if (!call_spend(scratch, text.len / 8)) {
        return false;
    }
    if (!json_parse(&scratch->inner, text, &options, &error)) {
        return error.code != JSON_ERROR_MEMORY || call_no_memory(scratch);
    }
    scratch->inner_value = value;
    const struct json_value *root = json_root(&scratch->inner);
    return root->type < JSON_ARRAY || walk_values(scratch, &inner, &scratch->inner, root,
                                                  context & ~(uint32_t)(CONTEXT_PATH | CONTEXT_URL));
}

static bool add_level(struct scratch *scratch, const struct item *item, struct slice text, unsigned level)
{
    const struct json_doc *doc;
    if (!add_string(scratch, item->context, item->value, text, false)) {
        return false;
    }
    if (!add_json_text(scratch, item->context, item->value, text)) {
        return false;
    }
    if (!walk_array_text(scratch, text, level, &doc) || doc == NULL) {
        return scratch->fault == READINGS_OK;
    }
    const struct json_value *root = json_root(doc), *v;
    for (v = json_first(doc, root); v != NULL; v = json_right(doc, root, v)) {
        if (!add_level(scratch, item, json_str(v), level + 1)) {
            return false;
        }
    }
    return true;
}

bool aside_read(struct scratch *scratch)
{
    const struct json_doc *doc = scratch->call->doc;
    scratch->aside_split = scratch->aside.count;
    if (!scratch->needs.aside_paths && !scratch->needs.aside_hosts) {
        return true;
    }
    for (size_t i = 0; i < scratch->item_count; i++) {
        const struct item *item = &scratch->items[i];
        struct slice text = json_str(&doc->values[item->value]);
        if (aside_may_count(scratch, text, item->context) && !add_level(scratch, item, text, 0)) {
            return false;
        }
    }
    return true;
}
