/* Looking a reading up in the index. Nothing here allocates. */
#include <string.h>

#include "index/search_internal.h"

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
    } else if (field == FIELD_NOTED) {
        policy_note(search->notes, &policy->rules[policy->order[rank]], rank);
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

/* Every combination of the values of facets FACET_SINGLES + `facet` and on. */
static void add_more_combinations(struct search *search, uint64_t hash, unsigned several, unsigned facet,
                                  uint64_t bit)
{
    while (facet < FACET_COUNT - FACET_SINGLES && (several >> facet & 1) == 0) {
        facet++;
    }
    if (facet == FACET_COUNT - FACET_SINGLES) {
        add_key(search, hash);
        return;
    }
    const struct offer *offer = &search->offers[FACET_SINGLES + facet];
    for (size_t i = 0; i < offer->count && !search->overrun; i++) {
        if (search->budget == 0) {
            search->overrun = true;
        } else if (is_in(&offer->list[i], bit)) {
            search->budget--;
            add_more_combinations(search, hash ^ offer->list[i].hash, several, facet + 1, bit);
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
    } else if (several < 16) {
        add_combinations(search, hash, several, bit);
    } else {
        add_more_combinations(search, hash, several, 0, bit);
    }
}

/* Whether the call has a value for each facet of a shape. */
static bool has_all(const struct search *search, uint32_t facets)
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
        search_take_path(search, search->reading->path, left);
    }
    left = mask_left(left, index, FACET_PREFIX, search->offers[FACET_PREFIX].mask);
    return mask_left(left, index, FACET_COMPONENT, search->offers[FACET_COMPONENT].mask);
}

/* What the command and the host of a reading leave. An unreadable command is left to the plain scan, where there are
 * rules that would note it; of a host that cannot be read there is a view. */
static struct facts_mask left_by_command(struct search *search, struct facts_mask left)
{
    const struct policy_index *index = search->policy->index;
    const struct reading *reading = search->reading;
    bool known = !search->facts->input_unknown;
    search->offers[FACET_COMMAND] = (struct offer){search->commands, 0, {0, 0}};
    search->offers[FACET_HOST] = (struct offer){search->hosts, 0, {0, 0}};
    if (known && reading->command != NULL && mask_meets(left, index->with[FACET_COMMAND])) {
        if (reading->command->command->first == NULL) {
            search->overrun = true;
        } else {
            search_take_command(search, reading->command->command);
        }
    }
    if (known && reading->host_kind == READING_HOST && mask_meets(left, index->with[FACET_HOST])) {
        search_take_host(search, reading->host);
    }
    left = mask_left(left, index, FACET_COMMAND, search->offers[FACET_COMMAND].mask);
    return mask_left(left, index, FACET_HOST, search->offers[FACET_HOST].mask);
}

static inline struct facts_mask left_by_command_or_none(struct search *search, struct facts_mask left)
{
    const struct reading *reading = search->reading;
    if (reading->command == NULL && reading->host_kind != READING_HOST) {
        search->offers[FACET_COMMAND].count = search->offers[FACET_HOST].count = 0;
        return mask_and(left, search->policy->index->plain);
    }
    return left_by_command(search, left);
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

static bool path_unreadable(const struct reading *reading)
{
    return reading->kind != READING_PATH && reading->kind != READING_NO_PATH;
}

static bool host_unreadable(const struct reading *reading)
{
    return reading->host_kind != READING_HOST && reading->host_kind != READING_NO_HOST;
}

/* Beside VIEW_ALL: the rules that look at what cannot be read, or is not known. */
static void search_views(struct search *search)
{
    const struct reading *reading = search->reading;
    bool path = path_unreadable(reading), host = host_unreadable(reading);
    if (search->facts->input_unknown) {
        search_view(search, VIEW_UNKNOWN);
        return;
    }
    if ((path && host) || (reading->aside && (path || host))) {
        search->overrun = true; /* rare, and such rules need not end the evaluation */
        return;
    }
    if (path || host) {
        search_view(search, path ? VIEW_UNREADABLE : VIEW_HOST);
    }
    if (reading->command != NULL && reading->command->command->known == 1 &&
        (reading->command->command->flags & COMMAND_OPEN) != 0) {
        search_view(search, VIEW_OPEN);
    }
}

static void find_by_keys(struct search *search)
{
    struct facts_mask left =
        mask_left(search->name->mask, search->policy->index, FACET_ATOM, search->facts->atom_mask);
    left = left_by_path(search, left);
    left = left_by_command_or_none(search, left);
    start_keys(search);
    if (!search->overrun) {
        search_all(search, left.low);
    }
    if (!search->overrun) {
        search_views(search);
    }
    look_up(search);
    for (uint32_t rank = 0; search->overrun && rank < search->best; rank++) {
        consider(search, rank); /* so many lookups would take longer */
    }
}

static void start(struct search *search, const struct policy *policy, const struct facts *facts,
                  const struct reading *reading, struct policy_notes *notes)
{
    search->notes = notes;
    search->policy = policy;
    search->facts = facts;
    search->name = &facts->names[reading->name];
    search->reading = reading;
    search->best = policy->order_count;
    search->field = FIELD_ALL;
    search->overrun = false;
}

static void find_in_large(const struct policy *policy, const struct facts *facts,
                          const struct reading *reading, struct index_found *ret_found)
{
    struct search search;
    start(&search, policy, facts, reading, &ret_found->notes);
    find_by_keys(&search);
    ret_found->field = search.field;
    ret_found->end = search.best;
    ret_found->rule = search.best == policy->order_count ? NULL : &policy->rules[policy->order[search.best]];
}

/* ---- Small policies ---- */

/* Apart, so that the room for a search is only taken where there is one. */
__attribute__((noinline)) static struct facts_mask small_left_by_places(const struct policy *policy,
                                                                        const struct facts *facts,
                                                                        const struct reading *reading,
                                                                        struct facts_mask left)
{
    struct search search;
    start(&search, policy, facts, reading, NULL);
    if (reading->kind == READING_PATH && !mask_is_few(left)) {
        left = left_by_path(&search, left);
    }
    struct facts_mask few = left_by_command_or_none(&search, left);
    /* What is said of an unreadable command, or of one that is open, or of a host that cannot be read, is not asked
     * here: such rules stay. */
    bool command = reading->command != NULL &&
                   (search.overrun || (reading->command->command->flags & COMMAND_OPEN) != 0);
    if (command || host_unreadable(reading)) {
        const struct facts_mask *with = policy->index->with;
        struct facts_mask stay = mask_and(left, command ? with[FACET_COMMAND] : (struct facts_mask){0, 0});
        few = mask_or(few, stay);
        few = mask_or(few, host_unreadable(reading) ? mask_and(left, with[FACET_HOST])
                                                    : (struct facts_mask){0, 0});
    }
    return few;
}

/* The rules that may end the evaluation, or be noted. Of a reading that is not known whole, more is left than of one
 * that is: there a field that cannot be judged counts as met. */
static struct facts_mask small_left(const struct policy *policy, const struct facts *facts,
                                    const struct reading *reading)
{
    const struct policy_index *index = policy->index;
    struct facts_mask left = facts->names[reading->name].mask, none = {0, 0};
    if (facts->input_unknown) {
        return left;
    }
    left = mask_left(left, index, FACET_ATOM, facts->atom_mask);
    if (reading->command == NULL && reading->host_kind == READING_NO_HOST) {
        bool path = reading->kind == READING_PATH;
        left = mask_and(left, reading->kind == READING_NO_PATH ? index->nowhere : index->plain);
        return path && !mask_is_few(left) ? small_left_by_places(policy, facts, reading, left) : left;
    }
    if (reading->kind == READING_NO_PATH) {
        left = mask_left(left, index, FACET_PREFIX, none);
        left = mask_left(left, index, FACET_COMPONENT, none);
    }
    if (reading->command == NULL) {
        left = mask_left(left, index, FACET_COMMAND, none);
    }
    if (reading->host_kind == READING_NO_HOST) {
        left = mask_left(left, index, FACET_HOST, none);
    }
    bool places =
        reading->kind == READING_PATH || reading->command != NULL || reading->host_kind != READING_NO_HOST;
    return places && !mask_is_few(left) ? small_left_by_places(policy, facts, reading, left) : left;
}

static void find_in_small(const struct policy *policy, const struct facts *facts,
                          const struct reading *reading, struct index_found *ret_found)
{
    struct facts_mask left = small_left(policy, facts, reading);
    const uint32_t *order = policy->order;
    for (unsigned half = 0; half < 2; half++) {
        for (uint64_t bits = half == 0 ? left.low : left.high; bits != 0; bits &= bits - 1) {
            uint32_t rank = half * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct rule *rule = &policy->rules[order[rank]];
            enum match_field field = policy_match(policy, rule, facts, reading);
            if (field == FIELD_ALL || field == FIELD_UNKNOWN) {
                ret_found->rule = rule;
                ret_found->field = field;
                ret_found->end = rank;
                return;
            }
            if (field == FIELD_NOTED) {
                policy_note(&ret_found->notes, rule, rank);
            }
        }
    }
    ret_found->rule = NULL;
    ret_found->field = FIELD_ALL;
    ret_found->end = policy->order_count;
}

void index_find(const struct policy *policy, const struct facts *facts, const struct reading *reading,
                struct index_found *ret_found)
{
    ret_found->notes.any = false;
    if (policy->index->small) {
        find_in_small(policy, facts, reading, ret_found);
    } else {
        find_in_large(policy, facts, reading, ret_found);
    }
}
