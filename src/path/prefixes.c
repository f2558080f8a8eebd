/* The prefixes of the loaded rules: canonicalised once, then found by text, by file, and by what lies below.
 *
 * By text they stand in a trie of components, whose edges are in one hash table. A walk down a path sees
 * every prefix above it and stops where no prefix goes on; what lies below a path is the subtree of its node.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "path/internal.h"

struct node {
    const char *name; /* its component: a part of some prefix's text */
    uint32_t len;
    uint32_t parent, child, sibling; /* 0: none; the root is node 0 and nobody's child */
    uint32_t prefix;                 /* an id, or 0 */
};

/* A slot of the table of edges. The hash stands here too, so that a slot of another edge costs one look. */
struct edge {
    uint32_t node; /* 0: free */
    uint32_t hash; /* of the parent and the name */
};

/* What is needed only until the loading is over. */
struct loading {
    struct path_resolved textual, kernel;
    /* What was found at the components of the prefixes so far, by node; `end` 0: nothing, or not looked. */
    struct path_step *steps;
    /* The components of `textual` that were known before: how many, the root first, and the last one's node.
     */
    size_t known;
    uint32_t node;
};

struct path_prefix_tables {
    struct arena texts;
    uint32_t list_cap;
    struct node *nodes;
    uint32_t node_count, node_cap;
    struct edge *edges;
    uint32_t edge_mask;
    uint64_t serial;
    struct loading *loading;
};

#define EDGES_LEAST 64u

struct path_prefixes *path_prefixes_create(void)
{
    struct path_prefixes *prefixes = calloc(1, sizeof(*prefixes));
    struct path_prefix_tables *tables = calloc(1, sizeof(*tables));
    if (prefixes == NULL || tables == NULL) {
        free(prefixes);
        free(tables);
        return NULL;
    }
    prefixes->tables = tables;
    arena_init(&tables->texts, 0);
    tables->nodes = calloc(EDGES_LEAST / 2, sizeof(*tables->nodes));
    tables->edges = calloc(EDGES_LEAST, sizeof(*tables->edges));
    tables->loading = malloc(sizeof(*tables->loading));
    if (tables->loading != NULL) {
        tables->loading->steps = calloc(EDGES_LEAST / 2, sizeof(*tables->loading->steps));
    }
    if (tables->nodes == NULL || tables->edges == NULL || tables->loading == NULL ||
        tables->loading->steps == NULL || !random_bytes(&tables->serial, sizeof(tables->serial))) {
        path_prefixes_destroy(prefixes);
        return NULL;
    }
    tables->node_cap = EDGES_LEAST / 2;
    tables->edge_mask = EDGES_LEAST - 1;
    tables->node_count = 1;
    return prefixes;
}

static void end_loading(struct path_prefix_tables *tables)
{
    if (tables->loading != NULL) {
        free(tables->loading->steps);
    }
    free(tables->loading);
    tables->loading = NULL;
}

void path_prefixes_destroy(struct path_prefixes *prefixes)
{
    if (prefixes == NULL) {
        return;
    }
    struct path_prefix_tables *tables = prefixes->tables;
    end_loading(tables);
    arena_finish(&tables->texts);
    free(tables->nodes);
    free(tables->edges);
    free(tables);
    free(prefixes->list);
    free(prefixes);
}

/* ---- The trie ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint32_t hash_edge(uint32_t parent, struct slice name)
{
    uint64_t hash = mix(parent, name.len);
    while (name.len >= 8) {
        uint64_t word;
        memcpy(&word, name.ptr, sizeof(word));
        hash = mix(hash, word);
        name = slice_from(name, 8);
    }
    uint64_t last = 0;
    memcpy(&last, name.ptr, name.len);
    return (uint32_t)mix(hash, last);
}

static uint32_t find_edge(const struct path_prefix_tables *tables, uint32_t parent, struct slice name,
                          uint32_t hash)
{
    for (uint32_t at = hash & tables->edge_mask; tables->edges[at].node != 0;
         at = (at + 1) & tables->edge_mask) {
        if (tables->edges[at].hash != hash) {
            continue;
        }
        const struct node *node = &tables->nodes[tables->edges[at].node];
        if (node->parent == parent && slice_eq((struct slice){node->name, node->len}, name)) {
            return tables->edges[at].node;
        }
    }
    return 0;
}

/* Takes the next component off a canonical path without its first slash; false at the end. */
static bool next_name(struct slice *rest, struct slice *ret_name)
{
    if (rest->len == 0) {
        return false;
    }
    const char *slash = memchr(rest->ptr, '/', rest->len);
    size_t len = slash == NULL ? rest->len : (size_t)(slash - rest->ptr);
    *ret_name = (struct slice){rest->ptr, len};
    *rest = slice_from(*rest, slash == NULL ? len : len + 1);
    return true;
}

static void put_edge(struct edge *edges, uint32_t mask, struct edge edge)
{
    uint32_t at = edge.hash & mask;
    while (edges[at].node != 0) {
        at = (at + 1) & mask;
    }
    edges[at] = edge;
}

/* Doubles the nodes and the edges; at most half of the edges are in use. */
static bool grow_trie(struct path_prefix_tables *tables)
{
    if (tables->node_cap > UINT32_MAX / 8) {
        return false;
    }
    struct path_step *steps = realloc(tables->loading->steps, 2 * (size_t)tables->node_cap * sizeof(*steps));
    if (steps == NULL) {
        return false;
    }
    memset(steps + tables->node_cap, 0, tables->node_cap * sizeof(*steps));
    tables->loading->steps = steps;
    struct node *nodes = realloc(tables->nodes, 2 * (size_t)tables->node_cap * sizeof(*nodes));
    if (nodes == NULL) {
        return false;
    }
    tables->nodes = nodes;
    uint32_t mask = 4 * tables->node_cap - 1;
    struct edge *edges = calloc((size_t)mask + 1, sizeof(*edges));
    if (edges == NULL) {
        return false;
    }
    for (uint32_t i = 0; i <= tables->edge_mask; i++) {
        if (tables->edges[i].node != 0) {
            put_edge(edges, mask, tables->edges[i]);
        }
    }
    free(tables->edges);
    tables->edges = edges;
    tables->edge_mask = mask;
    tables->node_cap *= 2;
    return true;
}

/* The node of a canonical path whose text stays; added with all above it. False without memory. */
static bool add_node(struct path_prefix_tables *tables, struct slice path, uint32_t *ret_node)
{
    struct slice rest = slice_from(path, 1), name;
    uint32_t at = 0;
    while (next_name(&rest, &name)) {
        uint32_t hash = hash_edge(at, name);
        uint32_t child = find_edge(tables, at, name, hash);
        if (child == 0) {
            if (tables->node_count == tables->node_cap && !grow_trie(tables)) {
                return false;
            }
            child = tables->node_count++;
            tables->nodes[child] = (struct node){.name = name.ptr,
                                                 .len = (uint32_t)name.len,
                                                 .parent = at,
                                                 .sibling = tables->nodes[at].child};
            tables->nodes[at].child = child;
            put_edge(tables->edges, tables->edge_mask, (struct edge){child, hash});
        }
        at = child;
    }
    *ret_node = at;
    return true;
}

static bool find_node(const struct path_prefix_tables *tables, struct slice path, uint32_t *ret_node)
{
    struct slice rest = slice_from(path, 1), name;
    uint32_t at = 0;
    while (next_name(&rest, &name)) {
        at = find_edge(tables, at, name, hash_edge(at, name));
        if (at == 0) {
            return false;
        }
    }
    *ret_node = at;
    return true;
}

size_t path_prefixes_above(const struct path_prefixes *prefixes, struct slice path, uint32_t *ret_ids,
                           size_t max)
{
    const struct path_prefix_tables *tables = prefixes->tables;
    struct slice rest = slice_from(path, 1), name;
    size_t count = 0;
    uint32_t at = 0;
    do {
        uint32_t id = tables->nodes[at].prefix;
        if (id != 0) {
            if (count < max) {
                ret_ids[count] = id;
            }
            count++;
        }
        if (!next_name(&rest, &name)) {
            break;
        }
        at = find_edge(tables, at, name, hash_edge(at, name));
    } while (at != 0);
    return count;
}

bool path_prefixes_below(const struct path_prefixes *prefixes, struct slice path,
                         bool (*visit)(void *context, uint32_t id), void *context)
{
    const struct node *nodes = prefixes->tables->nodes;
    uint32_t top;
    if (!find_node(prefixes->tables, path, &top)) {
        return true;
    }
    uint32_t at = nodes[top].child;
    while (at != 0) {
        if (nodes[at].prefix != 0 && !visit(context, nodes[at].prefix)) {
            return false;
        }
        if (nodes[at].child != 0) {
            at = nodes[at].child;
            continue;
        }
        while (at != top && nodes[at].sibling == 0) {
            at = nodes[at].parent;
        }
        at = at == top ? 0 : nodes[at].sibling;
    }
    return true;
}

/* ---- Loading ---- */

/* Keeps what was found on the way of `textual`, whose path is in the trie. */
static void remember(struct path_prefix_tables *tables)
{
    struct loading *loading = tables->loading;
    const struct path_resolved *place = &loading->textual;
    loading->steps[0] = place->steps[0];
    for (size_t i = loading->known; i < place->step_count; i++) {
        size_t above = place->steps[i - 1].end, from = above == 1 ? 1 : above + 1;
        struct slice name = {place->text + from, place->steps[i].end - from};
        loading->node = find_edge(tables, loading->node, name, hash_edge(loading->node, name));
        loading->steps[loading->node] = place->steps[i];
    }
}

/* Adds a canonical path, or finds it; 0 without memory. */
static uint32_t add_prefix(struct path_prefixes *prefixes, const struct path_resolved *place)
{
    struct path_prefix_tables *tables = prefixes->tables;
    struct slice path = arena_copy(&tables->texts, (struct slice){place->text, place->len});
    uint32_t node;
    if (path.ptr == NULL || !add_node(tables, path, &node)) {
        return 0;
    }
    remember(tables);
    if (tables->nodes[node].prefix != 0) {
        return tables->nodes[node].prefix;
    }
    if (prefixes->count == tables->list_cap) {
        uint32_t cap = tables->list_cap == 0 ? 16 : tables->list_cap * 2;
        struct path_prefix *list = realloc(prefixes->list, cap * sizeof(*list));
        if (list == NULL) {
            return 0;
        }
        prefixes->list = list;
        tables->list_cap = cap;
    }
    const struct path_step *last = &place->steps[place->step_count - 1];
    struct path_prefix *prefix = &prefixes->list[prefixes->count++];
    *prefix = (struct path_prefix){.path = path};
    if (place->exists) {
        prefix->dev = last->dev;
        prefix->ino = last->ino;
        prefix->exists = true;
        prefix->directory = last->directory;
    }
    tables->nodes[node].prefix = prefixes->count;
    return prefixes->count;
}

static bool has_nul(struct slice text)
{
    return text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL;
}

/* Takes components off the front of a text as long as it is known what they lead to from where `place`
 * stands, and goes there. A component that is a link is never known: canonical paths have none. */
static void walk_known(struct path_prefix_tables *tables, struct path_resolved *place, struct slice *text)
{
    struct loading *loading = tables->loading;
    struct slice rest = *text, name;
    while (next_name(&rest, &name)) {
        if (name.len != 0 && !slice_is(name, ".")) {
            uint32_t node = find_edge(tables, loading->node, name, hash_edge(loading->node, name));
            if (node == 0 || loading->steps[node].end == 0) {
                return;
            }
            size_t at = place->len == 1 ? 1 : place->len + 1;
            place->text[at - 1] = '/';
            memcpy(place->text + at, name.ptr, name.len);
            place->len = at + name.len;
            place->steps[loading->known++] = loading->steps[node];
            loading->node = node;
        }
        *text = rest;
    }
}

/* Resolves a text without `..`. Many rules have prefixes in the same directories: what was found there once
 * is not looked at again. */
static void resolve_near(struct path_prefix_tables *tables, struct slice start, struct slice text)
{
    struct loading *loading = tables->loading;
    struct path_resolved *place = &loading->textual;
    bool relative = text.len == 0 || text.ptr[0] != '/';
    bool walks = loading->steps[0].end != 0 && (!relative || (start.len != 0 && start.ptr[0] == '/')) &&
                 start.len <= LIMIT_PATH_BYTES && !has_nul(start) && !has_nul(text);
    loading->known = 1;
    loading->node = 0;
    if (!walks) {
        path_resolve(place, start, text, PATH_KERNEL);
        return;
    }
    start = relative ? start : (struct slice){"", 0};
    place->text[0] = '/';
    place->len = 1;
    place->steps[0] = loading->steps[0];
    walk_known(tables, place, &start);
    if (start.len == 0) {
        walk_known(tables, place, &text);
    }
    path_resolve_again(place, loading->known - 1, start, text);
    if (place->links > 0) { /* which may lead away from what was known */
        loading->known = 1;
        loading->node = 0;
    }
}

enum path_prefix_result path_prefixes_add(struct path_prefixes *prefixes, const struct path_base *base,
                                          struct slice text, uint32_t *ret_id, struct buf *ret_two)
{
    struct loading *loading = prefixes->tables->loading;
    uint32_t node;
    if (text.len > LIMIT_PATH_BYTES) {
        return PATH_PREFIX_UNREADABLE;
    }
    /* Many rules share a prefix, and a canonical path is its own. */
    if (text.len > 0 && text.ptr[0] == '/' && find_node(prefixes->tables, text, &node) &&
        prefixes->tables->nodes[node].prefix != 0) {
        *ret_id = prefixes->tables->nodes[node].prefix;
        return PATH_PREFIX_OK;
    }
    struct slice start = base->cwd;
    prefixes->relative = prefixes->relative || text.len == 0 || text.ptr[0] != '/';
    if (path_is_home(text)) {
        start = base->home;
        text = path_below_home(text);
    }
    struct path_resolved *textual = &loading->textual, *kernel = textual;
    if (path_has_dotdot(text) || path_has_dotdot(start)) {
        kernel = &loading->kernel;
        loading->known = 1;
        loading->node = 0;
        path_resolve(kernel, start, text, PATH_KERNEL);
        path_resolve(textual, start, text, PATH_TEXTUAL);
    } else {
        resolve_near(prefixes->tables, start, text);
    }
    if (!textual->readable || !kernel->readable) {
        return PATH_PREFIX_UNREADABLE;
    }
    if (!slice_eq((struct slice){textual->text, textual->len}, (struct slice){kernel->text, kernel->len})) {
        if (ret_two != NULL) {
            buf_bytes(ret_two, textual->text, textual->len);
            buf_text(ret_two, " and ");
            buf_bytes(ret_two, kernel->text, kernel->len);
        }
        return PATH_PREFIX_AMBIGUOUS;
    }
    uint32_t id = add_prefix(prefixes, textual);
    if (id == 0) {
        return PATH_PREFIX_NO_MEMORY;
    }
    *ret_id = id;
    return PATH_PREFIX_OK;
}

bool path_prefixes_seal(struct path_prefixes *prefixes)
{
    end_loading(prefixes->tables);
    return true;
}

uint64_t path_prefixes_serial(const struct path_prefixes *prefixes)
{
    return prefixes->tables->serial;
}
