#include "analysis/nest.h"

#include <stdlib.h>

struct named {
    struct slice text;
    uint32_t symbol;
};

static int by_text(const void *a, const void *b)
{
    return slice_cmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

/* The distinct tool prefixes of the rules that count, sorted by text. NULL with *ret_count 0 when there are
 * none. */
static bool gather(const struct policy *policy, tool_nest_filter *filter, struct named **ret_list,
                   uint32_t *ret_count)
{
    size_t total = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        total += policy->rules[i].match.tool_prefix != 0 && filter(&policy->rules[i]);
    }
    *ret_list = NULL;
    *ret_count = 0;
    if (total == 0) {
        return true;
    }
    struct named *list = calloc(total, sizeof(*list));
    if (list == NULL) {
        return false;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        uint32_t symbol = policy->rules[i].match.tool_prefix;
        if (symbol != 0 && filter(&policy->rules[i])) {
            list[count++] = (struct named){policy_text(policy, symbol), symbol};
        }
    }
    qsort(list, count, sizeof(*list), by_text);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || list[kept - 1].symbol != list[i].symbol) {
            list[kept++] = list[i];
        }
    }
    *ret_list = list;
    *ret_count = kept;
    return true;
}

/* Climbs from place `at` (1 + index) to the first prefix that begins name. */
static uint32_t climb(const struct tool_nest *nest, uint32_t at, struct slice name)
{
    while (at != 0 && !slice_starts_with(name, policy_text(nest->policy, nest->symbols[at - 1]))) {
        at = nest->up[at - 1];
    }
    return at;
}

bool tool_nest_init(struct tool_nest *nest, const struct policy *policy, tool_nest_filter *filter)
{
    *nest = (struct tool_nest){.policy = policy};
    struct named *list;
    uint32_t count;
    if (!gather(policy, filter, &list, &count)) {
        return false;
    }
    if (count == 0) {
        free(list);
        return true;
    }
    nest->symbols = calloc(count, sizeof(*nest->symbols));
    nest->up = calloc(count, sizeof(*nest->up));
    uint32_t *depth = calloc(count, sizeof(*depth));
    if (nest->symbols == NULL || nest->up == NULL || depth == NULL) {
        free(depth);
        free(list);
        tool_nest_finish(nest);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        nest->symbols[i] = list[i].symbol;
        /* In byte order whatever begins a text stands before it, and the last such one on or above the text
         * just before it. */
        nest->up[i] = climb(nest, i, list[i].text);
        depth[i] = 1 + (nest->up[i] != 0 ? depth[nest->up[i] - 1] : 0);
        nest->deepest = depth[i] > nest->deepest ? depth[i] : nest->deepest;
    }
    free(depth);
    nest->count = count;
    free(list);
    return true;
}

void tool_nest_finish(struct tool_nest *nest)
{
    free(nest->symbols);
    free(nest->up);
    *nest = (struct tool_nest){.policy = nest->policy};
}

uint32_t tool_nest_find(const struct tool_nest *nest, struct slice name)
{
    uint32_t low = 0, high = nest->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slice_cmp(policy_text(nest->policy, nest->symbols[middle]), name) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return climb(nest, low, name);
}

uint32_t tool_nest_above(const struct tool_nest *nest, struct slice name, uint32_t *ret_symbols)
{
    uint32_t count = 0;
    for (uint32_t at = tool_nest_find(nest, name); at != 0; at = nest->up[at - 1]) {
        ret_symbols[count++] = nest->symbols[at - 1];
    }
    return count;
}
