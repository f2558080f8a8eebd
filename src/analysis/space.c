#include "analysis/space.h"

#include <stdlib.h>

/* Tools whose built-in lists differ from every other's. */
static const char *const tree_tools[] = {"directory_tree", "search_files", "Grep", "Glob"};
static const char *const path_names[] = {
    "path",          "paths",  "file",        "files", "file_path", "filePath", "filename",
    "notebook_path", "source", "destination", "src",   "dst",       "old_path", "new_path",
    "directory",     "dir",    "folder",      "uri",   "cwd",       "workdir",  "repo_path"};

/* ---- Translation ---- */

struct translation {
    struct space *space;
    const struct policy *policy;
    uint32_t *symbols, *paths; /* by number of the policy; 0: not yet */
    bool failed;
};

static uint32_t add_text(struct space *space, struct slice text, bool *failed)
{
    uint32_t symbol = intern_add(&space->symbols, text);
    *failed = *failed || symbol == 0;
    return symbol;
}

static uint32_t symbol_of(struct translation *t, uint32_t symbol)
{
    if (symbol != 0 && t->symbols[symbol] == 0) {
        t->symbols[symbol] = add_text(t->space, policy_text(t->policy, symbol), &t->failed);
    }
    return symbol == 0 ? 0 : t->symbols[symbol];
}

static uint32_t path_of(struct translation *t, uint32_t id)
{
    if (id != 0 && t->paths[id] == 0) {
        t->paths[id] = intern_add(&t->space->paths, t->policy->prefixes->list[id - 1].path);
        t->failed = t->failed || t->paths[id] == 0;
    }
    return id == 0 ? 0 : t->paths[id];
}

static int by_key(const void *a, const void *b)
{
    uint32_t left = ((const struct match_arg *)a)->key, right = ((const struct match_arg *)b)->key;
    return (left > right) - (left < right);
}

/* A match in the space's numbers; its pairs go to `args`. */
static struct match translate(struct translation *t, const struct match *match, struct match_arg *args)
{
    struct match to = *match;
    to.tool = symbol_of(t, match->tool);
    to.tool_prefix = symbol_of(t, match->tool_prefix);
    to.server = symbol_of(t, match->server);
    to.channel = symbol_of(t, match->channel);
    to.thread = symbol_of(t, match->thread);
    to.path_component = symbol_of(t, match->path_component);
    to.path_prefix = path_of(t, match->path_prefix);
    bool sorted = true;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        const struct match_arg *arg = &t->policy->args[match->arg_first + i];
        args[i] = (struct match_arg){symbol_of(t, arg->key), symbol_of(t, arg->value)};
        sorted = sorted && (i == 0 || args[i - 1].key < args[i].key);
    }
    if (!sorted) {
        qsort(args, match->arg_count, sizeof(*args), by_key);
    }
    t->space->most_args = match->arg_count > t->space->most_args ? match->arg_count : t->space->most_args;
    return to;
}

static bool translation_init(struct translation *t, struct space *space, const struct policy *policy)
{
    *t = (struct translation){.space = space, .policy = policy};
    t->symbols = calloc((size_t)policy->symbols.count + 1, sizeof(*t->symbols));
    t->paths = calloc((size_t)policy->prefixes->count + 1, sizeof(*t->paths));
    return t->symbols != NULL && t->paths != NULL;
}

static void translation_finish(struct translation *t)
{
    free(t->symbols);
    free(t->paths);
}

/* ---- Sides ---- */

static void add_rule(struct side *side, const struct rule *rule, const struct match *match, uint32_t origin)
{
    side->origin[side->flat.rule_count] = origin;
    if (origin != NO_RULE) {
        side->place[origin] = side->flat.rule_count;
    }
    side->flat.rules[side->flat.rule_count] = *rule;
    side->flat.rules[side->flat.rule_count++].match = *match;
}

/* An entry of the default set: a tool's name, and every way to read it as a server and a tool (or all of its
 * tools). */
static void add_entry(struct space *space, struct side *side, struct slice entry, bool *failed)
{
    struct rule deny = {.effect = EFFECT_DENY};
    if (slice_is(entry, "*")) {
        add_rule(side, &deny, &(struct match){0}, NO_RULE);
        return;
    }
    struct match match = {.tool = add_text(space, entry, failed)};
    add_rule(side, &deny, &match, NO_RULE);
    for (size_t i = 0; i < entry.len; i++) {
        struct slice server = {entry.ptr, i}, tool = slice_from(entry, i + 1);
        if (entry.ptr[i] != '/' || server.len == 0 || tool.len == 0) {
            continue;
        }
        match = (struct match){.server = add_text(space, server, failed)};
        match.tool = slice_is(tool, "*") ? 0 : add_text(space, tool, failed);
        add_rule(side, &deny, &match, NO_RULE);
    }
}

/* How many rules the entries of the default set become at most. */
static size_t count_entries(const struct policy *policy)
{
    size_t count = 0;
    for (uint32_t i = 0; i < policy->required_count; i++) {
        struct slice entry = policy_text(policy, policy->required[i]);
        count++;
        for (size_t j = 0; j < entry.len; j++) {
            count += entry.ptr[j] == '/';
        }
    }
    return count;
}

/* A rule as it is for an unreadable path: evaluation stops at it with a deny. */
static void stop_at(struct rule *rule)
{
    if (rule->match.path_prefix != 0 || rule->match.path_component != 0) {
        rule->effect = EFFECT_DENY;
        rule->match.path_prefix = rule->match.path_component = 0;
    }
}

static bool side_init(struct space *space, enum space_calls calls, struct side *side,
                      const struct policy *policy)
{
    struct translation t;
    size_t most = (size_t)policy->order_count + count_entries(policy) + 1;
    side->policy = policy;
    side->flat.rules = calloc(most, sizeof(*side->flat.rules));
    side->flat.args = calloc((size_t)policy->arg_count + 1, sizeof(*side->flat.args));
    side->flat.prefixes = calloc(1, sizeof(*side->flat.prefixes));
    side->origin = calloc(most, sizeof(*side->origin));
    side->place = malloc(((size_t)policy->rule_count + 1) * sizeof(*side->place));
    if (!translation_init(&t, space, policy) || side->flat.rules == NULL || side->flat.args == NULL ||
        side->flat.prefixes == NULL || side->origin == NULL || side->place == NULL) {
        translation_finish(&t);
        return false;
    }
    memset(side->place, 0xff, ((size_t)policy->rule_count + 1) * sizeof(*side->place)); /* NOWHERE */
    for (uint32_t i = 0; i < policy->order_count; i++) {
        const struct rule *rule = &policy->rules[policy->order[i]];
        struct match match = translate(&t, &rule->match, side->flat.args + side->flat.arg_count);
        match.arg_first = side->flat.arg_count;
        side->flat.arg_count += match.arg_count;
        add_rule(side, rule, &match, policy->order[i]);
        if (calls == SPACE_UNREADABLE) {
            stop_at(&side->flat.rules[side->flat.rule_count - 1]);
        }
    }
    for (uint32_t i = 0; i < policy->required_count; i++) {
        add_entry(space, side, policy_text(policy, policy->required[i]), &t.failed);
    }
    add_rule(side, &(struct rule){.effect = EFFECT_AUTO_APPROVE}, &(struct match){0}, NO_RULE);
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        struct slice key = policy_text(policy, policy->entries[i].key);
        (void)symbol_of(&t, policy->entries[i].key);
        (void)symbol_of(&t, policy->entries[i].name);
        for (size_t j = 0; j + 1 < key.len; j++) {
            if (key.ptr[j] == '/') {
                (void)add_text(space, (struct slice){key.ptr, j}, &t.failed);
                (void)add_text(space, slice_from(key, j + 1), &t.failed);
            }
        }
    }
    translation_finish(&t);
    return !t.failed;
}

static bool index_side(struct space *space, struct side *side)
{
    side->flat.symbols = space->symbols;
    side->flat.prefixes->count = space->paths.count;
    side->index = superset_create(&side->flat, SUPERSET_ORDER);
    for (uint32_t i = 0; side->index != NULL && i < side->flat.rule_count; i++) {
        superset_add(side->index, i);
    }
    return side->index != NULL && superset_state(side->index) != SUPERSET_NO_MEMORY;
}

static bool add_asked(struct space *space, const struct policy *asked, const struct assertion *assertions,
                      size_t count)
{
    struct translation t;
    space->asked = arena_array(&space->arena, count + 1, sizeof(*space->asked));
    bool ok = translation_init(&t, space, asked) && space->asked != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const struct match *match = &assertions[i].match;
        struct match_arg *args = arena_array(&space->arena, (size_t)match->arg_count + 1, sizeof(*args));
        ok = args != NULL;
        if (ok) {
            space->asked[i] = (struct box){.match = translate(&t, match, args), .args = args};
        }
    }
    translation_finish(&t);
    return ok && !t.failed;
}

/* ---- The tables over everything ---- */

static bool link_paths(struct space *space)
{
    size_t count = (size_t)space->paths.count + 1;
    space->path_up = arena_array(&space->arena, count, sizeof(*space->path_up));
    space->path_patterns = arena_array(&space->arena, count, sizeof(*space->path_patterns));
    if (space->path_up == NULL || space->path_patterns == NULL) {
        return false;
    }
    space->root = intern_find(&space->paths, SLICE("/"));
    for (uint32_t id = 1; id <= space->paths.count; id++) {
        struct slice text = intern_text(&space->paths, id);
        for (size_t end = text.len; end-- > 1 && space->path_up[id] == 0;) {
            if (text.ptr[end] == '/') {
                space->path_up[id] = intern_find(&space->paths, (struct slice){text.ptr, end});
            }
        }
        if (space->path_up[id] == 0 && id != space->root) {
            space->path_up[id] = space->root;
        }
    }
    return true;
}

/* Gathers the tool prefixes and the component patterns of all matches. */
static bool link_names(struct space *space, size_t asked_count)
{
    size_t most = asked_count;
    for (size_t s = 0; s < space->side_count; s++) {
        most += space->sides[s].flat.rule_count;
    }
    uint32_t *prefixes = malloc((most + 1) * sizeof(*prefixes)),
             *patterns = malloc((most + 1) * sizeof(*patterns));
    size_t prefix_count = 0, pattern_count = 0;
    bool ok = prefixes != NULL && patterns != NULL;
    for (size_t s = 0; ok && s <= space->side_count; s++) {
        size_t count = s == space->side_count ? asked_count : space->sides[s].flat.rule_count;
        for (size_t i = 0; i < count; i++) {
            const struct match *match =
                s == space->side_count ? &space->asked[i].match : &space->sides[s].flat.rules[i].match;
            if (match->tool_prefix != 0) {
                prefixes[prefix_count++] = match->tool_prefix;
            }
            if (match->path_component != 0) {
                patterns[pattern_count++] = match->path_component;
            }
        }
    }
    ok = ok && name_nest_of(&space->tools, &space->symbols, prefixes, prefix_count) &&
         patterns_init(&space->patterns, &space->symbols, patterns, pattern_count);
    free(prefixes);
    free(patterns);
    space->tool_at = arena_array(&space->arena, (size_t)space->symbols.count + 1, sizeof(*space->tool_at));
    space->tools_above =
        arena_array(&space->arena, (size_t)space->tools.deepest + 1, sizeof(*space->tools_above));
    space->paths_above = arena_array(&space->arena, PATHS_ABOVE_MAX, sizeof(*space->paths_above));
    space->components =
        arena_array(&space->arena, (size_t)space->patterns.count * 3 + 1, sizeof(*space->components));
    return ok && space->tool_at != NULL && space->tools_above != NULL && space->paths_above != NULL &&
           space->components != NULL;
}

/* Names that lists treat apart are interned like all others, so that no fresh name is one of them. */
static bool intern_built_in(struct space *space)
{
    bool failed = false;
    for (size_t i = 0; i < sizeof(tree_tools) / sizeof(tree_tools[0]); i++) {
        (void)add_text(space, slice_of(tree_tools[i]), &failed);
    }
    for (size_t i = 0; i < sizeof(path_names) / sizeof(path_names[0]); i++) {
        (void)add_text(space, slice_of(path_names[i]), &failed);
    }
    return !failed;
}

static void mark(bool *marks, uint32_t *list, uint32_t *count, uint32_t symbol)
{
    if (symbol != 0 && !marks[symbol]) {
        marks[symbol] = true;
        list[(*count)++] = symbol;
    }
}

static void mark_tool(struct space *space, struct slice tool)
{
    mark(space->listed_tool, space->listed, &space->listed_count, intern_find(&space->symbols, tool));
}

static void mark_path_name(struct space *space, struct slice name)
{
    mark(space->path_name, space->path_names, &space->path_name_count, intern_find(&space->symbols, name));
}

static void mark_pair(struct space *space, struct slice server, struct slice tool)
{
    uint32_t symbols[2] = {intern_find(&space->symbols, server), intern_find(&space->symbols, tool)};
    for (uint32_t i = 0; i < space->listed_pair_count; i++) {
        if (memcmp(space->listed_pairs + (size_t)2 * i, symbols, sizeof(symbols)) == 0) {
            return;
        }
    }
    if (symbols[0] != 0 && symbols[1] != 0) {
        memcpy(space->listed_pairs + (size_t)2 * space->listed_pair_count++, symbols, sizeof(symbols));
    }
}

/* How many slashes the keys of all lists have. */
static size_t count_pairs(const struct space *space)
{
    size_t count = 0;
    for (size_t s = 0; s < space->side_count; s++) {
        const struct policy *policy = space->sides[s].policy;
        for (uint32_t i = 0; i < policy->entry_count; i++) {
            struct slice key = policy_text(policy, policy->entries[i].key);
            for (size_t at = 0; at < key.len; at++) {
                count += key.ptr[at] == '/';
            }
        }
    }
    return count;
}

static void mark_entry(struct space *space, const struct policy *policy, const struct policy_entry *entry)
{
    struct slice key = policy_text(policy, entry->key), name = policy_text(policy, entry->name);
    if (entry->list != LIST_PATHS && entry->list != LIST_TREES) {
        return;
    }
    if (slice_is(key, "*")) {
        space->trees_everywhere = space->trees_everywhere || entry->list == LIST_TREES;
    } else {
        mark_tool(space, key);
    }
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '/') {
            mark_tool(space, slice_from(key, i + 1));
            mark_pair(space, (struct slice){key.ptr, i}, slice_from(key, i + 1));
        }
    }
    mark_path_name(space, name);
}

static bool mark_lists(struct space *space)
{
    size_t count = (size_t)space->symbols.count + 1;
    space->listed_tool = arena_array(&space->arena, count, sizeof(bool));
    space->path_name = arena_array(&space->arena, count, sizeof(bool));
    space->listed = arena_array(&space->arena, count, sizeof(uint32_t));
    space->path_names = arena_array(&space->arena, count, sizeof(uint32_t));
    space->listed_pairs = arena_array(&space->arena, count_pairs(space) * 2 + 1, sizeof(uint32_t));
    if (space->listed_pairs == NULL || space->listed_tool == NULL || space->path_name == NULL ||
        space->listed == NULL || space->path_names == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(tree_tools) / sizeof(tree_tools[0]); i++) {
        mark_tool(space, slice_of(tree_tools[i]));
    }
    for (size_t i = 0; i < sizeof(path_names) / sizeof(path_names[0]); i++) {
        mark_path_name(space, slice_of(path_names[i]));
    }
    for (size_t s = 0; s < space->side_count; s++) {
        const struct policy *policy = space->sides[s].policy;
        for (uint32_t i = 0; i < policy->entry_count; i++) {
            mark_entry(space, policy, &policy->entries[i]);
        }
    }
    return true;
}

bool space_init(struct space *space, enum space_calls calls, const struct policy *const *policies,
                size_t count, const struct policy *asked, const struct assertion *assertions,
                size_t assertion_count)
{
    *space = (struct space){.side_count = count};
    arena_init(&space->arena, 0);
    intern_init(&space->symbols, &space->arena);
    intern_init(&space->paths, &space->arena);
    bool ok = intern_built_in(space);
    for (size_t s = 0; ok && s < count; s++) {
        ok = side_init(space, calls, &space->sides[s], policies[s]);
    }
    size_t asked_count = asked == NULL ? 0 : assertion_count;
    ok = ok && (asked == NULL || add_asked(space, asked, assertions, asked_count)) && link_paths(space) &&
         link_names(space, asked_count) && mark_lists(space);
    for (size_t s = 0; ok && s < count; s++) {
        ok = index_side(space, &space->sides[s]);
    }
    if (!ok) {
        space_finish(space);
    }
    return ok;
}

void space_finish(struct space *space)
{
    for (size_t s = 0; s < SIDES; s++) {
        struct side *side = &space->sides[s];
        superset_destroy(side->index);
        free(side->flat.rules);
        free(side->flat.args);
        free(side->flat.prefixes);
        free(side->origin);
        free(side->place);
        *side = (struct side){0};
    }
    name_nest_finish(&space->tools);
    patterns_finish(&space->patterns);
    intern_finish(&space->symbols);
    intern_finish(&space->paths);
    arena_finish(&space->arena);
}

/* ---- Boxes ---- */

struct box space_box(const struct space *space, size_t side, uint32_t rule)
{
    const struct policy *flat = &space->sides[side].flat;
    const struct match *match = &flat->rules[rule].match;
    return (struct box){.match = *match, .args = flat->args + match->arg_first};
}

/* The tighter of two values of a field in which values are equal or apart; false when they are apart. */
static bool meet_plain(uint32_t a, uint32_t b, uint32_t *ret)
{
    *ret = a != 0 ? a : b;
    return a == 0 || b == 0 || a == b;
}

static bool meet_tools(const struct space *space, const struct match *a, const struct match *b,
                       struct match *ret)
{
    if (a->tool != 0 && b->tool != 0) {
        return a->tool == b->tool;
    }
    uint32_t a_name = a->tool != 0 ? a->tool : a->tool_prefix,
             b_name = b->tool != 0 ? b->tool : b->tool_prefix;
    if (a_name == 0 || b_name == 0) {
        ret->tool = a->tool != 0 ? a->tool : b->tool;
        ret->tool_prefix = a->tool_prefix != 0 ? a->tool_prefix : b->tool_prefix;
        return true;
    }
    struct slice a_text = intern_text(&space->symbols, a_name), b_text = intern_text(&space->symbols, b_name);
    if (a->tool == 0 && slice_starts_with(b_text, a_text)) {
        ret->tool = b->tool;
        ret->tool_prefix = b->tool_prefix;
        return true;
    }
    ret->tool = a->tool;
    ret->tool_prefix = a->tool_prefix;
    return b->tool == 0 && slice_starts_with(a_text, b_text);
}

static bool meet_paths(const struct space *space, uint32_t a, uint32_t b, uint32_t *ret)
{
    if (a == 0 || b == 0 || a == b) {
        *ret = a != 0 ? a : b;
        return true;
    }
    struct slice a_text = intern_text(&space->paths, a), b_text = intern_text(&space->paths, b);
    *ret = a_text.len > b_text.len ? a : b;
    return path_is_under(a_text, b_text) || path_is_under(b_text, a_text);
}

static bool meet_args(const struct box *a, const struct box *b, struct match_arg *args, struct box *ret)
{
    uint32_t i = 0, j = 0, count = 0;
    if (a->match.arg_count == 0 || b->match.arg_count == 0) {
        const struct box *from = a->match.arg_count != 0 ? a : b;
        ret->args = from->args;
        ret->match.arg_count = from->match.arg_count;
        return true;
    }
    while (i < a->match.arg_count || j < b->match.arg_count) {
        if (j == b->match.arg_count || (i < a->match.arg_count && a->args[i].key < b->args[j].key)) {
            args[count++] = a->args[i++];
        } else if (i == a->match.arg_count || b->args[j].key < a->args[i].key) {
            args[count++] = b->args[j++];
        } else if (a->args[i].value != b->args[j].value) {
            return false;
        } else {
            args[count++] = a->args[i++];
            j++;
        }
    }
    ret->args = args;
    ret->match.arg_count = count;
    return true;
}

bool space_meet(const struct space *space, const struct box *a, const struct box *b, struct match_arg *args,
                struct box *ret)
{
    const struct match *x = &a->match, *y = &b->match;
    uint32_t actor;
    *ret = (struct box){.match = {.tool = x->tool, .tool_prefix = x->tool_prefix}};
    if (!meet_tools(space, x, y, &ret->match) || !meet_plain(x->channel, y->channel, &ret->match.channel) ||
        !meet_plain(x->server, y->server, &ret->match.server) ||
        !meet_plain(x->thread, y->thread, &ret->match.thread) || !meet_plain(x->actor, y->actor, &actor) ||
        !meet_paths(space, x->path_prefix, y->path_prefix, &ret->match.path_prefix) ||
        !meet_args(a, b, args, ret)) {
        return false;
    }
    ret->match.actor = (uint8_t)actor;
    ret->match.path_component = x->path_component != 0 ? x->path_component : y->path_component;
    if (x->path_component != 0 && y->path_component != x->path_component) {
        ret->second_component = y->path_component;
    }
    return true;
}

/* ---- Trees ---- */

static bool names_tree_tool(struct slice tool)
{
    for (size_t i = 0; i < sizeof(tree_tools) / sizeof(tree_tools[0]); i++) {
        if (slice_is(tool, tree_tools[i])) {
            return true;
        }
    }
    return false;
}

/* Applies the entries of one key to a list of names. */
static size_t apply_entries(const struct policy *policy, struct slice server, struct slice tool,
                            struct slice *names, size_t count, size_t max)
{
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        struct slice key = policy_text(policy, policy->entries[i].key);
        struct slice name = policy_text(policy, policy->entries[i].name);
        if (server.ptr != NULL) {
            if (key.len != server.len + 1 + tool.len || !slice_starts_with(key, server) ||
                key.ptr[server.len] != '/') {
                continue;
            }
            key = slice_from(key, server.len + 1);
        }
        if (policy->entries[i].list != LIST_TREES || !slice_eq(key, tool)) {
            continue;
        }
        bool away = name.len > 1 && name.ptr[0] == '-';
        struct slice plain = away ? slice_from(name, 1) : name;
        size_t at = 0;
        while (at < count && !slice_eq_ascii_case(names[at], plain)) {
            at++;
        }
        if (away && at < count) {
            names[at] = names[--count];
        } else if (!away && at == count && count < max) {
            names[count++] = plain;
        }
    }
    return count;
}

size_t space_tree_names(const struct policy *policy, struct slice server, struct slice tool,
                        struct slice *ret, size_t max)
{
    size_t count = 0;
    if (max != 0 && names_tree_tool(tool)) {
        ret[count++] = SLICE("path");
    }
    count = apply_entries(policy, (struct slice){NULL, 0}, SLICE("*"), ret, count, max);
    count = apply_entries(policy, (struct slice){NULL, 0}, tool, ret, count, max);
    return server.ptr == NULL ? count : apply_entries(policy, server, tool, ret, count, max);
}

bool space_always_path(const struct space *space, const struct box *box)
{
    uint32_t tool = box->match.tool;
    if (!space->trees_everywhere && (tool == 0 || !space->listed_tool[tool])) {
        return false;
    }
    struct slice none = {NULL, 0}, name = tool == 0 ? SLICE("") : intern_text(&space->symbols, tool);
    struct slice server = box->match.server == 0 ? none : intern_text(&space->symbols, box->match.server);
    for (size_t s = 0; s < space->side_count; s++) {
        struct slice one[8];
        if (space_tree_names(space->sides[s].policy, server, name, one, 8) == 0) {
            return false;
        }
    }
    return true;
}

/* ---- Who decides ---- */

static uint32_t add_patterns(uint32_t *list, uint32_t count, const struct pattern_list *more)
{
    for (uint32_t i = 0; i < more->count; i++) {
        list[count++] = more->symbols[i];
    }
    return count;
}

/* The patterns that a path of the box that is like nothing else has: those of its prefix, and those that its
 * own patterns bring with them. One that stands twice only costs a look. */
static bool find_components(struct space *space, const struct box *box, uint32_t path, uint32_t *ret_count)
{
    uint32_t count = 0;
    const uint32_t own[2] = {box->match.path_component, box->second_component};
    if (path != 0) {
        struct pattern_list *list = &space->path_patterns[path];
        if (!list->made && !patterns_of_path(&space->patterns, intern_text(&space->paths, path), list)) {
            return false;
        }
        count = add_patterns(space->components, count, list);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct pattern_list *list = own[i] == 0 ? NULL : patterns_of_pattern(&space->patterns, own[i]);
        if (own[i] != 0 && list == NULL) {
            return false;
        }
        count = list == NULL ? count : add_patterns(space->components, count, list);
    }
    *ret_count = count;
    return true;
}

static uint32_t find_tools(struct space *space, uint32_t name)
{
    if (name == 0 || space->tools.count == 0) {
        return 0;
    }
    if (space->tool_at[name] == 0) {
        space->tool_at[name] = 1 + name_nest_find(&space->tools, intern_text(&space->symbols, name));
    }
    uint32_t count = 0;
    for (uint32_t at = space->tool_at[name] - 1; at != 0; at = space->tools.up[at - 1]) {
        space->tools_above[count++] = space->tools.symbols[at - 1];
    }
    return count;
}

uint32_t space_winner(struct space *space, size_t side, const struct box *box, enum actor actor, uint32_t end)
{
    struct question question = {.match = box->match,
                                .args = box->args,
                                .tools = space->tools_above,
                                .paths = space->paths_above,
                                .components = space->components};
    const struct match *match = &box->match;
    question.match.actor = (uint8_t)actor;
    question.tool_count = find_tools(space, match->tool != 0 ? match->tool : match->tool_prefix);
    uint32_t path = match->path_prefix;
    if (path == 0 && (match->path_component != 0 || space_always_path(space, box))) {
        path = space->root; /* it is above every path; 0 when no rule has it: then nothing is */
    }
    for (uint32_t id = path; id != 0; id = space->path_up[id]) {
        space->paths_above[question.path_count++] = id;
    }
    if (!find_components(space, box, path, &question.component_count)) {
        return NOWHERE;
    }
    return superset_first_of(space->sides[side].index, &question, end);
}
