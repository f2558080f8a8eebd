/* What the files that make an index share. */
#ifndef INDEX_BUILD_INTERNAL_H
#define INDEX_BUILD_INTERNAL_H

#include <stdlib.h>

#include "index/index_internal.h"

/* One rule in one view. */
struct entry {
    uint32_t key;
    uint32_t rank; /* and the view, above RANK_BITS */
};
#define RANK_BITS 28u
#define RANK_MASK ((1u << RANK_BITS) - 1)

/* The strings of one role. */
struct marks {
    struct facts_mask *masks; /* by symbol, prefix or atom: the rules that have it; NULL: none has any */
    uint32_t *ids;            /* of those with a mask */
    uint32_t count;
};

/* What is needed only until the index stands. */
struct facet_values;

struct build {
    struct policy *policy;
    struct policy_index *index;
    uint32_t *atom_slots, atom_mask, atom_most; /* open addressing: atoms by key and value */
    uint32_t *uses;                             /* by atom: how many rules have it */
    struct marks marks[ROLE_COUNT];
    uint16_t shape_of[VIEW_COUNT][1u << FACET_COUNT]; /* number + 1 in index->shapes */
    struct entry *entries, *sorted;
    uint32_t entry_count, entry_cap;
    struct facet_values *values;               /* of the rule at hand */
    uint32_t settled, key_count, listed, slot; /* how far the table of keys is */
};

#define BIT(facet)     (1u << (facet))
#define PATH_FACETS    (BIT(FACET_PREFIX) | BIT(FACET_COMPONENT))
#define UNKNOWN_FACETS (PATH_FACETS | BIT(FACET_ATOM) | BIT(FACET_COMMAND) | BIT(FACET_HOST))

/* The values of a list are part of keys up to this many keys for one rule; the others are compared when it is found. */
#define KEYS_MOST 1024u

/* What stands for each facet of the rule at hand: no value where the rule has none. */
struct facet_values {
    uint32_t count[FACET_COUNT];
    uint32_t ids[FACET_COUNT][MATCH_LIST_MOST];
    uint32_t open_count, open[MATCH_LIST_MOST]; /* of FACET_COMMAND in VIEW_OPEN */
};

static inline const struct rule *rule_at(const struct build *build, uint32_t rank)
{
    return &build->policy->rules[build->policy->order[rank]];
}

static inline void *array_of(size_t count, size_t size)
{
    return calloc(count + 1, size);
}

/* The argument of a rule that the fewest rules have, of a list all its values together: its place among the rule's
 * arguments and 1, or 0. */
uint32_t index_pivot_of(struct build *build, const struct match *match);

/* Makes the table of the entries that were added. */
MUST_USE bool index_make_keys(struct build *build);

#endif
