/* The walk over a call's input: what each of its strings is, in the order of the readings. */
#include <stdlib.h>
#include <string.h>

#include "call/walk_internal.h"

/* ---- Names ---- */

/* What is handed on through objects: that they are part of a base or a tree argument, and what the names around a
 * string say of it. All else goes through arrays only, because members' own names say it. */
#define CONTEXT_OF_OBJECTS                                                                                   \
    (CONTEXT_BASE | CONTEXT_TREE | CONTEXT_SURE_TREE | CONTEXT_PROSE | CONTEXT_PLACE | CONTEXT_DIRECTORY |   \
     CONTEXT_NO_PATH | CONTEXT_NO_TREE)

static uint32_t claimed(enum argument_claim claim, uint32_t bit, uint32_t sure)
{
    return claim == ARGUMENT_CLAIM_SURE ? bit | sure : claim == ARGUMENT_CLAIM_WORKSPACE ? bit : 0;
}

/* What only top-level names are: bases, trees, and the text that is searched for. */
static uint32_t top_context(struct scratch *scratch, struct slice name, uint32_t classes)
{
    const struct argument_view *view = &scratch->view;
    uint32_t context = (classes & NAME_BASE) != 0 ? CONTEXT_BASE | CONTEXT_PATH | CONTEXT_SURE_PATH : 0;
    if (view->built_in_tree || view->changed) {
        enum argument_claim tree = argument_is_tree(view, name);
        context |= claimed(tree, CONTEXT_TREE | CONTEXT_PATH, CONTEXT_SURE_TREE | CONTEXT_SURE_PATH);
        context |= tree == ARGUMENT_CLAIM_TAKEN ? CONTEXT_NO_TREE : 0;
    }
    if ((classes & NAME_PATTERN) != 0 && view->greps) {
        context |= CONTEXT_PROSE;
    }
    return context;
}

uint32_t walk_member_context(struct scratch *scratch, uint32_t context, struct slice name, bool top)
{
    const struct argument_view *view = &scratch->view;
    uint32_t classes = name_classes(&scratch->names, name);
    context &= CONTEXT_OF_OBJECTS;
    if (classes == 0 && !view->changed) {
        return context;
    }
    enum argument_claim path = argument_is(view, ARGUMENT_PATHS, name, (classes & NAME_PATH) != 0);
    context |= claimed(path, CONTEXT_PATH, CONTEXT_SURE_PATH);
    context |= path == ARGUMENT_CLAIM_TAKEN ? CONTEXT_NO_PATH : 0;
    context |= claimed(argument_is(view, ARGUMENT_COMMANDS, name, (classes & NAME_COMMAND) != 0),
                       CONTEXT_COMMAND, CONTEXT_SURE_COMMAND);
    context |= claimed(argument_is(view, ARGUMENT_URLS, name, (classes & NAME_URL) != 0), CONTEXT_URL,
                       CONTEXT_SURE_URL);
    context |= top ? top_context(scratch, name, classes) : 0;
    context |= (classes & NAME_URI) != 0 ? CONTEXT_URI : 0;
    context |= (classes & NAME_HOST) != 0 ? CONTEXT_HOST : 0;
    context |= (classes & NAME_PROSE) != 0 ? CONTEXT_PROSE : 0;
    context |= (classes & NAME_PLACE) != 0 ? CONTEXT_PLACE : 0;
    context |= (classes & NAME_DIRECTORY) != 0 ? CONTEXT_DIRECTORY : 0;
    context |= (classes & NAME_COMMANDS) != 0 ? CONTEXT_COMMAND_LIST : 0;
    return context;
}

/* ---- Walking ---- */

struct frame {
    uint32_t end;    /* the index behind the container */
    uint32_t object; /* its own index, if it is an object; else 0 */
    uint32_t context;
    bool is_object;
};

bool walk_values(struct scratch *scratch, const struct walk *walk, const struct json_doc *doc,
                 const struct json_value *root, uint32_t context)
{
    struct frame frames[LIMIT_JSON_DEPTH];
    const struct json_value *values = doc->values;
    uint32_t at = (uint32_t)(root - values) + 1;
    unsigned depth = 1;
    frames[0] = (struct frame){root->next, (uint32_t)(root - values), context, root->type == JSON_OBJECT};
    for (;;) {
        while (depth > 0 && at == frames[depth - 1].end) {
            depth--;
        }
        if (depth == 0) {
            return true;
        }
        const struct frame *frame = &frames[depth - 1];
        struct walked walked = {.doc = doc, .context = frame->context, .argument = depth == 1};
        if (frame->is_object) {
            walked.object = &values[frame->object];
            walked.key = &values[at++];
            walked.context =
                walk_member_context(scratch, frame->context, json_str(walked.key), walk->top && depth == 1);
        }
        walked.value = &values[at++];
        if ((walked.context & CONTEXT_COMMAND) != 0 && walked.key != NULL && walk->command != NULL &&
            !walk->command(scratch, &walked)) {
            return false;
        }
        if (walked.value->type != JSON_ARRAY && walked.value->type != JSON_OBJECT) {
            if (!walk->scalar(scratch, &walked)) {
                return false;
            }
            continue;
        }
        if (depth == LIMIT_JSON_DEPTH) {
            return call_over_limit(scratch, "a depth of 64");
        }
        bool object = walked.value->type == JSON_OBJECT;
        frames[depth++] =
            (struct frame){walked.value->next, (uint32_t)(walked.value - values),
                           object ? walked.context & CONTEXT_OF_OBJECTS : walked.context, object};
    }
}

/* ---- Texts of arrays ---- */

static bool is_json_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether a text may be that of a container between two brackets: worth a parse. */
bool walk_looks_like(struct slice text, char open, char close)
{
    while (text.len > 0 && is_json_space(text.ptr[0])) {
        text = slice_from(text, 1);
    }
    if (text.len < 2 || text.ptr[0] != open) {
        return false;
    }
    while (is_json_space(text.ptr[text.len - 1])) {
        text.len--;
    }
    return text.ptr[text.len - 1] == close;
}

static bool has_strings_only(const struct json_doc *doc, const struct json_value *array)
{
    const struct json_value *v;
    for (v = json_first(doc, array); v != NULL; v = json_right(doc, array, v)) {
        if (v->type != JSON_STRING) {
            return false;
        }
    }
    return true;
}

bool walk_array_text(struct scratch *scratch, struct slice text, unsigned level,
                     const struct json_doc **ret_doc)
{
    const struct json_options options = {.max_depth = 1, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    *ret_doc = NULL;
    if (!walk_looks_like(text, '[', ']')) {
        return true;
    }
    if (level == TEXT_LEVELS) {
        return call_over_limit(scratch, "JSON texts inside one another");
    }
    while (level >= scratch->texts_made) {
        json_init(&scratch->texts[scratch->texts_made++]);
    }
    struct json_doc *doc = &scratch->texts[level];
    if (!call_spend(scratch, text.len / 8)) {
        return false;
    }
    if (!json_parse(doc, text, &options, &error)) {
        return error.code != JSON_ERROR_MEMORY || call_no_memory(scratch);
    }
    const struct json_value *root = json_root(doc);
    if (json_is(root, JSON_ARRAY) && root->count > 0 && has_strings_only(doc, root)) {
        *ret_doc = doc;
    }
    return true;
}

/* ---- What the call's own arguments name ---- */

/* Notes that the call has a path, so that it has no reading without one. A base leaves that open, and so does what
 * only a workspace file calls a path: an agent that could take a reading away could loosen. So does a URI behind white
 * space that only some readers take away, where nothing but a URI is a path. */
static void note_path(struct scratch *scratch, uint32_t context, bool sure)
{
    scratch->sure_paths = scratch->sure_paths || (sure && (context & CONTEXT_BASE) == 0);
}

static bool take_path(struct scratch *scratch, struct slice text, uint32_t context, uint32_t value)
{
    bool uri = path_is_uri(text),
         plain = (context & CONTEXT_PATH) != 0 && (uri || (context & CONTEXT_URI) == 0);
    struct starts *starts;
    if ((!uri && !plain) || (scratch->flags & READINGS_REMOTE) != 0) {
        return true;
    }
    bool sure = (uri && path_is_uri_to_all(text)) ||
                (context & (CONTEXT_SURE_PATH | CONTEXT_URI)) == CONTEXT_SURE_PATH;
    note_path(scratch, context, sure);
    if (!call_count_string(scratch)) {
        return false;
    }
    if (!scratch->needs.paths) {
        return true;
    }
    bool tree = (context & CONTEXT_TREE) != 0;
    bool below = (context & (CONTEXT_BASE | CONTEXT_NO_TREE)) == 0 && !scratch->view.no_trees;
    const struct origin origin = {
        .value = value,
        .to = &scratch->paths,
        .aside = scratch->needs.aside_paths ? &scratch->aside : NULL,
        .tree = tree ? &scratch->tree : NULL,
        .aside_tree = below && plain ? &scratch->tree : NULL,
    };
    return starts_of_call(scratch, &starts) && (!uri || places_add_uri(scratch, &origin, text)) &&
           (!plain || places_add_plain(scratch, &origin, starts, text));
}

/* Most strings can be told by their first byte. */
static bool may_begin_as_url(struct slice text)
{
    unsigned char first = text.len == 0 ? 'x' : (unsigned char)text.ptr[0];
    return first <= ' ' || (first | 0x20) == 'h' || (first | 0x20) == 'w';
}

bool walk_begins_as_url(struct slice text)
{
    return may_begin_as_url(text) && url_begins(text);
}

static bool take_host(struct scratch *scratch, struct slice text, uint32_t context, uint32_t value)
{
    struct url_host host;
    bool url = walk_begins_as_url(text), argument = (context & CONTEXT_URL) != 0;
    if (!scratch->needs.hosts || (!url && !argument)) {
        return true;
    }
    enum url_kind kind = url_read(text, &host);
    if (kind == URL_NO_HOST || (kind == URL_NO_SCHEME && (context & CONTEXT_URI) != 0)) {
        return true;
    }
    scratch->sure_hosts = scratch->sure_hosts || url || (context & CONTEXT_SURE_URL) != 0;
    return kind == URL_HOST ? hosts_add(scratch, &scratch->hosts, value, &host)
                            : hosts_add_unreadable(scratch, &scratch->hosts, value);
}

static bool keep_item(struct scratch *scratch, uint32_t value, uint32_t context)
{
    void *items = scratch->items;
    if (!call_grow(&items, scratch->item_count, &scratch->item_cap, sizeof(*scratch->items), SIZE_MAX / 64)) {
        return call_no_memory(scratch);
    }
    scratch->items = items;
    scratch->items[scratch->item_count++] = (struct item){value, context};
    return true;
}

/* `level` counts the array texts around the string; each of them doubles the text, so they are few. */
static bool take_string(struct scratch *scratch, struct slice text, uint32_t context, uint32_t value,
                        unsigned level)
{
    const struct json_doc *doc;
    if (!take_path(scratch, text, context, value) || !take_host(scratch, text, context, value)) {
        return false;
    }
    if (text.len < 4) {
        return true;
    }
    if (!walk_array_text(scratch, text, level, &doc) || doc == NULL) {
        return scratch->fault == READINGS_OK;
    }
    const struct json_value *root = json_root(doc), *v;
    for (v = json_first(doc, root); v != NULL; v = json_right(doc, root, v)) {
        if (!take_string(scratch, json_str(v), context, value, level + 1)) {
            return false;
        }
    }
    return true;
}

/* A number or a boolean where a path or a URL is expected. */
static bool take_other(struct scratch *scratch, uint32_t context, uint32_t value)
{
    const struct origin origin = {.value = value, .to = &scratch->paths};
    if ((context & CONTEXT_PATH) != 0) {
        note_path(scratch, context, (context & CONTEXT_SURE_PATH) != 0);
        if (scratch->needs.paths && !places_add_unreadable(scratch, &origin)) {
            return false;
        }
    }
    if ((context & CONTEXT_URL) != 0 && scratch->needs.hosts) {
        scratch->sure_hosts = scratch->sure_hosts || (context & CONTEXT_SURE_URL) != 0;
        return hosts_add_unreadable(scratch, &scratch->hosts, value);
    }
    return true;
}

/* A tree argument that is absent or null is as an empty string. */
static bool take_empty_tree(struct scratch *scratch, bool sure, uint32_t value)
{
    return take_path(scratch, SLICE(""), CONTEXT_PATH | CONTEXT_TREE | (sure ? CONTEXT_SURE_PATH : 0), value);
}

static bool take_scalar(struct scratch *scratch, const struct walked *walked)
{
    const struct json_value *v = walked->value;
    uint32_t value = (uint32_t)(v - walked->doc->values);
    uint32_t context = walked->context;
    if (v->type == JSON_STRING) {
        bool aside = scratch->needs.aside_paths || scratch->needs.aside_hosts;
        bool keeps = (aside && aside_may_count(scratch, json_str(v), context)) ||
                     ((context & CONTEXT_DIRECTORY) != 0 && scratch->needs.commands);
        return take_string(scratch, json_str(v), context, value, 0) &&
               (!keeps || keep_item(scratch, value, context));
    }
    if (v->type == JSON_NULL) {
        return (context & CONTEXT_TREE) == 0 || !walked->argument ||
               take_empty_tree(scratch, (context & CONTEXT_SURE_TREE) != 0, value);
    }
    return take_other(scratch, context, value);
}

static bool take_command(struct scratch *scratch, const struct walked *walked)
{
    return !scratch->needs.commands || commands_take(scratch, walked);
}

/* ---- Filters of entries, absent trees ---- */

struct filters {
    struct scratch *scratch;
    struct slice *list;
    size_t count;
};

#define FILTERS_MOST 64u

static bool add_filter(void *context, struct slice text)
{
    struct filters *filters = context;
    const char *slash = text.len == 0 ? NULL : memrchr(text.ptr, '/', text.len);
    struct slice last = slash == NULL ? text : slice_from(text, (size_t)(slash - text.ptr) + 1);
    if (text.len == 0 || text.ptr[0] == '!' || filters->count == FILTERS_MOST) {
        return false;
    }
    filters->list[filters->count] = arena_copy(&filters->scratch->out->arena, last);
    return filters->list[filters->count++].ptr != NULL;
}

static enum path_walk add_filter_value(struct filters *filters, const struct json_doc *doc,
                                       const struct json_value *value)
{
    struct path_globber *globber = filters->scratch->globber;
    enum path_walk result = PATH_WALK_OK;
    const struct json_value *v;
    if (value->type == JSON_STRING) {
        return path_alternatives(globber, json_str(value), add_filter, filters);
    }
    if (value->type != JSON_ARRAY || !has_strings_only(doc, value)) {
        return PATH_WALK_OK;
    }
    for (v = json_first(doc, value); v != NULL && result == PATH_WALK_OK; v = json_right(doc, value, v)) {
        result = path_alternatives(globber, json_str(v), add_filter, filters);
    }
    return result;
}

/* The globs that a call's entries are filtered by; where one of them can't be told, none. */
static bool find_filters(struct scratch *scratch)
{
    const struct call *call = scratch->call;
    struct filters filters = {.scratch = scratch};
    const struct json_value *key;
    enum path_walk result = PATH_WALK_OK;
    scratch->tree = (struct tree_ask){.entries = !scratch->view.names_only, .hidden = true};
    if (scratch->interest == NULL || scratch->interest->component_count == 0) {
        return true;
    }
    for (key = json_first(call->doc, call->input); result == PATH_WALK_OK && key != NULL;
         key = json_right(call->doc, call->input, key)) {
        if ((name_classes(&scratch->names, json_str(key)) & NAME_GLOB) == 0) {
            continue;
        }
        if (filters.list == NULL) {
            filters.list = arena_array(&scratch->out->arena, FILTERS_MOST, sizeof(*filters.list));
            if (filters.list == NULL) {
                return call_no_memory(scratch);
            }
        }
        result = add_filter_value(&filters, call->doc, json_member_value(key));
    }
    if (result == PATH_WALK_FAILED) {
        return call_no_memory(scratch);
    }
    if (result == PATH_WALK_OK) {
        scratch->tree.filters = filters.list;
        scratch->tree.filter_count = filters.count;
    }
    return true;
}

static bool has_argument(const struct call *call, struct slice name)
{
    const struct json_value *v;
    for (v = json_first(call->doc, call->input); v != NULL; v = json_right(call->doc, call->input, v)) {
        if (fold_eq(json_str(v), name)) {
            return true;
        }
    }
    return false;
}

static bool add_absent_trees(struct scratch *scratch)
{
    const struct argument_view *view = &scratch->view;
    struct tree_position position = {0, 0};
    struct slice name;
    while (argument_next_tree(view, &position, &name)) {
        if (has_argument(scratch->call, name)) {
            continue;
        }
        if (!take_empty_tree(scratch, argument_is_tree(view, name) == ARGUMENT_CLAIM_SURE, 0)) {
            return false;
        }
    }
    return true;
}

bool walk_input(struct scratch *scratch)
{
    static const struct walk own = {.scalar = take_scalar, .command = take_command, .top = true};
    const struct call *call = scratch->call;
    return find_filters(scratch) && walk_values(scratch, &own, call->doc, call->input, 0) &&
           add_absent_trees(scratch);
}
