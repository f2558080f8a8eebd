/* The index of a policy: the first rule that ends the evaluation of a reading, without looking at the others.
 * Inside the room only.
 *
 * Rules are sorted by which fields they have, their shape; the rules of all shapes stand in one hash table by
 * the shape and the values of its fields. A call is looked up once for each shape, for each combination of
 * the values that it offers: of its tool's name, its channel and thread there is one each, of the prefixes of
 * its path, its components, its arguments and the prefixes of its tool's name there may be several. Of a
 * rule's argEquals only one argument is part of its key, the one that the fewest rules have; `actor` is none.
 *
 * In a small policy every rule has a bit of its own in the masks of the words; those that the masks of a call
 * leave are compared in order, and no key is looked up.
 *
 * What a lookup finds is only a candidate: policy_match alone says whether a rule matches, so a collision of
 * hashes costs time and no more. Candidates of one key stand in the order of evaluation. Whatever a mask or
 * a budget leaves out is left out for speed: beyond the budget the plain scan decides.
 *
 * The index owns its arrays; it is made once, in policy_seal, and never changes. */
#ifndef INDEX_INDEX_INTERNAL_H
#define INDEX_INDEX_INTERNAL_H

#include "index/index.h"

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
    ROLE_KEY,       /* a key of arguments, as it is compared exactly or folded: see words_build_names */
    ROLE_LOOSE_KEY, /* the folded ones, while the index is made: their words are those of ROLE_KEY */
    ROLE_PROGRAM,   /* a command's first word, or its first two as match_pattern.start has them */
    ROLE_NAME,      /* the same, of the first word what follows its last `/` */
    ROLE_HOST,
    ROLE_BELOW,    /* `*.NAME`: the word is `.NAME` */
    ROLE_REQUIRED, /* an entry of the default set */
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
    FACET_COMMAND, /* of rules with command fields, whose path fields and `host` are no facets: they ask the command */
    FACET_HOST,
    FACET_COUNT,
};

/* The values of FACET_COMMAND: a start of commands in one of two roles, or, of rules with a commandWord alone, any. */
#define COMMAND_ANY 1u
static inline uint32_t index_command_value(uint32_t start, bool name)
{
    return start << 1 | (name ? 1u : 0u);
}

/* Which rules a lookup is for, and which of their fields count. */
enum view {
    VIEW_ALL,        /* every rule by all its fields */
    VIEW_UNREADABLE, /* rules with a path field, by the others */
    VIEW_UNKNOWN,    /* rules that depend on the input, by the others */
    VIEW_HOST,       /* rules with a host, by the others */
    VIEW_OPEN,       /* rules with commands of two words and more, by the first word and the others */
    VIEW_COUNT,
};

/* A string that some rule has in some role. The text is the symbols' or the prefixes'. */
struct word {
    const char *text; /* NULL: free */
    uint64_t mask;    /* a bit for each shape of VIEW_ALL that has it, the last bit for several; in a small
                         policy    one for each of the first 64 rules */
    uint32_t len, hash;
    uint32_t id;
    uint32_t key; /* of an atom: its key's symbol; of a name: see words_build_names; else 0 */
};

/* Open addressing; at least one slot is free. */
struct words {
    struct word *list;
    uint32_t slots;
    uint32_t longest; /* text, in bytes */
    uint64_t *high;   /* by slot: a bit for each rule from the 65th on; NULL when there are none */
    uint64_t filter;  /* a bit for each length and first byte that some text has: see words_may_have */
};

/* The lengths that the texts of a role have, ascending, and their first bytes, or their last. */
struct lengths {
    uint32_t *list;
    uint32_t count;
    uint64_t bytes[4];
};

struct shape {
    uint64_t seed;
    uint32_t first;  /* the rank of its first rule: a rule's place in policy->order */
    uint16_t facets; /* a bit for each enum facet */
    uint8_t bit;     /* in word.mask */
};

#define SHAPE_BITS 64u

/* The hash table of rules: open addressing, in the order of the keys, so that a lookup ends at the first
 * greater key. A value is a rank, or, with KEY_LIST set, where in index->lists the number of ranks stands and
 * behind it the ranks. */
#define KEY_LIST 0x80000000u
struct key_slot {
    uint32_t key;
    uint32_t value;
};
#define KEY_FREE 0xffffffffu /* no rule has this key, and a free slot has it */

struct policy_index {
    struct words words[ROLE_COUNT];
    struct lengths tool_prefixes, starts, ends;
    struct facts_mask any_command;            /* of COMMAND_ANY */
    struct facts_mask exact_args, loose_args; /* of rules that compare arguments so */
    uint64_t depths; /* a bit for each number of components that a prefix has; the last stands for more */
    struct match_arg *atoms;
    uint32_t atom_count;
    struct shape *shapes[VIEW_COUNT]; /* by their first ranks */
    uint32_t shape_count[VIEW_COUNT];
    bool small;                             /* masks have a bit for each rule */
    struct facts_mask all;                  /* a bit for each rule, or each shape of VIEW_ALL */
    struct facts_mask with[FACET_COUNT];    /* the bits of which some rule has a facet */
    struct facts_mask without[FACET_COUNT]; /* the bits of which some rule does without it */
    struct facts_mask plain, nowhere;       /* without a command and a host; without a path as well */
    struct key_slot *slots;                 /* a key stands at index_slot(key, slot_count) or behind it */
    uint32_t slot_count;
    uint32_t *lists;
    uint32_t list_count;
    uint32_t longest, longest_first; /* chain: its length, and the first rule in it */
    size_t bytes;                    /* of all this */
};

/* Policies with fewer rules are scanned: it is as quick. */
#define INDEX_LEAST_RULES 4u

/* Policies with no more rules than this are small. */
#define INDEX_SMALL_RULES 128u

void index_destroy(struct policy_index *index);

/* What ends the evaluation of a reading. */
struct index_found {
    const struct rule *rule;   /* NULL: none does */
    enum match_field field;    /* FIELD_ALL or FIELD_UNKNOWN */
    uint32_t end;              /* its place in the order of evaluation; order_count when there is none */
    struct policy_notes notes; /* rules that were noted, those behind it among them */
};

/* What policy_scan finds, whatever the size of the policy. */
void index_find(const struct policy *policy, const struct facts *facts, const struct reading *reading,
                struct index_found *ret_found);

/* policy_evaluate by the index, whatever the size of the policy. */
struct decision policy_evaluate_indexed(const struct policy *policy, const struct facts *facts,
                                        const struct reading *readings, size_t reading_count,
                                        const struct approvals *approvals);

/* ---- Hashes ---- */

#define INDEX_SMALL_TABLE 4096u

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
    uint32_t key = (uint32_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u >> 32);
    return key - (key == KEY_FREE);
}

/* How many slots a table of so many entries has: small ones are mostly empty, so that the first slot is
 * nearly always the last that is looked at. */
static inline uint32_t index_slots_for(uint32_t count)
{
    return count < INDEX_SMALL_TABLE ? 4 * count + 1 : count + count * 2 / 3 + 1;
}

/* In index->depths. */
static inline unsigned index_depth_bit(unsigned depth)
{
    return depth < 63 ? depth : 63;
}

/* Which of `count` slots a hash belongs to: higher hashes to higher slots. */
static inline uint32_t index_slot(uint32_t hash, uint32_t count)
{
    return (uint32_t)((uint64_t)hash * count >> 32);
}

/* ---- Masks ---- */

static inline struct facts_mask mask_or(struct facts_mask a, struct facts_mask b)
{
    return (struct facts_mask){a.low | b.low, a.high | b.high};
}

/* What is left of a mask when a facet's values are known: the rules without it, and those with such a value.
 */
static inline struct facts_mask mask_left(struct facts_mask mask, const struct policy_index *index,
                                          enum facet facet, struct facts_mask values)
{
    const struct facts_mask *without = &index->without[facet];
    return (struct facts_mask){mask.low & (without->low | values.low),
                               mask.high & (without->high | values.high)};
}

static inline bool mask_meets(struct facts_mask a, struct facts_mask b)
{
    return ((a.low & b.low) | (a.high & b.high)) != 0;
}

static inline struct facts_mask mask_and(struct facts_mask a, struct facts_mask b)
{
    return (struct facts_mask){a.low & b.low, a.high & b.high};
}

/* Of a small policy: rules that are compared one by one as quickly as a call is looked up for them. */
#define FEW_RULES 6

/* Counts in the word itself: most processors have an instruction for it, but not all. */
static inline unsigned mask_bits(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(word * 0x0101010101010101u >> 56);
}

static inline bool mask_is_few(struct facts_mask mask)
{
    return mask_bits(mask.low) + (mask.high == 0 ? 0 : mask_bits(mask.high)) <= FEW_RULES;
}

static inline bool mask_is_empty(struct facts_mask mask)
{
    return (mask.low | mask.high) == 0;
}

static inline struct facts_mask word_mask(const struct words *words, const struct word *word)
{
    return (struct facts_mask){word->mask, words->high == NULL ? 0 : words->high[word - words->list]};
}

/* ---- Words ---- */

MUST_USE bool words_build(const struct policy *policy, struct policy_index *index, enum role role,
                          const struct facts_mask *masks, const uint32_t *ids, uint32_t count);

/* One table for the names of arguments, so that a name is looked up once. A word's `id` is the symbol of the name as rules
 * compare it exactly, 0 where none does; its `key` the symbol of its folded form as rules compare it loosely, 0 where none
 * does. The folded forms are words too. */
MUST_USE bool words_build_names(const struct policy *policy, struct policy_index *index,
                                const struct facts_mask *masks, const uint32_t *ids, uint32_t count,
                                const struct facts_mask *loose_masks, const uint32_t *loose_ids,
                                uint32_t loose_count);

static inline unsigned words_filter_bit(struct slice text)
{
    unsigned first = text.len == 0 ? 0 : (unsigned char)text.ptr[0];
    return (unsigned)(text.len * 11 + first) & 63;
}

/* Whether it is worth hashing a text. The answer for a role without words is no. */
static inline bool words_may_have(const struct words *words, struct slice text)
{
    return (words->filter >> words_filter_bit(text) & 1) != 0 && text.len <= words->longest;
}

__attribute__((always_inline)) static inline bool words_equal(const char *a, const char *b, size_t len)
{
    if (len < 8) {
        return intern_last_word((struct slice){a, len}) == intern_last_word((struct slice){b, len});
    }
    uint64_t differ = intern_load64(a + len - 8) ^ intern_load64(b + len - 8);
    for (size_t at = 0; at + 8 < len; at += 8) {
        differ |= intern_load64(a + at) ^ intern_load64(b + at);
    }
    return differ == 0;
}

/* Only where there are words. `key` is the key's symbol of an atom, else 0. Always inline: the call would
 * cost as much as the search. */
__attribute__((always_inline)) static inline const struct word *
words_find_hashed(const struct words *words, struct slice text, uint32_t key, uint32_t hash)
{
    uint32_t at = index_slot(hash, words->slots);
    for (;;) {
        const struct word *word = &words->list[at];
        if (word->text == NULL) {
            return NULL;
        }
        if (word->hash == hash && word->len == text.len && (key == 0 || word->key == key) &&
            words_equal(word->text, text.ptr, text.len)) {
            return word;
        }
        at = at + 1 == words->slots ? 0 : at + 1;
    }
}

/* The word of a text, or NULL. */
__attribute__((always_inline)) static inline const struct word *words_find(const struct words *words,
                                                                           struct slice text)
{
    return words->slots != 0 ? words_find_hashed(words, text, 0, intern_hash(text)) : NULL;
}

/* The same, for texts that are none of the words more often than not. */
__attribute__((always_inline)) static inline const struct word *words_find_rare(const struct words *words,
                                                                                struct slice text)
{
    return words_may_have(words, text) ? words_find_hashed(words, text, 0, intern_hash(text)) : NULL;
}

static inline uint32_t words_atom_hash(uint32_t value_hash, uint32_t key)
{
    return (uint32_t)(index_mix((uint64_t)key << 32 | value_hash) >> 32);
}

/* The atom of a key's symbol and a value's canonical text, or NULL. */
static inline const struct word *words_find_atom(const struct words *words, uint32_t key, struct slice value)
{
    bool may = words_may_have(words, value);
    return may ? words_find_hashed(words, value, key, words_atom_hash(intern_hash(value), key)) : NULL;
}

#endif
