/* The parts of overlap.c and overlap_ends.c. Inside those two only. */
#ifndef ANALYSIS_OVERLAP_INSIDE_H
#define ANALYSIS_OVERLAP_INSIDE_H

#include "analysis/analysis.h"
#include "analysis/overlap.h"

/* The fields to split by, in this order: those with many values first. Argument keys come after them. */
enum split {
    SPLIT_TOOL, /* exact on both sides; prefixes nest and come last */
    SPLIT_CHANNEL,
    SPLIT_THREAD,
    SPLIT_SERVER,
    SPLIT_ACTOR,
    SPLIT_KEYS,
};

/* Rules of both sides that agree in every field split by so far. Asking rules are places in the caller's
 * list. */
struct part {
    const uint32_t *stored, *asking; /* in load order */
    uint32_t stored_count, asking_count;
    bool one_tool; /* all of both sides have the same exact tool */
};

struct entry {
    uint64_t tool, path; /* the value by which it was counted, perhaps with BELOW */
    uint32_t hash;
    uint32_t first, count; /* count 0: free */
};

struct counter {
    const struct policy *policy;
    const uint32_t *asking; /* the caller's list */
    struct overlap *result; /* by place in it */
    struct name_nest tools;
    bool *asked_tools, *asked_paths; /* by symbol, by prefix: some asking rule has it */
    uint32_t *tools_above, *paths_above;
    uint32_t *dense;      /* by value: 1 + its number in the split that is being made; 0 between splits */
    uint32_t *keyed;      /* by key: how many asking rules have it; 0 between splits */
    uint32_t *split_keys; /* the keys split by so far: those of equal value on both sides are among them */
    uint32_t split_count, split_cap;
    struct entry *table;
    size_t table_mask, table_used;
    uint64_t steps, steps_max;
    bool failed;
};

static inline bool overlap_step(struct counter *c, uint64_t steps)
{
    c->steps += steps;
    return c->steps <= c->steps_max && !c->failed;
}

static inline const struct match *stored_match(const struct counter *c, uint32_t rule)
{
    return &c->policy->rules[rule].match;
}

static inline const struct match *asking_match(const struct counter *c, uint32_t place)
{
    return &c->policy->rules[c->asking[place]].match;
}

static inline void overlap_add(struct counter *c, uint32_t place, uint32_t first, uint32_t count)
{
    struct overlap *result = &c->result[place];
    result->first = first < result->first ? first : result->first;
    result->count += count;
}

/* The value by which a match is split; 0: it lacks the field. `key` counts for SPLIT_KEYS. */
uint32_t overlap_value(const struct counter *c, const struct match *match, uint32_t field, uint32_t key);

/* Compares every pair of a part. */
void overlap_pairs(struct counter *c, const struct part *part);

/* Counts what meets in a part in which nothing but what nests can keep rules apart. False: no memory. */
bool overlap_rest(struct counter *c, const struct part *part);

/* The same when some argument keys can too: what they keep apart is taken off again. */
bool overlap_conflicts(struct counter *c, const struct part *part);

#endif
