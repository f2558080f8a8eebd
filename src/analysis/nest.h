/* How a policy's tool prefixes nest. For this room only.
 *
 * Borrows the policy; owns its own tables until nest_finish. */
#ifndef ANALYSIS_NEST_H
#define ANALYSIS_NEST_H

#include "policy/policy.h"

struct tool_nest {
    const struct policy *policy;
    uint32_t *symbols; /* the distinct tool prefixes, in byte order */
    uint32_t
        *up; /* up[i]: 1 + the place of the longest prefix that begins prefix i and is shorter; 0: none */
    uint32_t count;
    uint32_t deepest; /* the longest chain of prefixes that begin one another */
};

/* Which rules' prefixes count. */
typedef bool tool_nest_filter(const struct rule *rule);

MUST_USE bool tool_nest_init(struct tool_nest *nest, const struct policy *policy, tool_nest_filter *filter);
void tool_nest_finish(struct tool_nest *nest);

/* 1 + the place of the longest prefix that begins `name` or equals it; 0: none. Those above it follow by
 * `up`. */
uint32_t tool_nest_find(const struct tool_nest *nest, struct slice name);

/* Writes the symbols of all prefixes that begin `name`, the longest first: at most nest->deepest. Returns how
 * many. */
uint32_t tool_nest_above(const struct tool_nest *nest, struct slice name, uint32_t *ret_symbols);

/* The most prefixes that stand above one canonical path, itself included: it has no more components. */
#define PATHS_ABOVE_MAX (LIMIT_PATH_BYTES / 2 + 2)

#endif
