/* Where splitting ends: all pairs, tables for what nests, and argument keys that few rules share. */
#include <stdlib.h>

#include "analysis/overlap_inside.h"

/* A value below which something is counted, beside the value itself. */
#define BELOW ((uint64_t)1 << 32)

/* ---- Ends: all pairs, or a table for what nests ---- */

void overlap_pairs(struct counter *c, const struct part *part)
{
    for (uint32_t i = 0; i < part->asking_count; i++) {
        const struct match *match = asking_match(c, part->asking[i]);
        for (uint32_t j = 0; j < part->stored_count && overlap_step(c, 1); j++) {
            if (match_intersects(c->policy, match, c->policy, stored_match(c, part->stored[j]))) {
                overlap_add(c, part->asking[i], part->stored[j], 1);
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
    if (!overlap_step(c, 1)) {
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
    if (overlap_step(c, 1)) {
        const struct entry *entry = entry_of(c, hash_of(tool, path), tool, path);
        if (entry->count != 0) {
            overlap_add(c, place, entry->first, entry->count);
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
        for (uint32_t i = 0; i < part->asking_count && overlap_step(c, 1); i++) {
            overlap_add(c, part->asking[i], part->stored[0], part->stored_count);
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

bool overlap_rest(struct counter *c, const struct part *part)
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
uint32_t overlap_value(const struct counter *c, const struct match *match, uint32_t field, uint32_t key)
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
    for (uint32_t i = 0; i < part->stored_count && overlap_step(c, 1); i++) {
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
        for (uint32_t i = postings->from[number]; i < postings->from[number + 1] && overlap_step(c, 1); i++) {
            uint32_t place = postings->rules[i];
            const struct match *stored = stored_match(c, part->stored[place]);
            if (postings->stamp[place] == asking + 1 ||
                overlap_value(c, stored, SPLIT_KEYS, arg->key) == arg->value) {
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
bool overlap_conflicts(struct counter *c, const struct part *part)
{
    struct overlap *before = malloc(((size_t)part->asking_count + 1) * sizeof(*before));
    struct postings postings = {NULL, NULL, NULL};
    bool ok = before != NULL;
    for (uint32_t i = 0; ok && i < part->asking_count; i++) {
        before[i] = c->result[part->asking[i]];
        c->result[part->asking[i]] = (struct overlap){.first = UINT32_MAX};
    }
    ok = ok && overlap_rest(c, part) && make_postings(c, part, &postings);
    for (uint32_t i = 0; ok && i < part->asking_count; i++) {
        struct overlap own = c->result[part->asking[i]];
        if (c->steps <= c->steps_max) {
            take_off(c, part, &postings, i, &own);
        }
        if (c->steps > c->steps_max) {
            own = (struct overlap){.first = UINT32_MAX}; /* counts may be too small, never too large */
        }
        c->result[part->asking[i]] = before[i];
        overlap_add(c, part->asking[i], own.first, own.count);
    }
    forget_postings(c, part, &postings);
    free(before);
    return ok;
}
