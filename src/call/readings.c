/* The walk over a call's input: which of its strings are paths, in the order of the readings. */
#include <stdlib.h>

#include "call/internal.h"

/* What a value is, from the names above it. Arrays hand it on; objects hand on only that they are part of a
 * base or a tree argument, and their members' own names say the rest. */
enum context {
    CONTEXT_PATH = 1,
    CONTEXT_URI = 2, /* of its strings only file: URIs count */
    CONTEXT_BASE = 4,
    CONTEXT_TREE = 8,
    CONTEXT_SURE_PATH = 16, /* not for a workspace file's sake alone */
    CONTEXT_SURE_TREE = 32,
    CONTEXT_OF_OBJECTS = CONTEXT_BASE | CONTEXT_TREE | CONTEXT_SURE_TREE,
};

struct frame {
    uint32_t end; /* the index behind the container */
    uint8_t context;
    bool object;
};

struct walk {
    struct scratch *scratch;
    const struct argument_view *view;
    const struct json_doc *doc;
    unsigned depth;
    struct frame frames[LIMIT_JSON_DEPTH];
};

bool readings_init(struct readings *readings)
{
    *readings = (struct readings){.list = NULL};
    arena_init(&readings->arena, 0);
    struct scratch *scratch = calloc(1, sizeof(*scratch));
    readings->workspace = malloc(sizeof(*readings->workspace));
    readings->scratch = scratch;
    if (scratch == NULL || readings->workspace == NULL || !places_init(scratch)) {
        readings_finish(readings);
        return false;
    }
    scratch->out = readings;
    return true;
}

void readings_finish(struct readings *readings)
{
    struct scratch *scratch = readings->scratch;
    if (scratch != NULL) {
        for (unsigned i = 0; i < scratch->texts_made; i++) {
            json_finish(&scratch->texts[i]);
        }
        places_finish(scratch);
        free(scratch);
    }
    free(readings->workspace);
    free(readings->list);
    arena_finish(&readings->arena);
    *readings = (struct readings){.list = NULL};
}

/* ---- Strings ---- */

static bool is_json_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether a text may be a non-empty array of strings: worth a parse. */
static bool looks_like_array(struct slice text)
{
    while (text.len > 0 && is_json_space(text.ptr[0])) {
        text = slice_from(text, 1);
    }
    while (text.len > 0 && is_json_space(text.ptr[text.len - 1])) {
        text.len--;
    }
    return text.len >= 4 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
}

static enum readings_result take_string(struct scratch *scratch, struct slice text, unsigned context,
                                        uint32_t value, unsigned level);

/* Reads the elements when a text is that of a non-empty array of strings. */
static enum readings_result take_array_text(struct scratch *scratch, struct slice text, unsigned context,
                                            uint32_t value, unsigned level)
{
    if (level == TEXT_LEVELS) {
        return READINGS_OVER_LIMIT;
    }
    if (level == scratch->texts_made) {
        json_init(&scratch->texts[scratch->texts_made++]);
    }
    struct json_doc *doc = &scratch->texts[level];
    const struct json_options options = {.max_depth = 1, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    if (!json_parse(doc, text, &options, &error)) {
        return error.code == JSON_ERROR_MEMORY ? READINGS_NO_MEMORY : READINGS_OK;
    }
    const struct json_value *root = json_root(doc), *v;
    if (!json_is(root, JSON_ARRAY)) {
        return READINGS_OK;
    }
    for (v = json_first(doc, root); v != NULL; v = json_right(doc, root, v)) {
        if (v->type != JSON_STRING) {
            return READINGS_OK;
        }
    }
    for (v = json_first(doc, root); v != NULL; v = json_right(doc, root, v)) {
        enum readings_result result = take_string(scratch, json_str(v), context, value, level + 1);
        if (result != READINGS_OK) {
            return result;
        }
    }
    return READINGS_OK;
}

/* Notes that the call has a path, so that the reading without one is none of it. A base leaves that open, and
 * so does what only a workspace file calls a path: an agent that could take a reading away could loosen. */
static void note_path(struct scratch *scratch, unsigned context, bool uri)
{
    bool sure = uri || (context & CONTEXT_SURE_PATH) != 0;
    scratch->other_paths = scratch->other_paths || (sure && (context & CONTEXT_BASE) == 0);
}

/* `level` counts the array texts around the string; each of them doubles the text, so they are few. */
static enum readings_result take_string(struct scratch *scratch, struct slice text, unsigned context,
                                        uint32_t value, unsigned level)
{
    bool uri = path_is_uri(text);
    bool plain = (context & CONTEXT_PATH) != 0 && (uri || (context & CONTEXT_URI) == 0);
    if (uri || plain) {
        if (++scratch->strings > LIMIT_CALL_PATHS) {
            return READINGS_OVER_LIMIT;
        }
        struct origin origin = {value, (context & CONTEXT_TREE) != 0};
        bool resolve = (scratch->flags & READINGS_NO_RESOLVE) == 0;
        note_path(scratch, context, uri);
        if ((resolve && uri && !places_add_uri(scratch, origin, text)) ||
            (resolve && plain && !places_add_plain(scratch, origin, text))) {
            return READINGS_NO_MEMORY;
        }
    }
    return looks_like_array(text) ? take_array_text(scratch, text, context, value, level) : READINGS_OK;
}

/* ---- The walk ---- */

static unsigned member_context(const struct walk *walk, struct slice name)
{
    const struct frame *frame = &walk->frames[walk->depth - 1];
    unsigned context = frame->context & CONTEXT_OF_OBJECTS;
    enum argument_claim path = argument_is_path(walk->view, name);
    if (path != ARGUMENT_CLAIM_NONE) {
        context |= CONTEXT_PATH | (path == ARGUMENT_CLAIM_SURE ? CONTEXT_SURE_PATH : 0u);
    }
    if (name.len == 3 && slice_eq_ascii_case(name, SLICE("uri"))) {
        context |= CONTEXT_URI;
    }
    if (walk->depth == 1 && is_base_name(name)) {
        context |= CONTEXT_PATH | CONTEXT_BASE;
    }
    bool may_be_tree = walk->depth == 1 && (walk->view->built_in_tree || walk->view->changed);
    enum argument_claim tree = may_be_tree ? argument_is_tree(walk->view, name) : ARGUMENT_CLAIM_NONE;
    if (tree != ARGUMENT_CLAIM_NONE) {
        context |= CONTEXT_PATH | CONTEXT_TREE;
        context |= tree == ARGUMENT_CLAIM_SURE ? CONTEXT_SURE_PATH | CONTEXT_SURE_TREE : 0u;
    }
    return context;
}

static enum readings_result take_scalar(struct walk *walk, const struct json_value *v, unsigned context,
                                        bool argument)
{
    struct scratch *scratch = walk->scratch;
    uint32_t value = (uint32_t)(v - walk->doc->values);
    bool resolve = (scratch->flags & READINGS_NO_RESOLVE) == 0;
    if (v->type == JSON_STRING) {
        return take_string(scratch, json_str(v), context, value, 0);
    }
    if (v->type == JSON_NULL) {
        if (!argument || (context & CONTEXT_TREE) == 0) {
            return READINGS_OK;
        }
        /* It is a path because it is a tree, whatever else its name is. */
        context &= ~(unsigned)(CONTEXT_URI | ((context & CONTEXT_SURE_TREE) == 0 ? CONTEXT_SURE_PATH : 0));
        return take_string(scratch, SLICE(""), context, value, 0);
    }
    if ((context & CONTEXT_PATH) == 0) {
        return READINGS_OK;
    }
    note_path(scratch, context, false);
    struct origin origin = {value, false};
    return resolve && !places_add_unreadable(scratch, origin) ? READINGS_NO_MEMORY : READINGS_OK;
}

/* Values stand in the order of the text, so one pass over them is the walk; the frames say what each is in.
 */
static enum readings_result walk_input(struct walk *walk, const struct json_value *input)
{
    const struct json_value *values = walk->doc->values;
    uint32_t at = (uint32_t)(input - values) + 1;
    walk->depth = 1;
    walk->frames[0] = (struct frame){input->next, 0, true};
    for (;;) {
        while (walk->depth > 0 && at == walk->frames[walk->depth - 1].end) {
            walk->depth--;
        }
        if (walk->depth == 0) {
            return READINGS_OK;
        }
        const struct frame *frame = &walk->frames[walk->depth - 1];
        unsigned context = frame->context;
        bool argument = walk->depth == 1;
        if (frame->object) {
            context = member_context(walk, json_str(&values[at]));
            at++;
        }
        const struct json_value *v = &values[at++];
        if (v->type == JSON_ARRAY || v->type == JSON_OBJECT) {
            if (walk->depth == LIMIT_JSON_DEPTH) {
                return READINGS_OVER_LIMIT;
            }
            bool object = v->type == JSON_OBJECT;
            walk->frames[walk->depth++] =
                (struct frame){v->next, (uint8_t)(object ? context & CONTEXT_OF_OBJECTS : context), object};
            continue;
        }
        enum readings_result result = take_scalar(walk, v, context, argument);
        if (result != READINGS_OK) {
            return result;
        }
    }
}

/* ---- Names ---- */

static bool has_argument(const struct call *call, struct slice name)
{
    const struct json_value *v;
    for (v = json_first(call->doc, call->input); v != NULL; v = json_right(call->doc, call->input, v)) {
        if (slice_eq_ascii_case(json_str(v), name)) {
            return true;
        }
    }
    return false;
}

/* A tree argument that is absent is as an empty string. */
static bool add_absent_trees(struct scratch *scratch, const struct argument_view *view)
{
    struct tree_position position = {0, 0};
    struct slice name;
    while (argument_next_tree(view, &position, &name)) {
        if (has_argument(scratch->call, name)) {
            continue;
        }
        if (argument_is_tree(view, name) == ARGUMENT_CLAIM_SURE) {
            scratch->other_paths = true;
        }
        if ((scratch->flags & READINGS_NO_RESOLVE) == 0 &&
            !places_add_plain(scratch, (struct origin){0, true}, SLICE(""))) {
            return false;
        }
    }
    return true;
}

static enum readings_result make_for_name(struct scratch *scratch, const struct argument_view *view)
{
    const struct call *call = scratch->call;
    if (call->input != NULL && (scratch->flags & READINGS_REMOTE) == 0) {
        struct walk walk = {.scratch = scratch, .view = view, .doc = call->doc};
        enum readings_result result = walk_input(&walk, call->input);
        if (result != READINGS_OK) {
            return result;
        }
        if (!add_absent_trees(scratch, view)) {
            return READINGS_NO_MEMORY;
        }
    }
    if (scratch->other_paths && (scratch->flags & READINGS_NO_RESOLVE) == 0) {
        return READINGS_OK;
    }
    struct reading none = {.kind = READING_NO_PATH, .name = scratch->name};
    return places_append(scratch, none) ? READINGS_OK : READINGS_NO_MEMORY;
}

/* Most names of one call have the same arguments; the files are not looked at again for them. */
static bool copy_for_name(struct scratch *scratch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct reading reading = scratch->out->list[i];
        reading.name = scratch->name;
        if (!places_append(scratch, reading)) {
            return false;
        }
    }
    return true;
}

static enum readings_result make_all(struct scratch *scratch, const struct argument_lists *arguments)
{
    const struct call *call = scratch->call;
    struct argument_view first = {.arguments = arguments};
    size_t first_count = 0;
    for (size_t i = 0; i < call->name_count; i++) {
        struct argument_view view = argument_view_of(arguments, &call->names[i]);
        places_begin_name(scratch, (uint16_t)i);
        if (i > 0 && argument_views_alike(&first, &view)) {
            if (!copy_for_name(scratch, first_count)) {
                return READINGS_NO_MEMORY;
            }
            continue;
        }
        enum readings_result result = make_for_name(scratch, &view);
        if (result != READINGS_OK) {
            return result;
        }
        if (scratch->strings > scratch->out->strings) {
            scratch->out->strings = scratch->strings;
        }
        if (i == 0) {
            first = view;
            first_count = scratch->out->count;
        }
    }
    return READINGS_OK;
}

enum readings_result readings_make(struct readings *readings, const struct call *call,
                                   const struct path_base *base, const struct argument_lists *arguments,
                                   const struct path_prefixes *prefixes,
                                   const struct reading_interest *interest, unsigned flags)
{
    (void)interest;
    struct scratch *scratch = readings->scratch;
    scratch->call = call;
    scratch->base = base;
    scratch->prefixes = prefixes;
    scratch->flags = flags;
    readings->strings = 0;
    places_begin_call(scratch);
    enum readings_result result =
        call->name_count > UINT16_MAX ? READINGS_OVER_LIMIT : make_all(scratch, arguments);
    if (result != READINGS_OK) {
        readings->count = 0;
    }
    return scratch->over ? READINGS_OVER_LIMIT : result;
}
