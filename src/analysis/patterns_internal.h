/* Which component patterns (`x`, `x*`, `*x`) a component, a path or another pattern has. For this room only.
 *
 * Borrows the texts; owns its tables until patterns_finish. */
#ifndef ANALYSIS_PATTERNS_INTERNAL_H
#define ANALYSIS_PATTERNS_INTERNAL_H

#include "analysis/nest_internal.h"

struct pattern_list {
    const uint32_t *symbols;
    uint32_t count;
    bool made;
};

struct patterns {
    const struct intern *texts;
    uint32_t count;
    bool *literal; /* by symbol: it is a pattern without a star */
    struct arena arena;
    struct intern ends;              /* what stands before or behind the star, the latter reversed */
    uint32_t *prefix_of, *suffix_of; /* by number of `ends`: the pattern's symbol; 0: none */
    struct name_nest prefixes, suffixes;
    uint32_t *above;                /* workspace */
    struct pattern_list *of_symbol; /* by symbol: what every component of this pattern has */
};

/* Of some symbols, repetitions allowed. `symbols` counts the texts. */
MUST_USE bool patterns_init(struct patterns *patterns, const struct intern *texts, const uint32_t *list,
                            size_t count);
void patterns_finish(struct patterns *patterns);

/* The patterns that a component has; at most patterns->count, in ret. */
uint32_t patterns_of_component(struct patterns *patterns, struct slice component, uint32_t *ret);

/* The patterns that every component of pattern `symbol` has, itself included. NULL when there is no memory.
 */
const struct pattern_list *patterns_of_pattern(struct patterns *patterns, uint32_t symbol);

/* The patterns that some component of a canonical path has, each once. NULL when there is no memory. */
MUST_USE bool patterns_of_path(struct patterns *patterns, struct slice path, struct pattern_list *ret);

/* A component that has pattern `symbol`, made with `fresh` where its star stands. */
void patterns_instance(struct buf *buf, const struct patterns *patterns, uint32_t symbol, struct slice fresh);

#endif
