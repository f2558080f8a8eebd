/* Questions about policies, answered exactly without a call. SPEC.md sections 7 and 8.
 *
 * Nothing here changes a policy. Findings and violations own their texts. */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include "policy/policy.h"

/* Adds the warnings of SPEC.md section 7 to ret_warnings: shadow (within a tier, and cross-tier), broad,
 * missing-prefix, flattened-name; and assertion-unchecked for a document with assertions, which are not
 * proved yet. In order of file and place. Not quadratic in the number of rules. */
void lint(const struct policy *policy, struct findings *ret_warnings);

/* "policy-load: warning: rule 'LATER' (line N) is shadowed by earlier rule 'EARLIER' (line M) — reorder or
 * narrow the earlier rule." and its kin, for standard error. */
void lint_write_text(struct buf *buf, const struct finding *warning);

/* ---- Matches as sets of calls ---- */

/* Whether every call that `inner` matches is matched by `outer`, field by field as SPEC.md section 7 says.
 * The two may belong to different policies. */
bool match_subset(const struct policy *inner_policy, const struct match *inner,
                  const struct policy *outer_policy, const struct match *outer);

/* Whether the fields of two matches let some call match both, as SPEC.md section 7 says for cross-tier
 * shadows. */
bool match_intersects(const struct policy *a_policy, const struct match *a, const struct policy *b_policy,
                      const struct match *b);

/* ---- Monotonicity at reload (SPEC.md section 8) ---- */

struct violation {
    struct slice new_rule, existing_deny;
    struct slice message; /* new auto_approve rule 'NEW' weakens existing deny 'DENY' — reload refused */
};

struct violations {
    struct arena arena;
    struct violation *list;
    size_t count, cap;
    bool failed; /* the list is not whole (no memory, or more than VIOLATIONS_MAX): refuse the reload */
};

/* Far more than anyone reads: a list can be as long as the product of the two rule sets. */
#define VIOLATIONS_MAX ((size_t)1 << 20)

void violations_init(struct violations *violations);
void violations_finish(struct violations *violations);

/* Every new auto_approve rule of `next` whose match is a subset of the match of any deny in `running`. Not
 * quadratic. */
void violations_find(const struct policy *running, const struct policy *next,
                     struct violations *ret_violations);

#endif
