/* Questions to the superset index. */
#include <stdlib.h>

#include "analysis/superset_inside_internal.h"

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
        if (!superset_step(set) || at == set->question.match.arg_count ||
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
        uint32_t child = superset_find_child(set, set->stack_node[depth], &set->question.args[at]);
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
            uint32_t top = superset_find_top(set, exact, &want, &q->match);
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
    uint64_t exact = superset_hash(shape, fields, &q->match);
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
        superset_fields(set, &question->match, tier) & ~(BIT(F_TOOL_PREFIX) | BIT(F_PATH) | BIT(F_COMPONENT));
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

/* The arguments of a rule as each kind of rule before it compares them: denies and require_approvals its loose ones;
 * auto_approves the exact ones of an auto_approve, and none of any other, which means more than one value by each. */
static uint32_t asked_args(struct superset *set, const struct rule *rule)
{
    const struct match_arg *exact = rule_exact_args(set->policy, rule),
                           *loose = rule_loose_args(set->policy, rule);
    uint32_t n = rule->match.arg_count, i = rule->effect == EFFECT_AUTO_APPROVE ? 0 : n, j = 0, count = 0;
    while (i < n || j < n) {
        bool first = j == n || (i < n && exact[i].key < loose[j].key);
        set->asked_args[count++] = first ? exact[i++] : loose[j++];
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
                                  .args = set->asked_args,
                                  .tools = set->tools_above,
                                  .paths = set->paths_above,
                                  .components = &set->component,
                                  .component_count = set->component != 0};
    question->match.arg_count = asked_args(set, asked);
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
    set->steps = 0; /* any number of questions may be asked, each with all the steps */
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
