/* Which earlier matches contain this one? For this room only.
 *
 * Matches are put in one by one; a question names those already there whose match contains the asked one,
 * field by field as in SPEC.md section 7. Every combination of present fields that occurs is a shape; a match
 * can only be contained in one of a shape whose fields it has too, and then at its own values or, for
 * toolPrefix and pathPrefix, at a value above its own. So a question costs one look into a hash table for
 * each such shape and pair of values above, however many matches there are. argEquals is one level more:
 * below each table entry stands a trie of the sorted (key, value) pairs, of which a question walks the
 * subsets of its own pairs that exist. Those can be many for pairs made to be, so every look counts as a step
 * and the steps have a ceiling: beyond it answers are not whole, and superset_state says so.
 *
 * Borrows the policy; owns its tables until superset_destroy. */
#ifndef ANALYSIS_SUPERSET_INTERNAL_H
#define ANALYSIS_SUPERSET_INTERNAL_H

#include "analysis/nest_internal.h"

/* A symbol that no text of the policy has, and a rule that does not exist. */
#define NOWHERE UINT32_MAX

struct superset;

enum superset_mode {
    SUPERSET_FIRST, /* the first containing match of the same tier is wanted */
    SUPERSET_EVERY, /* all of them, whatever their tier */
    SUPERSET_ORDER, /* the first, whatever its tier, by questions */
};

enum superset_state {
    SUPERSET_NO_MEMORY = 0,
    SUPERSET_EXHAUSTED, /* too many steps */
    SUPERSET_WHOLE,     /* every answer so far is whole */
};

/* NULL when there is no memory. */
MUST_USE struct superset *superset_create(const struct policy *policy, enum superset_mode mode);
void superset_destroy(struct superset *set);

/* Whether a rule can be put in and asked about: it has no lists, and no commands and hosts, which nest in other ways. */
bool superset_takes(const struct policy *policy, const struct rule *rule);

/* Puts a rule in that superset_takes. Rules must come in load order. */
void superset_add(struct superset *set, uint32_t rule);

/* SUPERSET_FIRST: the first rule put in whose match contains that of this rule of the same policy, or
 * NOWHERE. */
uint32_t superset_first(struct superset *set, uint32_t rule);

/* A match of another policy in the terms of the set's: symbols of the set's policy or NOWHERE, the tool or
 * tool prefix and the path prefix as texts, ptr NULL when absent. */
struct foreign_match {
    struct match match;           /* path_prefix is not looked at; a tool or tool_prefix is 0 or not */
    const struct match_arg *args; /* sorted by key, none of them NOWHERE; match.arg_count of them */
    struct slice tool, path;
};

/* SUPERSET_EVERY: all rules put in whose match contains it, in load order; how many. *ret_rules holds until
 * the next question. */
size_t superset_every(struct superset *set, const struct foreign_match *match, const uint32_t **ret_rules);

/* A set of calls as the values that each field of a containing match may have, beside "absent". */
struct question {
    struct match match;           /* server, channel, thread, actor, tool; 0: only "absent" will do */
    const struct match_arg *args; /* sorted by key, match.arg_count of them */
    const uint32_t *tools;        /* tool prefixes */
    const uint32_t *paths;        /* ids of path prefixes */
    const uint32_t *components;   /* component patterns */
    uint32_t tool_count, path_count, component_count;
};

/* SUPERSET_ORDER: the first rule put in, before rule `end`, that contains it, or NOWHERE. */
uint32_t superset_first_of(struct superset *set, const struct question *question, uint32_t end);

enum superset_state superset_state(const struct superset *set);

#endif
