/* What is said of calls that only a list of a match tells apart. */
#include "analysis/listed_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"

/* ---- A box as JSON ---- */

static void write_key(struct buf *buf, bool *some, const char *key)
{
    if (*some) {
        buf_byte(buf, ',');
    }
    *some = true;
    buf_byte(buf, '"');
    buf_text(buf, key);
    buf_text(buf, "\":");
}

static void write_symbol(struct buf *buf, const struct space *space, bool *some, const char *key,
                         uint32_t symbol)
{
    if (symbol != 0) {
        write_key(buf, some, key);
        json_write_string(buf, intern_text(&space->symbols, symbol));
    }
}

static void write_value(struct buf *buf, struct slice text)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    json_init(&doc);
    if (json_parse(&doc, text, &options, &error)) {
        json_write_canonical(buf, &doc, json_root(&doc), JSON_NUMBER_CALL);
    } else {
        buf->failed = true;
    }
    json_finish(&doc);
}

/* The pairs of one kind. A loose pair that an exact one brings with it says nothing. */
static void write_pairs(struct buf *buf, const struct space *space, bool *some, const struct box *box,
                        bool loose)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < box->match.arg_count; i++) {
        const struct match_arg *arg = &box->args[i];
        if (space_is_loose(space, arg->key) != loose || (loose && space_has_exact(space, box, arg->key))) {
            continue;
        }
        if (count++ == 0) {
            write_key(buf, some, loose ? "argLoosely" : "argEquals");
        }
        struct slice key = intern_text(&space->symbols, arg->key);
        buf_byte(buf, count == 1 ? '{' : ',');
        json_write_string(buf, loose ? slice_from(key, 1) : key);
        buf_byte(buf, ':');
        write_value(buf,
                    intern_text(&space->symbols, loose ? space_loose_value(space, arg->value) : arg->value));
    }
    buf_text(buf, count == 0 ? "" : "}");
}

void listed_write_box(struct buf *buf, const struct space *space, const struct box *box)
{
    const struct match *match = &box->match;
    bool some = false;
    buf_byte(buf, '{');
    if (match->actor != ACTOR_ANY) {
        write_key(buf, &some, "actor");
        json_write_string(buf, slice_of(actor_name((enum actor)match->actor)));
    }
    write_pairs(buf, space, &some, box, false);
    write_pairs(buf, space, &some, box, true);
    if (match->host != OTHER_ANY) { /* whether there is a command or a host beside */
        write_key(buf, &some, "beside");
        buf_text(buf, match->host == OTHER_NONE ? "\"nothing\"" : "\"a command or a host\"");
    }
    write_symbol(buf, space, &some, "channel", match->channel);
    if (box->second_component == 0) {
        write_symbol(buf, space, &some, "pathComponent", match->path_component);
    } else {
        write_key(buf, &some, "pathComponent");
        buf_byte(buf, '[');
        json_write_string(buf, intern_text(&space->symbols, match->path_component));
        buf_byte(buf, ',');
        json_write_string(buf, intern_text(&space->symbols, box->second_component));
        buf_byte(buf, ']');
    }
    if (match->path_prefix != 0) {
        write_key(buf, &some, "pathPrefix");
        json_write_bytes(buf, intern_text(&space->paths, match->path_prefix));
    }
    write_symbol(buf, space, &some, "server", match->server);
    write_symbol(buf, space, &some, "thread_ts", match->thread);
    write_symbol(buf, space, &some, "tool", match->tool);
    write_symbol(buf, space, &some, "toolPrefix", match->tool_prefix);
    buf_byte(buf, '}');
}

/* ---- Lists ---- */

/* An argument's name in a list of a key's tools; away: the entry takes it away. */
struct listing {
    uint8_t list; /* enum policy_list */
    struct slice key, name;
};

static struct slice plain_name(struct slice name)
{
    return name.len > 1 && name.ptr[0] == '-' ? slice_from(name, 1) : name;
}

/* What lists make of a name. One that is taken away is not read aside either. */
enum listed { LISTED_NOT, LISTED, LISTED_AWAY };

/* What the entries of one key make of a name. */
static enum listed apply(const struct policy *policy, uint8_t list, struct slice key, struct slice name,
                         enum listed is)
{
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        const struct policy_entry *entry = &policy->entries[i];
        struct slice text = policy_text(policy, entry->name), plain = plain_name(text);
        if (entry->list == list && slice_eq(policy_text(policy, entry->key), key) && fold_eq(plain, name)) {
            is = plain.ptr == text.ptr ? LISTED : LISTED_AWAY;
        }
    }
    return is;
}

static bool is_built_in(const struct listing *listing)
{
    static const char *const paths[] = {
        "path",     "paths",         "file",      "files",       "file_path", "filePath",
        "filename", "notebook_path", "source",    "destination", "src",       "dst",
        "old_path", "new_path",      "directory", "dir",         "folder",    "uri"};
    static const char *const trees[] = {"directory_tree", "search_files", "Grep", "Glob"};
    for (size_t i = 0; listing->list == LIST_PATHS && i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (slice_eq_ascii_case(listing->name, slice_of(paths[i]))) {
            return true;
        }
    }
    for (size_t i = 0; listing->list == LIST_TREES && i < sizeof(trees) / sizeof(trees[0]); i++) {
        if (slice_is(listing->key, trees[i])) {
            return slice_is(listing->name, "path");
        }
    }
    return false;
}

/* The part of a key SERVER/TOOL behind its first slash; ptr NULL when there is none. */
static struct slice tool_of_key(struct slice key)
{
    const char *slash = key.len == 0 ? NULL : memchr(key.ptr, '/', key.len);
    return slash == NULL ? (struct slice){NULL, 0} : slice_from(key, (size_t)(slash - key.ptr) + 1);
}

static enum listed listed_as(const struct policy *policy, const struct listing *listing)
{
    struct slice tool = tool_of_key(listing->key);
    enum listed is =
        apply(policy, listing->list, SLICE("*"), listing->name, is_built_in(listing) ? LISTED : LISTED_NOT);
    if (tool.ptr != NULL) {
        is = apply(policy, listing->list, tool, listing->name, is);
    }
    return slice_is(listing->key, "*") ? is : apply(policy, listing->list, listing->key, listing->name, is);
}

/* The box of a key's tools, with every other field open. */
static struct box box_of_key(const struct space *space, struct slice key)
{
    struct box box = {.args = NULL};
    struct slice tool = tool_of_key(key);
    if (tool.ptr != NULL && tool.len != 0) {
        struct slice server = {key.ptr, key.len - tool.len - 1};
        box.match.server = intern_find(&space->symbols, server);
        box.match.tool = intern_find(&space->symbols, tool);
        if (box.match.server != 0) {
            return box;
        }
    }
    box.match.tool = slice_is(key, "*") ? 0 : intern_find(&space->symbols, key);
    return box;
}

/* ---- A witness for a changed list ---- */

struct search {
    struct space *space;
    struct witness *witness;
    struct slice name;
    struct diff *diff;
    struct diff_class *class;
    bool weaker, any;
};

/* More rules than this are not tried: the class is then called weaker. */
#define RULES_TRIED 4096u

/* Keeps a call whose decision changes; one that becomes weaker wins over one that becomes stricter. */
static void try_key(struct search *s, const struct box *box, enum witness_value value)
{
    uint32_t points[SPACE_POINTS], actor = points[space_points(s->witness->space, box, points) - 1];
    struct decision decisions[SIDES] = {{0}};
    if (s->weaker || !witness_with_key(s->witness, box, actor, s->name, value, decisions)) {
        return;
    }
    int was = decision_rank(decisions[0].kind), is = decision_rank(decisions[1].kind);
    if (was == is || (is > was && s->any)) {
        return;
    }
    s->any = true;
    s->weaker = is < was;
    s->class->from = (struct diff_side){.kind = decisions[0].kind,
                                        .rule = decisions[0].cause == CAUSE_NONE ? decisions[0].rule : NULL};
    s->class->to = (struct diff_side){.kind = decisions[1].kind,
                                      .rule = decisions[1].cause == CAUSE_NONE ? decisions[1].rule : NULL};
    s->class->witness = arena_copy(&s->diff->arena, buf_slice_of(&s->witness->call));
    s->diff->failed = s->diff->failed || s->class->witness.ptr == NULL;
}

/* Tries a number, then a path of each rule that looks at paths. False when not all were tried. */
static bool try_rules(struct search *s, const struct box *key, struct match_arg *args)
{
    uint32_t tried = 0;
    try_key(s, key, WITNESS_NUMBER);
    for (size_t side = 0; side < SIDES; side++) {
        const struct policy *flat = &s->space->sides[side].flat;
        for (uint32_t i = 0; i < flat->rule_count && !s->weaker; i++) {
            const struct match *match = &flat->rules[i].match;
            struct box own = space_box(s->space, side, i), box;
            if ((match->path_prefix == 0 && match->path_component == 0) ||
                !space_meet(s->space, &own, key, args, &box)) {
                continue;
            }
            if (tried++ == RULES_TRIED) {
                return false;
            }
            try_key(s, &box, WITNESS_PATH);
            try_key(s, &box, WITNESS_NUMBER);
        }
    }
    return true;
}

static void add_listing(struct space *space, struct witness *witness, struct diff *diff,
                        const struct listing *listing, bool added)
{
    struct diff_class *class = diff_add(diff);
    struct match_arg *args = calloc(space_room(space, 2), sizeof(*args));
    struct buf text;
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    if (class != NULL && args != NULL) {
        struct box key = box_of_key(space, listing->key);
        struct search search = {
            .space = space, .witness = witness, .name = listing->name, .diff = diff, .class = class};
        bool paths = space->sides[0].policy->has_path_rules || space->sides[1].policy->has_path_rules;
        /* Of commands and URLs no call is tried. */
        bool whole = !paths || ((listing->list == LIST_PATHS || listing->list == LIST_TREES) &&
                                try_rules(&search, &key, args));
        static const char *const names[] = {[LIST_PATHS] = "pathArguments",
                                            [LIST_TREES] = "treeArguments",
                                            [LIST_COMMANDS] = "commandArguments",
                                            [LIST_URLS] = "urlArguments"};
        class->list = names[listing->list];
        class->added = added;
        /* A path that is not looked at any more is weaker wherever rules look at paths. */
        class->weaker = search.weaker || !whole || (!added && paths);
        listed_write_box(&text, space, &key);
        class->match = arena_copy(&diff->arena, buf_slice_of(&text));
        class->name = arena_copy(&diff->arena, listing->name);
        diff->failed = diff->failed || !buf_ok(&text) || class->match.ptr == NULL || class->name.ptr == NULL;
    } else {
        diff->failed = true;
    }
    buf_finish(&text);
    free(args);
}

static bool same_listing(const struct listing *a, const struct listing *b)
{
    return a->list == b->list && slice_eq(a->key, b->key) && slice_eq_ascii_case(a->name, b->name);
}

void listed_compare(struct space *space, struct witness *witness, struct diff *diff)
{
    size_t most = (size_t)space->sides[0].policy->entry_count + space->sides[1].policy->entry_count,
           count = 0;
    struct listing *list = calloc(most + 1, sizeof(*list));
    if (list == NULL) {
        diff->failed = true;
        return;
    }
    for (size_t s = 0; s < SIDES; s++) {
        const struct policy *policy = space->sides[s].policy;
        for (uint32_t i = 0; i < policy->entry_count; i++) {
            const struct policy_entry *entry = &policy->entries[i];
            struct listing one = {entry->list, policy_text(policy, entry->key),
                                  plain_name(policy_text(policy, entry->name))};
            size_t at = 0;
            while (at < count && !same_listing(&list[at], &one)) {
                at++;
            }
            if (at == count && one.list != LIST_REQUIRED) {
                list[count++] = one;
            }
        }
    }
    for (size_t i = 0; i < count && !diff->failed; i++) {
        enum listed was = listed_as(space->sides[0].policy, &list[i]),
                    is = listed_as(space->sides[1].policy, &list[i]);
        if (was != is) {
            add_listing(space, witness, diff, &list[i], is == LISTED);
        }
    }
    free(list);
}
