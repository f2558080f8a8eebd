/* Making a space: policies and assertions in one numbering. */
#include "analysis/space_inside_internal.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/fold.h"

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

/* Remembers a value, exact and as it is written, that has a loose form. */
static void note_loose(struct translation *t, const struct match_arg *loose, const struct match_arg *exact,
                       uint32_t count)
{
    struct space *space = t->space;
    for (uint32_t i = 0; i < count; i++) {
        struct slice folded = slice_from(policy_text(t->policy, loose[i].key), 1);
        uint32_t form = symbol_of(t, loose[i].value);
        if (form >= space->loose_cap) {
            uint32_t cap = 2 * form + 64;
            uint32_t *values = realloc(space->loose_value, cap * sizeof(*values));
            if (values == NULL) {
                t->failed = true;
                return;
            }
            memset(values + space->loose_cap, 0, (cap - space->loose_cap) * sizeof(*values));
            space->loose_value = values;
            space->loose_cap = cap;
        }
        for (uint32_t j = 0; j < count; j++) {
            if (fold_eq(policy_text(t->policy, exact[j].key), folded)) {
                space->loose_value[form] = symbol_of(t, exact[j].value);
            }
        }
    }
}

/* The pairs of a match as every kind of rule compares them: an exact pair brings its loose one with it, so that whatever
 * contains a match has no pair that is not among the match's. How many. */
static uint32_t translate_args(struct translation *t, const struct match *match, bool exact_first,
                               struct match_arg *args)
{
    const struct match_arg *first = t->policy->args + match->arg_first, *second = first + match->arg_count;
    const struct match_arg *loose = exact_first ? second : first, *exact = exact_first ? first : second;
    uint32_t count = 0;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        args[count++] = (struct match_arg){symbol_of(t, loose[i].key), symbol_of(t, loose[i].value)};
        if (exact_first) {
            args[count++] = (struct match_arg){symbol_of(t, exact[i].key), symbol_of(t, exact[i].value)};
        }
    }
    note_loose(t, loose, exact, match->arg_count);
    qsort(args, count, sizeof(*args), by_key);
    return count;
}

/* A box may be wider than what has a list. */
static uint32_t no_list(uint32_t value)
{
    return (value & MATCH_SET) != 0 ? 0 : value;
}

static bool has_arg_lists(const struct policy *policy, const struct match *match)
{
    for (uint32_t i = 0; i < match->arg_count; i++) {
        if ((policy->args[match->arg_first + i].value & MATCH_SET) != 0) {
            return true;
        }
    }
    return false;
}

bool space_is_opaque(const struct policy *policy, const struct match *match)
{
    uint32_t lists = 0;
    for (unsigned field = 0; field < FIELD_VALUES; field++) {
        lists |= match->values[field] & MATCH_SET;
    }
    return lists != 0 || match->annotations != 0 ||
           (match->command | match->command_prefix | match->command_word | match->host) != 0 ||
           has_arg_lists(policy, match);
}

/* A match in the space's numbers; its pairs go to `args`: at most twice as many as it has. `exact` says that it compares
 * its arguments exactly. */
static struct match translate(struct translation *t, const struct match *match, bool exact,
                              struct match_arg *args)
{
    struct match to = {.actor = match->actor};
    bool command = (match->command | match->command_prefix | match->command_word) != 0;
    to.tool = symbol_of(t, no_list(match->tool));
    to.tool_prefix = symbol_of(t, no_list(match->tool_prefix));
    to.server = symbol_of(t, no_list(match->server));
    to.channel = symbol_of(t, no_list(match->channel));
    to.thread = symbol_of(t, match->thread);
    to.path_component = command ? 0 : symbol_of(t, no_list(match->path_component)); /* it asks the command */
    to.path_prefix = command ? 0 : path_of(t, no_list(match->path_prefix));
    to.host = command || match->host != 0 ? OTHER_SOME : OTHER_ANY;
    to.arg_count =
        match->arg_count == 0 || has_arg_lists(t->policy, match) ? 0 : translate_args(t, match, exact, args);
    t->space->most_args = to.arg_count > t->space->most_args ? to.arg_count : t->space->most_args;
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

/* `groups`: those of the rule, among the symbols of the space. */
static void add_rule(struct side *side, const struct rule *rule, const struct match *match, uint32_t groups,
                     uint32_t origin)
{
    side->origin[side->flat.rule_count] = origin;
    if (origin != NO_RULE) {
        side->place[origin] = side->flat.rule_count;
    }
    side->flat.rules[side->flat.rule_count] = *rule;
    side->flat.rules[side->flat.rule_count].groups = groups;
    side->flat.rules[side->flat.rule_count++].match = *match;
}

/* An entry of the default set: a tool's name, and every way to read it as a server and a tool (or all of its
 * tools). */
static void add_entry(struct space *space, struct side *side, struct slice entry, bool *failed)
{
    struct rule deny = {.effect = EFFECT_DENY};
    if (slice_is(entry, "*")) {
        add_rule(side, &deny, &(struct match){0}, 0, NO_RULE);
        return;
    }
    struct match match = {.tool = add_text(space, entry, failed)};
    add_rule(side, &deny, &match, 0, NO_RULE);
    for (size_t i = 0; i < entry.len; i++) {
        struct slice server = {entry.ptr, i}, tool = slice_from(entry, i + 1);
        if (entry.ptr[i] != '/' || server.len == 0 || tool.len == 0) {
            continue;
        }
        match = (struct match){.server = add_text(space, server, failed)};
        match.tool = slice_is(tool, "*") ? 0 : add_text(space, tool, failed);
        add_rule(side, &deny, &match, 0, NO_RULE);
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

/* A rule as it is for an unreadable path: evaluation stops at it with a deny. Beside command fields a path field looks
 * elsewhere. */
static void stop_at(struct rule *flat, const struct rule *rule)
{
    if ((rule->match.path_prefix | rule->match.path_component) != 0 &&
        (rule->looks & READING_FIELD_COMMAND) == 0) {
        flat->effect = EFFECT_DENY;
        flat->match.path_prefix = flat->match.path_component = 0;
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
    side->opaque = calloc(most, sizeof(*side->opaque));
    side->simple = calloc(most, sizeof(*side->simple));
    side->place = malloc(((size_t)policy->rule_count + 1) * sizeof(*side->place));
    if (!translation_init(&t, space, policy) || side->flat.rules == NULL || side->flat.args == NULL ||
        side->flat.prefixes == NULL || side->origin == NULL || side->opaque == NULL || side->simple == NULL ||
        side->place == NULL) {
        translation_finish(&t);
        return false;
    }
    memset(side->place, 0xff, ((size_t)policy->rule_count + 1) * sizeof(*side->place)); /* NOWHERE */
    for (uint32_t i = 0; i < policy->order_count; i++) {
        const struct rule *rule = &policy->rules[policy->order[i]];
        struct match match = translate(&t, &rule->match, rule->effect == EFFECT_AUTO_APPROVE,
                                       side->flat.args + side->flat.arg_count);
        match.arg_first = side->flat.arg_count;
        side->flat.arg_count += match.arg_count;
        /* At a path that cannot be read evaluation stops, whatever stands beside it. */
        if (calls != SPACE_UNREADABLE && (rule->looks & READING_FIELD_BARE) != 0 &&
            (rule->looks & READING_FIELD_PATH) != 0 && match.host == OTHER_ANY) {
            match.host = OTHER_NONE;
            space->bare = true;
        }
        side->opaque[side->flat.rule_count] = space_is_opaque(policy, &rule->match);
        add_rule(side, rule, &match, symbol_of(&t, rule->groups), policy->order[i]);
        if (calls == SPACE_UNREADABLE) {
            stop_at(&side->flat.rules[side->flat.rule_count - 1], rule);
        }
    }
    for (uint32_t i = 0; i < policy->required_count; i++) {
        add_entry(space, side, policy_text(policy, policy->required[i]), &t.failed);
    }
    add_rule(side, &(struct rule){.effect = EFFECT_AUTO_APPROVE}, &(struct match){0}, 0, NO_RULE);
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
    side->covering = overlap_create(side->flat.rule_count, OVERLAP_CONTAINS);
    if (side->index == NULL || side->covering == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < side->flat.rule_count; i++) {
        const struct rule *rule = side->origin[i] == NO_RULE ? NULL : &side->policy->rules[side->origin[i]];
        if (!side->opaque[i]) {
            side->simple[side->simple_count++] = i;
            superset_add(side->index, i);
        } else if (rule != NULL && space_is_solid(rule)) {
            overlap_add(side->covering, side->policy, rule, i);
        }
    }
    return superset_state(side->index) != SUPERSET_NO_MEMORY && !overlap_failed(side->covering);
}

static bool add_asked(struct space *space, const struct policy *asked, const struct assertion *assertions,
                      size_t count)
{
    struct translation t;
    space->asked = arena_array(&space->arena, count + 1, sizeof(*space->asked));
    bool ok = translation_init(&t, space, asked) && space->asked != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const struct match *match = &assertions[i].match;
        struct match_arg *args = arena_array(&space->arena, 2 * (size_t)match->arg_count + 1, sizeof(*args));
        ok = args != NULL;
        if (ok) {
            space->asked[i] = (struct box){.match = translate(&t, match, true, args), .args = args};
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
    for (size_t i = 0; i < SPACE_TREE_TOOLS; i++) {
        (void)add_text(space, slice_of(space_tree_tools[i]), &failed);
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
    for (size_t i = 0; i < SPACE_TREE_TOOLS; i++) {
        mark_tool(space, slice_of(space_tree_tools[i]));
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
        overlap_destroy(side->covering);
        free(side->flat.rules);
        free(side->flat.args);
        free(side->flat.prefixes);
        free(side->origin);
        free(side->opaque);
        free(side->simple);
        free(side->place);
        *side = (struct side){0};
    }
    free(space->loose_value);
    space->loose_value = NULL;
    name_nest_finish(&space->tools);
    patterns_finish(&space->patterns);
    intern_finish(&space->symbols);
    intern_finish(&space->paths);
    arena_finish(&space->arena);
}
