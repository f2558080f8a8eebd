/* lint and violations_find against the sentences of SPEC.md sections 7 and 8, pair by pair. */
#include "analysis/analysis.h"

#include <stdlib.h>

#include "../../check.h"
#include "build.h"

static bool same_tier(const struct policy *policy, uint32_t a, uint32_t b)
{
    return policy->rules[a].tier == policy->rules[b].tier;
}

/* The rule that shadows `later` within its tier; UINT32_MAX: none. */
static uint32_t slow_shadow(const struct policy *policy, uint32_t later)
{
    uint32_t speaker = policy->rules[later].speaker;
    if (speaker != later) {
        return speaker;
    }
    for (uint32_t i = 0; i < later; i++) {
        if (policy->rules[i].speaker == later) {
            return UINT32_MAX; /* its group begins here */
        }
        if (same_tier(policy, i, later) &&
            rule_subset(policy, &policy->rules[later], policy, &policy->rules[i])) {
            return i;
        }
    }
    return UINT32_MAX;
}

static uint32_t slow_denies(const struct policy *policy, uint32_t rule, uint32_t *ret_first)
{
    const struct rule *allow = &policy->rules[rule];
    uint32_t count = 0;
    *ret_first = UINT32_MAX;
    if (allow->effect != EFFECT_AUTO_APPROVE || allow->tier == TIER_ADMIN) {
        return 0;
    }
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct rule *deny = &policy->rules[i];
        if (deny->effect == EFFECT_DENY && deny->tier == TIER_ADMIN &&
            rule_intersects(policy, deny, policy, allow)) {
            *ret_first = count == 0 ? i : *ret_first;
            count++;
        }
    }
    return count;
}

static struct slice id_of(const struct policy *policy, uint32_t rule)
{
    return policy_text(policy, policy->rules[rule].id);
}

static bool tells_more(struct slice message, uint32_t count)
{
    char more[64];
    int len = snprintf(more, sizeof(more), ") and %u more wherever", count - 1);
    bool found = memmem(message.ptr, message.len, more, (size_t)len) != NULL;
    return count > 1 ? found : memmem(message.ptr, message.len, " more wherever", 14) == NULL;
}

static void compare_lint(const struct policy *policy, uint64_t seed)
{
    struct findings warnings;
    findings_init(&warnings);
    lint(policy, &warnings);
    bool ok = !warnings.failed;
    size_t at = 0;
    for (uint32_t i = 0; ok && i < policy->rule_count; i++) {
        uint32_t earlier = slow_shadow(policy, i), first;
        uint32_t denies = slow_denies(policy, i, &first);
        if (earlier != UINT32_MAX) {
            const struct finding *f = &warnings.list[at++];
            ok = ok && at <= warnings.count && strcmp(f->code, "shadow") == 0 && !f->cross_tier &&
                 slice_eq(f->later, id_of(policy, i)) && slice_eq(f->earlier, id_of(policy, earlier));
        }
        if (denies != 0) {
            const struct finding *f = &warnings.list[at++];
            ok = ok && at <= warnings.count && strcmp(f->code, "shadow") == 0 && f->cross_tier &&
                 slice_eq(f->later, id_of(policy, i)) && slice_eq(f->earlier, id_of(policy, first)) &&
                 tells_more(f->message, denies);
        }
        while (ok && at < warnings.count && strcmp(warnings.list[at].code, "shadow") != 0) {
            at++; /* broad, missing-prefix: elsewhere */
        }
    }
    ok = ok && at == warnings.count;
    if (!ok) {
        printf("lint differs for seed %llu\n", (unsigned long long)seed);
    }
    CHECK(ok);
    findings_finish(&warnings);
}

static bool has_id(const struct policy *policy, struct slice id)
{
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        if (slice_eq(id_of(policy, i), id)) {
            return true;
        }
    }
    return false;
}

static void compare_violations(const struct policy *running, const struct policy *next, uint64_t seed)
{
    struct violations violations;
    violations_init(&violations);
    violations_find(running, next, &violations);
    bool ok = !violations.failed;
    size_t at = 0;
    for (uint32_t i = 0; ok && i < next->rule_count; i++) {
        const struct rule *rule = &next->rules[i];
        if (rule->effect != EFFECT_AUTO_APPROVE || has_id(running, id_of(next, i))) {
            continue;
        }
        for (uint32_t j = 0; ok && j < running->rule_count; j++) {
            if (running->rules[j].effect == EFFECT_DENY &&
                rule_subset(next, rule, running, &running->rules[j])) {
                ok = at < violations.count && slice_eq(violations.list[at].new_rule, id_of(next, i)) &&
                     slice_eq(violations.list[at].existing_deny, id_of(running, j));
                at++;
            }
        }
    }
    ok = ok && at == violations.count;
    if (!ok) {
        printf("violations differ for seed %llu\n", (unsigned long long)seed);
    }
    CHECK(ok);
    violations_finish(&violations);
}

static void random_policies(uint64_t first, uint64_t count, const struct test_shape *shape)
{
    struct buf text;
    buf_init(&text, (size_t)1 << 28);
    struct policy *before = NULL;
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t state = seed;
        buf_reset(&text);
        test_random_policy(&text, shape, seed % 2 ? "r" : "s", &state);
        struct policy *policy = test_load(buf_slice_of(&text));
        CHECK(policy != NULL);
        if (policy != NULL) {
            compare_lint(policy, seed);
            if (before != NULL) {
                compare_violations(before, policy, seed);
            }
        }
        policy_destroy(before);
        before = policy;
    }
    policy_destroy(before);
    buf_finish(&text);
}

static void check_text(const char *document, const char *want)
{
    struct policy *policy = test_load(slice_of(document));
    struct findings warnings;
    struct buf text;
    findings_init(&warnings);
    buf_init(&text, (size_t)1 << 20);
    CHECK(policy != NULL);
    if (policy != NULL) {
        lint(policy, &warnings);
        for (size_t i = 0; i < warnings.count; i++) {
            lint_write_text(&text, &warnings.list[i]);
            buf_byte(&text, '\n');
        }
        CHECK_BYTES(text.ptr, text.len, want);
    }
    buf_finish(&text);
    findings_finish(&warnings);
    policy_destroy(policy);
}

static void texts(void)
{
    check_text(
        "[{\"id\":\"a\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\"}},\n"
        "{\"id\":\"d\",\"effect\":\"deny\",\"match\":{\"tool\":\"t\",\"channel\":\"C\"},\"reason\":\"no\"}]",
        "policy-load: warning: rule 'd' (line 2) is shadowed by earlier rule 'a' (line 1) \xe2\x80\x94 "
        "reorder "
        "or narrow the earlier rule.\n");
    /* Equivalents: the one that speaks stands later and is named as the earlier; a rule before the group
     * shadows it. */
    check_text(
        "[{\"id\":\"x\",\"effect\":\"deny\",\"match\":{\"tool\":\"t\"},\"reason\":\"no\"},\n"
        "{\"id\":\"y\",\"effect\":\"deny\",\"match\":{\"tool\":\"t\"},\"reason\":\"no\",\"priority\":1}]",
        "policy-load: warning: rule 'x' (line 1) is shadowed by earlier rule 'y' (line 2) \xe2\x80\x94 "
        "reorder "
        "or narrow the earlier rule.\n");
    check_text(
        "[{\"id\":\"f\",\"effect\":\"deny\",\"match\":{\"tool\":\"mcp__gh__delete\"},\"reason\":\"no\"}]",
        "policy-load: warning: rule 'f' (line 1): 'mcp__gh__delete' is a flattened name, and calls carry the "
        "server apart \xe2\x80\x94 write \"server\": \"gh\", \"tool\": \"delete\".\n");
    check_text(
        "[{\"id\":\"f\",\"effect\":\"deny\",\"match\":{\"tool\":\"mcp__\"},\"reason\":\"no\"}]",
        "policy-load: warning: rule 'f' (line 1): 'mcp__' looks like a flattened name, and calls carry the "
        "server apart \xe2\x80\x94 write server and tool.\n");
    check_text(
        "[{\"id\":\"b\",\"effect\":\"auto_approve\",\"match\":{\"channel\":\"C\"}}]",
        "policy-load: warning: rule 'b' (line 1) allows every tool that it can be about \xe2\x80\x94 add "
        "tool or toolPrefix, or say \"tool\": \"*\" beside pathPrefix, pathComponent, a command or host.\n");
}

/* Texts that the running set has never seen, in every field. */
static void unknown_texts(void)
{
    struct policy *running =
        test_load(SLICE("[{\"id\":\"d\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"toolPrefix\":"
                        "\"t\",\"argEquals\":{\"a\":1}}},{\"id\":\"e\",\"effect\":\"deny\","
                        "\"reason\":\"no\",\"match\":{\"pathPrefix\":\"/nowhere\"}}]"));
    struct policy *next = test_load(SLICE("[{\"id\":\"x\",\"effect\":\"auto_approve\",\"match\":{\"tool\":"
                                          "\"tu\",\"server\":\"s\",\"channel\":\"C\","
                                          "\"thread_ts\":\"1\",\"pathPrefix\":\"/nowhere/"
                                          "b\",\"pathComponent\":\"c\",\"argEquals\":{\"a\":1,\"b\":2,"
                                          "\"d\":\"new\"}}},{\"id\":\"y\",\"effect\":\"auto_approve\","
                                          "\"match\":{\"tool\":\"tu\",\"argEquals\":{\"a\":2}}}]"));
    CHECK(running != NULL && next != NULL);
    if (running != NULL && next != NULL) {
        struct violations violations;
        violations_init(&violations);
        violations_find(running, next, &violations);
        CHECK(!violations.failed && violations.count == 2);
        if (violations.count == 2) {
            CHECK_BYTES(violations.list[0].message.ptr, violations.list[0].message.len,
                        "new auto_approve rule 'x' weakens existing deny 'd' \xe2\x80\x94 reload refused");
            CHECK_BYTES(violations.list[1].existing_deny.ptr, violations.list[1].existing_deny.len, "e");
        }
        violations_finish(&violations);
    }
    policy_destroy(running);
    policy_destroy(next);
}

/* Rules that differ in `bits` arguments of two values each, so that half of them share any one of these. */
static struct policy *crowded(unsigned bits)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    for (unsigned i = 0; i < 1u << bits; i++) {
        buf_printf(&buf,
                   "%s{\"id\":\"r%u\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\",\"argEquals\":{",
                   i == 0 ? "[" : ",", i);
        for (unsigned k = 0; k < bits; k++) {
            buf_printf(&buf, "%s\"k%u\":%u", k == 0 ? "" : ",", k, i >> k & 1);
        }
        buf_text(&buf, "}}}");
    }
    buf_byte(&buf, ']');
    struct policy *policy = buf_ok(&buf) ? test_load(buf_slice_of(&buf)) : NULL;
    buf_finish(&buf);
    return policy;
}

/* A chain of 64 rules is not told of, one of 128 is, once. */
static void long_chains(void)
{
    for (unsigned bits = 7; bits <= 8; bits++) {
        struct findings warnings;
        struct policy *policy = crowded(bits);
        const struct finding *told = NULL;
        size_t times = 0;
        findings_init(&warnings);
        CHECK(policy != NULL);
        if (policy != NULL) {
            lint(policy, &warnings);
        }
        CHECK(!warnings.failed);
        for (size_t i = 0; i < warnings.count; i++) {
            if (strcmp(warnings.list[i].code, "long-chain") == 0) {
                told = &warnings.list[i];
                times++;
            }
        }
        CHECK(times == bits - 7);
        if (told != NULL) {
            /* There are two chains of that length, one for each value of the first argument. */
            CHECK(slice_is(told->rule, "r0") || slice_is(told->rule, "r1"));
            CHECK(memmem(told->message.ptr, told->message.len, "' and 127 others", 16) != NULL);
        }
        findings_finish(&warnings);
        policy_destroy(policy);
    }
}

int main(int argc, char **argv)
{
    uint64_t many = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
    texts();
    unknown_texts();
    long_chains();
    random_policies(1, many, &(struct test_shape){30, 40, 2, 3, 3});
    random_policies(100001, many, &(struct test_shape){60, 15, 2, 4, 4});
    random_policies(200001, many / 10, &(struct test_shape){400, 30, 3, 8, 6});
    random_policies(300001, many / 30, &(struct test_shape){1500, 12, 2, 24, 12});
    return check_done();
}
