/* Which rules stand in the shadow of others. For this room only. SPEC.md section 7.
 *
 * Most rules have one value in each field and no commands: for them there is an index (superset.h). The others are
 * compared with those that overlap.h does not rule out, as far as a budget of comparisons goes. */
#ifndef ANALYSIS_SHADOWS_INTERNAL_H
#define ANALYSIS_SHADOWS_INTERNAL_H

#include "analysis/superset_internal.h"

/* Comparisons of two rules that one look at a policy may cost: a few seconds. */
#define SHADOWS_BUDGET ((uint64_t)1 << 28)

/* Fills ret_earlier, by rule: the first rule of its tier that shadows it, or NOWHERE. A group of equivalents acts where
 * its first member stands, so that only what stands before that one can shadow the rule that speaks; the others are
 * shadowed by their speaker. False when memory ran out. *ret_whole: the budget was enough. */
MUST_USE bool shadows_find(const struct policy *policy, uint32_t *ret_earlier, bool *ret_whole);

/* The admin denies that an auto_approve below the admin tier meets. */
struct shadows_denies {
    uint32_t first; /* NOWHERE: none */
    uint32_t count;
};

/* Fills ret_denies, by rule. */
MUST_USE bool shadows_find_denies(const struct policy *policy, struct shadows_denies *ret_denies,
                                  bool *ret_whole);

#endif
