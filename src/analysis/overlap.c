#include "analysis/overlap.h"

#include <stdlib.h>

#include "analysis/analysis.h"

#define STEPS_BASE     ((uint64_t)1 << 25)
#define STEPS_PER_RULE 128u
/* Fewer pairs than this for each rule are compared one by one. */
#define PAIRS_PER_RULE 16u
/* Fewer conflicts between arguments than this for each rule are taken off one by one. */
#define CONFLICTS_PER_RULE 64u
/* A value below which something is counted, beside the value itself. */
#define BELOW ((uint64_t)1 << 32)

/* The fields to split by, in this order: those with many values first. Argument keys come after them. */
enum split {
    SPLIT_TOOL, /* exact on both sides; prefixes nest and come last */
    SPLIT_CHANNEL,
    SPLIT_THREAD,
    SPLIT_SERVER,
    SPLIT_ACTOR,
    SPLIT_KEYS,
};

/* Rules of both sides that agree in every field split by so far. Asking rules are places in the caller's
 * list. */
struct part {
    const uint32_t *stored, *asking; /* in load order */
    uint32_t stored_count, asking_count;
    bool one_tool; /* all of both sides have the same exact tool */
};

struct entry {
    uint64_t tool, path; /* the value by which it was counted, perhaps with BELOW */
    uint32_t hash;
    uint32_t first, count; /* count 0: free */
};

struct counter {
    const struct policy *policy;
    const uint32_t *asking; /* the caller's list */
    struct overlap *result; /* by place in it */
    struct name_nest tools;
    bool *asked_tools, *asked_paths; /* by symbol, by prefix: some asking rule has it */
    uint32_t *tools_above, *paths_above;
    uint32_t *dense;      /* by value: 1 + its number in the split that is being made; 0 between splits */
    uint32_t *keyed;      /* by key: how many asking rules have it; 0 between splits */
    uint32_t *split_keys; /* the keys split by so far: those of equal value on both sides are among them */
    uint32_t split_count, split_cap;
    struct entry *table;
    size_t table_mask, table_used;
    uint64_t steps, steps_max;
    bool failed;
};

static bool step(struct counter *c, uint64_t steps)
{
    c->steps += steps;
    return c->steps <= c->steps_max && !c->failed;
}

static const struct match *stored_match(const struct counter *c, uint32_t rule)
{
    return &c->policy->rules[rule].match;
}

static const struct match *asking_match(const struct counter *c, uint32_t place)
{
    return &c->policy->rules[c->asking[place]].match;
}

static void add_result(struct counter *c, uint32_t place, uint32_t first, uint32_t count)
{
    struct overlap *result = &c->result[place];
    result->first = first < result->first ? first : result->first;
    result->count += count;
}

/* ---- Ends: all pairs, or a table for what nests ---- */

static void compare_pairs(struct counter *c, const struct part *part)
{
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        for (uint32_t j = 0; j < part->stored_count && step(c, 1); j++) {
            if (match_intersects(c->policy, match, c->policy, stored_match(c, part->stored[j]))) {
                add_result(c, part->asking[i], part->stored[j], 1);
            }
        }
    }
}

/* How the rules of one side stand to what nests. */
enum nesting {
    NEST_TOOL = 1,        /* an exact tool */
    NEST_TOOL_PREFIX = 2, /* a tool prefix */
    NEST_PATH = 4,
    NESTINGS = 7,
};

static uint32_t nesting_of(const struct match *match, bool one_tool)
{
    uint32_t tool = one_tool                  ? 0
                    : match->tool != 0        ? NEST_TOOL
                    : match->tool_prefix != 0 ? NEST_TOOL_PREFIX
                                              : 0;
    return tool | (match->path_prefix != 0 ? NEST_PATH : 0);
}

static uint32_t hash_of(uint64_t tool, uint64_t path)
{
    uint64_t h = tool * 0xc4ceb9fe1a85ec53u + path * 0x2545f4914f6cdd1du;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32);
}

/* The entry for these values, or the free one where it belongs; there is always a free one. */
static struct entry *entry_of(const struct counter *c, uint32_t hash, uint64_t tool, uint64_t path)
{
    for (size_t at = hash & c->table_mask;; at = (at + 1) & c->table_mask) {
        struct entry *entry = &c->table[at];
        if (entry->count == 0 || (entry->tool == tool && entry->path == path)) {
            return entry;
        }
    }
}

/* Keeps the table at most half full. */
static bool make_room(struct counter *c)
{
    if (c->table_used * 2 <= c->table_mask) {
        return true;
    }
    size_t mask = c->table_mask * 2 + 1;
    struct entry *table = calloc(mask + 1, sizeof(*table));
    if (table == NULL) {
        return false;
    }
    for (size_t i = 0; i <= c->table_mask; i++) {
        if (c->table[i].count != 0) {
            size_t at = c->table[i].hash & mask;
            while (table[at].count != 0) {
                at = (at + 1) & mask;
            }
            table[at] = c->table[i];
        }
    }
    free(c->table);
    c->table = table;
    c->table_mask = mask;
    return true;
}

static bool empty_table(struct counter *c, uint32_t rules)
{
    size_t cap = 64;
    while (cap < (size_t)rules * 2) {
        cap *= 2;
    }
    free(c->table);
    c->table = calloc(cap, sizeof(*c->table));
    c->table_mask = cap - 1;
    c->table_used = 0;
    return c->table != NULL;
}

static void count_at(struct counter *c, uint32_t rule, uint64_t tool, uint64_t path)
{
    if (!step(c, 1)) {
        return;
    }
    if (!make_room(c)) {
        c->failed = true;
        return;
    }
    uint32_t hash = hash_of(tool, path);
    struct entry *entry = entry_of(c, hash, tool, path);
    if (entry->count == 0) {
        *entry = (struct entry){.tool = tool, .path = path, .hash = hash, .first = rule};
        c->table_used++;
    }
    entry->count++;
}

static size_t find_paths_above(struct counter *c, const struct match *match)
{
    return path_prefixes_above(c->policy->prefixes, c->policy->prefixes->list[match->path_prefix - 1].path,
                               c->paths_above, PATHS_ABOVE_MAX);
}

static uint32_t find_tools_above(struct counter *c, uint32_t name)
{
    return name_nest_above(&c->tools, policy_text(c->policy, name), c->tools_above);
}

static void count_paths(struct counter *c, uint32_t rule, uint64_t tool, bool by_path)
{
    const struct match *match = stored_match(c, rule);
    if (!by_path) {
        count_at(c, rule, tool, 0);
        return;
    }
    count_at(c, rule, tool, match->path_prefix);
    size_t above = find_paths_above(c, match);
    for (size_t i = 0; i < above; i++) {
        if (c->asked_paths[c->paths_above[i]]) {
            count_at(c, rule, tool, c->paths_above[i] | BELOW);
        }
    }
}

/* Counts a stored rule at its own tool or tool prefix, and at what stands above it when prefixes ask. */
static void count_rule(struct counter *c, uint32_t rule, uint32_t stored, uint32_t asking)
{
    bool by_path = (stored & asking & NEST_PATH) != 0;
    if ((stored & ~(uint32_t)NEST_PATH) == 0 || (asking & ~(uint32_t)NEST_PATH) == 0) {
        count_paths(c, rule, 0, by_path);
        return;
    }
    const struct match *match = stored_match(c, rule);
    uint32_t name = match->tool != 0 ? match->tool : match->tool_prefix;
    if ((stored & NEST_TOOL_PREFIX) != 0) {
        count_paths(c, rule, name, by_path);
    }
    if ((asking & NEST_TOOL_PREFIX) != 0) {
        uint32_t above = find_tools_above(c, name);
        for (uint32_t i = 0; i < above; i++) {
            if (c->asked_tools[c->tools_above[i]]) {
                count_paths(c, rule, c->tools_above[i] | BELOW, by_path);
            }
        }
    }
}

static void look_at(struct counter *c, uint32_t place, uint64_t tool, uint64_t path)
{
    if (step(c, 1)) {
        const struct entry *entry = entry_of(c, hash_of(tool, path), tool, path);
        if (entry->count != 0) {
            add_result(c, place, entry->first, entry->count);
        }
    }
}

/* Paths above must have been found when by_path. */
static void look_at_paths(struct counter *c, uint32_t place, uint64_t tool, bool by_path, size_t paths)
{
    if (!by_path) {
        look_at(c, place, tool, 0);
        return;
    }
    uint32_t own = asking_match(c, place)->path_prefix;
    look_at(c, place, tool, own | BELOW);
    for (size_t i = 0; i < paths; i++) {
        if (c->paths_above[i] != own) {
            look_at(c, place, tool, c->paths_above[i]);
        }
    }
}

static void look_up(struct counter *c, uint32_t place, uint32_t stored, uint32_t asking)
{
    bool by_path = (stored & asking & NEST_PATH) != 0;
    const struct match *match = asking_match(c, place);
    size_t paths = by_path ? find_paths_above(c, match) : 0;
    if ((stored & ~(uint32_t)NEST_PATH) == 0 || (asking & ~(uint32_t)NEST_PATH) == 0) {
        look_at_paths(c, place, 0, by_path, paths);
        return;
    }
    if ((asking & NEST_TOOL_PREFIX) != 0) {
        look_at_paths(c, place, match->tool_prefix | BELOW, by_path, paths);
    }
    if ((stored & NEST_TOOL_PREFIX) != 0) {
        uint32_t above = find_tools_above(c, match->tool != 0 ? match->tool : match->tool_prefix);
        for (uint32_t i = 0; i < above; i++) {
            /* A prefix equal to an asking prefix is below it, and was counted there. */
            if ((asking & NEST_TOOL) != 0 || c->tools_above[i] != match->tool_prefix) {
                look_at_paths(c, place, c->tools_above[i], by_path, paths);
            }
        }
    }
}

/* Stored rules of one nesting against asking rules of one nesting, nothing else being left that could keep
 * them apart. Two exact tools were split by before. */
static bool meet_nested(struct counter *c, const struct part *part, uint32_t stored, uint32_t asking)
{
    uint32_t both = stored & asking;
    bool tools = (stored & ~(uint32_t)NEST_PATH) != 0 && (asking & ~(uint32_t)NEST_PATH) != 0;
    if ((both & NEST_TOOL) != 0 || part->stored_count == 0 || part->asking_count == 0) {
        return true;
    }
    if (!tools && (both & NEST_PATH) == 0) { /* all meet */
        for (uint32_t i = 0; i < part->asking_count && step(c, 1); i++) {
            add_result(c, part->asking[i], part->stored[0], part->stored_count);
        }
        return true;
    }
    if (!empty_table(c, part->stored_count)) {
        return false;
    }
    for (uint32_t i = 0; i < part->stored_count; i++) {
        count_rule(c, part->stored[i], stored, asking);
    }
    for (uint32_t i = 0; i < part->asking_count; i++) {
        look_up(c, part->asking[i], stored, asking);
    }
    return !c->failed;
}

static bool meet_rest(struct counter *c, const struct part *part)
{
    uint32_t *stored = malloc(((size_t)part->stored_count + 1) * sizeof(*stored));
    uint32_t *asking = malloc(((size_t)part->asking_count + 1) * sizeof(*asking));
    bool ok = stored != NULL && asking != NULL;
    for (uint32_t a = 0; ok && a < NESTINGS; a++) {
        struct part some = {.stored = stored, .asking = asking, .one_tool = part->one_tool};
        for (uint32_t i = 0; i < part->asking_count; i++) {
            if (nesting_of(asking_match(c, part->asking[i]), part->one_tool) == a) {
                asking[some.asking_count++] = part->asking[i];
            }
        }
        for (uint32_t s = 0; ok && some.asking_count != 0 && s < NESTINGS; s++) {
            some.stored_count = 0;
            for (uint32_t i = 0; i < part->stored_count; i++) {
                if (nesting_of(stored_match(c, part->stored[i]), part->one_tool) == s) {
                    stored[some.stored_count++] = part->stored[i];
                }
            }
            ok = meet_nested(c, &some, s, a);
        }
    }
    free(stored);
    free(asking);
    return ok;
}

/* ---- The fields by which rules are split ---- */

/* The value by which a match is split; 0: it lacks the field. */
static uint32_t value_of(const struct counter *c, const struct match *match, uint32_t field, uint32_t key)
{
    switch (field) {
    case SPLIT_TOOL:
        return match->tool;
    case SPLIT_CHANNEL:
        return match->channel;
    case SPLIT_THREAD:
        return match->thread;
    case SPLIT_SERVER:
        return match->server;
    case SPLIT_ACTOR:
        return match->actor;
    default:
        break;
    }
    const struct match_arg *args = c->policy->args + match->arg_first;
    uint32_t low = 0, high = match->arg_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (args[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < match->arg_count && args[low].key == key ? args[low].value : 0;
}

/* ---- Argument keys that few rules share: what conflicts is taken off again ---- */

/* The stored rules that have each asked key: `rules` from[k] to from[k + 1] for the key with dense number k.
 */
struct postings {
    uint32_t *from, *rules; /* rules: places in part->stored */
    uint32_t *stamp;        /* by place in part->stored: 1 + the last asking rule that it conflicts with */
};

static bool make_postings(struct counter *c, const struct part *part, struct postings *ret)
{
    const struct match_arg *args = c->policy->args;
    uint32_t keys = 0, total = 0;
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            uint32_t *number = &c->dense[args[match->arg_first + j].key];
            *number = *number == 0 ? ++keys : *number;
        }
    }
    ret->from = calloc((size_t)keys + 2, sizeof(*ret->from));
    ret->stamp = calloc((size_t)part->stored_count + 1, sizeof(*ret->stamp));
    for (uint32_t i = 0; ret->from != NULL && i < part->stored_count; i++) {
        const struct match *match = stored_match(c, part->stored[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            uint32_t number = c->dense[args[match->arg_first + j].key];
            ret->from[number] += number != 0;
            total += number != 0;
        }
    }
    ret->rules = malloc(((size_t)total + 1) * sizeof(*ret->rules));
    if (ret->from == NULL || ret->stamp == NULL || ret->rules == NULL) {
        return false;
    }
    for (uint32_t k = 1; k <= keys; k++) {
        ret->from[k] += ret->from[k - 1]; /* where key k ends */
    }
    ret->from[keys + 1] = total;
    for (uint32_t i = part->stored_count; i-- > 0;) {
        const struct match *match = stored_match(c, part->stored[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            uint32_t number = c->dense[args[match->arg_first + j].key];
            if (number != 0) {
                ret->rules[--ret->from[number]] = i;
            }
        }
    }
    return true;
}

static void forget_postings(struct counter *c, const struct part *part, struct postings *postings)
{
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->dense[c->policy->args[match->arg_first + j].key] = 0;
        }
    }
    free(postings->from);
    free(postings->rules);
    free(postings->stamp);
}

/* The first stored rule that meets an asking one, by comparing. */
static uint32_t first_by_comparing(struct counter *c, const struct part *part, const struct match *match)
{
    for (uint32_t i = 0; i < part->stored_count && step(c, 1); i++) {
        if (match_intersects(c->policy, match, c->policy, stored_match(c, part->stored[i]))) {
            return part->stored[i];
        }
    }
    return UINT32_MAX;
}

/* Takes off the stored rules that meet an asking one in all but a shared key. */
static void take_off(struct counter *c, const struct part *part, struct postings *postings, uint32_t asking,
                     struct overlap *overlap)
{
    const struct match *match = asking_match(c, part->asking[asking]);
    struct match bare = *match;
    bool first_conflicts = false;
    bare.arg_count = 0;
    for (uint32_t j = 0; j < match->arg_count; j++) {
        const struct match_arg *arg = &c->policy->args[match->arg_first + j];
        uint32_t number = c->dense[arg->key];
        for (uint32_t i = postings->from[number]; i < postings->from[number + 1] && step(c, 1); i++) {
            uint32_t place = postings->rules[i];
            const struct match *stored = stored_match(c, part->stored[place]);
            if (postings->stamp[place] == asking + 1 ||
                value_of(c, stored, SPLIT_KEYS, arg->key) == arg->value) {
                continue;
            }
            postings->stamp[place] = asking + 1;
            if (match_intersects(c->policy, &bare, c->policy, stored)) {
                overlap->count--;
                first_conflicts = first_conflicts || overlap->first == part->stored[place];
            }
        }
    }
    if (overlap->count == 0) {
        overlap->first = UINT32_MAX;
    } else if (first_conflicts) {
        overlap->first = first_by_comparing(c, part, match);
    }
}

/* What meets when arguments are left aside, less what they keep apart. */
static bool meet_with_conflicts(struct counter *c, const struct part *part)
{
    struct overlap *before = malloc(((size_t)part->asking_count + 1) * sizeof(*before));
    struct postings postings = {NULL, NULL, NULL};
    bool ok = before != NULL;
    for (uint32_t i = 0; ok && i < part->asking_count; i++) {
        before[i] = c->result[part->asking[i]];
        c->result[part->asking[i]] = (struct overlap){.first = UINT32_MAX};
    }
    ok = ok && meet_rest(c, part) && make_postings(c, part, &postings);
    for (uint32_t i = 0; ok && i < part->asking_count; i++) {
        struct overlap own = c->result[part->asking[i]];
        if (c->steps <= c->steps_max) {
            take_off(c, part, &postings, i, &own);
        }
        if (c->steps > c->steps_max) {
            own = (struct overlap){.first = UINT32_MAX}; /* counts may be too small, never too large */
        }
        c->result[part->asking[i]] = before[i];
        add_result(c, part->asking[i], own.first, own.count);
    }
    forget_postings(c, part, &postings);
    free(before);
    return ok;
}

/* ---- Splitting ---- */

/* The argument key that most pairs share, in *ret_key (0: none), and how many pairs share some key. */
static uint64_t shared_keys(struct counter *c, const struct part *part, uint32_t *ret_key)
{
    const struct match_arg *args = c->policy->args;
    uint64_t total = 0, most = 0;
    *ret_key = 0;
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        c->steps += match->arg_count;
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->keyed[args[match->arg_first + j].key]++;
        }
    }
    for (uint32_t i = 0; i < c->split_count; i++) {
        c->keyed[c->split_keys[i]] = 0;
    }
    for (uint32_t i = 0; i < part->stored_count; i++) {
        const struct match *match = stored_match(c, part->stored[i]);
        c->steps += match->arg_count;
        for (uint32_t j = 0; j < match->arg_count; j++) {
            uint32_t key = args[match->arg_first + j].key;
            uint64_t pairs = (uint64_t)++c->dense[key] * c->keyed[key];
            total += c->keyed[key];
            if (pairs > most) {
                most = pairs;
                *ret_key = key;
            }
        }
    }
    for (uint32_t i = 0; i < part->stored_count; i++) {
        const struct match *match = stored_match(c, part->stored[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->dense[args[match->arg_first + j].key] = 0;
        }
    }
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        for (uint32_t j = 0; j < match->arg_count; j++) {
            c->keyed[args[match->arg_first + j].key] = 0;
        }
    }
    return total;
}

/* Both sides sorted by value: first the rules without the field, then those of value 1, 2, …; numbers are
 * given in the order in which the stored rules have them. Asking rules whose value no stored rule has are
 * left out. */
struct sorted {
    uint32_t *stored, *asking;
    uint32_t *stored_from, *asking_from; /* by number, 0 for "lacks the field"; one more at the end */
    uint32_t values;
    uint32_t met; /* values that both sides have */
};

static void sorted_finish(struct sorted *sorted)
{
    free(sorted->stored);
    free(sorted->asking);
    free(sorted->stored_from);
    free(sorted->asking_from);
}

/* Places counted per number become where each number begins. */
static void begin_at(uint32_t *counts, uint32_t values)
{
    uint32_t at = 0;
    for (uint32_t v = 0; v <= values + 1; v++) {
        uint32_t count = counts[v];
        counts[v] = at;
        at += count;
    }
}

static bool sort_part(struct counter *c, const struct part *part, uint32_t field, uint32_t key,
                      struct sorted *ret)
{
    size_t stored_count = part->stored_count, asking_count = part->asking_count;
    uint32_t *numbers = malloc((stored_count + asking_count + 1) * sizeof(*numbers));
    *ret = (struct sorted){.stored = malloc((stored_count + 1) * sizeof(uint32_t)),
                           .asking = malloc((asking_count + 1) * sizeof(uint32_t)),
                           .stored_from = calloc(stored_count + 3, sizeof(uint32_t)),
                           .asking_from = calloc(stored_count + 3, sizeof(uint32_t))};
    bool ok = numbers != NULL && ret->stored != NULL && ret->asking != NULL && ret->stored_from != NULL &&
              ret->asking_from != NULL;
    for (size_t i = 0; ok && i < stored_count; i++) {
        uint32_t value = value_of(c, stored_match(c, part->stored[i]), field, key);
        if (value != 0 && c->dense[value] == 0) {
            c->dense[value] = ++ret->values;
        }
        numbers[i] = value == 0 ? 0 : c->dense[value];
        ret->stored_from[numbers[i]]++;
    }
    for (size_t i = 0; ok && i < asking_count; i++) {
        uint32_t value = value_of(c, asking_match(c, part->asking[i]), field, key);
        uint32_t number = value == 0 ? 0 : c->dense[value] != 0 ? c->dense[value] : UINT32_MAX;
        numbers[stored_count + i] = number;
        if (number != UINT32_MAX) {
            ret->met += number != 0 && ret->asking_from[number]++ == 0;
            ret->asking_from[0] += number == 0;
        }
    }
    for (size_t i = 0; ok && i < stored_count; i++) {
        c->dense[value_of(c, stored_match(c, part->stored[i]), field, key)] = 0;
    }
    if (ok) {
        begin_at(ret->stored_from, ret->values);
        begin_at(ret->asking_from, ret->values);
        for (size_t i = 0; i < stored_count; i++) {
            ret->stored[ret->stored_from[numbers[i]]++] = part->stored[i];
        }
        for (size_t i = 0; i < asking_count; i++) {
            if (numbers[stored_count + i] != UINT32_MAX) {
                ret->asking[ret->asking_from[numbers[stored_count + i]]++] = part->asking[i];
            }
        }
        /* Each beginning has become the next one's: move them back. */
        memmove(ret->stored_from + 1, ret->stored_from, ((size_t)ret->values + 1) * sizeof(uint32_t));
        memmove(ret->asking_from + 1, ret->asking_from, ((size_t)ret->values + 1) * sizeof(uint32_t));
        ret->stored_from[0] = ret->asking_from[0] = 0;
    }
    free(numbers);
    return ok;
}

static bool meet(struct counter *c, const struct part *part, uint32_t field);

/* Asking rules that have the field, whether or not a stored rule has the value. */
static bool asking_with(struct counter *c, const struct part *part, uint32_t field, uint32_t key,
                        uint32_t **ret_list, uint32_t *ret_count)
{
    uint32_t *list = malloc(((size_t)part->asking_count + 1) * sizeof(*list));
    uint32_t count = 0;
    for (uint32_t i = 0; list != NULL && i < part->asking_count; i++) {
        if (value_of(c, asking_match(c, part->asking[i]), field, key) != 0) {
            list[count++] = part->asking[i];
        }
    }
    *ret_list = list;
    *ret_count = count;
    return list != NULL;
}

/* The three kinds of pairs: equal values; asking rules without the field, with all; stored ones without, with
 * asking rules that have it. */
static bool meet_sorted(struct counter *c, const struct part *part, const struct sorted *sorted,
                        uint32_t field, uint32_t key)
{
    uint32_t next = field < SPLIT_KEYS ? field + 1 : SPLIT_KEYS;
    for (uint32_t v = 1; v <= sorted->values; v++) {
        struct part equal = {.stored = sorted->stored + sorted->stored_from[v],
                             .stored_count = sorted->stored_from[v + 1] - sorted->stored_from[v],
                             .asking = sorted->asking + sorted->asking_from[v],
                             .asking_count = sorted->asking_from[v + 1] - sorted->asking_from[v],
                             .one_tool = part->one_tool || field == SPLIT_TOOL};
        if (!meet(c, &equal, next)) {
            return false;
        }
    }
    struct part without = *part;
    without.asking = sorted->asking;
    without.asking_count = sorted->asking_from[1];
    if (!meet(c, &without, next)) {
        return false;
    }
    struct part with = *part;
    with.stored = sorted->stored;
    with.stored_count = sorted->stored_from[1];
    uint32_t *list;
    if (!asking_with(c, part, field, key, &list, &with.asking_count)) {
        return false;
    }
    with.asking = list;
    bool ok = meet(c, &with, next);
    free(list);
    return ok;
}

/* Whether both sides have the field at all; if not, it keeps nobody apart. */
static bool both_have(const struct counter *c, const struct part *part, uint32_t field)
{
    bool stored = false, asking = false;
    for (uint32_t i = 0; i < part->stored_count && !stored; i++) {
        stored = value_of(c, stored_match(c, part->stored[i]), field, 0) != 0;
    }
    for (uint32_t i = 0; i < part->asking_count && stored && !asking; i++) {
        asking = value_of(c, asking_match(c, part->asking[i]), field, 0) != 0;
    }
    return stored && asking;
}

static bool note_split(struct counter *c, uint32_t key)
{
    if (c->split_count == c->split_cap) {
        uint32_t cap = c->split_cap == 0 ? 64 : c->split_cap * 2;
        uint32_t *keys = realloc(c->split_keys, cap * sizeof(*keys));
        if (keys == NULL) {
            return false;
        }
        c->split_keys = keys;
        c->split_cap = cap;
    }
    c->split_keys[c->split_count++] = key;
    return true;
}

static bool split(struct counter *c, const struct part *part, uint32_t field, uint32_t key)
{
    struct sorted sorted = {0};
    bool ok = sort_part(c, part, field, key, &sorted) && meet_sorted(c, part, &sorted, field, key);
    sorted_finish(&sorted);
    return ok;
}

/* Everything between the two sides of a part, the fields before `field` and the keys in split_keys being
 * settled. */
static bool meet(struct counter *c, const struct part *part, uint32_t field)
{
    uint64_t rules = (uint64_t)part->stored_count + part->asking_count;
    if (part->stored_count == 0 || part->asking_count == 0 || !step(c, rules)) {
        return !c->failed;
    }
    if ((uint64_t)part->stored_count * part->asking_count <= PAIRS_PER_RULE * rules) {
        compare_pairs(c, part);
        return true;
    }
    while (field < SPLIT_KEYS && !both_have(c, part, field)) {
        field++;
    }
    if (field < SPLIT_KEYS) {
        return split(c, part, field, 0);
    }
    uint32_t key;
    uint64_t shared = shared_keys(c, part, &key);
    if (shared == 0) {
        return meet_rest(c, part);
    }
    if (shared <= CONFLICTS_PER_RULE * rules) {
        return meet_with_conflicts(c, part);
    }
    if (!note_split(c, key)) {
        return false;
    }
    bool ok = split(c, part, SPLIT_KEYS, key);
    c->split_count--;
    return ok;
}

/* ---- The whole ---- */

static bool prepare(struct counter *c, size_t asking_count)
{
    const struct policy *policy = c->policy;
    if (!name_nest_init(&c->tools, policy)) {
        return false;
    }
    c->asked_tools = calloc((size_t)policy->symbols.count + 1, sizeof(*c->asked_tools));
    c->asked_paths = calloc((size_t)policy->prefixes->count + 1, sizeof(*c->asked_paths));
    c->dense = calloc((size_t)policy->symbols.count + 3, sizeof(*c->dense)); /* actors are numbers up to 2 */
    c->keyed = calloc((size_t)policy->symbols.count + 1, sizeof(*c->keyed));
    c->tools_above = calloc((size_t)c->tools.deepest + 1, sizeof(*c->tools_above));
    c->paths_above = calloc(PATHS_ABOVE_MAX, sizeof(*c->paths_above));
    if (c->asked_tools == NULL || c->asked_paths == NULL || c->dense == NULL || c->keyed == NULL ||
        c->tools_above == NULL || c->paths_above == NULL) {
        return false;
    }
    for (size_t i = 0; i < asking_count; i++) {
        c->asked_tools[asking_match(c, (uint32_t)i)->tool_prefix] = true;
        c->asked_paths[asking_match(c, (uint32_t)i)->path_prefix] = true;
    }
    return true;
}

static bool meet_all(struct counter *c, const uint32_t *stored, size_t stored_count, size_t asking_count)
{
    uint32_t *places = malloc((asking_count + 1) * sizeof(*places));
    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i < asking_count; i++) {
        places[i] = (uint32_t)i;
    }
    struct part part = {.stored = stored,
                        .stored_count = (uint32_t)stored_count,
                        .asking = places,
                        .asking_count = (uint32_t)asking_count};
    bool ok = meet(c, &part, SPLIT_TOOL);
    free(places);
    return ok;
}

enum overlap_result overlap_count(const struct policy *policy, const uint32_t *stored, size_t stored_count,
                                  const uint32_t *asking, size_t asking_count, struct overlap *ret_overlaps)
{
    for (size_t i = 0; i < asking_count; i++) {
        ret_overlaps[i] = (struct overlap){.first = UINT32_MAX};
    }
    if (stored_count == 0 || asking_count == 0) {
        return OVERLAP_WHOLE;
    }
    struct counter c = {.policy = policy, .asking = asking, .result = ret_overlaps};
    c.steps_max = STEPS_BASE + (uint64_t)STEPS_PER_RULE * (stored_count + asking_count);
    bool ok = prepare(&c, asking_count) && meet_all(&c, stored, stored_count, asking_count);
    enum overlap_result result = !ok                     ? OVERLAP_NO_MEMORY
                                 : c.steps > c.steps_max ? OVERLAP_EXHAUSTED
                                                         : OVERLAP_WHOLE;
    name_nest_finish(&c.tools);
    free(c.asked_tools);
    free(c.asked_paths);
    free(c.dense);
    free(c.keyed);
    free(c.split_keys);
    free(c.tools_above);
    free(c.paths_above);
    free(c.table);
    return result;
}
