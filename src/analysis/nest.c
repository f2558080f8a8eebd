/* Names under prefixes as a tree: for each name the longest prefix above it. */
#include "analysis/nest_internal.h"

#include <stdlib.h>

struct named {
    struct slice text;
    uint32_t symbol;
};

static int by_text(const void *a, const void *b)
{
    return slice_cmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

/* The distinct ones of some symbols, sorted by text. */
static struct named *sort_names(const struct intern *texts, const uint32_t *symbols, size_t count,
                                uint32_t *ret_count)
{
    struct named *list = calloc(count + 1, sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct named){intern_text(texts, symbols[i]), symbols[i]};
    }
    qsort(list, count, sizeof(*list), by_text);
    uint32_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || list[kept - 1].symbol != list[i].symbol) {
            list[kept++] = list[i];
        }
    }
    *ret_count = kept;
    return list;
}

/* Climbs from place `at` (1 + index) to the first prefix that begins name. */
static uint32_t climb(const struct name_nest *nest, uint32_t at, struct slice name)
{
    while (at != 0 && !slice_starts_with(name, intern_text(nest->texts, nest->symbols[at - 1]))) {
        at = nest->up[at - 1];
    }
    return at;
}

bool name_nest_of(struct name_nest *nest, const struct intern *texts, const uint32_t *symbols,
                  size_t symbol_count)
{
    *nest = (struct name_nest){.texts = texts};
    if (symbol_count == 0) {
        return true;
    }
    uint32_t count = 0;
    struct named *list = sort_names(texts, symbols, symbol_count, &count);
    uint32_t *depth = calloc((size_t)count + 1, sizeof(*depth));
    nest->symbols = calloc((size_t)count + 1, sizeof(*nest->symbols));
    nest->up = calloc((size_t)count + 1, sizeof(*nest->up));
    bool ok = list != NULL && depth != NULL && nest->symbols != NULL && nest->up != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        nest->symbols[i] = list[i].symbol;
        /* In byte order whatever begins a text stands before it, and the last such one on or above the text
         * just before it. */
        nest->up[i] = climb(nest, i, list[i].text);
        depth[i] = 1 + (nest->up[i] != 0 ? depth[nest->up[i] - 1] : 0);
        nest->deepest = depth[i] > nest->deepest ? depth[i] : nest->deepest;
        nest->count = i + 1;
    }
    free(depth);
    free(list);
    if (!ok) {
        name_nest_finish(nest);
    }
    return ok;
}

bool name_nest_init(struct name_nest *nest, const struct policy *policy)
{
    uint32_t *symbols = malloc(((size_t)policy->rule_count + 1) * sizeof(*symbols));
    size_t count = 0;
    for (uint32_t i = 0; symbols != NULL && i < policy->rule_count; i++) {
        uint32_t prefix = policy->rules[i].match.tool_prefix;
        if (prefix != 0 && (prefix & MATCH_SET) == 0) {
            symbols[count++] = policy->rules[i].match.tool_prefix;
        }
    }
    bool ok = symbols != NULL && name_nest_of(nest, &policy->symbols, symbols, count);
    free(symbols);
    return ok;
}

void name_nest_finish(struct name_nest *nest)
{
    free(nest->symbols);
    free(nest->up);
    *nest = (struct name_nest){.texts = nest->texts};
}

uint32_t name_nest_find(const struct name_nest *nest, struct slice name)
{
    uint32_t low = 0, high = nest->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slice_cmp(intern_text(nest->texts, nest->symbols[middle]), name) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return climb(nest, low, name);
}

uint32_t name_nest_above(const struct name_nest *nest, struct slice name, uint32_t *ret_symbols)
{
    uint32_t count = 0;
    for (uint32_t at = name_nest_find(nest, name); at != 0; at = nest->up[at - 1]) {
        ret_symbols[count++] = nest->symbols[at - 1];
    }
    return count;
}
