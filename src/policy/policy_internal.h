/* What the policy room's files share. */
#ifndef POLICY_POLICY_INTERNAL_H
#define POLICY_POLICY_INTERNAL_H

#include "policy/policy.h"

/* Finds the groups of equivalent rules, their speakers, and the order of evaluation. */
MUST_USE bool policy_group(struct policy *policy);

#endif
