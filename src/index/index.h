/* The same decisions as the plain scan of the policy room, fast: an index of a policy's rules, a call looked up in it.
 * SPEC.md section 3.
 *
 * The index belongs to its policy and goes with it. Evaluation allocates nothing, takes no lock and looks at nothing
 * but its arguments. */
#ifndef INDEX_INDEX_H
#define INDEX_INDEX_H

#include "policy/policy.h"

/* Makes the index of a sealed policy. False when memory ran out. */
MUST_USE bool index_build(struct policy *policy);

/* Looks a call up lazily, in this order: channel, tool, server, thread, arguments. The channel and the tool always; each
 * later one only if some rule uses it that has met all before it. False when memory ran out. The facts borrow the call's slices and hold for this policy
 * only. */
MUST_USE bool facts_make(struct facts *facts, const struct policy *policy, const struct call *call);

/* Decides: each reading by itself, the strictest stands, among equals the first. Pure. Uses the quick way
 * when the policy has one; policy_evaluate_linear is the plain scan that it must always equal. */
struct decision policy_evaluate(const struct policy *policy, const struct facts *facts,
                                const struct reading *readings, size_t reading_count,
                                const struct approvals *approvals);
struct decision policy_evaluate(const struct policy *policy, const struct facts *facts,
                                const struct reading *readings, size_t reading_count,
                                const struct approvals *approvals);

/* How long the longest chain of rules is that a call must be compared with one by one, and the first of
 * them: rules that differ only in `actor`, or in arguments that many rules have. 0 without rules. */
uint32_t policy_longest_chain(const struct policy *policy, const struct rule **ret_first);
#define POLICY_LONG_CHAIN 64u /* longer ones are worth a warning */

/* The bytes of what makes evaluation quick; the rules and their texts are not part of it. */
size_t policy_index_bytes(const struct policy *policy);

#endif
