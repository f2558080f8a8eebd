/* Lists of values and compiled patterns, each kept once. */
#include <stdlib.h>
#include <string.h>

#include "policy/policy_internal.h"
#include "policy/value.h"

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

bool match_set_has(const struct policy *policy, uint32_t set, uint32_t got)
{
    struct match_values values = match_values(policy, &set);
    uint32_t from = 0, to = values.count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (values.list[middle] < got) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < values.count && values.list[from] == got;
}

uint32_t match_arms(const struct policy *policy, const struct match *match)
{
    uint64_t arms = 1;
    for (unsigned field = 0; field < FIELD_VALUES; field++) {
        uint32_t count = match_values(policy, &match->values[field]).count;
        arms *= count > 1 ? count : 1;
        arms = arms > UINT32_MAX ? UINT32_MAX : arms;
    }
    for (uint32_t i = 0; i < match->arg_count; i++) {
        arms *= match_values(policy, &policy->args[match->arg_first + i].value).count;
        arms = arms > UINT32_MAX ? UINT32_MAX : arms;
    }
    return (uint32_t)arms;
}

bool policy_grow(void **array, uint32_t count, uint32_t more, size_t size)
{
    uint32_t cap = 16; /* what an array of `count` has room for: the next power of two */
    while (cap < count) {
        cap *= 2;
    }
    if (count != 0 && count + more <= cap) {
        return true;
    }
    while (cap < count + more) {
        cap *= 2;
    }
    void *grown = realloc(*array, cap * size);
    *array = grown != NULL ? grown : *array;
    return grown != NULL;
}

/* The values by text: an insertion into place, for what is sorted has at most a thousand values. Arguments' values are
 * symbols, by text too. */
static void sort_by_text(const struct policy *policy, enum match_field field, uint32_t *values,
                         uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct field_value moved = {policy, field, values[i]};
        uint32_t from = 0, to = i;
        while (from < to) {
            uint32_t middle = from + (to - from) / 2;
            struct field_value other = {policy, field, values[middle]};
            if (field_compare(&other, &moved) <= 0) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        memmove(values + from + 1, values + from, (i - from) * sizeof(*values));
        values[from] = moved.value;
    }
}

uint32_t policy_add_set(struct policy *policy, enum match_field field, uint32_t *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), by_number);
    if (count == 1) {
        return values[0];
    }
    /* Values of different types of fields are different things that may have one number. */
    enum match_field kind = field < FIELD_VALUES ? field : FIELD_CHANNEL;
    bool symbols =
        field_table[kind].type <= FIELD_TYPE_NAME_PREFIX || field_table[kind].type == FIELD_TYPE_COMPONENT;
    uint32_t known = policy->set_keys.count;
    struct buf key;
    buf_init(&key, (size_t)MATCH_LIST_MOST * sizeof(*values) + 16);
    buf_byte(&key, symbols ? 's' : (char)('0' + kind));
    buf_bytes(&key, (const char *)values, count * sizeof(*values));
    uint32_t id = buf_ok(&key) ? intern_add(&policy->set_keys, buf_slice_of(&key)) : 0;
    buf_finish(&key);
    if (id == 0 || id <= known) {
        return id == 0 ? 0 : (id - 1) | MATCH_SET;
    }
    void *sets = policy->sets, *all = policy->set_values;
    bool good = policy_grow(&sets, policy->set_count, 1, sizeof(*policy->sets)) &&
                policy_grow(&all, policy->set_value_count, 2 * count, sizeof(*values));
    policy->sets = sets;
    policy->set_values = all;
    if (!good) {
        return 0;
    }
    uint32_t *room = policy->set_values + policy->set_value_count;
    policy->sets[policy->set_count++] = (struct match_set){policy->set_value_count, count};
    policy->set_value_count += 2 * count;
    memcpy(room, values, count * sizeof(*values));
    memcpy(room + count, values, count * sizeof(*values));
    sort_by_text(policy, kind, room + count, count);
    return (id - 1) | MATCH_SET;
}

/* ---- Patterns ---- */

static void write_pattern(struct buf *buf, enum match_field field, const struct match_pattern *pattern)
{
    char host[URL_PATTERN_BYTES];
    switch (field_table[field].type) {
    case FIELD_TYPE_WORD:
        command_word_append(buf, &pattern->word);
        break;
    case FIELD_TYPE_HOST:
        buf_bytes(buf, host, url_pattern_text(&pattern->host, host));
        break;
    default:
        command_pattern_append(buf, &pattern->command);
        break;
    }
}

/* The symbols of what a pattern's commands begin with. */
static bool add_starts(struct policy *policy, struct match_pattern *pattern)
{
    const struct command_pattern *command = &pattern->command;
    struct slice first = command->words[0].text;
    pattern->program = pattern->start = intern_add(&policy->symbols, first);
    if (command->count > 1 && !command->words[1].any &&
        first.len + 1 + command->words[1].text.len <= PATTERN_START_BYTES) {
        struct slice second = command->words[1].text;
        char room[PATTERN_START_BYTES];
        memcpy(room, first.ptr, first.len);
        room[first.len] = '\0';
        memcpy(room + first.len + 1, second.ptr, second.len);
        pattern->start = intern_add(&policy->symbols, (struct slice){room, first.len + 1 + second.len});
    }
    return pattern->program != 0 && pattern->start != 0;
}

uint32_t policy_add_pattern(struct policy *policy, enum match_field field,
                            const struct match_pattern *pattern)
{
    bool command = field == FIELD_COMMAND || field == FIELD_COMMAND_PREFIX;
    uint32_t known = policy->pattern_keys.count;
    struct buf key;
    buf_init(&key, LIMIT_POLICY_BYTES);
    buf_byte(&key, (char)('0' + field));
    buf_byte(&key, command && pattern->command.loose ? 'l' : 't');
    write_pattern(&key, field, pattern);
    uint32_t id = buf_ok(&key) ? intern_add(&policy->pattern_keys, buf_slice_of(&key)) : 0;
    if (id > known) {
        void *patterns = policy->patterns;
        struct match_pattern kept = *pattern;
        bool good = policy_grow(&patterns, policy->pattern_count, 1, sizeof(kept));
        policy->patterns = patterns;
        kept.text = intern_add(&policy->symbols, slice_from(buf_slice_of(&key), 2));
        if (good && kept.text != 0 && (!command || add_starts(policy, &kept))) {
            policy->patterns[policy->pattern_count++] = kept;
        } else {
            id = 0;
        }
    }
    buf_finish(&key);
    return id;
}
