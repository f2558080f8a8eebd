/* What the exact answers share. For this room only. */
#ifndef ANALYSIS_EXACT_H
#define ANALYSIS_EXACT_H

#include "analysis/analysis.h"
#include "analysis/witness.h"

struct analysis {
    struct space space;
    struct witness witness;
    struct match_arg *args; /* for space_meet */
    size_t asked_count;
    const struct assertion *assertions;
};

/* The decision that a rule of a side's flat policy gives when nobody has approved. */
uint32_t exact_kind(const struct rule *rule);

/* The actors for which a box is asked: those that it allows, from *ret_first to *ret_last. */
void exact_actors(const struct box *box, enum actor *ret_first, enum actor *ret_last);

#endif
