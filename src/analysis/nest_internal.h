/* How prefixes of names nest. For this room only.
 *
 * Borrows the texts; owns its own tables until nest_finish. */
#ifndef ANALYSIS_NEST_INTERNAL_H
#define ANALYSIS_NEST_INTERNAL_H

#include "policy/policy.h"

struct name_nest {
    const struct intern *texts;
    uint32_t *symbols; /* the distinct prefixes, in byte order */
    uint32_t
        *up; /* up[i]: 1 + the place of the longest prefix that begins prefix i and is shorter; 0: none */
    uint32_t count;
    uint32_t deepest; /* the longest chain of prefixes that begin one another */
};

/* Of some symbols, repetitions allowed. */
MUST_USE bool name_nest_of(struct name_nest *nest, const struct intern *texts, const uint32_t *symbols,
                           size_t count);

/* Of the tool prefixes of a policy's rules. */
MUST_USE bool name_nest_init(struct name_nest *nest, const struct policy *policy);
void name_nest_finish(struct name_nest *nest);

/* 1 + the place of the longest prefix that begins `name` or equals it; 0: none. Those above it follow by
 * `up`. */
uint32_t name_nest_find(const struct name_nest *nest, struct slice name);

/* Writes the symbols of all prefixes that begin `name`, the longest first: at most nest->deepest. Returns how
 * many. */
uint32_t name_nest_above(const struct name_nest *nest, struct slice name, uint32_t *ret_symbols);

/* The most prefixes that stand above one canonical path, itself included: it has no more components. */
#define PATHS_ABOVE_MAX (LIMIT_PATH_BYTES / 2 + 2)

#endif
