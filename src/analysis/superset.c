/* Which rules' matches contain a match: a set that is asked by fields. */
#include <stdlib.h>
#include <string.h>

#include "analysis/superset_inside_internal.h"

/* Enough for a million rules of any sane layout; a few seconds of looking for others. */
#define STEPS_BASE     ((uint64_t)1 << 25)
#define STEPS_PER_RULE 64u

bool superset_takes(const struct policy *policy, const struct rule *rule)
{
    const struct match *match = &rule->match;
    uint32_t sets = match->annotations;
    for (unsigned field = 0; field < FIELD_VALUES; field++) {
        sets |= match->values[field] & MATCH_SET;
    }
    for (uint32_t i = 0; i < match->arg_count; i++) {
        sets |= policy->args[match->arg_first + i].value & MATCH_SET;
    }
    return (match->command | match->command_prefix | match->command_word | match->host | sets) == 0;
}

/* ---- Making ---- */

void superset_destroy(struct superset *set)
{
    if (set == NULL) {
        return;
    }
    name_nest_finish(&set->tools);
    free(set->path_up);
    free(set->shapes);
    free(set->shape_of);
    free(set->symbol_shapes);
    free(set->path_shapes);
    free(set->nodes);
    free(set->slots);
    free(set->same);
    free(set->tools_above);
    free(set->paths_above);
    free(set->found);
    free(set->stack_node);
    free(set->stack_at);
    free(set->asked_args);
    free(set);
}

static bool allocate(struct superset *set)
{
    const struct policy *policy = set->policy;
    size_t args = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        if (policy->rules[i].match.arg_count > args) {
            args = policy->rules[i].match.arg_count;
        }
    }
    if (!name_nest_init(&set->tools, policy)) {
        return false;
    }
    uint32_t slots = 64;
    while (slots < policy->rule_count * 2) {
        slots *= 2;
    }
    set->slots_mask = slots - 1;
    set->slots = calloc(slots, sizeof(*set->slots));
    set->path_up = calloc((size_t)policy->prefixes->count + 1, sizeof(*set->path_up));
    set->shapes = calloc(SHAPES_MAX, sizeof(*set->shapes));
    set->shape_of = calloc(SHAPES_MAX, sizeof(*set->shape_of));
    set->symbol_shapes = calloc((size_t)policy->symbols.count + 1, sizeof(*set->symbol_shapes));
    set->path_shapes = calloc((size_t)policy->prefixes->count + 1, sizeof(*set->path_shapes));
    set->same = calloc(set->mode == SUPERSET_EVERY ? (size_t)policy->rule_count + 1 : 1, sizeof(*set->same));
    set->tools_above = calloc((size_t)set->tools.deepest + 1, sizeof(*set->tools_above));
    set->paths_above = calloc(PATHS_ABOVE_MAX, sizeof(*set->paths_above));
    set->stack_node = calloc(args + 2, sizeof(*set->stack_node));
    set->stack_at = calloc(args + 2, sizeof(*set->stack_at));
    set->asked_args = calloc(2 * args + 2, sizeof(*set->asked_args));
    return set->slots != NULL && set->path_up != NULL && set->shapes != NULL && set->shape_of != NULL &&
           set->symbol_shapes != NULL && set->path_shapes != NULL && set->same != NULL &&
           set->tools_above != NULL && set->paths_above != NULL && set->stack_node != NULL &&
           set->stack_at != NULL && set->asked_args != NULL;
}

struct superset *superset_create(const struct policy *policy, enum superset_mode mode)
{
    struct superset *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        return NULL;
    }
    set->policy = policy;
    set->mode = mode;
    set->steps_max = STEPS_BASE + (uint64_t)STEPS_PER_RULE * policy->rule_count;
    if (!allocate(set)) {
        superset_destroy(set);
        return NULL;
    }
    return set;
}

enum superset_state superset_state(const struct superset *set)
{
    return set->failed ? SUPERSET_NO_MEMORY : set->exhausted ? SUPERSET_EXHAUSTED : SUPERSET_WHOLE;
}
/* ---- The table ---- */

static uint32_t finish_hash(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return (uint32_t)h;
}

/* What the exact fields of a shape add to the hash of a match. */
uint64_t superset_hash(uint32_t shape, uint32_t fields, const struct match *match)
{
    uint64_t h = (shape + 1) * 0x9e3779b97f4a7c15u;
    h += (fields & BIT(F_SERVER) ? match->server : 0) * 0xbf58476d1ce4e5b9u;
    h += (fields & BIT(F_CHANNEL) ? match->channel : 0) * 0x94d049bb133111ebu;
    h += (fields & BIT(F_THREAD) ? match->thread : 0) * 0xc2b2ae3d27d4eb4fu;
    h += (fields & BIT(F_ACTOR) ? match->actor : 0u) * 0x165667b19e3779f9u;
    h += (fields & BIT(F_OTHER) ? match->host : 0u) * 0x9ddfea08eb382d69u;
    h += (fields & BIT(F_TOOL) ? match->tool : 0) * 0x27d4eb2f165667c5u;
    return h;
}
static uint32_t hash_top(uint64_t exact, const struct top *top)
{
    return finish_hash(exact + top->tool_prefix * 0xc4ceb9fe1a85ec53u +
                       top->path_prefix * 0x2545f4914f6cdd1du + top->component * 0xff51afd7ed558ccdu);
}

static uint32_t hash_child(uint32_t parent, const struct match_arg *arg)
{
    return finish_hash(0x589965cc75374cc3u + parent * 0x9e3779b97f4a7c15u + arg->key * 0xbf58476d1ce4e5b9u +
                       arg->value * 0x94d049bb133111ebu);
}

static bool grow_slots(struct superset *set)
{
    if (set->node_count < set->slots_mask / 2) {
        return true;
    }
    uint32_t mask = set->slots_mask * 2 + 1;
    uint64_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i <= set->slots_mask; i++) {
        if (set->slots[i] != 0) {
            uint32_t at = (uint32_t)(set->slots[i] >> 32) & mask;
            while (slots[at] != 0) {
                at = (at + 1) & mask;
            }
            slots[at] = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->slots_mask = mask;
    return true;
}

/* Adds a node and returns 1 + its place; 0 when there is no memory. */
static uint32_t add_node(struct superset *set, const struct node *node, uint32_t hash)
{
    if (set->node_count == set->node_cap) {
        uint32_t cap = set->node_cap == 0 ? 1024 : set->node_cap * 2;
        struct node *nodes = cap > UINT32_MAX / 4 ? NULL : realloc(set->nodes, cap * sizeof(*nodes));
        if (nodes == NULL) {
            return 0;
        }
        set->nodes = nodes;
        set->node_cap = cap;
    }
    if (!grow_slots(set)) {
        return 0;
    }
    set->nodes[set->node_count++] = *node;
    uint32_t at = hash & set->slots_mask;
    while (set->slots[at] != 0) {
        at = (at + 1) & set->slots_mask;
    }
    set->slots[at] = (uint64_t)hash << 32 | set->node_count;
    return set->node_count;
}

/* Whether the top of a trie holds matches of this shape with the asked match's values. */
static bool is_top(const struct superset *set, const struct node *node, const struct top *want,
                   const struct match *values)
{
    const struct rule *rule = &set->policy->rules[node->rule];
    const struct match *have = &rule->match;
    uint32_t fields = want->fields;
    return node->parent == 0 && have->tool_prefix == want->tool_prefix &&
           have->path_prefix == want->path_prefix && have->path_component == want->component &&
           have->server == (fields & BIT(F_SERVER) ? values->server : 0) &&
           have->channel == (fields & BIT(F_CHANNEL) ? values->channel : 0) &&
           have->thread == (fields & BIT(F_THREAD) ? values->thread : 0) &&
           have->actor == (fields & BIT(F_ACTOR) ? values->actor : 0) &&
           have->host == (fields & BIT(F_OTHER) ? values->host : 0) &&
           have->tool == (fields & BIT(F_TOOL) ? values->tool : 0) &&
           (have->arg_count != 0) == ((fields & BIT(F_ARGS)) != 0) &&
           (set->mode != SUPERSET_FIRST || rule->tier == fields >> TIER_SHIFT);
}

uint32_t superset_find_top(struct superset *set, uint64_t exact, const struct top *want,
                           const struct match *values)
{
    uint32_t hash = hash_top(exact, want);
    for (uint32_t at = hash & set->slots_mask;; at = (at + 1) & set->slots_mask) {
        uint64_t slot = set->slots[at];
        if (slot == 0 || !superset_step(set)) {
            return 0;
        }
        uint32_t node = (uint32_t)slot;
        if (slot >> 32 == hash && is_top(set, &set->nodes[node - 1], want, values)) {
            return node;
        }
    }
}

uint32_t superset_find_child(struct superset *set, uint32_t parent, const struct match_arg *arg)
{
    uint32_t hash = hash_child(parent, arg);
    for (uint32_t at = hash & set->slots_mask;; at = (at + 1) & set->slots_mask) {
        uint64_t slot = set->slots[at];
        if (slot == 0 || !superset_step(set)) {
            return 0;
        }
        const struct node *node = &set->nodes[(uint32_t)slot - 1];
        if (slot >> 32 == hash && node->parent == parent && node->arg.key == arg->key &&
            node->arg.value == arg->value) {
            return (uint32_t)slot;
        }
    }
}

/* ---- Putting in ---- */

uint32_t superset_fields(const struct superset *set, const struct match *match, uint8_t tier)
{
    uint32_t fields = set->mode != SUPERSET_FIRST ? 0 : (uint32_t)tier << TIER_SHIFT;
    fields |= match->server != 0 ? BIT(F_SERVER) : 0;
    fields |= match->channel != 0 ? BIT(F_CHANNEL) : 0;
    fields |= match->thread != 0 ? BIT(F_THREAD) : 0;
    fields |= match->actor != 0 ? BIT(F_ACTOR) : 0;
    fields |= match->host != 0 ? BIT(F_OTHER) : 0;
    fields |= match->tool != 0 ? BIT(F_TOOL) : 0;
    fields |= match->tool_prefix != 0 ? BIT(F_TOOL_PREFIX) : 0;
    fields |= match->path_prefix != 0 ? BIT(F_PATH) : 0;
    fields |= match->path_component != 0 ? BIT(F_COMPONENT) : 0;
    fields |= match->arg_count != 0 ? BIT(F_ARGS) : 0;
    return fields;
}

/* The shape with these fields, which is added when new. */
static uint32_t shape_of(struct superset *set, uint32_t fields, uint32_t rule)
{
    if (set->shape_of[fields] == 0) {
        set->shapes[set->shape_count] = (struct shape){fields, rule};
        for (uint32_t field = 0; field < F_COUNT; field++) {
            if ((fields & BIT(field)) == 0) {
                set->lacking[field] |= (uint64_t)1 << (set->shape_count % 64);
            }
        }
        set->shape_of[fields] = (uint16_t)++set->shape_count;
    }
    return set->shape_of[fields] - 1u;
}

/* Remembers in which shape the values of a match occur. */
static void note_values(struct superset *set, uint32_t shape, const struct match *match)
{
    uint64_t bit = (uint64_t)1 << (shape % 64);
    const uint32_t symbols[] = {match->server, match->channel,     match->thread,
                                match->tool,   match->tool_prefix, match->path_component};
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        set->symbol_shapes[symbols[i]] |= bit; /* symbol 0 is nobody's: harmless */
    }
    for (uint32_t i = 0; i < match->arg_count; i++) {
        set->symbol_shapes[set->policy->args[match->arg_first + i].value] |= bit;
    }
    set->path_shapes[match->path_prefix] |= bit;
}

static bool equal_args(const struct policy *policy, const struct match *a, const struct match *b)
{
    return a->arg_count == b->arg_count &&
           (a->arg_count == 0 || memcmp(policy->args + a->arg_first, policy->args + b->arg_first,
                                        a->arg_count * sizeof(struct match_arg)) == 0);
}

/* Puts a rule behind the one with the same match that is in already. The chain is in load order but for the
 * newest, which stand right behind the first; answers are sorted. */
static void add_equal(struct superset *set, uint32_t first, uint32_t rule)
{
    if (set->mode == SUPERSET_EVERY) {
        set->same[rule] = set->same[first];
        set->same[first] = rule + 1;
    }
}

/* The child of `node` for one more pair of a rule; made, closed, when there is none. 0: no memory. */
static uint32_t child_for(struct superset *set, uint32_t node, uint32_t rule, uint32_t depth, bool *ret_made)
{
    const struct match_arg *arg = &set->policy->args[set->policy->rules[rule].match.arg_first + depth];
    uint32_t child = superset_find_child(set, node, arg);
    *ret_made = child == 0;
    if (child != 0) {
        return child;
    }
    struct node *here = &set->nodes[node - 1];
    here->low = here->high == 0 || arg->key < here->low ? arg->key : here->low;
    here->high = arg->key > here->high ? arg->key : here->high;
    return add_node(set, &(struct node){.rule = rule, .parent = node, .arg = *arg}, hash_child(node, arg));
}

/* Makes a closed node branch: its one rule moves to where its pairs end, or one level down. */
static bool open_node(struct superset *set, uint32_t node, uint32_t depth)
{
    uint32_t rule = set->nodes[node - 1].rule;
    bool made = true;
    set->nodes[node - 1].open = true;
    if (set->policy->rules[rule].match.arg_count == depth) {
        set->nodes[node - 1].terminal = rule + 1;
        return true;
    }
    return child_for(set, node, rule, depth, &made) != 0;
}

/* Hangs a rule into the trie below `node`, which holds at least one rule already. */
static bool hang(struct superset *set, uint32_t node, uint32_t rule)
{
    const struct policy *policy = set->policy;
    const struct match *match = &policy->rules[rule].match;
    for (uint32_t depth = 0;; depth++) {
        struct node *here = &set->nodes[node - 1];
        if (!here->open) {
            if (equal_args(policy, match, &policy->rules[here->rule].match)) {
                add_equal(set, here->rule, rule);
                return true;
            }
            if (!open_node(set, node, depth)) {
                return false;
            }
        }
        if (match->arg_count == depth) {
            here = &set->nodes[node - 1];
            if (here->terminal != 0) {
                add_equal(set, here->terminal - 1, rule);
            } else {
                here->terminal = rule + 1;
            }
            return true;
        }
        bool made = false;
        node = child_for(set, node, rule, depth, &made);
        if (node == 0 || made) {
            return node != 0;
        }
    }
}

void superset_add(struct superset *set, uint32_t rule)
{
    if (set->failed || set->exhausted) {
        return;
    }
    const struct match *match = &set->policy->rules[rule].match;
    uint32_t fields = superset_fields(set, match, set->policy->rules[rule].tier);
    uint32_t shape = shape_of(set, fields, rule);
    note_values(set, shape, match);
    struct top want = {fields, match->tool_prefix, match->path_prefix, match->path_component};
    uint64_t exact = superset_hash(shape, fields, match);
    uint32_t top = superset_find_top(set, exact, &want, match);
    if (top == 0) {
        set->failed = add_node(set, &(struct node){.rule = rule}, hash_top(exact, &want)) == 0;
    } else {
        set->failed = !hang(set, top, rule);
    }
}
