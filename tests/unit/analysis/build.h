/* Policies from text, for the tests of this room. */
#ifndef TESTS_UNIT_ANALYSIS_BUILD_H
#define TESTS_UNIT_ANALYSIS_BUILD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../check.h"
#include "document/document.h"
#include "index/index_internal.h"

static inline struct path_base test_base(void)
{
    return (struct path_base){.cwd = SLICE("/"), .home = SLICE("/nowhere/home")};
}

/* Loads one document as the operator's own file; prints the errors and gives NULL when it does not load. */
static inline struct policy *test_load(struct slice text)
{
    struct policy_source source = {.name = SLICE("p.json"), .tier = TIER_DEFAULT, .text = text};
    struct path_base base = test_base();
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = policy_load(&source, 1, &base, &errors);
    for (size_t i = 0; policy == NULL && i < errors.count; i++) {
        printf("%.*s\n", SLICE_FMT(errors.list[i].message));
    }
    findings_finish(&errors);
    return policy;
}

/* A small generator of numbers (splitmix64), so that a failing seed can be run again. */
static inline uint64_t test_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t test_below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)(test_random(seed) % limit);
}

/* Nobody looks calls up in an assertion's space but this test: as if the assertions were its rules. */
static inline void test_index_assertions(const struct policy *policy)
{
    struct policy *space = policy->assertion_space;
    space->rule_count = space->order_count = policy->assertion_count;
    space->rules = calloc(policy->assertion_count, sizeof(*space->rules));
    space->order = arena_array(&space->arena, policy->assertion_count, sizeof(*space->order));
    CHECK(space->rules != NULL && space->order != NULL);
    for (uint32_t i = 0; i < policy->assertion_count; i++) {
        space->rules[i].match = policy->assertions[i].match;
        space->order[i] = i;
    }
    CHECK(index_build(space));
}

/* How a random policy is made: how many different values each field draws from, and how likely a field is
 * there. */
struct test_shape {
    uint32_t rules;
    uint32_t percent; /* of presence, for each field */
    uint32_t values;  /* of each field */
    uint32_t keys, most_args;
};

static inline void test_comma(struct buf *buf, bool *some)
{
    if (*some) {
        buf_byte(buf, ',');
    }
    *some = true;
}

static inline void test_random_match(struct buf *buf, const struct test_shape *shape, uint64_t *seed)
{
    static const char *const prefixes[] = {"/",      "/zz",     "/zz/a",     "/zz/a/b",
                                           "/zz/ab", "/zz/a-b", "/zz/a/b/c", "/yy"};
    static const char *const components[] = {".env", "*.env", ".e*", "b", "*b", "a*"};
    static const char *const names[] = {"get", "get_x", "get_xy", "get_y", "put", "g", "get_", "t"};
    bool some = false;
    buf_byte(buf, '{');
    if (test_below(seed, 100) < shape->percent) {
        test_comma(buf, &some);
        buf_printf(buf, "\"%s\":\"%s\"", test_below(seed, 2) ? "tool" : "toolPrefix",
                   names[test_below(seed, 8)]);
    }
    static const char *const plain[] = {"server", "channel", "thread_ts"};
    for (size_t i = 0; i < 3; i++) {
        if (test_below(seed, 100) < shape->percent) {
            test_comma(buf, &some);
            buf_printf(buf, "\"%s\":\"v%u\"", plain[i], test_below(seed, shape->values));
        }
    }
    if (test_below(seed, 100) < shape->percent) {
        test_comma(buf, &some);
        buf_printf(buf, "\"actor\":\"%s\"", test_below(seed, 2) ? "session_owner" : "claude_process");
    }
    if (test_below(seed, 100) < shape->percent) {
        test_comma(buf, &some);
        buf_printf(buf, "\"pathPrefix\":\"%s\"", prefixes[test_below(seed, 8)]);
    }
    if (test_below(seed, 100) < shape->percent / 2) {
        test_comma(buf, &some);
        buf_printf(buf, "\"pathComponent\":\"%s\"", components[test_below(seed, 6)]);
    }
    uint32_t args = shape->most_args == 0 ? 0 : test_below(seed, shape->most_args + 1);
    if (args > 0) {
        test_comma(buf, &some);
        buf_text(buf, "\"argEquals\":{");
        for (uint32_t i = 0, key = 0; i < args && key < shape->keys; i++, key++) {
            key += test_below(seed, shape->keys / shape->most_args + 1);
            buf_printf(buf, "%s\"k%u\":%u", i ? "," : "", key, test_below(seed, shape->values));
        }
        buf_byte(buf, '}');
    }
    if (!some) {
        buf_text(buf, "\"tool\":\"t\"");
    }
    buf_byte(buf, '}');
}

/* The text of a random policy over tiers, effects, priorities and matches. */
static inline void test_random_policy(struct buf *buf, const struct test_shape *shape, const char *id,
                                      uint64_t *seed)
{
    static const char *const effects[] = {"\"deny\",\"reason\":\"no\"", "\"auto_approve\"",
                                          "\"require_approval\""};
    static const char *const tiers[] = {"admin", "user", "workspace", "default"};
    buf_byte(buf, '[');
    for (uint32_t i = 0; i < shape->rules; i++) {
        buf_printf(buf, "%s{\"id\":\"%s%u\",\"priority\":%u,\"effect\":%s,\"match\":", i ? "," : "", id, i,
                   test_below(seed, 3), effects[test_below(seed, 3)]);
        size_t start = buf->len;
        test_random_match(buf, shape, seed);
        buf->len--; /* the closing brace: the tier goes before it */
        buf_printf(buf, "%s\"tier\":\"%s\"}}", buf->len == start + 1 ? "" : ",", tiers[test_below(seed, 4)]);
    }
    buf_byte(buf, ']');
}

#endif
