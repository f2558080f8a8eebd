/* Which rules may contain a rule, or have calls in common with it? For this room only.
 *
 * Rules are put in one by one, each with a number of the caller's. A question names those that are not ruled out by a look
 * at one field after the other: a rule that is not named neither contains the asked rule nor, if that was asked, meets it,
 * as rule_subset and rule_intersects say it. The caller compares those that are named. Unlike superset.h this takes lists,
 * commands and hosts as well, and the rules of any policy.
 *
 * A set of rules is a set of bits, and a question is their conjunction over the fields: it costs a few words for each 64
 * rules, however many values they have. Owns its tables until overlap_destroy, and keeps nothing of a policy. */
#ifndef ANALYSIS_OVERLAP_INTERNAL_H
#define ANALYSIS_OVERLAP_INTERNAL_H

#include "policy/policy.h"

struct overlap;

enum overlap_question {
    OVERLAP_CONTAINS, /* rules that may contain the asked one */
    OVERLAP_MEETS,    /* rules that may have a call in common with it */
};

/* For at most so many rules, and for questions of one kind. NULL when there is no memory. */
MUST_USE struct overlap *overlap_create(uint32_t most, enum overlap_question question);
void overlap_destroy(struct overlap *set); /* takes NULL */

/* Puts a rule in; numbers must rise. */
void overlap_add(struct overlap *set, const struct policy *policy, const struct rule *rule, uint32_t number);

/* Asks about a rule, of any policy; the answers come one by one, in ascending order, until the next question. */
void overlap_ask(struct overlap *set, const struct policy *policy, const struct rule *rule);
bool overlap_next(struct overlap *set, uint32_t *ret_number);

/* How many words of bits all questions have looked at so far: for who must come to an end. */
uint64_t overlap_steps(const struct overlap *set);

/* Memory ran out: answers are not whole. */
bool overlap_failed(const struct overlap *set);

#endif
