/* What a class of a difference is less: the calls of its box that earlier rules take. For this room only. */
#ifndef ANALYSIS_EXCEPT_INTERNAL_H
#define ANALYSIS_EXCEPT_INTERNAL_H

#include "analysis/analysis.h"
#include "analysis/space_internal.h"

/* Fills class->except for the calls of a box that rule rules[0] decides on the old side and rules[1] on the
 * new: the box less what its earlier rules match is exactly this set. Leaves it NULL when the diff has too
 * many. `common` is what common_mark says. Texts go to the diff. False when there is no memory. */
MUST_USE bool except_find(struct space *space, bool *const common[SIDES], const uint32_t rules[SIDES],
                          const struct box *box, struct diff *diff, struct diff_class *class);

#endif
