/* Boxes of a space: their meetings, the trees of their tools, and which rule decides them. */
#include "analysis/analysis.h"
#include "analysis/shadows_internal.h"
#include "analysis/space_inside_internal.h"
#include "base/fold.h"

const char *const space_tree_tools[SPACE_TREE_TOOLS] = {"directory_tree", "search_files", "Grep", "Glob"};

/* ---- Boxes ---- */

struct box space_box(const struct space *space, size_t side, uint32_t rule)
{
    const struct policy *flat = &space->sides[side].flat;
    const struct match *match = &flat->rules[rule].match;
    return (struct box){.match = *match, .args = flat->args + match->arg_first};
}

const struct rule *space_rule(const struct space *space, size_t side, uint32_t rule)
{
    const struct side *at = &space->sides[side];
    return at->origin[rule] == NO_RULE ? NULL : &at->policy->rules[at->origin[rule]];
}

/* Whether a rule with commands matches whatever its fields hold: an auto_approve does not match a command behind an
 * assignment, nor, without a tool, a reading with something that it does not name. */
bool space_is_solid(const struct rule *rule)
{
    return rule->effect != EFFECT_AUTO_APPROVE ||
           (rule->looks & (READING_FIELD_COMMAND | READING_FIELD_BARE)) == 0;
}

uint32_t space_first_cover(const struct space *space, size_t side, const struct policy *policy,
                           const struct rule *rule)
{
    const struct side *at = &space->sides[side];
    uint32_t i;
    overlap_ask(at->covering, policy, rule);
    while (overlap_next(at->covering, &i)) {
        if (rule_subset(policy, rule, at->policy, space_rule(space, side, i))) {
            return i;
        }
    }
    return NOWHERE;
}

bool space_is_loose(const struct space *space, uint32_t key)
{
    struct slice text = intern_text(&space->symbols, key);
    return text.len != 0 && text.ptr[0] == MATCH_LOOSE_KEY;
}

bool space_has_exact(const struct space *space, const struct box *box, uint32_t loose_key)
{
    struct slice folded = slice_from(intern_text(&space->symbols, loose_key), 1);
    for (uint32_t i = 0; i < box->match.arg_count; i++) {
        uint32_t key = box->args[i].key;
        if (!space_is_loose(space, key) && fold_eq(intern_text(&space->symbols, key), folded)) {
            return true;
        }
    }
    return false;
}

uint32_t space_loose_value(const struct space *space, uint32_t form)
{
    return space->loose_value[form];
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

size_t space_room(const struct space *space, uint32_t rules)
{
    return (size_t)space->most_args * rules + 1;
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
        !meet_plain(x->host, y->host, &ret->match.host) ||
        !meet_paths(space, x->path_prefix, y->path_prefix, &ret->match.path_prefix) ||
        !meet_args(a, b, args, ret)) {
        return false;
    }
    ret->match.actor = actor;
    ret->match.path_component = x->path_component != 0 ? x->path_component : y->path_component;
    if (x->path_component != 0 && y->path_component != x->path_component) {
        ret->second_component = y->path_component;
    }
    return true;
}

/* ---- Trees ---- */

static bool names_tree_tool(struct slice tool)
{
    for (size_t i = 0; i < SPACE_TREE_TOOLS; i++) {
        if (slice_is(tool, space_tree_tools[i])) {
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

uint32_t space_points(const struct space *space, const struct box *box, uint32_t ret[SPACE_POINTS])
{
    uint32_t count = 0;
    for (uint32_t actor = ACTOR_SESSION_OWNER; actor <= ACTOR_CLAUDE_PROCESS; actor++) {
        if (box->match.actor != ACTOR_ANY && box->match.actor != actor) {
            continue;
        }
        if (box->match.host != OTHER_SOME) {
            ret[count++] = actor;
        }
        if (box->match.host == OTHER_SOME || (box->match.host == OTHER_ANY && space->bare)) {
            ret[count++] = actor | SPACE_OTHER;
        }
    }
    return count;
}

uint32_t space_winner(struct space *space, size_t side, const struct box *box, uint32_t point, uint32_t end)
{
    struct question question = {.match = box->match,
                                .args = box->args,
                                .tools = space->tools_above,
                                .paths = space->paths_above,
                                .components = space->components};
    const struct match *match = &box->match;
    question.match.actor = (uint32_t)space_actor(point);
    question.match.host = (point & SPACE_OTHER) != 0 ? OTHER_SOME : OTHER_NONE;
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
