/* The roots that a client tells. */
#include "mcp/roots_internal.h"

#include "mcp/envelope.h"

/* No absolute path: what starts here is unreadable. */
static const struct slice nowhere = {"", 0};

bool roots_init(struct roots *roots, const struct path_base *base)
{
    roots->base = *base;
    arena_init(&roots->texts, 0);
    roots->most = base->root_count + ROOTS_MOST;
    roots->list = arena_array(&roots->texts, roots->most, sizeof(*roots->list));
    if (roots->list == NULL) {
        return false;
    }
    for (size_t i = 0; i < base->root_count; i++) {
        roots->list[i] = base->roots[i];
    }
    roots->base.roots = roots->list;
    return true;
}

void roots_finish(struct roots *roots)
{
    arena_finish(&roots->texts);
}

/* Adds a copy of `text` unless it is there. The last place is kept for `nowhere`. */
static bool add(struct roots *roots, struct slice text)
{
    struct path_base *base = &roots->base;
    for (size_t i = 0; i < base->root_count; i++) {
        if (slice_eq(roots->list[i], text)) {
            return false;
        }
    }
    if (base->root_count == roots->most) {
        return false; /* `nowhere` is among them already */
    }
    struct slice copy = base->root_count + 1 == roots->most ? nowhere : arena_copy(&roots->texts, text);
    roots->list[base->root_count++] = copy.ptr == NULL ? nowhere : copy;
    return true;
}

/* A text that is no absolute path, from a directory that is one. */
static bool add_below(struct roots *roots, struct slice above, struct slice text, struct buf *scratch)
{
    buf_reset(scratch);
    buf_slice(scratch, above);
    buf_byte(scratch, '/');
    buf_slice(scratch, text);
    return add(roots, buf_ok(scratch) ? buf_slice_of(scratch) : nowhere);
}

/* As servers read it: a URI or, in a server that is not strict, a name, which may be of the home directory.
 */
static bool add_told(struct roots *roots, struct slice text, struct buf *scratch)
{
    const struct path_base *base = &roots->base;
    bool added = false;
    buf_reset(scratch);
    enum path_uri uri = path_decode_uri(text, scratch);
    if (uri != PATH_URI_NONE) {
        added = add(roots, uri == PATH_URI_OK ? buf_slice_of(scratch) : nowhere);
    }
    if (text.len > 0 && text.ptr[0] == '/') {
        return add(roots, text) || added;
    }
    if (slice_is(text, "~") || slice_starts_with(text, SLICE("~/"))) {
        added = add_below(roots, base->home, slice_from(text, 1), scratch) || added;
        if (base->server_home.len > 0) {
            added = add_below(roots, base->server_home, slice_from(text, 1), scratch) || added;
        }
    }
    return add_below(roots, base->cwd, text, scratch) || added;
}

/* Lenient readers included. */
static bool is_named(const struct json_value *key, const char *name)
{
    return slice_is(json_str(key), name) || name_mimics(json_str(key), name);
}

/* One element of the list: an object with a `uri`. */
static bool take_one(struct roots *roots, const struct json_doc *doc, const struct json_value *root,
                     struct buf *scratch)
{
    bool added = false;
    if (json_is(root, JSON_STRING)) {
        return add_told(roots, json_str(root), scratch);
    }
    if (!json_is(root, JSON_OBJECT)) {
        return add(roots, nowhere);
    }
    for (const struct json_value *key = json_first(doc, root); key != NULL;
         key = json_right(doc, root, key)) {
        const struct json_value *value = json_member_value(key);
        if (!is_named(key, "uri")) {
            continue;
        }
        bool text = json_is(value, JSON_STRING);
        added = (text ? add_told(roots, json_str(value), scratch) : add(roots, nowhere)) || added;
    }
    return added;
}

bool roots_take(struct roots *roots, const struct json_doc *doc, const struct json_value *result)
{
    bool added = false;
    struct buf scratch;
    if (!json_is(result, JSON_OBJECT)) {
        return false;
    }
    buf_init(&scratch, LIMIT_MESSAGE_BYTES + LIMIT_PATH_BYTES);
    for (const struct json_value *key = json_first(doc, result); key != NULL;
         key = json_right(doc, result, key)) {
        const struct json_value *list = json_member_value(key);
        if (!is_named(key, "roots") || !json_is(list, JSON_ARRAY)) {
            continue;
        }
        for (const struct json_value *v = json_first(doc, list); v != NULL; v = json_right(doc, list, v)) {
            added = take_one(roots, doc, v, &scratch) || added;
        }
    }
    buf_finish(&scratch);
    return added;
}

bool roots_take_inputs(struct roots *roots, const struct json_doc *doc, const struct json_value *params)
{
    bool added = false;
    const struct json_value *each = params != NULL ? json_first(doc, params) : NULL, *key;
    for (; each != NULL; each = json_right(doc, params, each)) {
        const struct json_value *inputs = json_member_value(each);
        if (!is_named(each, "inputResponses") || !json_is(inputs, JSON_OBJECT)) {
            continue;
        }
        for (key = json_first(doc, inputs); key != NULL; key = json_right(doc, inputs, key)) {
            added = roots_take(roots, doc, json_member_value(key)) || added;
        }
    }
    return added;
}
