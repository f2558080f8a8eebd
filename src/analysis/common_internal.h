/* What two lists of rules have in common, in order. For this room only. */
#ifndef ANALYSIS_COMMON_INTERNAL_H
#define ANALYSIS_COMMON_INTERNAL_H

#include "analysis/space_internal.h"

/* Whether two rules give the same decision, approvals included: kind, and for approval ttlMs, approvers and
 * scope. */
/* Rules of one policy, or of one space. */
bool common_same_outcome(const struct rule *a, const struct rule *b);

/* Marks rules of both sides' flat policies that form a common subsequence: equal match, same outcome, same
 * order. A call that a marked rule decides on one side and another marked rule on the other cannot be, so
 * only pairs with an unmarked rule need be looked at. False when there is no memory. */
MUST_USE bool common_mark(const struct space *space, bool *ret_old, bool *ret_new);

#endif
