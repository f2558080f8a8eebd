/* What the policy room's files share. */
#ifndef POLICY_POLICY_INTERNAL_H
#define POLICY_POLICY_INTERNAL_H

#include <string.h>

#include "policy/policy.h"

/* Finds the groups of equivalent rules, their speakers, and the order of evaluation. */
MUST_USE bool policy_group(struct policy *policy);

/* Room for `more` items behind `count` of an array that only this grows. */
MUST_USE bool policy_grow(void **array, uint32_t count, uint32_t more, size_t size);

/* What follows the last `/` of a command's first word. */
static inline struct slice policy_command_name(struct slice word)
{
    const char *slash = memrchr(word.ptr, '/', word.len);
    return slash == NULL ? word : slice_from(word, (size_t)(slash - word.ptr) + 1);
}

#endif
