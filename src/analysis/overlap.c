/* Which rules may contain a rule, or meet it: bits by field and value. */
#include "analysis/overlap_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- What is told apart ---- */

/* Fields whose values are compared with one another. */
enum group {
    GROUP_TOOL,
    GROUP_SERVER,
    GROUP_CHANNEL,
    GROUP_THREAD,
    GROUP_ACTOR,
    GROUP_HINTS,
    GROUP_PATH,
    GROUP_COMPONENT,
    GROUP_COMMAND,
    GROUP_WORD,
    GROUP_HOST,
    GROUP_ARGS,
    GROUP_COUNT,
};

static const uint8_t group_of[FIELD_VALUES] = {
    [FIELD_TOOL] = GROUP_TOOL,
    [FIELD_TOOL_PREFIX] = GROUP_TOOL,
    [FIELD_SERVER] = GROUP_SERVER,
    [FIELD_CHANNEL] = GROUP_CHANNEL,
    [FIELD_THREAD] = GROUP_THREAD,
    [FIELD_ACTOR] = GROUP_ACTOR,
    [FIELD_ANNOTATIONS] = GROUP_HINTS,
    [FIELD_PATH_PREFIX] = GROUP_PATH,
    [FIELD_PATH_COMPONENT] = GROUP_COMPONENT,
    [FIELD_COMMAND] = GROUP_COMMAND,
    [FIELD_COMMAND_PREFIX] = GROUP_COMMAND,
    [FIELD_COMMAND_WORD] = GROUP_WORD,
    [FIELD_HOST] = GROUP_HOST,
};

/* How a value stands under a key. */
enum stand {
    STAND_IS,    /* it is what the key says */
    STAND_BELOW, /* it stands for all that lies below the key, and the key */
    STAND_UNDER, /* it lies below the key, or is it */
};

/* What an asked rule leaves of the rules that have something in a group. */
enum leaves { LEAVES_ALL, LEAVES_NONE, LEAVES_FITTING };

/* The rules with a key: a list. Two keys of one hash are one, which only names too many rules. */
struct key_slot {
    uint64_t key;
    uint32_t first; /* 1 + the first of its places; 0: the slot is free */
};

struct key_place {
    uint32_t rule; /* by order of putting in */
    uint32_t next; /* 1 + the next one; 0: none */
};

struct overlap {
    enum overlap_question question;
    uint32_t most, count;
    uint32_t *numbers;
    uint64_t *lacking[GROUP_COUNT]; /* the rules that say nothing of a group */
    uint64_t *fitting[GROUP_COUNT]; /* of the question: those of which a value fits */
    bool occurs[GROUP_COUNT];
    uint8_t leaves[GROUP_COUNT]; /* enum leaves, of the question */
    struct key_slot *slots;
    uint32_t slot_mask, key_count;
    struct key_place *places;
    size_t place_count, place_cap;
    uint32_t word; /* the next word of the answer, and what is left of the one before it */
    uint64_t left;
    uint64_t steps;
    bool failed;
};

/* ---- Making ---- */

static size_t words_of(uint32_t count)
{
    return (size_t)count / 64 + 1;
}

struct overlap *overlap_create(uint32_t most, enum overlap_question question)
{
    struct overlap *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        return NULL;
    }
    set->question = question;
    set->most = most;
    set->slot_mask = 63;
    set->slots = calloc((size_t)set->slot_mask + 1, sizeof(*set->slots));
    set->numbers = calloc((size_t)most + 1, sizeof(*set->numbers));
    bool ok = set->slots != NULL && set->numbers != NULL;
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        set->lacking[group] = calloc(words_of(most), sizeof(uint64_t));
        set->fitting[group] = calloc(words_of(most), sizeof(uint64_t));
        ok = ok && set->lacking[group] != NULL && set->fitting[group] != NULL;
    }
    if (!ok) {
        overlap_destroy(set);
        return NULL;
    }
    return set;
}

void overlap_destroy(struct overlap *set)
{
    if (set == NULL) {
        return;
    }
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        free(set->lacking[group]);
        free(set->fitting[group]);
    }
    free(set->numbers);
    free(set->slots);
    free(set->places);
    free(set);
}

uint64_t overlap_steps(const struct overlap *set)
{
    return set->steps;
}

bool overlap_failed(const struct overlap *set)
{
    return set->failed;
}

/* ---- Keys ---- */

static struct key_slot *find_slot(struct key_slot *slots, uint32_t mask, uint64_t key)
{
    uint32_t at = (uint32_t)(key >> 32) & mask;
    while (slots[at].first != 0 && slots[at].key != key) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

static bool grow_slots(struct overlap *set)
{
    if (set->key_count < set->slot_mask / 2) {
        return true;
    }
    uint32_t mask = set->slot_mask * 2 + 1;
    struct key_slot *slots = calloc((size_t)mask + 1, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i <= set->slot_mask; i++) {
        if (set->slots[i].first != 0) {
            *find_slot(slots, mask, set->slots[i].key) = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->slot_mask = mask;
    return true;
}

static void store(struct overlap *set, uint64_t key, uint32_t rule)
{
    struct key_place *places =
        array_grow(set->places, &set->place_cap, set->place_count + 1, sizeof(*places));
    if (places == NULL || set->place_count >= UINT32_MAX - 1) {
        set->failed = true;
        return;
    }
    set->places = places;
    if (!grow_slots(set)) {
        set->failed = true;
        return;
    }
    struct key_slot *slot = find_slot(set->slots, set->slot_mask, key);
    set->key_count += slot->first == 0;
    places[set->place_count++] = (struct key_place){rule, slot->first};
    *slot = (struct key_slot){key, (uint32_t)set->place_count};
}

static void mark_fitting(struct overlap *set, enum group group, uint64_t key)
{
    const struct key_slot *slot = find_slot(set->slots, set->slot_mask, key);
    for (uint32_t at = slot->first; at != 0; at = set->places[at - 1].next) {
        uint32_t rule = set->places[at - 1].rule;
        set->fitting[group][rule / 64] |= (uint64_t)1 << (rule % 64);
        set->steps++;
    }
}

/* A value on its way into the set, or being looked for in it. */
struct visit {
    struct overlap *set;
    enum group group;
    bool stores, below; /* it is put in; keys below it are looked for as well */
    uint32_t rule;
    bool all; /* it fits every rule, as far as keys tell */
};

static void visit_key(struct visit *visit, enum stand stand, uint64_t hash)
{
    uint64_t key = (hash ^ ((uint64_t)visit->group * 4 + stand)) * 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
    key *= 0xbf58476d1ce4e5b9u;
    if (visit->stores) {
        store(visit->set, key, visit->rule);
    } else {
        mark_fitting(visit->set, visit->group, key);
    }
}

#define HASH_BEGIN 0xcbf29ce484222325u

static uint64_t hash_byte(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 0x100000001b3u;
}

static uint64_t hash_text(struct slice text)
{
    uint64_t hash = HASH_BEGIN;
    for (size_t i = 0; i < text.len; i++) {
        hash = hash_byte(hash, text.ptr[i]);
    }
    return hash;
}

/* ---- Values by type ---- */

/* What a name must be long to be found below a prefix: shorter prefixes are not told apart. */
#define BRANCH_BYTES 4u

static void visit_tool(struct visit *visit, struct slice name, bool prefix)
{
    bool branches = name.len >= BRANCH_BYTES;
    if (visit->stores) {
        visit_key(visit, prefix ? STAND_BELOW : STAND_IS, hash_text(name));
    } else {
        uint64_t hash = HASH_BEGIN;
        for (size_t i = 0; i < name.len; i++) {
            hash = hash_byte(hash, name.ptr[i]);
            visit_key(visit, STAND_BELOW, hash);
        }
        visit_key(visit, STAND_IS, hash);
    }
    if (!visit->below || (!visit->stores && !prefix)) {
        return;
    }
    if (branches) {
        visit_key(visit, STAND_UNDER, hash_text((struct slice){name.ptr, BRANCH_BYTES}));
    }
    visit->all = visit->all || !branches;
}

static void visit_path(struct visit *visit, struct slice path)
{
    uint64_t hash = HASH_BEGIN;
    for (size_t i = 0; i < path.len; i++) {
        hash = hash_byte(hash, path.ptr[i]);
        bool last = i + 1 == path.len, ends = last || i == 0 || path.ptr[i + 1] == '/';
        if (ends && (last || !visit->stores)) {
            visit_key(visit, STAND_BELOW, hash);
        }
        if (ends && visit->below && (last || visit->stores)) {
            visit_key(visit, STAND_UNDER, hash);
        }
    }
}

/* From the last label on, so that what lies above a host is what its hash went through. */
static void visit_host(struct visit *visit, const struct url_pattern *pattern)
{
    struct slice name = url_host_text(&pattern->host);
    uint64_t hash = HASH_BEGIN;
    for (size_t i = name.len; i-- > 0;) {
        hash = hash_byte(hash, name.ptr[i]);
        bool last = i == 0, ends = last || name.ptr[i - 1] == '.';
        if (ends && ((last && pattern->below) || !visit->stores)) {
            visit_key(visit, STAND_BELOW, hash);
        }
        if (ends && visit->below && (visit->stores || (last && pattern->below))) {
            visit_key(visit, STAND_UNDER, hash);
        }
    }
    if (!pattern->below) {
        visit_key(visit, STAND_IS, hash);
    }
}

static void visit_value(struct visit *visit, const struct policy *policy, enum match_field field,
                        uint32_t value)
{
    struct slice word;
    const char *slash;
    switch (field_table[field].type) {
    case FIELD_TYPE_NAME:
    case FIELD_TYPE_NAME_PREFIX:
        if (visit->group == GROUP_TOOL) {
            visit_tool(visit, policy_text(policy, value), field == FIELD_TOOL_PREFIX);
            return;
        }
        visit_key(visit, STAND_IS, hash_text(policy_text(policy, value)));
        return;
    case FIELD_TYPE_TEXT:
    case FIELD_TYPE_COMPONENT: /* one is within another only when they are equal */
        visit_key(visit, STAND_IS, hash_text(policy_text(policy, value)));
        return;
    case FIELD_TYPE_ACTOR:
        visit_key(visit, STAND_IS, value);
        return;
    case FIELD_TYPE_PATH:
        visit_path(visit, policy->prefixes->list[value - 1].path);
        return;
    case FIELD_TYPE_COMMAND: /* commands that have something in common have a program in common */
    case FIELD_TYPE_PREFIX:
        word = policy_pattern(policy, value)->command.words[0].text;
        slash = word.len == 0 ? NULL : memrchr(word.ptr, '/', word.len);
        word = slash == NULL ? word : slice_from(word, (size_t)(slash - word.ptr) + 1);
        visit_key(visit, STAND_IS, hash_text(word));
        return;
    case FIELD_TYPE_HOST:
        visit_host(visit, &policy_pattern(policy, value)->host);
        return;
    default:
        visit->all = true;
        return;
    }
}

/* ---- Putting in ---- */

void overlap_add(struct overlap *set, const struct policy *policy, const struct rule *rule, uint32_t number)
{
    bool has[GROUP_COUNT] = {[GROUP_ARGS] = rule->match.arg_count != 0};
    if (set->failed || set->count == set->most) {
        set->failed = true;
        return;
    }
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        struct match_values values = match_values(policy, &rule->match.values[field]);
        struct visit visit = {.set = set,
                              .group = (enum group)group_of[field],
                              .stores = true,
                              .below = set->question == OVERLAP_MEETS,
                              .rule = set->count};
        for (uint32_t i = 0; i < values.count; i++) {
            visit_value(&visit, policy, field, values.list[i]);
        }
        has[visit.group] = has[visit.group] || values.count != 0;
    }
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        set->occurs[group] = set->occurs[group] || has[group];
        if (!has[group]) {
            set->lacking[group][set->count / 64] |= (uint64_t)1 << (set->count % 64);
        }
    }
    set->numbers[set->count++] = number;
}

/* ---- Asking ---- */

/* Whether what a rule says of a group tells which rules contain it, or meet it, beyond whether they say something. */
static bool has_keys(const struct overlap *set, enum group group)
{
    return group != GROUP_HINTS && group != GROUP_WORD && group != GROUP_ARGS &&
           (group != GROUP_COMPONENT || set->question == OVERLAP_CONTAINS);
}

static void ask_group(struct overlap *set, enum group group, const struct policy *policy,
                      const struct match *match)
{
    struct visit visit = {.set = set, .group = group, .below = set->question == OVERLAP_MEETS};
    memset(set->fitting[group], 0, words_of(set->count) * sizeof(uint64_t));
    set->steps += words_of(set->count);
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        struct match_values values = match_values(policy, &match->values[field]);
        /* Of a list each value must be within what contains it, so one tells enough. */
        uint32_t count = set->question == OVERLAP_CONTAINS && values.count > 1 ? 1 : values.count;
        for (uint32_t i = 0; group_of[field] == group && i < count && !visit.all; i++) {
            visit_value(&visit, policy, field, values.list[i]);
        }
    }
    set->leaves[group] = visit.all ? LEAVES_ALL : LEAVES_FITTING;
}

void overlap_ask(struct overlap *set, const struct policy *policy, const struct rule *rule)
{
    const struct match *match = &rule->match;
    bool has[GROUP_COUNT] = {[GROUP_ARGS] = match->arg_count != 0};
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        has[group_of[field]] = has[group_of[field]] || match->values[field] != 0;
    }
    /* A command may have the words that a rule asks for. */
    has[GROUP_WORD] = has[GROUP_WORD] || has[GROUP_COMMAND];
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        set->leaves[group] = has[group] || set->question == OVERLAP_MEETS ? LEAVES_ALL : LEAVES_NONE;
        if (!set->occurs[group]) {
            set->leaves[group] = LEAVES_ALL;
        } else if (has[group] && has_keys(set, (enum group)group)) {
            ask_group(set, (enum group)group, policy, match);
        }
    }
    set->word = 0;
    set->left = 0;
}

/* The rules of one word that no group rules out. */
static uint64_t word_of(const struct overlap *set, uint32_t word)
{
    uint64_t bits = ~(uint64_t)0;
    for (unsigned group = 0; group < GROUP_COUNT && bits != 0; group++) {
        if (set->leaves[group] == LEAVES_NONE) {
            bits &= set->lacking[group][word];
        } else if (set->leaves[group] == LEAVES_FITTING) {
            bits &= set->lacking[group][word] | set->fitting[group][word];
        }
    }
    uint32_t last = set->count - word * 64;
    return last < 64 ? bits & (((uint64_t)1 << last) - 1) : bits;
}

bool overlap_next(struct overlap *set, uint32_t *ret_number)
{
    while (set->left == 0) {
        if (set->word * 64 >= set->count) {
            return false;
        }
        set->left = word_of(set, set->word++);
        set->steps++;
    }
    uint32_t bit = (uint32_t)__builtin_ctzll(set->left);
    set->left &= set->left - 1;
    *ret_number = set->numbers[(set->word - 1) * 64 + bit];
    return true;
}
