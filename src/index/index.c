/* Looking a reading up in the index. Nothing here allocates. */
#include "index/index_internal.h"

/* Prefixes and patterns of one path that some rule has. A path with more of them is left to the plain scan.
 */
#define MOST_VALUES 128u

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
    uint64_t budget; /* lookups that are left before a scan is no slower */
    bool overrun;
    struct facts_value prefixes[MOST_VALUES], components[MOST_VALUES];
};

/* ---- What a path offers ---- */

static void take_value(struct search *search, enum facet facet, struct facts_value *list,
                       const struct words *words, const struct word *word)
{
    struct offer *offer = &search->offers[facet];
    struct facts_value value = {index_value_hash(facet, word->id), word_mask(words, word)};
    offer->mask = mask_or(offer->mask, value.mask);
    if (search->policy->index->small) {
        return; /* masks alone count */
    }
    for (size_t i = 0; i < offer->count && facet == FACET_COMPONENT; i++) {
        if (list[i].hash == value.hash) {
            return; /* one name twice in one path */
        }
    }
    if (offer->count == MOST_VALUES) {
        search->overrun = true;
        return;
    }
    list[offer->count++] = value;
}

static bool may_be_part(const struct lengths *lengths, char c)
{
    unsigned char byte = (unsigned char)c;
    return (lengths->bytes[byte / 64] >> byte % 64 & 1) != 0;
}

/* Patterns with a star that a component begins with, or ends with. */
static void take_parts(struct search *search, const struct lengths *lengths, enum role role,
                       struct slice name)
{
    const struct words *words = &search->policy->index->words[role];
    for (uint32_t i = 0; i < lengths->count && lengths->list[i] <= name.len; i++) {
        size_t len = lengths->list[i];
        struct slice part = {role == ROLE_ENDS ? name.ptr + name.len - len : name.ptr, len};
        const struct word *word = words_find_rare(words, part);
        if (word != NULL) {
            take_value(search, FACET_COMPONENT, search->components, words, word);
        }
    }
}

static void take_component(struct search *search, struct slice name)
{
    const struct policy_index *index = search->policy->index;
    const struct words *words = &index->words[ROLE_COMPONENT];
    const struct word *word = words_find_rare(words, name);
    if (word != NULL) {
        take_value(search, FACET_COMPONENT, search->components, words, word);
    }
    if (may_be_part(&index->starts, name.ptr[0])) {
        take_parts(search, &index->starts, ROLE_STARTS, name);
    }
    if (may_be_part(&index->ends, name.ptr[name.len - 1])) {
        take_parts(search, &index->ends, ROLE_ENDS, name);
    }
}

/* What finding the prefixes above a path has come to. */
struct climb {
    struct intern_prefix_hash hash;
    unsigned depth;
};

static void take_prefix(struct search *search, struct climb *climb, struct slice prefix)
{
    const struct policy_index *index = search->policy->index;
    const struct words *words = &index->words[ROLE_PREFIX];
    if ((index->depths >> index_depth_bit(climb->depth) & 1) == 0 || !words_may_have(words, prefix)) {
        return;
    }
    uint32_t hash = intern_prefix_hash_of(&climb->hash, prefix);
    const struct word *word = words_find_hashed(words, prefix, 0, hash);
    if (word != NULL) {
        take_value(search, FACET_PREFIX, search->prefixes, words, word);
    }
}

/* The slashes among up to eight bytes, a bit for each, the first byte's the lowest. */
static uint64_t slashes(const char *at, size_t len)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t word = 0;
    if (len >= 8) {
        word = intern_load64(at);
    } else {
        memcpy(&word, at, len);
    }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= 0x2f2f2f2f2f2f2f2fu;
    uint64_t found = ~(((word & low) + low) | word | low); /* the high bit of each byte that was a slash */
    return (found >> 7) * 0x0102040810204080u >> 56;
}

/* One component of a path, which ends at `end`, with all that is before it. */
static void take_step(struct search *search, struct climb *climb, struct slice path, size_t begin, size_t end,
                      bool prefixes, bool components)
{
    climb->depth++;
    if (prefixes) {
        take_prefix(search, climb, (struct slice){path.ptr, end});
    }
    if (components) {
        take_component(search, (struct slice){path.ptr + begin, end - begin});
    }
}

/* Which rules' prefixes and patterns a path has, as far as the rules that are left need it. */
static void take_path(struct search *search, struct slice path, struct facts_mask left)
{
    const struct policy_index *index = search->policy->index;
    struct climb climb = {.depth = 0};
    bool prefixes = mask_meets(left, index->with[FACET_PREFIX]);
    bool components = mask_meets(left, index->with[FACET_COMPONENT]);
    if (!prefixes && !components) {
        return;
    }
    intern_prefix_hash_start(&climb.hash);
    if (prefixes) {
        take_prefix(search, &climb, (struct slice){path.ptr, 1});
    }
    if (path.len == 1) {
        return;
    }
    size_t begin = 1;
    for (size_t at = 1; at < path.len; at += 8) {
        for (uint64_t found = slashes(path.ptr + at, path.len - at); found != 0; found &= found - 1) {
            size_t end = at + (unsigned)__builtin_ctzll(found);
            take_step(search, &climb, path, begin, end, prefixes, components);
            begin = end + 1;
        }
    }
    take_step(search, &climb, path, begin, path.len, prefixes, components);
}

/* ---- Keys to rules ---- */

static inline void consider(struct search *search, uint32_t rank)
{
    const struct policy *policy = search->policy;
    if (rank >= search->best) {
        return;
    }
    enum match_field field =
        policy_match(policy, &policy->rules[policy->order[rank]], search->facts, search->reading);
    if (field == FIELD_ALL || field == FIELD_UNKNOWN) {
        search->best = rank;
        search->field = field;
    }
}

static void consider_value(struct search *search, uint32_t value)
{
    if ((value & KEY_LIST) == 0) {
        consider(search, value);
        return;
    }
    const uint32_t *list = search->policy->index->lists + (value & ~KEY_LIST);
    for (uint32_t i = 1; i <= list[0] && list[i] < search->best; i++) {
        consider(search, list[i]);
    }
}

/* In three rounds, so that what is asked of memory for one key is waited for together with the others'. */
static void look_up(struct search *search)
{
    const struct policy *policy = search->policy;
    const struct policy_index *index = policy->index;
    uint32_t found[BATCH];
    unsigned count = 0;
    for (unsigned k = 0; k < search->key_count; k++) {
        uint32_t key = search->keys[k];
        const struct key_slot *slot = &index->slots[index_slot(key, index->slot_count)];
        while (slot->key < key) {
            slot++;
        }
        if (slot->key == key) {
            uint32_t value = slot->value;
            __builtin_prefetch((value & KEY_LIST) != 0 ? &index->lists[value & ~KEY_LIST]
                                                       : &policy->order[value]);
            found[count++] = value;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if ((found[i] & KEY_LIST) == 0) {
            __builtin_prefetch(&policy->rules[policy->order[found[i]]]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        consider_value(search, found[i]);
    }
    search->key_count = 0;
}

static void add_key(struct search *search, uint64_t hash)
{
    const struct policy_index *index = search->policy->index;
    uint32_t key = index_key(hash);
    __builtin_prefetch(&index->slots[index_slot(key, index->slot_count)]);
    search->keys[search->key_count++] = key;
    if (search->key_count == BATCH) {
        look_up(search);
    }
}

/* ---- Shapes to keys ---- */

static bool is_in(const struct facts_value *value, uint64_t bit)
{
    return (value->mask.low & bit) == bit;
}

/* Every combination of the values of several facets. */
__attribute__((noinline)) static void add_combinations(struct search *search, uint64_t hash, unsigned several,
                                                       uint64_t bit)
{
    static const struct facts_value none = {0, {UINT64_MAX, 0}};
    static const struct offer no_offer = {&none, 1, {UINT64_MAX, 0}};
    const struct offer *tools = (several & 1) != 0 ? &search->offers[FACET_TOOL_PREFIX] : &no_offer;
    const struct offer *prefixes = (several & 2) != 0 ? &search->offers[FACET_PREFIX] : &no_offer;
    const struct offer *components = (several & 4) != 0 ? &search->offers[FACET_COMPONENT] : &no_offer;
    const struct offer *atoms = (several & 8) != 0 ? &search->offers[FACET_ATOM] : &no_offer;
    uint64_t lookups = tools->count * prefixes->count * components->count * atoms->count; /* below 2^50 */
    if (lookups > search->budget) {
        search->overrun = true;
        return;
    }
    search->budget -= lookups;
    for (size_t t = 0; t < tools->count; t++) {
        for (size_t p = 0; p < prefixes->count && is_in(&tools->list[t], bit); p++) {
            for (size_t c = 0; c < components->count && is_in(&prefixes->list[p], bit); c++) {
                for (size_t a = 0; a < atoms->count && is_in(&components->list[c], bit); a++) {
                    if (is_in(&atoms->list[a], bit)) {
                        add_key(search, hash ^ tools->list[t].hash ^ prefixes->list[p].hash ^
                                            components->list[c].hash ^ atoms->list[a].hash);
                    }
                }
            }
        }
    }
}

/* Every value of one facet. */
static void add_values(struct search *search, uint64_t hash, const struct offer *offer, uint64_t bit)
{
    if (offer->count > search->budget) {
        search->overrun = true;
        return;
    }
    search->budget -= offer->count;
    for (size_t i = 0; i < offer->count; i++) {
        if (is_in(&offer->list[i], bit)) {
            add_key(search, hash ^ offer->list[i].hash);
        }
    }
}

/* The lookups of a shape; `bit` is 0 when it is not known which values have the shape. */
static inline void add_shape(struct search *search, const struct shape *shape, uint64_t bit)
{
    uint64_t hash =
        shape->seed ^ search->pairs[0][shape->facets & 3] ^ search->pairs[1][shape->facets >> 2 & 3];
    unsigned several = shape->facets >> FACET_SINGLES;
    if (several == 0) {
        add_key(search, hash);
    } else if ((several & (several - 1)) == 0) {
        add_values(search, hash, &search->offers[FACET_SINGLES + __builtin_ctz(several)], bit);
    } else {
        add_combinations(search, hash, several, bit);
    }
}

/* Whether the call has a value for each facet of a shape. */
static bool has_all(const struct search *search, uint8_t facets)
{
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        bool has =
            facet < FACET_SINGLES ? search->singles[facet].mask.low != 0 : search->offers[facet].count != 0;
        if ((facets >> facet & 1) != 0 && !has) {
            return false;
        }
    }
    return true;
}

/* The shapes that share the last bit. */
static void search_rest(struct search *search)
{
    const struct policy_index *index = search->policy->index;
    for (uint32_t at = SHAPE_BITS - 1; at < index->shape_count[VIEW_ALL] && !search->overrun; at++) {
        const struct shape *shape = &index->shapes[VIEW_ALL][at];
        if (shape->first >= search->best) {
            return;
        }
        if (has_all(search, shape->facets)) {
            add_shape(search, shape, (uint64_t)1 << (SHAPE_BITS - 1));
        }
    }
}

/* The shapes of VIEW_ALL that are left, the earliest first. */
static void search_all(struct search *search, uint64_t left)
{
    const struct policy_index *index = search->policy->index;
    for (uint64_t few = left << 1 >> 1; few != 0; few &= few - 1) {
        const struct shape *shape = &index->shapes[VIEW_ALL][__builtin_ctzll(few)];
        if (shape->first >= search->best || search->overrun) {
            return;
        }
        add_shape(search, shape, few & -few);
    }
    if (left >> (SHAPE_BITS - 1) != 0) {
        search_rest(search);
    }
}

static void search_view(struct search *search, enum view view)
{
    const struct policy_index *index = search->policy->index;
    for (uint32_t i = 0; i < index->shape_count[view] && !search->overrun; i++) {
        const struct shape *shape = &index->shapes[view][i];
        if (shape->first >= search->best) {
            return;
        }
        if (has_all(search, shape->facets)) {
            add_shape(search, shape, 0);
        }
    }
}

/* ---- One reading ---- */

static bool has_path(const struct search *search)
{
    return search->reading->kind == READING_PATH && !search->facts->input_unknown;
}

static struct facts_mask left_by_path(struct search *search, struct facts_mask left)
{
    const struct policy_index *index = search->policy->index;
    search->offers[FACET_PREFIX] = (struct offer){search->prefixes, 0, {0, 0}};
    search->offers[FACET_COMPONENT] = (struct offer){search->components, 0, {0, 0}};
    if (has_path(search)) {
        take_path(search, search->reading->path, left);
    }
    left = mask_left(left, index, FACET_PREFIX, search->offers[FACET_PREFIX].mask);
    return mask_left(left, index, FACET_COMPONENT, search->offers[FACET_COMPONENT].mask);
}

static void start_keys(struct search *search)
{
    const struct facts *facts = search->facts;
    search->singles[FACET_TOOL] = search->name->tool_value;
    search->singles[FACET_SERVER] = search->name->server_value;
    search->singles[FACET_CHANNEL] = facts->channel_value;
    search->singles[FACET_THREAD] = facts->thread_value;
    search->offers[FACET_TOOL_PREFIX] =
        (struct offer){search->name->prefixes, search->name->prefix_count, search->name->prefix_mask};
    search->offers[FACET_ATOM] = (struct offer){facts->atoms, facts->atom_count, facts->atom_mask};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t one = search->singles[2 * i].hash, two = search->singles[2 * i + 1].hash;
        search->pairs[i][0] = 0;
        search->pairs[i][1] = one;
        search->pairs[i][2] = two;
        search->pairs[i][3] = one ^ two;
    }
    search->key_count = 0;
    search->budget = search->policy->order_count / 4 + 4 * BATCH;
}

static void find_by_keys(struct search *search)
{
    struct facts_mask left =
        mask_left(search->name->mask, search->policy->index, FACET_ATOM, search->facts->atom_mask);
    left = left_by_path(search, left);
    start_keys(search);
    if (!search->overrun) {
        search_all(search, left.low);
    }
    if (!search->overrun && search->facts->input_unknown) {
        search_view(search, VIEW_UNKNOWN);
    } else if (!search->overrun && search->reading->kind != READING_PATH &&
               search->reading->kind != READING_NO_PATH) {
        search_view(search, VIEW_UNREADABLE);
    }
    look_up(search);
    for (uint32_t rank = 0; search->overrun && rank < search->best; rank++) {
        consider(search, rank); /* so many lookups would take longer */
    }
}

static void start(struct search *search, const struct policy *policy, const struct facts *facts,
                  const struct reading *reading)
{
    search->policy = policy;
    search->facts = facts;
    search->name = &facts->names[reading->name];
    search->reading = reading;
    search->best = policy->order_count;
    search->field = FIELD_ALL;
    search->overrun = false;
}

static const struct rule *find_in_large(const struct policy *policy, const struct facts *facts,
                                        const struct reading *reading, enum match_field *ret_field)
{
    struct search search;
    start(&search, policy, facts, reading);
    find_by_keys(&search);
    *ret_field = search.field;
    return search.best == policy->order_count ? NULL : &policy->rules[policy->order[search.best]];
}

/* ---- Small policies ---- */

/* Apart, so that the room for a search is only taken where there is one. */
__attribute__((noinline)) static struct facts_mask small_left_by_path(const struct policy *policy,
                                                                      const struct facts *facts,
                                                                      const struct reading *reading,
                                                                      struct facts_mask left)
{
    struct search search;
    start(&search, policy, facts, reading);
    return left_by_path(&search, left);
}

/* The rules that may end the evaluation. Of a reading that is not known whole, more is left than of one that
 * is: there a field that cannot be judged counts as met. */
static struct facts_mask small_left(const struct policy *policy, const struct facts *facts,
                                    const struct reading *reading)
{
    const struct policy_index *index = policy->index;
    struct facts_mask left = facts->names[reading->name].mask;
    if (facts->input_unknown) {
        return left;
    }
    left = mask_left(left, index, FACET_ATOM, facts->atom_mask);
    if (reading->kind == READING_NO_PATH) {
        left = mask_left(left, index, FACET_PREFIX, (struct facts_mask){0, 0});
        return mask_left(left, index, FACET_COMPONENT, (struct facts_mask){0, 0});
    }
    bool many = reading->kind == READING_PATH && !mask_is_few(left);
    return many ? small_left_by_path(policy, facts, reading, left) : left;
}

static const struct rule *find_in_small(const struct policy *policy, const struct facts *facts,
                                        const struct reading *reading, enum match_field *ret_field)
{
    struct facts_mask left = small_left(policy, facts, reading);
    const uint32_t *order = policy->order;
    for (unsigned half = 0; half < 2; half++, order += 64) {
        for (uint64_t bits = half == 0 ? left.low : left.high; bits != 0; bits &= bits - 1) {
            const struct rule *rule = &policy->rules[order[__builtin_ctzll(bits)]];
            *ret_field = policy_match(policy, rule, facts, reading);
            if (*ret_field == FIELD_ALL || *ret_field == FIELD_UNKNOWN) {
                return rule;
            }
        }
    }
    return NULL;
}

const struct rule *index_find(const struct policy *policy, const struct facts *facts,
                              const struct reading *reading, enum match_field *ret_field)
{
    return policy->index->small ? find_in_small(policy, facts, reading, ret_field)
                                : find_in_large(policy, facts, reading, ret_field);
}
