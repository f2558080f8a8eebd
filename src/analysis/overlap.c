#include "analysis/overlap.h"

#include <stdlib.h>

#include "analysis/analysis.h"

enum {
    S_SERVER = 1,
    S_CHANNEL = 2,
    S_THREAD = 4,
    S_ACTOR = 8,
    S_TOOL = 16,
    S_TOOL_PREFIX = 32,
    S_PATH = 64,
};

#define STEPS_BASE     ((uint64_t)1 << 27)
#define STEPS_PER_RULE 64u
/* A value below which something is counted, beside the value itself. */
#define BELOW ((uint64_t)1 << 32)

/* Rules of one shape, in load order. */
struct group {
    uint32_t shape;        /* number in `shapes` */
    uint32_t first, count; /* in the sorted list */
};

struct side {
    uint32_t *rules;
    struct group *groups;
    uint32_t group_count;
};

/* What two shapes share. */
struct shared {
    uint32_t exact;       /* exact fields that both have */
    uint32_t stored_tool; /* S_TOOL or S_TOOL_PREFIX where both have one of the two; else 0 */
    uint32_t asking_tool;
    bool path;
    const uint32_t *keys; /* argument keys that both have, ascending */
    uint32_t key_count;
};

struct entry {
    uint64_t tool, path; /* the value by which it was counted, perhaps with BELOW */
    uint32_t hash;
    uint32_t first, count; /* count 0: free */
};

struct counter {
    const struct policy *policy;
    struct arena arena;
    struct intern shapes; /* fields and keys, as bytes */
    struct side stored, asking;
    struct tool_nest tools;          /* of the stored and the asking rules */
    bool *asked_tools, *asked_paths; /* by symbol, by prefix: some asking rule has it */
    uint32_t *tools_above, *paths_above;
    struct entry *table;
    size_t table_mask, table_used;
    uint32_t *keys;
    uint64_t steps, steps_max;
    bool failed;
    struct overlap *result; /* by place in `asking` */
    uint32_t *place;        /* by place in asking.rules: place in the caller's list */
};

static bool step(struct counter *c)
{
    return ++c->steps <= c->steps_max && !c->failed;
}

/* ---- Shapes ---- */

static uint32_t fields_of(const struct match *match)
{
    return (match->server ? S_SERVER : 0u) | (match->channel ? S_CHANNEL : 0u) |
           (match->thread ? S_THREAD : 0u) | (match->actor ? S_ACTOR : 0u) | (match->tool ? S_TOOL : 0u) |
           (match->tool_prefix ? S_TOOL_PREFIX : 0u) | (match->path_prefix ? S_PATH : 0u);
}

static uint32_t shape_number(struct counter *c, const struct match *match)
{
    c->keys[0] = fields_of(match);
    for (uint32_t i = 0; i < match->arg_count; i++) {
        c->keys[i + 1] = c->policy->args[match->arg_first + i].key;
    }
    return intern_add(&c->shapes,
                      (struct slice){(const char *)c->keys, (match->arg_count + 1u) * sizeof(uint32_t)});
}

/* The fields and the keys of a shape. */
static uint32_t shape_fields(const struct counter *c, uint32_t shape, const uint32_t **ret_keys,
                             uint32_t *ret_count)
{
    struct slice text = intern_text(&c->shapes, shape);
    const uint32_t *words = (const uint32_t *)(const void *)text.ptr; /* an arena's pieces are aligned */
    *ret_keys = words + 1;
    *ret_count = (uint32_t)(text.len / sizeof(uint32_t)) - 1;
    return words[0];
}

/* Sorts rules into groups by shape; within a group they stay in load order, and groups are in that of their
 * first rules. `ret_place`, if not NULL, gets where each sorted rule stood. */
static bool group_rules(struct counter *c, const uint32_t *rules, size_t count, struct side *ret,
                        uint32_t *ret_place)
{
    uint32_t *group_of = calloc(count + 1, sizeof(*group_of));
    uint32_t *numbers = NULL; /* by shape: 1 + group */
    size_t numbers_cap = 0;
    ret->rules = arena_array(&c->arena, count + 1, sizeof(*ret->rules));
    ret->groups = arena_array(&c->arena, count + 1, sizeof(*ret->groups));
    bool ok = group_of != NULL && ret->rules != NULL && ret->groups != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t shape = shape_number(c, &c->policy->rules[rules[i]].match);
        if (shape >= numbers_cap) {
            size_t cap = ((size_t)shape + 64) * 2;
            uint32_t *longer = realloc(numbers, cap * sizeof(*numbers));
            ok = longer != NULL && shape != 0;
            if (longer != NULL) {
                memset(longer + numbers_cap, 0, (cap - numbers_cap) * sizeof(*numbers));
                numbers = longer;
                numbers_cap = cap;
            }
        }
        if (ok && numbers[shape] == 0) {
            ret->groups[ret->group_count] = (struct group){.shape = shape};
            numbers[shape] = ++ret->group_count;
        }
        group_of[i] = ok ? numbers[shape] - 1 : 0;
        ret->groups[group_of[i]].count++;
    }
    uint32_t at = 0;
    for (uint32_t g = 0; ok && g < ret->group_count; g++) {
        ret->groups[g].first = at;
        at += ret->groups[g].count;
        ret->groups[g].count = 0;
    }
    for (size_t i = 0; ok && i < count; i++) {
        struct group *group = &ret->groups[group_of[i]];
        if (ret_place != NULL) {
            ret_place[group->first + group->count] = (uint32_t)i;
        }
        ret->rules[group->first + group->count++] = rules[i];
    }
    free(group_of);
    free(numbers);
    return ok;
}

static struct shared share(const struct counter *c, uint32_t stored_shape, uint32_t asking_shape,
                           uint32_t *keys)
{
    const uint32_t *a, *b;
    uint32_t a_count, b_count;
    uint32_t a_fields = shape_fields(c, stored_shape, &a, &a_count);
    uint32_t b_fields = shape_fields(c, asking_shape, &b, &b_count);
    struct shared shared = {.exact = a_fields & b_fields & (S_SERVER | S_CHANNEL | S_THREAD | S_ACTOR),
                            .path = (a_fields & b_fields & S_PATH) != 0,
                            .keys = keys};
    uint32_t tool = S_TOOL | S_TOOL_PREFIX;
    if ((a_fields & tool) != 0 && (b_fields & tool) != 0) {
        shared.stored_tool = a_fields & tool;
        shared.asking_tool = b_fields & tool;
    }
    for (uint32_t i = 0, j = 0; i < a_count && j < b_count;) {
        if (a[i] == b[j]) {
            keys[shared.key_count++] = a[i];
            i++;
            j++;
        } else if (a[i] < b[j]) {
            i++;
        } else {
            j++;
        }
    }
    return shared;
}

/* ---- The table of one stored shape and one set of shared fields ---- */

static uint32_t shared_value(const struct policy *policy, const struct match *match, uint32_t key,
                             uint32_t *at)
{
    while (policy->args[match->arg_first + *at].key != key) {
        (*at)++; /* the shape has the key, so the match does */
    }
    return policy->args[match->arg_first + *at].value;
}

static uint64_t hash_exact(const struct counter *c, const struct shared *shared, const struct match *match)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    h += (shared->exact & S_SERVER ? match->server : 0) * 0xbf58476d1ce4e5b9u;
    h += (shared->exact & S_CHANNEL ? match->channel : 0) * 0x94d049bb133111ebu;
    h += (shared->exact & S_THREAD ? match->thread : 0) * 0xc2b2ae3d27d4eb4fu;
    h += (shared->exact & S_ACTOR ? match->actor : 0u) * 0x165667b19e3779f9u;
    for (uint32_t i = 0, at = 0; i < shared->key_count; i++) {
        h = (h ^ shared_value(c->policy, match, shared->keys[i], &at)) * 0xd6e8feb86659fd93u;
        h ^= h >> 29;
    }
    return h;
}

static uint32_t hash_all(uint64_t exact, uint64_t tool, uint64_t path)
{
    uint64_t h = exact + tool * 0xc4ceb9fe1a85ec53u + path * 0x2545f4914f6cdd1du;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32);
}

static bool same_exact(const struct counter *c, const struct shared *shared, const struct match *a,
                       const struct match *b)
{
    if (((shared->exact & S_SERVER) && a->server != b->server) ||
        ((shared->exact & S_CHANNEL) && a->channel != b->channel) ||
        ((shared->exact & S_THREAD) && a->thread != b->thread) ||
        ((shared->exact & S_ACTOR) && a->actor != b->actor)) {
        return false;
    }
    for (uint32_t i = 0, x = 0, y = 0; i < shared->key_count; i++) {
        if (shared_value(c->policy, a, shared->keys[i], &x) !=
            shared_value(c->policy, b, shared->keys[i], &y)) {
            return false;
        }
    }
    return true;
}

/* The entry for these values, or the free one where it belongs; there is always a free one. */
static struct entry *entry_of(const struct counter *c, const struct shared *shared, const struct match *match,
                              uint32_t hash, uint64_t tool, uint64_t path)
{
    for (size_t at = hash & c->table_mask;; at = (at + 1) & c->table_mask) {
        struct entry *entry = &c->table[at];
        if (entry->count == 0 || (entry->hash == hash && entry->tool == tool && entry->path == path &&
                                  same_exact(c, shared, &c->policy->rules[entry->first].match, match))) {
            return entry;
        }
    }
}

/* Keeps the table at most half full. */
static bool make_room(struct counter *c)
{
    if (c->table_used * 2 <= c->table_mask) {
        return true;
    }
    size_t mask = c->table_mask * 2 + 1;
    struct entry *table = calloc(mask + 1, sizeof(*table));
    if (table == NULL) {
        return false;
    }
    for (size_t i = 0; i <= c->table_mask; i++) {
        if (c->table[i].count != 0) {
            size_t at = c->table[i].hash & mask;
            while (table[at].count != 0) {
                at = (at + 1) & mask;
            }
            table[at] = c->table[i];
        }
    }
    free(c->table);
    c->table = table;
    c->table_mask = mask;
    return true;
}

static void count_at(struct counter *c, const struct shared *shared, uint32_t rule, uint64_t exact,
                     uint64_t tool, uint64_t path)
{
    if (!step(c) || !make_room(c)) {
        c->failed = c->failed || c->steps <= c->steps_max;
        return;
    }
    const struct match *match = &c->policy->rules[rule].match;
    uint32_t hash = hash_all(exact, tool, path);
    struct entry *entry = entry_of(c, shared, match, hash, tool, path);
    if (entry->count == 0) {
        *entry = (struct entry){.tool = tool, .path = path, .hash = hash, .first = rule};
        c->table_used++;
    }
    entry->count++;
}

static void count_paths(struct counter *c, const struct shared *shared, uint32_t rule, uint64_t exact,
                        uint64_t tool)
{
    const struct match *match = &c->policy->rules[rule].match;
    if (!shared->path) {
        count_at(c, shared, rule, exact, tool, 0);
        return;
    }
    count_at(c, shared, rule, exact, tool, match->path_prefix);
    size_t above =
        path_prefixes_above(c->policy->prefixes, c->policy->prefixes->list[match->path_prefix - 1].path,
                            c->paths_above, PATHS_ABOVE_MAX);
    for (size_t i = 0; i < above; i++) {
        if (c->asked_paths[c->paths_above[i]]) {
            count_at(c, shared, rule, exact, tool, c->paths_above[i] | BELOW);
        }
    }
}

static void count_rule(struct counter *c, const struct shared *shared, uint32_t rule)
{
    const struct match *match = &c->policy->rules[rule].match;
    uint64_t exact = hash_exact(c, shared, match);
    uint32_t name = match->tool != 0 ? match->tool : match->tool_prefix;
    if (shared->stored_tool == 0) {
        count_paths(c, shared, rule, exact, 0);
        return;
    }
    if (shared->stored_tool == S_TOOL_PREFIX || shared->asking_tool == S_TOOL) {
        count_paths(c, shared, rule, exact, name);
    }
    if (shared->asking_tool == S_TOOL_PREFIX) {
        uint32_t above = tool_nest_above(&c->tools, policy_text(c->policy, name), c->tools_above);
        for (uint32_t i = 0; i < above; i++) {
            if (c->asked_tools[c->tools_above[i]]) {
                count_paths(c, shared, rule, exact, c->tools_above[i] | BELOW);
            }
        }
    }
}

static void look_at(struct counter *c, const struct shared *shared, const struct match *match, uint64_t exact,
                    uint64_t tool, uint64_t path, struct overlap *result)
{
    if (!step(c)) {
        return;
    }
    const struct entry *entry = entry_of(c, shared, match, hash_all(exact, tool, path), tool, path);
    if (entry->count != 0) {
        result->first = entry->first < result->first ? entry->first : result->first;
        result->count += entry->count;
    }
}

static void look_at_paths(struct counter *c, const struct shared *shared, const struct match *match,
                          uint64_t exact, uint64_t tool, size_t paths, struct overlap *result)
{
    if (!shared->path) {
        look_at(c, shared, match, exact, tool, 0, result);
        return;
    }
    look_at(c, shared, match, exact, tool, match->path_prefix | BELOW, result);
    for (size_t i = 0; i < paths; i++) {
        if (c->paths_above[i] != match->path_prefix) {
            look_at(c, shared, match, exact, tool, c->paths_above[i], result);
        }
    }
}

static void look_up(struct counter *c, const struct shared *shared, uint32_t rule, struct overlap *result)
{
    const struct match *match = &c->policy->rules[rule].match;
    uint64_t exact = hash_exact(c, shared, match);
    uint32_t name = match->tool != 0 ? match->tool : match->tool_prefix;
    size_t paths = !shared->path ? 0
                                 : path_prefixes_above(c->policy->prefixes,
                                                       c->policy->prefixes->list[match->path_prefix - 1].path,
                                                       c->paths_above, PATHS_ABOVE_MAX);
    if (shared->asking_tool == 0) {
        look_at_paths(c, shared, match, exact, 0, paths, result);
        return;
    }
    if (shared->asking_tool == S_TOOL_PREFIX) {
        look_at_paths(c, shared, match, exact, name | BELOW, paths, result);
    } else if (shared->stored_tool == S_TOOL) {
        look_at_paths(c, shared, match, exact, name, paths, result);
    }
    if (shared->stored_tool == S_TOOL_PREFIX) {
        uint32_t above = tool_nest_above(&c->tools, policy_text(c->policy, name), c->tools_above);
        for (uint32_t i = 0; i < above; i++) {
            /* A prefix equal to an asking prefix is below it, and was counted there. */
            if (shared->asking_tool == S_TOOL || c->tools_above[i] != name) {
                look_at_paths(c, shared, match, exact, c->tools_above[i], paths, result);
            }
        }
    }
}

/* ---- Two shapes ---- */

/* Few pairs: compare them. */
static void compare_pairs(struct counter *c, const struct group *stored, const struct group *asking)
{
    for (uint32_t i = 0; i < asking->count; i++) {
        struct overlap *result = &c->result[c->place[asking->first + i]];
        const struct match *match = &c->policy->rules[c->asking.rules[asking->first + i]].match;
        for (uint32_t j = 0; j < stored->count && step(c); j++) {
            uint32_t rule = c->stored.rules[stored->first + j];
            if (match_intersects(c->policy, match, c->policy, &c->policy->rules[rule].match)) {
                result->first = rule < result->first ? rule : result->first;
                result->count++;
            }
        }
    }
}

/* An asking shape beside what it shares with the stored one, so that those that share the same stand
 * together. */
struct pairing {
    struct shared shared;
    uint32_t group;
};

static int by_shared(const void *a, const void *b)
{
    const struct shared *x = &((const struct pairing *)a)->shared, *y = &((const struct pairing *)b)->shared;
    uint64_t left = (uint64_t)x->exact << 32 | x->stored_tool << 16 | x->asking_tool << 8 | x->path;
    uint64_t right = (uint64_t)y->exact << 32 | y->stored_tool << 16 | y->asking_tool << 8 | y->path;
    if (left != right) {
        return left < right ? -1 : 1;
    }
    if (x->key_count != y->key_count) {
        return x->key_count < y->key_count ? -1 : 1;
    }
    return x->key_count == 0 ? 0 : memcmp(x->keys, y->keys, x->key_count * sizeof(*x->keys));
}

static bool build_table(struct counter *c, const struct shared *shared, const struct group *stored)
{
    size_t cap = 64;
    while (cap < (size_t)stored->count * 2) {
        cap *= 2;
    }
    free(c->table);
    c->table = calloc(cap, sizeof(*c->table));
    c->table_mask = cap - 1;
    c->table_used = 0;
    if (c->table == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < stored->count; i++) {
        count_rule(c, shared, c->stored.rules[stored->first + i]);
    }
    return !c->failed;
}

/* All asking shapes against one stored shape. */
static bool meet_shape(struct counter *c, const struct group *stored, struct pairing *pairings,
                       struct arena *scratch)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < c->asking.group_count && c->steps <= c->steps_max; g++) {
        const struct group *asking = &c->asking.groups[g];
        c->steps++;
        if ((uint64_t)stored->count * asking->count <= 8 * ((uint64_t)stored->count + asking->count)) {
            compare_pairs(c, stored, asking);
            continue;
        }
        const uint32_t *keys;
        uint32_t key_count;
        (void)shape_fields(c, asking->shape, &keys, &key_count);
        uint32_t *shared_keys = arena_array(scratch, (size_t)key_count + 1, sizeof(*shared_keys));
        if (shared_keys == NULL) {
            return false;
        }
        pairings[count++] = (struct pairing){share(c, stored->shape, asking->shape, shared_keys), g};
    }
    qsort(pairings, count, sizeof(*pairings), by_shared);
    for (uint32_t i = 0; i < count && c->steps <= c->steps_max; i++) {
        const struct shared *shared = &pairings[i].shared;
        if ((i == 0 || by_shared(&pairings[i - 1], &pairings[i]) != 0) && !build_table(c, shared, stored)) {
            return false;
        }
        const struct group *asking = &c->asking.groups[pairings[i].group];
        for (uint32_t j = 0; j < asking->count; j++) {
            look_up(c, shared, c->asking.rules[asking->first + j], &c->result[c->place[asking->first + j]]);
        }
    }
    return !c->failed;
}

static bool meet_all(struct counter *c)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    struct pairing *pairings = calloc((size_t)c->asking.group_count + 1, sizeof(*pairings));
    bool ok = pairings != NULL;
    for (uint32_t g = 0; ok && g < c->stored.group_count && c->steps <= c->steps_max; g++) {
        arena_reset(&scratch);
        ok = meet_shape(c, &c->stored.groups[g], pairings, &scratch);
    }
    free(pairings);
    arena_finish(&scratch);
    return ok;
}

/* ---- The whole ---- */

static bool any_rule(const struct rule *rule)
{
    (void)rule;
    return true;
}

static bool prepare(struct counter *c, const uint32_t *stored, size_t stored_count, const uint32_t *asking,
                    size_t asking_count)
{
    const struct policy *policy = c->policy;
    uint32_t most_args = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        most_args =
            policy->rules[i].match.arg_count > most_args ? policy->rules[i].match.arg_count : most_args;
    }
    if (!tool_nest_init(&c->tools, policy, any_rule)) {
        return false;
    }
    c->keys = arena_array(&c->arena, (size_t)most_args + 1, sizeof(*c->keys));
    c->place = arena_array(&c->arena, asking_count + 1, sizeof(*c->place));
    c->asked_tools = arena_array(&c->arena, (size_t)policy->symbols.count + 1, sizeof(*c->asked_tools));
    c->asked_paths = arena_array(&c->arena, (size_t)policy->prefixes->count + 1, sizeof(*c->asked_paths));
    c->tools_above = arena_array(&c->arena, (size_t)c->tools.deepest + 1, sizeof(*c->tools_above));
    c->paths_above = arena_array(&c->arena, PATHS_ABOVE_MAX, sizeof(*c->paths_above));
    if (c->keys == NULL || c->place == NULL || c->asked_tools == NULL || c->asked_paths == NULL ||
        c->tools_above == NULL || c->paths_above == NULL) {
        return false;
    }
    for (size_t i = 0; i < asking_count; i++) {
        c->asked_tools[policy->rules[asking[i]].match.tool_prefix] = true;
        c->asked_paths[policy->rules[asking[i]].match.path_prefix] = true;
    }
    return group_rules(c, stored, stored_count, &c->stored, NULL) &&
           group_rules(c, asking, asking_count, &c->asking, c->place);
}

enum overlap_result overlap_count(const struct policy *policy, const uint32_t *stored, size_t stored_count,
                                  const uint32_t *asking, size_t asking_count, struct overlap *ret_overlaps)
{
    for (size_t i = 0; i < asking_count; i++) {
        ret_overlaps[i] = (struct overlap){.first = UINT32_MAX};
    }
    if (stored_count == 0 || asking_count == 0) {
        return OVERLAP_WHOLE;
    }
    struct counter c = {.policy = policy, .result = ret_overlaps};
    c.steps_max = STEPS_BASE + (uint64_t)STEPS_PER_RULE * (stored_count + asking_count);
    arena_init(&c.arena, 0);
    intern_init(&c.shapes, &c.arena);
    bool ok = prepare(&c, stored, stored_count, asking, asking_count) && meet_all(&c);
    enum overlap_result result = !ok                     ? OVERLAP_NO_MEMORY
                                 : c.steps > c.steps_max ? OVERLAP_EXHAUSTED
                                                         : OVERLAP_WHOLE;
    tool_nest_finish(&c.tools);
    intern_finish(&c.shapes);
    arena_finish(&c.arena);
    free(c.table);
    return result;
}
