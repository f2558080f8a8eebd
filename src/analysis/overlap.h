/* Which matches of one set meet each match of another: the first, and how many. For this room only.
 *
 * Counts without comparing pairs. The stored rules are taken by shape (present fields and argument keys), the
 * asking ones too. Two shapes share some fields, and only those can keep two matches apart; so the stored
 * rules of a shape are counted in a hash table by their values in the shared fields, one table for each set
 * of shared fields that some asking shape gives, and each asking rule looks its values up. Prefixes (paths,
 * tools) are counted at themselves and at each prefix above them that some asking rule has, so that "below
 * me" is one look and "above me" one for each prefix above. The work is: stored shapes x (sets of shared
 * fields x their rules + asking rules) x prefixes above. That is far from quadratic while shapes are few, and
 * shapes are few unless argument keys are made to be different; then the steps have a ceiling, beyond which
 * counts are lower bounds. */
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
