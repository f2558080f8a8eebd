/* The parts of superset.c and superset_ask.c. Inside those two only. */
#ifndef ANALYSIS_SUPERSET_INSIDE_INTERNAL_H
#define ANALYSIS_SUPERSET_INSIDE_INTERNAL_H

#include "analysis/superset_internal.h"

/* The fields of a shape, as bits; two more bits hold the tier. */
enum superset_field {
    F_SERVER,
    F_CHANNEL,
    F_THREAD,
    F_ACTOR,
    F_OTHER, /* match.host: closed, as the actor is; see space.h */
    F_TOOL,
    F_TOOL_PREFIX,
    F_PATH,
    F_COMPONENT,
    F_ARGS,
    F_COUNT,
};
#define BIT(field) (1u << (field))
#define TIER_SHIFT F_COUNT
#define SHAPES_MAX (1u << (F_COUNT + 2))

struct shape {
    uint32_t fields, first; /* `first`: its first rule */
};

/* A set of matches that agree in shape, in all fields but argEquals, and in the argument pairs down to here.
 */
struct node {
    uint32_t rule;        /* the first rule in or below it */
    uint32_t terminal;    /* 1 + the first rule whose arguments end here; 0: none */
    uint32_t parent;      /* 1 + the node above; 0: this is the top of a trie */
    struct match_arg arg; /* the pair that leads here from above */
    uint32_t low, high;   /* the keys that lead on lie between these */
    bool open;            /* false: it holds one rule (and its equals) only, whatever pairs that has left */
};

struct superset {
    const struct policy *policy;
    enum superset_mode mode;
    bool failed, exhausted;
    uint64_t steps, steps_max;
    struct name_nest tools;
    uint32_t *path_up; /* SUPERSET_FIRST, by prefix id: 1 + the id just above it; 0: not looked up yet */

    struct shape *shapes;
    uint32_t shape_count;
    uint16_t *shape_of; /* by fields: 1 + the shape */
    /* Bit (shape % 64) sets: the shapes that lack a field, and those in which a value occurs. */
    uint64_t lacking[F_COUNT];
    uint64_t *symbol_shapes, *path_shapes;

    struct node *nodes;
    uint32_t node_count, node_cap;
    uint64_t *slots; /* hash in the upper half, 1 + node in the lower; 0: free */
    uint32_t slots_mask;
    uint32_t *same; /* SUPERSET_EVERY, by rule: 1 + the next rule with an equal match; 0: none */

    /* The question that is being answered, and the lists of those that are made from rules. */
    struct question question;
    uint32_t fields;
    uint32_t *tools_above, *paths_above;
    uint32_t component;
    uint32_t best;
    uint32_t *found;
    size_t found_count, found_cap;
    uint32_t *stack_node, *stack_at; /* the way down the trie */
    struct match_arg *asked_args;    /* of superset_first: as each kind of rule compares them */
};

/* What the top of a trie is found by, beside the asked match's own values. */
struct top {
    uint32_t fields, tool_prefix, path_prefix, component;
};

/* Counts a step; false when there are none left. */
static inline bool superset_step(struct superset *set)
{
    set->exhausted = set->exhausted || ++set->steps > set->steps_max;
    return !set->exhausted;
}

/* The fields that a match has, as bits, with its tier when that counts. */
uint32_t superset_fields(const struct superset *set, const struct match *match, uint8_t tier);

/* What the exact fields of a shape add to the hash of a match. */
uint64_t superset_hash(uint32_t shape, uint32_t fields, const struct match *match);

/* 1 + the top of the trie of these values, `exact` being their superset_hash; 0: there is none. */
uint32_t superset_find_top(struct superset *set, uint64_t exact, const struct top *want,
                           const struct match *values);

/* 1 + the node to which a pair leads from a node; 0: there is none. */
uint32_t superset_find_child(struct superset *set, uint32_t parent, const struct match_arg *arg);

#endif
