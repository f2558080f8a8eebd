/* Making the index of a policy whose rules are grouped and in order. */
#include <stdlib.h>

#include <string.h>

#include "index/build_internal.h"

/* ---- Atoms ---- */

static uint32_t atom_slot(const struct match_arg *atom, uint32_t mask)
{
    return (uint32_t)(index_mix((uint64_t)atom->key << 32 | atom->value) >> 32) & mask;
}

/* How many different arguments the rules may have, values of lists counted each. */
static uint32_t count_atoms(const struct policy *policy)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < policy->arg_count; i++) {
        count += match_values(policy, &policy->args[i].value).count;
    }
    return count > (1u << 30) ? 1u << 30 : (uint32_t)count;
}

static uint32_t number_atom(struct build *build, struct match_arg atom)
{
    struct policy_index *index = build->index;
    uint32_t slot = atom_slot(&atom, build->atom_mask), id;
    while ((id = build->atom_slots[slot]) != 0 &&
           (index->atoms[id - 1].key != atom.key || index->atoms[id - 1].value != atom.value)) {
        slot = (slot + 1) & build->atom_mask;
    }
    if (id == 0 && index->atom_count < build->atom_most) {
        index->atoms[index->atom_count] = atom;
        id = build->atom_slots[slot] = ++index->atom_count;
    }
    return id;
}

/* Numbers the different arguments that all rules compare, and counts how many rules have each. */
static bool number_atoms(struct build *build)
{
    const struct policy *policy = build->policy;
    struct policy_index *index = build->index;
    build->atom_most = count_atoms(policy);
    build->atom_mask = 15;
    while (build->atom_mask / 2 < build->atom_most) {
        build->atom_mask = build->atom_mask * 2 + 1;
    }
    build->atom_slots = array_of((size_t)build->atom_mask + 1, sizeof(*build->atom_slots));
    build->uses = array_of(build->atom_most, sizeof(*build->uses));
    index->atoms = array_of(build->atom_most, sizeof(*index->atoms));
    if (build->atom_slots == NULL || build->uses == NULL || index->atoms == NULL) {
        return false;
    }
    for (uint32_t rank = 0; rank < policy->order_count; rank++) {
        const struct match *match = &rule_at(build, rank)->match;
        for (uint32_t i = 0; i < match->arg_count; i++) {
            const struct match_arg *arg = &policy->args[match->arg_first + i];
            struct match_values values = match_values(policy, &arg->value);
            for (uint32_t v = 0; v < values.count; v++) {
                build->uses[number_atom(build, (struct match_arg){arg->key, values.list[v]})]++;
            }
        }
    }
    struct match_arg *atoms = realloc(index->atoms, (index->atom_count + 1u) * sizeof(*atoms));
    index->atoms = atoms != NULL ? atoms : index->atoms;
    index->bytes += (index->atom_count + 1u) * sizeof(*atoms);
    return true;
}

/* The argument of a rule that the fewest rules have, of a list all its values together: its place among the rule's
 * arguments and 1, or 0. */
uint32_t index_pivot_of(struct build *build, const struct match *match)
{
    uint32_t best = 0;
    uint64_t fewest = UINT64_MAX;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        const struct match_arg *arg = &build->policy->args[match->arg_first + i];
        struct match_values values = match_values(build->policy, &arg->value);
        uint64_t uses = values.count - 1;
        for (uint32_t v = 0; v < values.count; v++) {
            uses += build->uses[number_atom(build, (struct match_arg){arg->key, values.list[v]})];
        }
        if (uses < fewest) {
            fewest = uses;
            best = i + 1;
        }
    }
    return best;
}

/* ---- Shapes and keys ---- */

static void add_id(uint32_t *ids, uint32_t *count, uint32_t id)
{
    for (uint32_t i = 0; i < *count && *count <= 16; i++) {
        if (ids[i] == id) {
            return;
        }
    }
    if (*count < MATCH_LIST_MOST) {
        ids[(*count)++] = id;
    }
}

static void set_field(struct build *build, const struct match *match, enum facet facet,
                      enum match_field field)
{
    struct match_values values = match_values(build->policy, &match->values[field]);
    struct facet_values *to = build->values;
    for (uint32_t i = 0; i < values.count; i++) {
        bool host = field == FIELD_HOST;
        to->ids[facet][i] = host ? policy_pattern(build->policy, values.list[i])->text : values.list[i];
    }
    to->count[facet] = values.count;
}

/* The starts of a rule's commands, and those of one word alone. */
static void set_commands(struct build *build, const struct match *match)
{
    const struct policy *policy = build->policy;
    struct facet_values *to = build->values;
    bool start = match->command != 0 || match->command_prefix != 0;
    const uint32_t *value = match->command != 0 ? &match->command : &match->command_prefix;
    struct match_values values = match_values(policy, value);
    for (uint32_t i = 0; start && i < values.count; i++) {
        const struct match_pattern *pattern = policy_pattern(policy, values.list[i]);
        add_id(to->ids[FACET_COMMAND], &to->count[FACET_COMMAND],
               index_command_value(pattern->start, pattern->command.loose));
        if (pattern->start != pattern->program) {
            add_id(to->open, &to->open_count, index_command_value(pattern->program, pattern->command.loose));
        }
    }
    if (!start) {
        add_id(to->ids[FACET_COMMAND], &to->count[FACET_COMMAND], COMMAND_ANY);
    }
}

static void set_atoms(struct build *build, const struct match *match)
{
    uint32_t pivot = index_pivot_of(build, match);
    struct facet_values *to = build->values;
    if (pivot != 0) {
        const struct match_arg *arg = &build->policy->args[match->arg_first + pivot - 1];
        struct match_values values = match_values(build->policy, &arg->value);
        for (uint32_t v = 0; v < values.count; v++) {
            to->ids[FACET_ATOM][v] = number_atom(build, (struct match_arg){arg->key, values.list[v]});
        }
        to->count[FACET_ATOM] = values.count;
    }
}

/* Fills build->values for a rule. */
static void take_values(struct build *build, const struct match *match)
{
    struct facet_values *to = build->values;
    memset(to->count, 0, sizeof(to->count));
    to->open_count = 0;
    set_field(build, match, FACET_TOOL, FIELD_TOOL);
    set_field(build, match, FACET_SERVER, FIELD_SERVER);
    set_field(build, match, FACET_CHANNEL, FIELD_CHANNEL);
    set_field(build, match, FACET_THREAD, FIELD_THREAD);
    set_field(build, match, FACET_TOOL_PREFIX, FIELD_TOOL_PREFIX);
    set_atoms(build, match);
    if ((match->command | match->command_prefix | match->command_word) != 0) {
        set_commands(build, match);
        return;
    }
    set_field(build, match, FACET_PREFIX, FIELD_PATH_PREFIX);
    set_field(build, match, FACET_COMPONENT, FIELD_PATH_COMPONENT);
    set_field(build, match, FACET_HOST, FIELD_HOST);
}

/* The facets of the rule at hand that are part of its keys: those with one value, and lists, the shortest first, as long
 * as the keys are not too many. */
static uint32_t facets_of(const struct facet_values *values)
{
    uint32_t facets = 0, keys = 1;
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        facets |= values->count[facet] == 1 ? BIT(facet) : 0;
    }
    for (;;) {
        unsigned best = FACET_COUNT;
        for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
            bool left = values->count[facet] > 1 && (facets & BIT(facet)) == 0;
            best = left && (best == FACET_COUNT || values->count[facet] < values->count[best]) ? facet : best;
        }
        if (best == FACET_COUNT || (uint64_t)keys * values->count[best] > KEYS_MOST) {
            return facets;
        }
        keys *= values->count[best];
        facets |= BIT(best);
    }
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
    shapes[count] = (struct shape){index_shape_seed(view, facets), rank, (uint16_t)facets, bit};
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

static void mark_facets(struct policy_index *index, const struct facet_values *values, struct facts_mask mask)
{
    index->all = mask_or(index->all, mask);
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        struct facts_mask *masks = values->count[facet] != 0 ? index->with : index->without;
        masks[facet] = mask_or(masks[facet], mask);
    }
}

/* Room for `more` entries. */
static bool reserve_entries(struct build *build, uint32_t more)
{
    uint64_t need = (uint64_t)build->entry_count + more;
    if (need <= build->entry_cap) {
        return true;
    }
    uint64_t cap = need + need / 2 + 1024;
    struct entry *entries = cap > UINT32_MAX ? NULL : realloc(build->entries, cap * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    build->entries = entries;
    build->entry_cap = (uint32_t)cap;
    return true;
}

/* Adds an entry of a rule for every combination of the values of its facets from `facet` on. */
static bool add_keys(struct build *build, enum view view, uint32_t facets, unsigned facet, uint64_t hash,
                     uint32_t rank)
{
    const struct facet_values *values = build->values;
    while (facet < FACET_COUNT && (facets & BIT(facet)) == 0) {
        facet++;
    }
    if (facet == FACET_COUNT) {
        if (!reserve_entries(build, 1)) {
            return false;
        }
        build->entries[build->entry_count++] =
            (struct entry){index_key(hash), rank | (uint32_t)view << RANK_BITS};
        return true;
    }
    bool open = view == VIEW_OPEN && facet == FACET_COMMAND;
    const uint32_t *ids = open ? values->open : values->ids[facet];
    uint32_t count = open ? values->open_count : values->count[facet];
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) {
        good = add_keys(build, view, facets, facet + 1, hash ^ index_value_hash((enum facet)facet, ids[i]),
                        rank);
    }
    return good;
}

static bool add_entry(struct build *build, enum view view, uint32_t facets, uint32_t rank)
{
    if (build->shape_of[view][facets] == 0 && !add_shape(build, view, facets, rank)) {
        return false;
    }
    return add_keys(build, view, facets, 0, index_shape_seed(view, facets), rank);
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

/* The role of a facet's value; COMMAND_ANY has none. */
static enum role role_of(const struct build *build, enum facet facet, uint32_t id)
{
    static const enum role roles[FACET_COUNT] = {
        [FACET_TOOL] = ROLE_TOOL,     [FACET_SERVER] = ROLE_SERVER,           [FACET_CHANNEL] = ROLE_CHANNEL,
        [FACET_THREAD] = ROLE_THREAD, [FACET_TOOL_PREFIX] = ROLE_TOOL_PREFIX, [FACET_PREFIX] = ROLE_PREFIX,
        [FACET_ATOM] = ROLE_ATOM,
    };
    if (facet == FACET_COMPONENT) {
        return component_role(policy_text(build->policy, id));
    }
    if (facet == FACET_COMMAND) {
        return (id & 1) != 0 ? ROLE_NAME : ROLE_PROGRAM;
    }
    if (facet == FACET_HOST) {
        return policy_text(build->policy, id).ptr[0] == '*' ? ROLE_BELOW : ROLE_HOST;
    }
    return roles[facet];
}

static bool mark_command(struct build *build, uint32_t id, struct facts_mask mask)
{
    if (id == COMMAND_ANY) {
        build->index->any_command = mask_or(build->index->any_command, mask);
        return true;
    }
    return mark(build, role_of(build, FACET_COMMAND, id), id >> 1, mask);
}

/* Marks all values of the rule at hand, those that are part of no key too: what a call has of them leaves the rule. */
static bool mark_values(struct build *build, struct facts_mask mask)
{
    const struct facet_values *values = build->values;
    bool good = true;
    for (unsigned facet = 0; facet < FACET_COUNT; facet++) {
        for (uint32_t i = 0; good && i < values->count[facet]; i++) {
            uint32_t id = values->ids[facet][i];
            good = facet == FACET_COMMAND ? mark_command(build, id, mask)
                                          : mark(build, role_of(build, (enum facet)facet, id), id, mask);
        }
    }
    for (uint32_t i = 0; good && i < values->open_count; i++) {
        good = mark_command(build, values->open[i], mask);
    }
    return good;
}

static bool mark_keys(struct build *build, const struct match *match, struct facts_mask mask)
{
    bool good = true;
    for (uint32_t i = 0; good && i < match->arg_count; i++) {
        uint32_t key = build->policy->args[match->arg_first + i].key;
        bool loose = policy_text(build->policy, key).len != 0 &&
                     policy_text(build->policy, key).ptr[0] == MATCH_LOOSE_KEY;
        struct facts_mask *all = loose ? &build->index->loose_args : &build->index->exact_args;
        *all = mask_or(*all, mask);
        good = mark(build, loose ? ROLE_LOOSE_KEY : ROLE_KEY, key, mask);
    }
    return good;
}

static bool add_rule(struct build *build, uint32_t rank)
{
    const struct match *match = &rule_at(build, rank)->match;
    take_values(build, match);
    uint32_t facets = facets_of(build->values);
    if (!add_entry(build, VIEW_ALL, facets, rank)) {
        return false;
    }
    struct facts_mask mask = mask_of(build, facets, rank);
    mark_facets(build->index, build->values, mask);
    return mark_values(build, mask) && mark_keys(build, match, mask) &&
           ((match->path_prefix | match->path_component) == 0 || build->values->count[FACET_COMMAND] != 0 ||
            add_entry(build, VIEW_UNREADABLE, facets & ~PATH_FACETS, rank)) &&
           ((match_looks(match, EFFECT_DENY) & ~READING_FIELD_STRICT) == 0 && match->arg_count == 0
                ? true
                : add_entry(build, VIEW_UNKNOWN, facets & ~UNKNOWN_FACETS, rank)) &&
           (match->host == 0 || build->values->count[FACET_COMMAND] != 0 ||
            add_entry(build, VIEW_HOST, facets & ~BIT(FACET_HOST), rank)) &&
           (build->values->open_count == 0 || add_entry(build, VIEW_OPEN, facets | BIT(FACET_COMMAND), rank));
}

static bool add_rules(struct build *build)
{
    uint32_t count = build->policy->order_count;
    build->values = malloc(sizeof(*build->values));
    bool good = build->values != NULL && reserve_entries(build, count);
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
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a mark has a byte at least */
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
    index->plain = mask_and(index->without[FACET_COMMAND], index->without[FACET_HOST]);
    index->nowhere =
        mask_and(index->plain, mask_and(index->without[FACET_PREFIX], index->without[FACET_COMPONENT]));
    good = good && make_lengths(build, ROLE_TOOL_PREFIX, 0, &index->tool_prefixes) &&
           make_lengths(build, ROLE_STARTS, 1, &index->starts) &&
           make_lengths(build, ROLE_ENDS, 1, &index->ends);
    for (unsigned role = 0; good && role < ROLE_COUNT; role++) {
        /* An argument that is part of no key is looked up all the same: policy_match asks for it. */
        const struct marks *marks = &build->marks[role];
        if (role == ROLE_ATOM) {
            good = words_build(policy, index, ROLE_ATOM, marks->masks, NULL, index->atom_count);
        } else if (role != ROLE_KEY && role != ROLE_LOOSE_KEY) {
            good = words_build(policy, index, (enum role)role, marks->masks, marks->ids, marks->count);
        }
    }
    const struct marks *exact = &build->marks[ROLE_KEY], *loose = &build->marks[ROLE_LOOSE_KEY];
    return good && words_build_names(policy, index, exact->masks, exact->ids, exact->count, loose->masks,
                                     loose->ids, loose->count);
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
               make_words(build) && index_make_keys(build);
    } else {
        free(index);
    }
    for (unsigned role = 0; build != NULL && role < ROLE_COUNT; role++) {
        free(build->marks[role].masks);
        free(build->marks[role].ids);
    }
    if (build != NULL) {
        free(build->atom_slots);
        free(build->uses);
        free(build->values);
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
