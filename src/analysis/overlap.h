/* Which matches of one set meet each match of another: the first, and how many. For this room only.
 *
 * Counts without comparing every pair. The two sets are split by one field after the other: rules with equal
 * values stay together, those of one set without the field go with all of the other. So each pair that can
 * meet ends in exactly one place, and there either the pairs are few enough to be compared, or no field is
 * left that both sides have: then all of them meet, and a number is added instead of pairs. What nests
 * (paths, tool prefixes) comes last: the stored rules are counted in a table at their own prefix and at each
 * one above it that is asked about, so that "below me" is one look and "above me" one for each prefix above.
 *
 * Every split copies the rules that lack the field once more, so the work is at most 2^fields x rules x depth
 * of prefixes; the seven plain fields bound that. Argument keys do not: sets of keys can be made so that it
 * explodes. Therefore every move of a rule counts as a step and the steps have a ceiling, beyond which counts
 * are lower bounds. */
#ifndef ANALYSIS_OVERLAP_H
#define ANALYSIS_OVERLAP_H

#include "analysis/nest.h"

struct overlap {
    uint32_t first; /* the first stored rule that meets it; UINT32_MAX: none was found */
    uint32_t count; /* how many do; a lower bound when not whole */
};

enum overlap_result {
    OVERLAP_NO_MEMORY = 0,
    OVERLAP_EXHAUSTED, /* too many steps: counts are lower bounds, and `first` may be a later one */
    OVERLAP_WHOLE,
};

/* For each of `asking` (rules of the policy), which of `stored` meet it (match_intersects). Both in load
 * order. */
MUST_USE enum overlap_result overlap_count(const struct policy *policy, const uint32_t *stored,
                                           size_t stored_count, const uint32_t *asking, size_t asking_count,
                                           struct overlap *ret_overlaps);

#endif
