/* The index of a policy: the first rule that ends the evaluation of a reading, without looking at the others.
 * Inside the room only.
 *
 * Rules are sorted by which fields they have, their shape; the rules of all shapes stand in one hash table by
 * the shape and the values of its fields. A call is looked up once for each shape, for each combination of
 * the values that it offers: of its tool's name, its channel and thread there is one each, of the prefixes of
 * its path, its components, its arguments and the prefixes of its tool's name there may be several. Of a
 * rule's argEquals only one argument is part of its key, the one that the fewest rules have; `actor` is none.
 *
 * What a lookup finds is only a candidate: policy_match alone says whether a rule matches, so a collision of
 * hashes costs time and no more. Candidates of one key stand in the order of evaluation. Whatever a mask or
 * a budget leaves out is left out for speed: beyond the budget the plain scan decides.
 *
 * The index owns its arrays; it is made once, in policy_seal, and never changes. */
#ifndef POLICY_INDEX_H
#define POLICY_INDEX_H

#include "policy/policy.h"

/* What a string of a call is looked up as. Each role has a table of its own. */
enum role {
    ROLE_TOOL,
    ROLE_TOOL_PREFIX,
    ROLE_SERVER,
    ROLE_CHANNEL,
    ROLE_THREAD,
    ROLE_PREFIX,    /* ids of policy->prefixes */
    ROLE_COMPONENT, /* pathComponent without `*` */
    ROLE_STARTS,    /* `x*` */
    ROLE_ENDS,      /* `*x` */
    ROLE_ATOM,      /* a key of argEquals with its value: ids of index->atoms */
    ROLE_KEY,       /* a key of argEquals */
    ROLE_REQUIRED,  /* an entry of the default set */
    ROLE_COUNT,
};

/* The fields that can be part of a key. */
enum facet {
    FACET_TOOL,
    FACET_SERVER,
    FACET_CHANNEL,
    FACET_THREAD,
    FACET_SINGLES, /* those above have one value in a call, those below any number */
    FACET_TOOL_PREFIX = FACET_SINGLES,
    FACET_PREFIX,
    FACET_COMPONENT,
    FACET_ATOM,
    FACET_COUNT,
};

/* Which rules a lookup is for, and which of their fields count. */
enum view {
    VIEW_ALL,        /* every rule by all its fields */
    VIEW_UNREADABLE, /* rules with a path field, by the others */
    VIEW_UNKNOWN,    /* rules with a path field or argEquals, by the others */
    VIEW_COUNT,
};

/* A string that some rule has in some role. */
struct word {
    uint32_t hash, id; /* of the text; 0: free */
    uint64_t shapes;   /* a bit for each shape of VIEW_ALL that has it; the last bit stands for several */
};

/* Open addressing in blocks of one cache line. */
#define WORDS_IN_BLOCK 4u
struct words {
    struct word *list;
    uint32_t blocks;
    uint32_t longest; /* text, in bytes */
    void *memory;     /* what list is a part of */
};

/* The lengths that the texts of a role have, ascending. */
struct lengths {
    uint32_t *list;
    uint32_t count;
};

struct shape {
    uint64_t seed;
    uint32_t first; /* the rank of its first rule: a rule's place in policy->order */
    uint8_t facets; /* a bit for each enum facet */
    uint8_t bit;    /* in word.shapes */
};

#define SHAPE_BITS 64u

/* The hash table of rules. A value is a rank, or, with KEY_LIST set, where in index->lists the number of
 * ranks stands and behind it the ranks. The first free slot of a block ends it. */
#define KEYS_IN_BLOCK 8u
#define KEY_FREE      UINT32_MAX
#define KEY_LIST      0x80000000u
struct keys {
    uint32_t keys[KEYS_IN_BLOCK];
    uint32_t values[KEYS_IN_BLOCK];
};

struct policy_index {
    struct words words[ROLE_COUNT];
    struct lengths tool_prefixes, starts, ends;
    uint64_t depths; /* a bit for each number of components that a prefix has; the last stands for more */
    struct match_arg *atoms;
    uint32_t atom_count;
    struct shape *shapes[VIEW_COUNT]; /* by their first ranks */
    uint32_t shape_count[VIEW_COUNT];
    uint64_t without[FACET_COUNT]; /* the bits of shapes that do without a facet */
    struct keys *blocks;
    uint32_t block_count;
    void *memory; /* what blocks are a part of */
    uint32_t *lists;
    uint32_t list_count;
    uint32_t longest, longest_first; /* chain: its length, and the first rule in it */
    size_t bytes;                    /* of all this */
};

/* Policies with fewer rules are scanned: it is as quick. */
#define INDEX_LEAST_RULES 16u

MUST_USE bool index_build(struct policy *policy);
void index_destroy(struct policy_index *index);

/* The rule that ends the evaluation of a reading, and how it matches (FIELD_ALL or FIELD_UNKNOWN); NULL when
 * none does. What policy_scan finds, whatever the size of the policy. */
const struct rule *index_find(const struct policy *policy, const struct facts *facts,
                              const struct reading *reading, enum match_field *ret_field);

/* policy_evaluate by the index, whatever the size of the policy. */
struct decision policy_evaluate_indexed(const struct policy *policy, const struct facts *facts,
                                        const struct reading *readings, size_t reading_count,
                                        const struct approvals *approvals);

/* ---- index_words.c ---- */

/* The word of a text in a role, or NULL. */
const struct word *words_find(const struct policy *policy, enum role role, struct slice text);
const struct word *words_find_hashed(const struct policy *policy, enum role role, struct slice text,
                                     uint32_t hash);

/* The atom of a key's symbol and a value's canonical text, or NULL. */
const struct word *words_find_atom(const struct policy *policy, uint32_t key, struct slice value);

/* Makes the table of a role of `count` ids, with their masks; of 1, 2, … count when ids is NULL. */
MUST_USE bool words_build(const struct policy *policy, struct policy_index *index, enum role role,
                          const uint64_t *masks, const uint32_t *ids, uint32_t count);
void words_finish(struct words *words);

/* ---- Hashes ---- */

static inline uint64_t index_mix(uint64_t word)
{
    word *= 0x9e3779b97f4a7c15u;
    word ^= word >> 32;
    return word * 0xd6e8feb86659fd93u;
}

/* Of one value of a key; a key's is made of those of its values, in any order. */
static inline uint64_t index_value_hash(enum facet facet, uint32_t id)
{
    return index_mix((uint64_t)(facet + 1) << 32 | id);
}

static inline uint64_t index_shape_seed(enum view view, uint32_t facets)
{
    return index_mix((uint64_t)(view + 1) << 48 | facets);
}

static inline uint32_t index_key(uint64_t hash)
{
    return (uint32_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u >> 32);
}

/* In index->depths. */
static inline unsigned index_depth_bit(unsigned depth)
{
    return depth < 63 ? depth : 63;
}

/* Which of `count` blocks a hash belongs to: higher hashes to higher blocks. */
static inline uint32_t index_block(uint32_t hash, uint32_t count)
{
    return (uint32_t)((uint64_t)hash * count >> 32);
}

#endif
