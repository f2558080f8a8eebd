/* What of a class does not change: the parts of its calls that other rules decide on both sides. */
#include "analysis/except_internal.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/listed_internal.h"

/* With more exceptions than this they are not compared any more: then some may stand in others. */
#define COMPARED_MOST 64u

struct excepts {
    struct space *space;
    const struct box *box;
    struct arena arena;
    struct box *list; /* each less what the box says already */
    size_t count, cap, most;
    struct match_arg *args; /* of a meeting */
    bool failed;
};

/* ---- What one match says beyond another ---- */

static bool has_tool(const struct space *space, const struct match *of, const struct match *wanted)
{
    if (wanted->tool != 0) {
        return of->tool == wanted->tool;
    }
    uint32_t name = of->tool != 0 ? of->tool : of->tool_prefix;
    return wanted->tool_prefix == 0 ||
           (name != 0 && slice_starts_with(intern_text(&space->symbols, name),
                                           intern_text(&space->symbols, wanted->tool_prefix)));
}

static bool has_prefix(const struct space *space, const struct match *of, uint32_t prefix)
{
    if (prefix == 0 || (prefix == space->root && of->path_component != 0)) {
        return true;
    }
    return of->path_prefix != 0 &&
           path_is_under(intern_text(&space->paths, of->path_prefix), intern_text(&space->paths, prefix));
}

static bool list_has(const struct pattern_list *list, uint32_t pattern)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->symbols[i] == pattern) {
            return true;
        }
    }
    return false;
}

static bool pattern_has(struct excepts *e, uint32_t pattern, uint32_t wanted)
{
    const struct pattern_list *list = pattern == 0 ? NULL : patterns_of_pattern(&e->space->patterns, pattern);
    e->failed = e->failed || (pattern != 0 && list == NULL);
    return list != NULL && list_has(list, wanted);
}

static bool has_component(struct excepts *e, const struct box *of, uint32_t pattern)
{
    uint32_t path = of->match.path_prefix;
    struct pattern_list *list = &e->space->path_patterns[path];
    if (pattern == 0 || pattern_has(e, of->match.path_component, pattern) ||
        pattern_has(e, of->second_component, pattern)) {
        return true;
    }
    if (path == 0) {
        return false;
    }
    if (!list->made && !patterns_of_path(&e->space->patterns, intern_text(&e->space->paths, path), list)) {
        e->failed = true;
        return false;
    }
    return list_has(list, pattern);
}

static bool has_arg(const struct box *of, const struct match_arg *arg)
{
    for (uint32_t i = 0; i < of->match.arg_count; i++) {
        if (of->args[i].key == arg->key) {
            return of->args[i].value == arg->value;
        }
    }
    return false;
}

/* The fields of `match` that a call of `of` need not have. Their pairs go to args. */
static struct box beyond(struct excepts *e, const struct box *match, const struct box *of,
                         struct match_arg *args)
{
    struct box more = {.match = match->match, .args = args};
    struct match *m = &more.match;
    if (has_tool(e->space, &of->match, m)) {
        m->tool = m->tool_prefix = 0;
    }
    m->server = of->match.server == m->server ? 0 : m->server;
    m->channel = of->match.channel == m->channel ? 0 : m->channel;
    m->thread = of->match.thread == m->thread ? 0 : m->thread;
    m->actor = of->match.actor == m->actor ? (uint32_t)ACTOR_ANY : m->actor;
    m->host = of->match.host == m->host ? (uint32_t)OTHER_ANY : m->host;
    m->path_prefix = has_prefix(e->space, &of->match, m->path_prefix) ? 0 : m->path_prefix;
    m->path_component = has_component(e, of, m->path_component) ? 0 : m->path_component;
    m->arg_count = 0;
    for (uint32_t i = 0; i < match->match.arg_count; i++) {
        if (!has_arg(of, &match->args[i])) {
            args[m->arg_count++] = match->args[i];
        }
    }
    return more;
}

/* Whether every call of `inner` is one of `outer`, as far as the fields of each show it. */
static bool is_in(struct excepts *e, const struct box *inner, const struct box *outer)
{
    const struct match *a = &inner->match, *b = &outer->match;
    if ((b->server != 0 && a->server != b->server) || (b->channel != 0 && a->channel != b->channel) ||
        (b->thread != 0 && a->thread != b->thread) || (b->actor != ACTOR_ANY && a->actor != b->actor) ||
        (b->host != OTHER_ANY && a->host != b->host) || !has_tool(e->space, a, b) ||
        !has_prefix(e->space, a, b->path_prefix) || !has_component(e, inner, b->path_component)) {
        return false;
    }
    for (uint32_t i = 0; i < b->arg_count; i++) {
        if (!has_arg(inner, &outer->args[i])) {
            return false;
        }
    }
    return true;
}

/* ---- The list ---- */

/* Drops a box that stands in another; false when the new one does. */
static bool compare_all(struct excepts *e, const struct box *box)
{
    size_t left = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (is_in(e, box, &e->list[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < e->count; i++) {
        if (!is_in(e, &e->list[i], box)) {
            e->list[left++] = e->list[i];
        }
    }
    e->count = left;
    return true;
}

/* Adds a box, unless it stands in another. */
static void keep(struct excepts *e, const struct box *box)
{
    if (e->count <= COMPARED_MOST && !compare_all(e, box)) {
        return;
    }
    if (e->count == e->cap) {
        size_t cap = e->cap == 0 ? 16 : e->cap * 2;
        struct box *list = realloc(e->list, cap * sizeof(*list));
        if (list == NULL) {
            e->failed = true;
            return;
        }
        e->list = list;
        e->cap = cap;
    }
    struct match_arg *args = arena_array(&e->arena, (size_t)box->match.arg_count + 1, sizeof(*args));
    if (args == NULL) {
        e->failed = true;
        return;
    }
    if (box->match.arg_count != 0) {
        memcpy(args, box->args, box->match.arg_count * sizeof(*args));
    }
    e->list[e->count] = *box;
    e->list[e->count++].args = args;
}

static bool differ(uint32_t a, uint32_t b)
{
    return a != 0 && b != 0 && a != b;
}

static void look_at(struct excepts *e, size_t side, uint32_t rule)
{
    const struct match *m = &e->space->sides[side].flat.rules[rule].match, *is = &e->box->match;
    if (differ(m->tool, is->tool) || differ(m->channel, is->channel) || differ(m->actor, is->actor) ||
        differ(m->server, is->server) || differ(m->thread, is->thread) || differ(m->host, is->host)) {
        return; /* most do: a quick look */
    }
    struct box own = space_box(e->space, side, rule), both;
    if (!space_meet(e->space, e->box, &own, e->args, &both)) {
        return;
    }
    struct box more = beyond(e, &own, e->box, e->args);
    keep(e, &more);
}

/* The rules before the deciding one, of either side; what both have in common there is looked at once: the n-th common
 * rule of one side is the n-th of the other. Not those with lists, commands, hosts or annotations: such a rule takes some
 * calls of its box, and the class is rather told too wide. */
static void look_at_all(struct excepts *e, bool *const common[SIDES], const uint32_t rules[SIDES])
{
    const struct side *old = &e->space->sides[0], *new = &e->space->sides[1];
    uint32_t seen = 0, common_count = 0;
    for (uint32_t i = 0; i < old->simple_count && old->simple[i] < rules[0]; i++) {
        if (e->count > e->most || e->failed) {
            return;
        }
        look_at(e, 0, old->simple[i]);
        seen += common[0][old->simple[i]];
    }
    for (uint32_t i = 0; i < new->simple_count &&new->simple[i] < rules[1]; i++) {
        if (e->count > e->most || e->failed) {
            return;
        }
        if (!common[1][new->simple[i]] || common_count++ >= seen) {
            look_at(e, 1, new->simple[i]);
        }
    }
}

static bool write_all(struct excepts *e, struct diff *diff, struct diff_class *class)
{
    struct buf text;
    struct slice *list = arena_array(&diff->arena, e->count + 1, sizeof(*list));
    bool ok = list != NULL && !e->failed;
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    for (size_t i = 0; ok && i < e->count; i++) {
        buf_reset(&text);
        listed_write_box(&text, e->space, &e->list[i]);
        list[i] = arena_copy(&diff->arena, buf_slice_of(&text));
        ok = buf_ok(&text) && list[i].ptr != NULL;
    }
    buf_finish(&text);
    class->except = list;
    class->except_count = ok ? e->count : 0;
    diff->excepts += class->except_count;
    return ok;
}

bool except_find(struct space *space, bool *const common[SIDES], const uint32_t rules[SIDES],
                 const struct box *box, struct diff *diff, struct diff_class *class)
{
    struct excepts e = {.space = space, .box = box, .most = DIFF_EXCEPTS_MOST - diff->excepts};
    if (diff->excepts_full && e.most > COMPARED_MOST) {
        e.most = COMPARED_MOST; /* the short ones are still listed, the others not looked for in full */
    }
    arena_init(&e.arena, 0);
    e.args = calloc(space_room(space, SIDES + 1), sizeof(*e.args)); /* of the class, and a rule before it */
    e.failed = e.args == NULL;
    look_at_all(&e, common, rules);
    bool over = e.count > e.most, ok = over ? !e.failed : write_all(&e, diff, class);
    diff->excepts_full = diff->excepts_full || over;
    arena_finish(&e.arena);
    free(e.args);
    free(e.list);
    return ok;
}
