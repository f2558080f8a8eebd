/* What is made once for all questions about rules with lists, commands and hosts: the world of their commands, and a name
 * that is like no other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/named_inside_internal.h"

#define CALL_BYTES ((size_t)1 << 20)

/* `seen`: by id of a pattern, those that are in the world. */
static void add_patterns(struct command_world *world, const struct policy *policy, const struct match *match,
                         bool *seen)
{
    static const enum match_field fields[] = {FIELD_COMMAND, FIELD_COMMAND_PREFIX, FIELD_COMMAND_WORD};
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        struct match_values values = match_values(policy, &match->values[fields[i]]);
        for (uint32_t j = 0; j < values.count; j++) {
            const struct match_pattern *pattern = policy_pattern(policy, values.list[j]);
            if (seen[values.list[j]]) {
                continue;
            }
            seen[values.list[j]] = true;
            if (fields[i] == FIELD_COMMAND_WORD) {
                command_world_add_word(world, &pattern->word);
            } else {
                command_world_add(world, &pattern->command);
            }
        }
    }
}

static bool add_rules(struct command_world *world, const struct policy *policy)
{
    bool *seen = calloc((size_t)policy->pattern_count + 1, sizeof(*seen));
    for (uint32_t i = 0; seen != NULL && i < policy->rule_count; i++) {
        add_patterns(world, policy, &policy->rules[i].match, seen);
    }
    free(seen);
    return seen != NULL;
}

static bool add_assertions(struct command_world *world, const struct policy *asked,
                           const struct assertion *assertions, size_t count)
{
    bool *seen = asked == NULL ? NULL : calloc((size_t)asked->pattern_count + 1, sizeof(*seen));
    for (size_t i = 0; seen != NULL && i < count; i++) {
        add_patterns(world, asked, &assertions[i].match, seen);
    }
    free(seen);
    return seen != NULL || asked == NULL;
}

static bool text_has(const struct policy *policy, struct slice name)
{
    for (uint32_t i = 1; policy != NULL && i <= policy->symbols.count; i++) {
        struct slice text = intern_text(&policy->symbols, i);
        if (memmem(text.ptr, text.len, name.ptr, name.len) != NULL) {
            return true;
        }
    }
    return false;
}

/* A name that stands in no text of the policies. One that begins like a toolPrefix of few letters would have to be
 * told by its first letter: so there is one for each letter to try. */
static bool begins_with_prefix(const struct policy *policy, struct slice name)
{
    for (uint32_t i = 0; policy != NULL && i < policy->rule_count; i++) {
        struct match_values values = match_values(policy, &policy->rules[i].match.tool_prefix);
        for (uint32_t j = 0; j < values.count; j++) {
            if (slice_starts_with(name, policy_text(policy, values.list[j]))) {
                return true;
            }
        }
    }
    return false;
}

static bool is_like_none(const struct named *named, struct slice name)
{
    return !begins_with_prefix(named->policy, name) && !begins_with_prefix(named->asked, name) &&
           !text_has(named->policy, name) && !text_has(named->asked, name);
}

static bool find_fresh(struct named *named)
{
    for (unsigned i = 0; i < 2600; i++) {
        char letter = (char)('a' + (25 + i) % 26);
        int len = snprintf(named->fresh, sizeof(named->fresh), "%c%cnew%u", letter, letter, i / 26);
        named->fresh_name = (struct slice){named->fresh, (size_t)len};
        if (is_like_none(named, named->fresh_name)) {
            return true;
        }
    }
    return false;
}

static struct named *create(const struct policy *policy, const struct policy *asked,
                            const struct assertion *assertions, size_t assertion_count, bool pair,
                            const struct path_base *base)
{
    struct named *named = calloc(1, sizeof(*named));
    if (named == NULL) {
        return NULL;
    }
    named->policy = policy;
    named->asked = asked;
    named->base = base;
    command_world_init(&named->world);
    arena_init(&named->arena, 0);
    buf_init(&named->call, CALL_BYTES);
    buf_init(&named->text, CALL_BYTES);
    bool reader = call_reader_init(&named->reader), readings = readings_init(&named->readings[0]),
         facts = facts_init(&named->facts);
    readings = readings_init(&named->readings[1]) && readings;
    bool added = add_rules(&named->world, policy) &&
                 (pair ? add_rules(&named->world, asked)
                       : add_assertions(&named->world, asked, assertions, assertion_count));
    if (!reader || !readings || !facts || !added || !find_fresh(named)) {
        named_destroy(named);
        return NULL;
    }
    return named;
}

struct named *named_create(const struct policy *policy, const struct policy *asked,
                           const struct assertion *assertions, size_t assertion_count,
                           const struct path_base *base)
{
    return create(policy, asked, assertions, assertion_count, false, base);
}

struct named *named_create_pair(const struct policy *from, const struct policy *to,
                                const struct path_base *base)
{
    return create(from, to, NULL, 0, true, base);
}

void named_destroy(struct named *named)
{
    if (named == NULL) {
        return;
    }
    command_world_finish(&named->world);
    arena_finish(&named->arena);
    call_reader_finish(&named->reader);
    readings_finish(&named->readings[0]);
    readings_finish(&named->readings[1]);
    facts_finish(&named->facts);
    buf_finish(&named->call);
    buf_finish(&named->text);
    free(named);
}
