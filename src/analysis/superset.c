#include "analysis/superset.h"

#include <stdlib.h>

/* The fields of a shape, as bits; two more bits hold the tier. */
enum field {
    F_SERVER,
    F_CHANNEL,
    F_THREAD,
    F_ACTOR,
    F_TOOL,
    F_TOOL_PREFIX,
    F_PATH,
    F_COMPONENT,
    F_ARGS,
    F_COUNT,
};
#define BIT(field) (1u << (field))
#define TIER_SHIFT F_COUNT
#define SHAPES_MAX (1u << (F_COUNT + 2))

/* Enough for a million rules of any sane layout; a few seconds of looking for others. */
#define STEPS_BASE     ((uint64_t)1 << 25)
#define STEPS_PER_RULE 64u

struct shape {
    uint32_t fields, first; /* `first`: its first rule */
};

/* A set of matches that agree in shape, in all fields but argEquals, and in the argument pairs down to here.
 */
struct node {
    uint32_t rule;        /* the first rule in or below it */
    uint32_t terminal;    /* 1 + the first rule whose arguments end here; 0: none */
    uint32_t parent;      /* 1 + the node above; 0: this is the top of a trie */
    struct match_arg arg; /* the pair that leads here from above */
    uint32_t low, high;   /* the keys that lead on lie between these */
    bool open;            /* false: it holds one rule (and its equals) only, whatever pairs that has left */
};

struct superset {
    const struct policy *policy;
    enum superset_mode mode;
    bool failed, exhausted;
    uint64_t steps, steps_max;
    struct name_nest tools;
    uint32_t *path_up; /* SUPERSET_FIRST, by prefix id: 1 + the id just above it; 0: not looked up yet */

    struct shape *shapes;
    uint32_t shape_count;
    uint16_t *shape_of; /* by fields: 1 + the shape */
    /* Bit (shape % 64) sets: the shapes that lack a field, and those in which a value occurs. */
    uint64_t lacking[F_COUNT];
    uint64_t *symbol_shapes, *path_shapes;

    struct node *nodes;
    uint32_t node_count, node_cap;
    uint64_t *slots; /* hash in the upper half, 1 + node in the lower; 0: free */
    uint32_t slots_mask;
    uint32_t *same; /* SUPERSET_EVERY, by rule: 1 + the next rule with an equal match; 0: none */

    /* The question that is being answered, and the lists of those that are made from rules. */
    struct question question;
    uint32_t fields;
    uint32_t *tools_above, *paths_above;
    uint32_t component;
    uint32_t best;
    uint32_t *found;
    size_t found_count, found_cap;
    uint32_t *stack_node, *stack_at; /* the way down the trie */
};

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
    return set->slots != NULL && set->path_up != NULL && set->shapes != NULL && set->shape_of != NULL &&
           set->symbol_shapes != NULL && set->path_shapes != NULL && set->same != NULL &&
           set->tools_above != NULL && set->paths_above != NULL && set->stack_node != NULL &&
           set->stack_at != NULL;
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

/* Counts a step; false when there are none left. */
static bool step(struct superset *set)
{
    set->exhausted = set->exhausted || ++set->steps > set->steps_max;
    return !set->exhausted;
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
static uint64_t hash_exact(uint32_t shape, uint32_t fields, const struct match *match)
{
    uint64_t h = (shape + 1) * 0x9e3779b97f4a7c15u;
    h += (fields & BIT(F_SERVER) ? match->server : 0) * 0xbf58476d1ce4e5b9u;
    h += (fields & BIT(F_CHANNEL) ? match->channel : 0) * 0x94d049bb133111ebu;
    h += (fields & BIT(F_THREAD) ? match->thread : 0) * 0xc2b2ae3d27d4eb4fu;
    h += (fields & BIT(F_ACTOR) ? match->actor : 0u) * 0x165667b19e3779f9u;
    h += (fields & BIT(F_TOOL) ? match->tool : 0) * 0x27d4eb2f165667c5u;
    return h;
}

/* What the top of a trie is found by, beside the asked match's own values. */
struct top {
    uint32_t fields, tool_prefix, path_prefix, component;
};

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
           have->tool == (fields & BIT(F_TOOL) ? values->tool : 0) &&
           (have->arg_count != 0) == ((fields & BIT(F_ARGS)) != 0) &&
           (set->mode != SUPERSET_FIRST || rule->tier == fields >> TIER_SHIFT);
}

static uint32_t find_top(struct superset *set, uint32_t hash, const struct top *want,
                         const struct match *values)
{
    for (uint32_t at = hash & set->slots_mask;; at = (at + 1) & set->slots_mask) {
        uint64_t slot = set->slots[at];
        if (slot == 0 || !step(set)) {
            return 0;
        }
        uint32_t node = (uint32_t)slot;
        if (slot >> 32 == hash && is_top(set, &set->nodes[node - 1], want, values)) {
            return node;
        }
    }
}

static uint32_t find_child(struct superset *set, uint32_t parent, const struct match_arg *arg)
{
    uint32_t hash = hash_child(parent, arg);
    for (uint32_t at = hash & set->slots_mask;; at = (at + 1) & set->slots_mask) {
        uint64_t slot = set->slots[at];
        if (slot == 0 || !step(set)) {
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

static uint32_t fields_of(const struct superset *set, const struct match *match, uint8_t tier)
{
    uint32_t fields = set->mode != SUPERSET_FIRST ? 0 : (uint32_t)tier << TIER_SHIFT;
    fields |= match->server != 0 ? BIT(F_SERVER) : 0;
    fields |= match->channel != 0 ? BIT(F_CHANNEL) : 0;
    fields |= match->thread != 0 ? BIT(F_THREAD) : 0;
    fields |= match->actor != 0 ? BIT(F_ACTOR) : 0;
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
    uint32_t child = find_child(set, node, arg);
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
    uint32_t fields = fields_of(set, match, set->policy->rules[rule].tier);
    uint32_t shape = shape_of(set, fields, rule);
    note_values(set, shape, match);
    struct top want = {fields, match->tool_prefix, match->path_prefix, match->path_component};
    uint32_t hash = hash_top(hash_exact(shape, fields, match), &want);
    uint32_t top = find_top(set, hash, &want, match);
    if (top == 0) {
        set->failed = add_node(set, &(struct node){.rule = rule}, hash) == 0;
    } else {
        set->failed = !hang(set, top, rule);
    }
}

/* ---- Asking ---- */

static void report(struct superset *set, uint32_t rule)
{
    if (set->mode != SUPERSET_EVERY) {
        set->best = rule < set->best ? rule : set->best;
        return;
    }
    for (uint32_t next = rule + 1; next != 0; next = set->same[next - 1]) {
        if (set->found_count == set->found_cap) {
            size_t cap = set->found_cap == 0 ? 64 : set->found_cap * 2;
            uint32_t *found = realloc(set->found, cap * sizeof(*found));
            if (found == NULL) {
                set->failed = true;
                return;
            }
            set->found = found;
            set->found_cap = cap;
        }
        set->found[set->found_count++] = next - 1;
    }
}

/* Whether a rule's pairs from `depth` on are among the asked ones from `at` on. */
static bool rest_asked(struct superset *set, uint32_t rule, uint32_t depth, uint32_t at)
{
    const struct match *match = &set->policy->rules[rule].match;
    const struct match_arg *args = set->policy->args + match->arg_first;
    for (; depth < match->arg_count; depth++, at++) {
        while (at < set->question.match.arg_count && set->question.args[at].key < args[depth].key) {
            at++;
        }
        if (!step(set) || at == set->question.match.arg_count ||
            set->question.args[at].key != args[depth].key ||
            set->question.args[at].value != args[depth].value) {
            return false;
        }
    }
    return true;
}

/* Enters a node at which the asked pairs before `at` are used up; true when its children must be looked at.
 */
static bool enter(struct superset *set, uint32_t node, uint32_t depth, uint32_t at)
{
    const struct node *here = &set->nodes[node - 1];
    if (here->rule >= set->best) {
        return false;
    }
    if (!here->open) {
        if (rest_asked(set, here->rule, depth, at)) {
            report(set, here->rule);
        }
        return false;
    }
    if (here->terminal != 0) {
        report(set, here->terminal - 1);
    }
    return true;
}

/* Walks every subset of the asked pairs that stands in the trie. */
static void walk(struct superset *set, uint32_t top)
{
    if (!enter(set, top, 0, 0)) {
        return;
    }
    uint32_t depth = 0;
    set->stack_node[0] = top;
    set->stack_at[0] = 0;
    while (!set->exhausted) {
        const struct node *here = &set->nodes[set->stack_node[depth] - 1];
        uint32_t at = set->stack_at[depth];
        while (at < set->question.match.arg_count && set->question.args[at].key < here->low) {
            at++;
        }
        if (at == set->question.match.arg_count || set->question.args[at].key > here->high) {
            if (depth == 0) {
                return;
            }
            depth--;
            continue;
        }
        set->stack_at[depth] = at + 1;
        uint32_t child = find_child(set, set->stack_node[depth], &set->question.args[at]);
        if (child != 0 && enter(set, child, depth + 1, at + 1)) {
            depth++;
            set->stack_node[depth] = child;
            set->stack_at[depth] = at + 1;
        }
    }
}

static uint64_t shapes_with(const uint64_t *shapes, const uint32_t *values, uint32_t count)
{
    uint64_t some = 0;
    for (uint32_t i = 0; i < count; i++) {
        some |= shapes[values[i]];
    }
    return some;
}

/* The shapes (mod 64) that can hold a match containing the asked one, by the values that occur in them. */
static uint64_t candidates(const struct superset *set)
{
    const struct match *match = &set->question.match;
    const uint32_t symbols[][2] = {{F_SERVER, match->server},
                                   {F_CHANNEL, match->channel},
                                   {F_THREAD, match->thread},
                                   {F_TOOL, match->tool}};
    uint64_t shapes = UINT64_MAX;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        uint32_t symbol = symbols[i][1];
        shapes &=
            set->lacking[symbols[i][0]] | (symbol == 0 || symbol == NOWHERE ? 0 : set->symbol_shapes[symbol]);
    }
    shapes &= set->lacking[F_TOOL_PREFIX] |
              shapes_with(set->symbol_shapes, set->question.tools, set->question.tool_count);
    shapes &=
        set->lacking[F_PATH] | shapes_with(set->path_shapes, set->question.paths, set->question.path_count);
    shapes &= set->lacking[F_COMPONENT] |
              shapes_with(set->symbol_shapes, set->question.components, set->question.component_count);
    uint64_t with = set->lacking[F_ARGS];
    for (uint32_t i = 0; i < match->arg_count; i++) {
        with |= set->symbol_shapes[set->question.args[i].value];
    }
    return shapes & with;
}

/* The values to look at for a field that may have several: all of a list, or only "absent". */
struct choice {
    const uint32_t *values;
    const uint64_t *shapes; /* where each value occurs; NULL: not to be looked at */
    uint32_t count;
};

static struct choice choose(bool present, const uint32_t *values, uint32_t count, const uint64_t *shapes)
{
    static const uint32_t absent[1] = {0};
    return present ? (struct choice){values, shapes, count} : (struct choice){absent, NULL, 1};
}

static bool occurs(const struct choice *choice, uint32_t i, uint64_t bit)
{
    return choice->shapes == NULL || (choice->shapes[choice->values[i]] & bit) != 0;
}

/* Looks at one shape with one tool prefix and one component: at each path prefix. */
static void ask_paths(struct superset *set, uint32_t shape, uint64_t exact, uint32_t tool_prefix,
                      uint32_t component)
{
    const struct question *q = &set->question;
    uint32_t fields = set->shapes[shape].fields;
    uint64_t bit = (uint64_t)1 << (shape % 64);
    struct choice paths = choose((fields & BIT(F_PATH)) != 0, q->paths, q->path_count, set->path_shapes);
    struct top want = {.fields = fields, .tool_prefix = tool_prefix, .component = component};
    for (uint32_t i = 0; i < paths.count && !set->exhausted; i++) {
        if (occurs(&paths, i, bit)) {
            want.path_prefix = paths.values[i];
            uint32_t top = find_top(set, hash_top(exact, &want), &want, &q->match);
            if (top != 0) {
                walk(set, top);
            }
        }
    }
}

/* Looks at one shape: at the asked values, and at each combination of those that may be several. */
static void ask_shape(struct superset *set, uint32_t shape)
{
    const struct question *q = &set->question;
    uint32_t fields = set->shapes[shape].fields;
    uint64_t bit = (uint64_t)1 << (shape % 64);
    struct choice tools =
        choose((fields & BIT(F_TOOL_PREFIX)) != 0, q->tools, q->tool_count, set->symbol_shapes);
    struct choice components =
        choose((fields & BIT(F_COMPONENT)) != 0, q->components, q->component_count, set->symbol_shapes);
    uint64_t exact = hash_exact(shape, fields, &q->match);
    for (uint32_t i = 0; i < tools.count; i++) {
        for (uint32_t j = 0; j < components.count && occurs(&tools, i, bit); j++) {
            if (occurs(&components, j, bit)) {
                ask_paths(set, shape, exact, tools.values[i], components.values[j]);
            }
        }
    }
}

static void ask(struct superset *set)
{
    uint32_t need = set->fields;
    for (uint64_t shapes = candidates(set); shapes != 0; shapes &= shapes - 1) {
        for (uint32_t shape = (uint32_t)__builtin_ctzll(shapes); shape < set->shape_count; shape += 64) {
            const struct shape *at = &set->shapes[shape];
            /* None of a shape that begins behind the best can better it. */
            if (at->first < set->best && (at->fields & ~need) == 0 &&
                (set->mode != SUPERSET_FIRST || at->fields >> TIER_SHIFT == need >> TIER_SHIFT)) {
                ask_shape(set, shape);
            }
        }
    }
}

/* The fields that a containing match may have. */
static uint32_t fields_allowed(const struct superset *set, const struct question *question, uint8_t tier)
{
    uint32_t fields =
        fields_of(set, &question->match, tier) & ~(BIT(F_TOOL_PREFIX) | BIT(F_PATH) | BIT(F_COMPONENT));
    return fields | (question->tool_count != 0 ? BIT(F_TOOL_PREFIX) : 0) |
           (question->path_count != 0 ? BIT(F_PATH) : 0) |
           (question->component_count != 0 ? BIT(F_COMPONENT) : 0);
}

/* The prefixes above a rule's own, itself first; looked up once for each distinct one. */
static uint32_t own_paths_above(struct superset *set, uint32_t id)
{
    uint32_t count = 0;
    while (id != 0) {
        set->paths_above[count++] = id;
        if (set->path_up[id] == 0) {
            uint32_t ids[PATHS_ABOVE_MAX];
            size_t above = path_prefixes_above(
                set->policy->prefixes, set->policy->prefixes->list[id - 1].path, ids, PATHS_ABOVE_MAX);
            set->path_up[id] = 1; /* in case that it does not stand above itself: then nothing does */
            for (size_t i = 0; i < above; i++) {
                set->path_up[ids[i]] = 1 + (i == 0 ? 0 : ids[i - 1]);
            }
        }
        id = set->path_up[id] - 1;
    }
    return count;
}

uint32_t superset_first(struct superset *set, uint32_t rule)
{
    if (set->failed || set->exhausted) {
        return NOWHERE;
    }
    const struct rule *asked = &set->policy->rules[rule];
    const struct match *match = &asked->match;
    struct question *question = &set->question;
    uint32_t name = match->tool != 0 ? match->tool : match->tool_prefix;
    set->component = match->path_component;
    *question = (struct question){.match = *match,
                                  .args = set->policy->args + match->arg_first,
                                  .tools = set->tools_above,
                                  .paths = set->paths_above,
                                  .components = &set->component,
                                  .component_count = set->component != 0};
    question->tool_count =
        name == 0 ? 0 : name_nest_above(&set->tools, policy_text(set->policy, name), set->tools_above);
    question->path_count = own_paths_above(set, match->path_prefix);
    set->fields = fields_allowed(set, question, asked->tier);
    set->best = NOWHERE;
    ask(set);
    return set->best;
}

uint32_t superset_first_of(struct superset *set, const struct question *question, uint32_t end)
{
    if (set->failed || set->exhausted) {
        return NOWHERE;
    }
    set->question = *question;
    set->fields = fields_allowed(set, question, 0);
    set->best = end;
    ask(set);
    return set->best == end ? NOWHERE : set->best;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

size_t superset_every(struct superset *set, const struct foreign_match *match, const uint32_t **ret_rules)
{
    set->found_count = 0;
    if (!set->failed && !set->exhausted) {
        struct question *question = &set->question;
        set->component = match->match.path_component;
        *question = (struct question){.match = match->match,
                                      .args = match->args,
                                      .tools = set->tools_above,
                                      .paths = set->paths_above,
                                      .components = &set->component,
                                      .component_count = set->component != 0 && set->component != NOWHERE};
        question->tool_count =
            match->tool.ptr == NULL ? 0 : name_nest_above(&set->tools, match->tool, set->tools_above);
        question->path_count = match->path.ptr == NULL
                                   ? 0
                                   : (uint32_t)path_prefixes_above(set->policy->prefixes, match->path,
                                                                   set->paths_above, PATHS_ABOVE_MAX);
        set->fields = fields_allowed(set, question, 0);
        set->best = NOWHERE;
        ask(set);
        if (set->found_count > 1) {
            qsort(set->found, set->found_count, sizeof(*set->found), by_number);
        }
    }
    *ret_rules = set->found;
    return set->found_count;
}
