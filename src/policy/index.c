/* Looking a reading up in the index. Nothing here allocates. */
#include "policy/index.h"

/* Prefixes and patterns of one path that some rule has. A path with more of them is left to the plain scan.
 */
#define MOST_VALUES 128u

/* Lookups that wait for memory together. */
#define BATCH 16u

/* Values that a call offers for one facet. */
struct offer {
    const struct facts_value *list;
    size_t count;
    uint64_t shapes; /* those that any of them has */
};

struct search {
    const struct policy *policy;
    const struct facts *facts;
    const struct facts_name *name;
    const struct reading *reading;
    struct facts_value singles[FACET_SINGLES];
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
                       const struct word *word)
{
    struct offer *offer = &search->offers[facet];
    if (word == NULL) {
        return;
    }
    struct facts_value value = {index_value_hash(facet, word->id), word->shapes};
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
    offer->shapes |= value.shapes;
}

static void take_component(struct search *search, struct slice name)
{
    const struct policy *policy = search->policy;
    const struct policy_index *index = policy->index;
    struct facts_value *list = search->components;
    take_value(search, FACET_COMPONENT, list, words_find(policy, ROLE_COMPONENT, name));
    struct intern_prefix_hash state;
    intern_prefix_hash_start(&state);
    for (uint32_t i = 0; i < index->starts.count && index->starts.list[i] <= name.len; i++) {
        struct slice part = {name.ptr, index->starts.list[i]};
        uint32_t hash = intern_prefix_hash_of(&state, part);
        take_value(search, FACET_COMPONENT, list, words_find_hashed(policy, ROLE_STARTS, part, hash));
    }
    for (uint32_t i = 0; i < index->ends.count && index->ends.list[i] <= name.len; i++) {
        struct slice part = slice_from(name, name.len - index->ends.list[i]);
        take_value(search, FACET_COMPONENT, list, words_find(policy, ROLE_ENDS, part));
    }
}

static void take_path(struct search *search, struct slice path)
{
    const struct policy *policy = search->policy;
    const struct policy_index *index = policy->index;
    bool components =
        index->words[ROLE_COMPONENT].blocks != 0 || index->starts.count != 0 || index->ends.count != 0;
    uint32_t longest = index->words[ROLE_PREFIX].longest;
    struct intern_prefix_hash state;
    intern_prefix_hash_start(&state);
    /* The root, then each component with all before it. */
    for (size_t from = 0, to = 1, depth = 0; to <= path.len && (components || to <= longest); depth++) {
        if ((index->depths >> index_depth_bit((unsigned)depth) & 1) != 0 && to <= longest) {
            struct slice prefix = {path.ptr, to};
            uint32_t hash = intern_prefix_hash_of(&state, prefix);
            take_value(search, FACET_PREFIX, search->prefixes,
                       words_find_hashed(policy, ROLE_PREFIX, prefix, hash));
        }
        if (components && depth > 0) {
            take_component(search, (struct slice){path.ptr + from, to - from});
        }
        from = depth == 0 ? 1 : to + 1;
        if (from >= path.len) {
            break;
        }
        const char *slash = memchr(path.ptr + from, '/', path.len - from);
        to = slash == NULL ? path.len : (size_t)(slash - path.ptr);
    }
}

/* ---- Keys to rules ---- */

static void consider(struct search *search, uint32_t rank)
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

static void look_up(struct search *search)
{
    const struct policy_index *index = search->policy->index;
    for (unsigned k = 0; k < search->key_count; k++) {
        uint32_t key = search->keys[k], at = index_block(key, index->block_count);
        for (bool full = true; full; at = at + 1 == index->block_count ? 0 : at + 1) {
            const struct keys *block = &index->blocks[at];
            for (unsigned i = 0; i < KEYS_IN_BLOCK && full; i++) {
                full = block->values[i] != KEY_FREE;
                if (full && block->keys[i] == key) {
                    consider_value(search, block->values[i]);
                }
            }
        }
    }
    search->key_count = 0;
}

static void add_key(struct search *search, uint64_t hash)
{
    const struct policy_index *index = search->policy->index;
    uint32_t key = index_key(hash);
    __builtin_prefetch(&index->blocks[index_block(key, index->block_count)]);
    search->keys[search->key_count++] = key;
    if (search->key_count == BATCH) {
        look_up(search);
    }
}

/* ---- Shapes to keys ---- */

/* Every combination of values that have the shape; `bit` is 0 when that is not known. */
static void add_shape(struct search *search, const struct shape *shape, uint64_t bit)
{
    static const struct facts_value none = {0, UINT64_MAX};
    static const struct offer no_offer = {&none, 1, UINT64_MAX};
    uint64_t hash = shape->seed;
    for (unsigned facet = 0; facet < FACET_SINGLES; facet++) {
        hash ^= (shape->facets >> facet & 1) != 0 ? search->singles[facet].hash : 0;
    }
    struct offer use[FACET_COUNT];
    uint64_t lookups = 1;
    for (unsigned facet = FACET_SINGLES; facet < FACET_COUNT; facet++) {
        use[facet] = (shape->facets >> facet & 1) != 0 ? search->offers[facet] : no_offer;
        lookups *= use[facet].count; /* a call has fewer than 2^24 of one, 2^16 of another, 2^7 of the rest */
    }
    if (lookups > search->budget) {
        search->overrun = true;
        return;
    }
    search->budget -= lookups;
    const struct offer *tools = &use[FACET_TOOL_PREFIX], *prefixes = &use[FACET_PREFIX];
    const struct offer *components = &use[FACET_COMPONENT], *atoms = &use[FACET_ATOM];
    for (size_t t = 0; t < tools->count; t++) {
        for (size_t p = 0; p < prefixes->count && (tools->list[t].shapes & bit) == bit; p++) {
            for (size_t c = 0; c < components->count && (prefixes->list[p].shapes & bit) == bit; c++) {
                for (size_t a = 0; a < atoms->count && (components->list[c].shapes & bit) == bit; a++) {
                    if ((atoms->list[a].shapes & bit) == bit) {
                        add_key(search, hash ^ tools->list[t].hash ^ prefixes->list[p].hash ^
                                            components->list[c].hash ^ atoms->list[a].hash);
                    }
                }
            }
        }
    }
}

/* Whether the call has a value for each facet of a shape. */
static bool has_all(const struct search *search, uint8_t facets)
{
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        bool has =
            facet < FACET_SINGLES ? search->singles[facet].shapes != 0 : search->offers[facet].count != 0;
        if ((facets >> facet & 1) != 0 && !has) {
            return false;
        }
    }
    return true;
}

/* The shapes of VIEW_ALL that may have a rule for the call, the earliest first. */
static void search_all(struct search *search)
{
    const struct policy_index *index = search->policy->index;
    uint32_t count = index->shape_count[VIEW_ALL];
    uint64_t left = count >= SHAPE_BITS ? UINT64_MAX : ((uint64_t)1 << count) - 1;
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        left &= index->without[facet] |
                (facet < FACET_SINGLES ? search->singles[facet].shapes : search->offers[facet].shapes);
    }
    for (; left != 0 && !search->overrun; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctzll(left), last = at + 1;
        if (at == SHAPE_BITS - 1) {
            last = count;
        }
        for (; at < last && !search->overrun; at++) {
            const struct shape *shape = &index->shapes[VIEW_ALL][at];
            if (shape->first >= search->best) {
                return;
            }
            if (at < SHAPE_BITS - 1 || has_all(search, shape->facets)) {
                add_shape(search, shape, left & -left);
            }
        }
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

static void start(struct search *search)
{
    const struct facts *facts = search->facts;
    search->singles[FACET_TOOL] = search->name->tool_value;
    search->singles[FACET_SERVER] = search->name->server_value;
    search->singles[FACET_CHANNEL] = facts->channel_value;
    search->singles[FACET_THREAD] = facts->thread_value;
    search->offers[FACET_TOOL_PREFIX] =
        (struct offer){search->name->prefixes, search->name->prefix_count, search->name->prefix_shapes};
    search->offers[FACET_PREFIX] = (struct offer){search->prefixes, 0, 0};
    search->offers[FACET_COMPONENT] = (struct offer){search->components, 0, 0};
    search->offers[FACET_ATOM] = (struct offer){facts->atoms, facts->atom_count, facts->atom_shapes};
    search->key_count = 0;
    search->best = search->policy->order_count;
    search->field = FIELD_ALL;
    search->budget = search->policy->order_count / 4 + 4 * BATCH;
    search->overrun = false;
}

/* Leaves to the plain scan what would take as many lookups as there are rules. */
static const struct rule *find_by_scan(struct search *search)
{
    const struct policy *policy = search->policy;
    for (uint32_t rank = 0; rank < policy->order_count && rank < search->best; rank++) {
        consider(search, rank);
    }
    return search->best == policy->order_count ? NULL : &policy->rules[policy->order[search->best]];
}

const struct rule *index_find(const struct policy *policy, const struct facts *facts,
                              const struct reading *reading, enum match_field *ret_field)
{
    struct search search;
    search.policy = policy;
    search.facts = facts;
    search.reading = reading;
    search.name = &facts->names[reading->name];
    start(&search);
    if (reading->kind == READING_PATH && !facts->input_unknown) {
        take_path(&search, reading->path);
    }
    if (!search.overrun) {
        search_all(&search);
    }
    if (!search.overrun && facts->input_unknown) {
        search_view(&search, VIEW_UNKNOWN);
    } else if (!search.overrun && reading->kind != READING_PATH && reading->kind != READING_NO_PATH) {
        search_view(&search, VIEW_UNREADABLE);
    }
    look_up(&search);
    const struct rule *rule =
        search.best == policy->order_count ? NULL : &policy->rules[policy->order[search.best]];
    if (search.overrun) {
        rule = find_by_scan(&search);
    }
    *ret_field = search.field;
    return rule;
}
