/* Making the index of a policy whose rules are grouped and in order. */
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
struct build {
    struct policy *policy;
    struct policy_index *index;
    uint32_t *atom_of; /* by place in policy->args */
    uint32_t *uses;    /* by atom: how many rules have it */
    uint32_t *pivots;  /* by rank: the atom that is part of the key, or 0 */
    struct marks marks[ROLE_COUNT];
    uint16_t shape_of[VIEW_COUNT][1u << FACET_COUNT]; /* number + 1 in index->shapes */
    struct entry *entries, *sorted;
    uint32_t entry_count;
    uint32_t settled, key_count, listed, slot; /* how far the table of keys is */
};

static const struct rule *rule_at(const struct build *build, uint32_t rank)
{
    return &build->policy->rules[build->policy->order[rank]];
}

static void *array_of(size_t count, size_t size)
{
    return calloc(count + 1, size);
}

/* ---- Atoms ---- */

static uint32_t atom_slot(const struct match_arg *atom, uint32_t mask)
{
    return (uint32_t)(index_mix((uint64_t)atom->key << 32 | atom->value) >> 32) & mask;
}

/* Numbers the different arguments of all rules and counts how many rules have each. */
static bool number_atoms(struct build *build)
{
    const struct policy *policy = build->policy;
    struct policy_index *index = build->index;
    uint32_t mask = 15;
    while (mask / 2 < policy->arg_count) {
        mask = mask * 2 + 1;
    }
    uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
    build->atom_of = array_of(policy->arg_count, sizeof(*build->atom_of));
    build->uses = array_of(policy->arg_count, sizeof(*build->uses));
    index->atoms = array_of(policy->arg_count, sizeof(*index->atoms));
    bool good = slots != NULL && build->atom_of != NULL && build->uses != NULL && index->atoms != NULL;
    for (uint32_t i = 0; good && i < policy->arg_count; i++) {
        const struct match_arg *arg = &policy->args[i];
        uint32_t slot = atom_slot(arg, mask), id;
        while ((id = slots[slot]) != 0 &&
               (index->atoms[id - 1].key != arg->key || index->atoms[id - 1].value != arg->value)) {
            slot = (slot + 1) & mask;
        }
        if (id == 0) {
            index->atoms[index->atom_count] = *arg;
            id = slots[slot] = ++index->atom_count;
        }
        build->atom_of[i] = id;
        build->uses[id]++;
    }
    free(slots);
    struct match_arg *atoms = good ? realloc(index->atoms, (index->atom_count + 1u) * sizeof(*atoms)) : NULL;
    index->atoms = atoms != NULL ? atoms : index->atoms;
    index->bytes += (index->atom_count + 1u) * sizeof(*atoms);
    return good;
}

/* The argument of a rule that the fewest rules have. */
static uint32_t pivot_of(const struct build *build, const struct match *match)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        uint32_t atom = build->atom_of[match->arg_first + i];
        if (best == 0 || build->uses[atom] < build->uses[best]) {
            best = atom;
        }
    }
    return best;
}

/* ---- Shapes and keys ---- */

#define BIT(facet)     (1u << (facet))
#define PATH_FACETS    (BIT(FACET_PREFIX) | BIT(FACET_COMPONENT))
#define UNKNOWN_FACETS (PATH_FACETS | BIT(FACET_ATOM))

/* What stands for each facet of a rule: 0 where the rule has none. */
struct values {
    uint32_t ids[FACET_COUNT];
};

static struct values values_of(const struct build *build, uint32_t rank)
{
    const struct match *match = &rule_at(build, rank)->match;
    return (struct values){{
        [FACET_TOOL] = match->tool,
        [FACET_SERVER] = match->server,
        [FACET_CHANNEL] = match->channel,
        [FACET_THREAD] = match->thread,
        [FACET_TOOL_PREFIX] = match->tool_prefix,
        [FACET_PREFIX] = match->path_prefix,
        [FACET_COMPONENT] = match->path_component,
        [FACET_ATOM] = build->pivots[rank],
    }};
}

static uint32_t facets_of(const struct values *values)
{
    uint32_t facets = 0;
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        facets |= values->ids[facet] != 0 ? BIT(facet) : 0;
    }
    return facets;
}

/* Ranks come in order, so shapes do too. */
static bool add_shape(struct build *build, enum view view, uint32_t facets, uint32_t rank)
{
    struct policy_index *index = build->index;
    uint32_t count = index->shape_count[view];
    struct shape *shapes = realloc(index->shapes[view], (count + 1u) * sizeof(*shapes));
    if (shapes == NULL) {
        return false;
    }
    index->shapes[view] = shapes;
    uint8_t bit = (uint8_t)(count < SHAPE_BITS ? count : SHAPE_BITS - 1);
    shapes[count] = (struct shape){index_shape_seed(view, facets), rank, (uint8_t)facets, bit};
    build->shape_of[view][facets] = (uint16_t)++index->shape_count[view];
    return true;
}

/* The bit of a rule. */
static struct facts_mask mask_of(const struct build *build, uint32_t facets, uint32_t rank)
{
    const struct policy_index *index = build->index;
    uint32_t bit = index->small ? rank : index->shapes[VIEW_ALL][build->shape_of[VIEW_ALL][facets] - 1].bit;
    uint64_t one = (uint64_t)1 << bit % 64;
    return bit < 64 ? (struct facts_mask){one, 0} : (struct facts_mask){0, one};
}

static void mark_facets(struct policy_index *index, uint32_t facets, struct facts_mask mask)
{
    index->all = mask_or(index->all, mask);
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        struct facts_mask *masks = (facets & BIT(facet)) != 0 ? index->with : index->without;
        masks[facet] = mask_or(masks[facet], mask);
    }
}

static bool add_entry(struct build *build, enum view view, const struct values *values, uint32_t facets,
                      uint32_t rank)
{
    if (build->shape_of[view][facets] == 0 && !add_shape(build, view, facets, rank)) {
        return false;
    }
    uint64_t hash = index_shape_seed(view, facets);
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        hash ^= (facets & BIT(facet)) != 0 ? index_value_hash((enum facet)facet, values->ids[facet]) : 0;
    }
    build->entries[build->entry_count++] =
        (struct entry){index_key(hash), rank | (uint32_t)view << RANK_BITS};
    return true;
}

/* Where the star of a pathComponent is. */
static enum role component_role(struct slice pattern)
{
    if (pattern.len > 1 && pattern.ptr[0] == '*') {
        return ROLE_ENDS;
    }
    return pattern.len > 1 && pattern.ptr[pattern.len - 1] == '*' ? ROLE_STARTS : ROLE_COMPONENT;
}

/* Room for one item more of an array that grows by doubling. */
static bool grow(void **array, uint32_t count, size_t size)
{
    if (count != 0 && (count < 16 || (count & (count - 1)) != 0)) {
        return true;
    }
    void *grown = realloc(*array, (count == 0 ? 16 : 2 * (size_t)count) * size);
    *array = grown != NULL ? grown : *array;
    return grown != NULL;
}

static uint32_t id_count(const struct build *build, enum role role)
{
    if (role == ROLE_PREFIX) {
        return build->policy->prefixes->count;
    }
    return role == ROLE_ATOM ? build->index->atom_count : build->policy->symbols.count;
}

/* Most policies have strings of a few roles only. */
static bool start_marks(struct build *build, enum role role)
{
    struct marks *marks = &build->marks[role];
    if (marks->masks == NULL) {
        marks->masks = array_of(id_count(build, role), sizeof(*marks->masks));
    }
    return marks->masks != NULL;
}

static bool mark(struct build *build, enum role role, uint32_t id, struct facts_mask mask)
{
    struct marks *marks = &build->marks[role];
    if (!start_marks(build, role)) {
        return false;
    }
    if ((marks->masks[id].low | marks->masks[id].high) == 0) {
        void *ids = marks->ids;
        bool good = grow(&ids, marks->count, sizeof(*marks->ids));
        marks->ids = ids;
        if (!good) {
            return false;
        }
        marks->ids[marks->count++] = id;
    }
    marks->masks[id] = mask_or(marks->masks[id], mask);
    return true;
}

static bool mark_values(struct build *build, const struct values *values, struct facts_mask mask)
{
    static const enum role roles[FACET_COUNT] = {
        [FACET_TOOL] = ROLE_TOOL,     [FACET_SERVER] = ROLE_SERVER,           [FACET_CHANNEL] = ROLE_CHANNEL,
        [FACET_THREAD] = ROLE_THREAD, [FACET_TOOL_PREFIX] = ROLE_TOOL_PREFIX, [FACET_PREFIX] = ROLE_PREFIX,
        [FACET_ATOM] = ROLE_ATOM,
    };
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        uint32_t id = values->ids[facet];
        enum role role = facet != FACET_COMPONENT ? roles[facet]
                         : id != 0                ? component_role(policy_text(build->policy, id))
                                                  : ROLE_COMPONENT;
        if (id != 0 && !mark(build, role, id, mask)) {
            return false;
        }
    }
    return true;
}

static bool mark_keys(struct build *build, const struct match *match, struct facts_mask mask)
{
    bool good = true;
    for (uint32_t i = 0; good && i < match->arg_count; i++) {
        good = mark(build, ROLE_KEY, build->policy->args[match->arg_first + i].key, mask);
    }
    return good;
}

static bool add_rule(struct build *build, uint32_t rank)
{
    build->pivots[rank] = pivot_of(build, &rule_at(build, rank)->match);
    struct values values = values_of(build, rank);
    uint32_t facets = facets_of(&values);
    if (!add_entry(build, VIEW_ALL, &values, facets, rank)) {
        return false;
    }
    struct facts_mask mask = mask_of(build, facets, rank);
    mark_facets(build->index, facets, mask);
    return mark_values(build, &values, mask) && mark_keys(build, &rule_at(build, rank)->match, mask) &&
           ((facets & PATH_FACETS) == 0 ||
            add_entry(build, VIEW_UNREADABLE, &values, facets & ~PATH_FACETS, rank)) &&
           ((facets & UNKNOWN_FACETS) == 0 ||
            add_entry(build, VIEW_UNKNOWN, &values, facets & ~UNKNOWN_FACETS, rank));
}

static bool add_rules(struct build *build)
{
    uint32_t count = build->policy->order_count;
    build->pivots = array_of(count, sizeof(*build->pivots));
    build->entries = array_of((size_t)count * VIEW_COUNT, sizeof(*build->entries));
    bool good = build->pivots != NULL && build->entries != NULL;
    for (uint32_t rank = 0; good && rank < count; rank++) {
        good = add_rule(build, rank);
    }
    return good;
}

/* ---- Words ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* The different lengths of the texts of a role, of which `less` bytes are a star. */
static bool make_lengths(struct build *build, enum role role, uint32_t less, struct lengths *ret)
{
    const struct marks *marks = &build->marks[role];
    if (marks->count == 0) {
        return true;
    }
    ret->list = calloc(marks->count, sizeof(*ret->list));
    if (ret->list == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < marks->count; i++) {
        struct slice text = policy_text(build->policy, marks->ids[i]);
        unsigned char byte = (unsigned char)text.ptr[role == ROLE_ENDS ? text.len - 1 : 0];
        ret->list[i] = (uint32_t)text.len - less;
        ret->bytes[byte / 64] |= (uint64_t)1 << byte % 64;
    }
    qsort(ret->list, marks->count, sizeof(*ret->list), by_number);
    for (uint32_t i = 0; i < marks->count; i++) {
        if (i == 0 || ret->list[i] != ret->list[i - 1]) {
            ret->list[ret->count++] = ret->list[i];
        }
    }
    uint32_t *list = realloc(ret->list, ret->count * sizeof(*list));
    ret->list = list != NULL ? list : ret->list;
    build->index->bytes += ret->count * sizeof(*list);
    return true;
}

static void note_depths(struct build *build)
{
    const struct marks *marks = &build->marks[ROLE_PREFIX];
    for (uint32_t i = 0; i < marks->count; i++) {
        struct slice path = build->policy->prefixes->list[marks->ids[i] - 1].path;
        unsigned depth = 0;
        for (size_t at = 0; at < path.len && path.len > 1; at++) {
            depth += path.ptr[at] == '/';
        }
        build->index->depths |= (uint64_t)1 << index_depth_bit(depth);
    }
}

static bool make_words(struct build *build)
{
    const struct policy *policy = build->policy;
    struct policy_index *index = build->index;
    bool good = true;
    for (uint32_t i = 0; good && i < policy->required_count; i++) {
        good = mark(build, ROLE_REQUIRED, policy->required[i], (struct facts_mask){1, 0});
    }
    note_depths(build);
    good = good && make_lengths(build, ROLE_TOOL_PREFIX, 0, &index->tool_prefixes) &&
           make_lengths(build, ROLE_STARTS, 1, &index->starts) &&
           make_lengths(build, ROLE_ENDS, 1, &index->ends);
    for (unsigned role = 0; good && role < ROLE_COUNT; role++) {
        /* An argument that is part of no key is looked up all the same: policy_match asks for it. */
        const struct marks *marks = &build->marks[role];
        good = role == ROLE_ATOM
                   ? words_build(policy, index, ROLE_ATOM, marks->masks, NULL, index->atom_count)
                   : words_build(policy, index, (enum role)role, marks->masks, marks->ids, marks->count);
    }
    return good;
}

/* ---- The table of keys ---- */

#define DIGIT 11u

/* By key; entries of one key stay in the order of their ranks. */
static bool sort_entries(struct build *build)
{
    uint32_t *counts = calloc((1u << DIGIT) + 1, sizeof(*counts));
    struct entry *from = build->entries, *to = build->sorted;
    for (unsigned shift = 0; counts != NULL && shift < 32; shift += DIGIT) {
        memset(counts, 0, ((1u << DIGIT) + 1) * sizeof(*counts));
        for (uint32_t i = 0; i < build->entry_count; i++) {
            counts[(from[i].key >> shift & ((1u << DIGIT) - 1)) + 1]++;
        }
        for (uint32_t digit = 0; digit < 1u << DIGIT; digit++) {
            counts[digit + 1] += counts[digit];
        }
        for (uint32_t i = 0; i < build->entry_count; i++) {
            to[counts[from[i].key >> shift & ((1u << DIGIT) - 1)]++] = from[i];
        }
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    build->entries = from;
    build->sorted = to;
    free(counts);
    return counts != NULL;
}

/* Whether every call that finds one entry's rule by its key also finds, and then stops at, an earlier one's:
 * what is part of the key is equal, and the earlier rule asks for nothing else. */
static bool hides(const struct build *build, struct entry earlier, struct entry later)
{
    enum view view = (enum view)(earlier.rank >> RANK_BITS);
    uint32_t a = earlier.rank & RANK_MASK, b = later.rank & RANK_MASK;
    const struct match *left = &rule_at(build, a)->match, *right = &rule_at(build, b)->match;
    if (later.rank >> RANK_BITS != view || (left->actor != ACTOR_ANY && left->actor != right->actor) ||
        (view != VIEW_UNKNOWN && left->arg_count > 1)) {
        return false;
    }
    struct values x = values_of(build, a), y = values_of(build, b);
    uint32_t facets = (1u << FACET_COUNT) - 1;
    facets &= view == VIEW_ALL ? facets : view == VIEW_UNREADABLE ? ~PATH_FACETS : ~UNKNOWN_FACETS;
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        if ((facets & BIT(facet)) != 0 && x.ids[facet] != y.ids[facet]) {
            return false;
        }
    }
    return true;
}

#define HIDERS 4u

/* Leaves out the rules of one key that no call can get to, as far as is cheap to tell. */
static uint32_t thin_out(const struct build *build, struct entry *entries, uint32_t count)
{
    uint32_t kept = 0, hiders = 0;
    uint32_t hider[HIDERS];
    for (uint32_t i = 0; i < count; i++) {
        bool hidden = false;
        for (uint32_t h = 0; h < hiders && !hidden; h++) {
            hidden = hides(build, entries[hider[h]], entries[i]);
        }
        if (hidden) {
            continue;
        }
        if (hiders < HIDERS && hides(build, entries[i], entries[i])) {
            hider[hiders++] = kept;
        }
        entries[kept++] = entries[i];
    }
    return kept;
}

/* Calls `take` with the entries of each key, in the order of the keys. */
static void each_key(struct build *build, void (*take)(struct build *, struct entry *, uint32_t count))
{
    struct entry *entries = build->entries;
    for (uint32_t from = 0, to; from < build->entry_count; from = to) {
        for (to = from + 1; to < build->entry_count && entries[to].key == entries[from].key;) {
            to++;
        }
        take(build, entries + from, to - from);
    }
}

/* Moves what stays of a key to the front, and counts what the table needs. */
static void settle_key(struct build *build, struct entry *entries, uint32_t count)
{
    struct policy_index *index = build->index;
    count = count == 1 ? 1 : thin_out(build, entries, count);
    memmove(build->entries + build->settled, entries, count * sizeof(*entries));
    build->settled += count;
    build->key_count++;
    index->list_count += count > 1 ? count + 1 : 0;
    if (count > index->longest) {
        index->longest = count;
        index->longest_first = (uint32_t)(rule_at(build, entries[0].rank & RANK_MASK) - build->policy->rules);
    }
}

/* Where a key goes: keys come in order, so each goes behind the last or farther on. */
static uint32_t next_slot(struct build *build, uint32_t key)
{
    uint32_t home = index_slot(key, build->index->slot_count);
    uint32_t slot = build->slot > home ? build->slot : home;
    build->slot = slot + 1;
    return slot;
}

static void count_slot(struct build *build, struct entry *entries, uint32_t count)
{
    (void)count;
    (void)next_slot(build, entries[0].key);
}

static void put_key(struct build *build, struct entry *entries, uint32_t count)
{
    struct policy_index *index = build->index;
    uint32_t value = entries[0].rank & RANK_MASK;
    if (count > 1) {
        value = build->listed | KEY_LIST;
        index->lists[build->listed++] = count;
        for (uint32_t i = 0; i < count; i++) {
            index->lists[build->listed++] = entries[i].rank & RANK_MASK;
        }
    }
    index->slots[next_slot(build, entries[0].key)] = (struct key_slot){entries[0].key, value};
}

static bool make_keys(struct build *build)
{
    struct policy_index *index = build->index;
    build->sorted = array_of(build->entry_count, sizeof(*build->sorted));
    if (build->sorted == NULL || !sort_entries(build)) {
        return false;
    }
    each_key(build, settle_key);
    if (index->small) {
        return true; /* no key will be looked up */
    }
    build->entry_count = build->settled;
    index->slot_count = index_slots_for(build->key_count);
    each_key(build, count_slot);
    /* One more slot is free behind the last key, wherever that came to stand. */
    uint32_t slots = (build->slot > index->slot_count ? build->slot : index->slot_count) + 1;
    index->slots = malloc(slots * sizeof(*index->slots));
    index->lists = array_of(index->list_count, sizeof(*index->lists));
    if (index->slots == NULL || index->lists == NULL) {
        return false;
    }
    memset(index->slots, 0xff, slots * sizeof(*index->slots));
    index->bytes += slots * sizeof(*index->slots) + index->list_count * sizeof(*index->lists);
    build->slot = 0;
    each_key(build, put_key);
    return true;
}

/* ---- All of it ---- */

bool index_build(struct policy *policy)
{
    struct policy_index *index = calloc(1, sizeof(*index));
    struct build *build = calloc(1, sizeof(*build));
    bool good = index != NULL && build != NULL;
    if (good) {
        policy->index = index;
        policy->index_destroy = index_destroy;
        index->bytes = sizeof(*index);
        index->small = policy->order_count <= INDEX_SMALL_RULES;
        *build = (struct build){.policy = policy, .index = index};
        good = number_atoms(build) && start_marks(build, ROLE_ATOM) && add_rules(build) &&
               make_words(build) && make_keys(build);
    } else {
        free(index);
    }
    for (unsigned role = 0; build != NULL && role < ROLE_COUNT; role++) {
        free(build->marks[role].masks);
        free(build->marks[role].ids);
    }
    if (build != NULL) {
        free(build->atom_of);
        free(build->uses);
        free(build->pivots);
        free(build->entries);
        free(build->sorted);
    }
    free(build);
    return good;
}

void index_destroy(struct policy_index *index)
{
    if (index == NULL) {
        return;
    }
    for (unsigned role = 0; role < ROLE_COUNT; role++) {
        free(index->words[role].list);
        free(index->words[role].high);
    }
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        free(index->shapes[view]);
    }
    free(index->tool_prefixes.list);
    free(index->starts.list);
    free(index->ends.list);
    free(index->atoms);
    free(index->slots);
    free(index->lists);
    free(index);
}
