/* A search in the index: what one reading offers, and what was found so far. index_offers.c fills the offers, index.c looks
 * the keys up that they make. */
#ifndef INDEX_SEARCH_INTERNAL_H
#define INDEX_SEARCH_INTERNAL_H

#include "index/index_internal.h"

/* Prefixes and patterns of one path that some rule has. A path with more of them is left to the plain scan.
 */
#define MOST_VALUES 128u

/* Starts of one command: its first word and its first two, in two roles, and any. */
#define MOST_STARTS 5u

/* Lookups that wait for memory together. */
#define BATCH 16u

/* Values that a call offers for one facet. */
struct offer {
    const struct facts_value *list;
    size_t count;
    struct facts_mask mask; /* of any of them */
};

struct search {
    const struct policy *policy;
    const struct facts *facts;
    const struct facts_name *name;
    const struct reading *reading;
    struct facts_value singles[FACET_SINGLES];
    uint64_t pairs[2][4]; /* the hash of each set of the first two singles, and of the others */
    struct offer offers[FACET_COUNT];
    uint32_t keys[BATCH];
    unsigned key_count;
    uint32_t best; /* rank; order_count: none yet */
    enum match_field field;
    struct policy_notes *notes;
    uint64_t budget; /* lookups that are left before a scan is no slower */
    bool overrun;
    struct facts_value prefixes[MOST_VALUES], components[MOST_VALUES];
    struct facts_value commands[MOST_STARTS], hosts[MOST_VALUES];
};

/* Adds what a path, a command or a host offers to the rules that are left. */
void search_take_path(struct search *search, struct slice path, struct facts_mask left);
void search_take_command(struct search *search, const struct command *command);
void search_take_host(struct search *search, struct slice host);

#endif
