/* What the exact answers share. For this room only. */
#ifndef ANALYSIS_EXACT_INTERNAL_H
#define ANALYSIS_EXACT_INTERNAL_H

#include "analysis/analysis.h"
#include "analysis/named_internal.h"
#include "analysis/witness_internal.h"

struct analysis {
    struct space space;
    struct witness witness;
    struct match_arg *args; /* for space_meet */
    struct named *named;    /* made when it is first asked */
    const struct path_base *base;
    const struct policy *asked; /* the assertions' space, or NULL */
    size_t asked_count;
    const struct assertion *assertions;
};

/* Who answers what boxes cannot hold; NULL when there is no memory. */
struct named *analysis_named(struct analysis *analysis);

/* The decision that a rule of a side's flat policy gives when nobody has approved. */
uint32_t exact_kind(const struct rule *rule);

#endif
