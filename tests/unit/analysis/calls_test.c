/* Whole calls whose arguments are paths themselves, read as the gate reads them: a rule that is called dead
 * decides none, a rule that is not has a call, and no decision changes without a class of the difference that
 * says so. */
#include "analysis/analysis.h"

#include <stdlib.h>

#include "../../check.h"
#include "build.h"

static const char *const tools[] = {"t", "u", "Grep", "zz", "t\",\"server\":\"s"}; /* the last of a server */
static const char *const members[] = {"\"file\":\"/zz/b\"", "\"file\":\"/yy\"", "\"target\":\"/zz/b/c\"",
                                      "\"k\":\"x\"", "\"file\":\"/zz/b\",\"target\":\"/yy\""};
static const char *const more[] = {"", "\"file_path\":\"/any\"", "\"file_path\":\"/zz/any\"",
                                   "\"path\":\"/zz/b/any\"", "\"path\":\"/yy/any\""};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define ASSERTIONS  4u
#define CALLS       (COUNT(tools) * (COUNT(members) + 1) * COUNT(more) * 2)

static void write_call(struct buf *buf, size_t n)
{
    const char *tool = tools[n % COUNT(tools)];
    n /= COUNT(tools);
    size_t member = n % (COUNT(members) + 1), extra = n / (COUNT(members) + 1) % COUNT(more);
    const char *first = more[extra], *second = member == 0 ? "" : members[member - 1];
    buf_reset(buf);
    buf_printf(buf,
               "{\"tool\":\"%s\",\"input\":{%s%s%s},\"sessionKey\":{\"channel\":\"C\",\"thread\":\"1\"},",
               tool, first, *first && *second ? "," : "", second);
    bool owner = n / (COUNT(members) + 1) / COUNT(more) != 0;
    buf_printf(buf, "\"actor\":\"%s\"}", owner ? "session_owner" : "claude_process");
}

struct decider {
    struct call_reader reader;
    struct readings readings;
    struct facts facts;
    struct path_base base;
};

static bool decide(struct decider *d, const struct policy *policy, struct slice text, struct decision *ret)
{
    const struct call_defaults none = {0};
    struct reading_interest interest = policy->interest;
    interest.classes |= 1u << READING_FIELD_PATH;
    interest.component_count = 0; /* as witnesses are made: no directory is looked through */
    if (call_read(&d->reader, text, &none) != CALL_OK ||
        readings_make(&d->readings, &d->reader.call, &d->base, policy->arguments, policy->prefixes, &interest,
                      0) != READINGS_OK ||
        !facts_make(&d->facts, policy, &d->reader.call)) {
        return false;
    }
    *ret = policy_evaluate_linear(policy, &d->facts, d->readings.list, d->readings.count, NULL);
    return true;
}

static void maybe(struct buf *buf, uint64_t *seed, uint32_t percent, const char *key,
                  const char *const *values, uint32_t count)
{
    if (test_below(seed, 100) < percent) {
        buf_printf(buf, ",\"%s\":%s", key, values[test_below(seed, count)]);
    }
}

static void random_fields(struct buf *buf, uint64_t *seed)
{
    static const char *const names[] = {"\"t\"", "\"u\"", "\"Grep\""};
    static const char *const components[] = {"\"a*\"", "\"b\"", "\"*y\""};
    static const char *const prefixes[] = {"\"/\"", "\"/zz\"", "\"/zz/b\"", "\"/yy\""};
    static const char *const actors[] = {"\"session_owner\"", "\"claude_process\""};
    static const char *const args[] = {"{\"file\":\"/zz/b\"}", "{\"file\":\"/yy\"}",
                                       "{\"target\":\"/zz/b/c\"}", "{\"k\":\"x\"}",
                                       "{\"file\":\"/zz/b\",\"target\":\"/yy\"}"};
    static const char *const servers[] = {"\"s\""};
    size_t before = buf->len;
    maybe(buf, seed, 40, "tool", names, 3);
    maybe(buf, seed, 15, "server", servers, 1);
    maybe(buf, seed, 30, "actor", actors, 2);
    maybe(buf, seed, 50, "pathPrefix", prefixes, 4);
    maybe(buf, seed, 15, "pathComponent", components, 3);
    maybe(buf, seed, 50, "argEquals", args, 5);
    if (buf->len == before) {
        buf_text(buf, ",\"tool\":\"t\"");
    }
}

/* The lists stay the same for a pair of policies: what their changes do is asked elsewhere. */
static void random_document(struct buf *buf, uint64_t *seed, uint64_t lists, uint32_t first_rule,
                            uint32_t rules)
{
    static const char *const paths[] = {
        "{}", "{\"t\":[\"target\"]}", "{\"u\":[\"-file\"],\"t\":[\"target\"]}",
        "{\"*\":[\"target\"],\"u\":[\"-target\",\"-file\"]}", "{\"s/t\":[\"-file\",\"target\"]}"};
    static const char *const trees[] = {"{}", "{\"t\":[\"target\"]}", "{\"Grep\":[\"-path\"]}"};
    static const char *const effects[] = {"\"deny\",\"reason\":\"no\"", "\"auto_approve\"",
                                          "\"require_approval\""};
    static const char *const never[] = {"\"allow\"", "\"deny\"", "\"require\"", "\"allow\",\"require\"",
                                        "\"allow\",\"deny\""};
    static const char *const required[] = {"[]", "[\"*\"]", "[\"t\"]"};
    buf_reset(buf);
    buf_printf(buf, "{\"pathArguments\":%s,\"treeArguments\":%s,\"requireAuthoredPolicy\":%s,\"rules\":[",
               paths[lists % 5], trees[lists / 5 % 3], required[test_below(seed, 3)]);
    for (uint32_t i = 0; i < rules; i++) {
        buf_printf(buf, "%s{\"id\":\"r%u\",\"effect\":%s,\"match\":{\"tier\":\"%s\"", i ? "," : "",
                   first_rule + i, effects[test_below(seed, 3)], test_below(seed, 3) ? "default" : "admin");
        random_fields(buf, seed);
        buf_text(buf, "}}");
    }
    buf_text(buf, "],\"assertions\":[");
    for (uint32_t i = 0; i < ASSERTIONS; i++) {
        buf_printf(buf, "%s{\"name\":\"a%u\",\"never\":[%s],\"evenApproved\":%s,\"match\":{\"channel\":\"C\"",
                   i ? "," : "", i, never[test_below(seed, 5)], test_below(seed, 2) ? "true" : "false");
        random_fields(buf, seed);
        buf_text(buf, "}}");
    }
    buf_text(buf, "]}");
}

static void check_dead(struct decider *d, const struct policy *policy, const struct decision *decisions,
                       const char *document)
{
    struct findings dead;
    findings_init(&dead);
    struct analysis *analysis = analysis_create(policy, NULL, NULL, 0, &d->base);
    CHECK(analysis != NULL);
    if (analysis == NULL) {
        return;
    }
    dead_find(analysis, &dead);
    bool ok = !dead.failed;
    for (uint32_t i = 0; i < policy->order_count; i++) {
        uint32_t rule = policy->order[i];
        struct slice id = policy_text(policy, policy->rules[rule].id);
        bool is_dead = false, decides = false;
        for (size_t k = 0; k < dead.count; k++) {
            is_dead = is_dead || slice_eq(dead.list[k].rule, id);
        }
        for (size_t k = 0; k < CALLS; k++) {
            decides =
                decides || (decisions[k].rule == &policy->rules[rule] && decisions[k].cause == CAUSE_NONE);
        }
        struct buf call;
        struct decision decision;
        buf_init(&call, 1 << 20);
        bool found = dead_witness(analysis, rule, &call);
        bool here = !(is_dead && decides) && !(is_dead && found) && (found || !decides) &&
                    (!found || (decide(d, policy, buf_slice_of(&call), &decision) &&
                                decision.rule == &policy->rules[rule] && decision.cause == CAUSE_NONE));
        if (!here && check_failed < 10) {
            printf("rule %.*s: dead %d, decides a call %d, witness %.*s\n  of %s\n", SLICE_FMT(id), is_dead,
                   decides, SLICE_FMT(buf_slice_of(&call)), document);
        }
        ok = ok && here;
        buf_finish(&call);
    }
    CHECK(ok);
    analysis_destroy(analysis);
    findings_finish(&dead);
}

/* How many assertions were neither proved nor refuted. */
static uint32_t unconfirmed;

/* Whether a decision is one that an assertion says is never. */
static bool is_bad(const struct assertion *assertion, uint32_t kind)
{
    return (kind == DECISION_ALLOW && (assertion->never & NEVER_ALLOW) != 0) ||
           (kind == DECISION_DENY && (assertion->never & NEVER_DENY) != 0) ||
           (kind == DECISION_REQUIRE &&
            ((assertion->never & NEVER_REQUIRE) != 0 ||
             ((assertion->never & NEVER_ALLOW) != 0 && assertion->even_approved)));
}

/* Whether a proof is about such a decision of a call with several readings: where those that are as little
 * strict or less are bad as well. */
static bool is_bad_for_all(const struct assertion *assertion, uint32_t kind)
{
    return is_bad(assertion, kind) && is_bad(assertion, DECISION_ALLOW) &&
           (kind != DECISION_DENY || is_bad(assertion, DECISION_REQUIRE));
}

/* Whether a reading counts: one that is read aside does when a deny or a require decides it. */
static bool counts(struct decider *d, const struct policy *policy, const struct reading *reading)
{
    struct decision decision = policy_evaluate(policy, &d->facts, reading, 1, NULL);
    return !reading->aside || !decision.passed;
}

/* Whether an assertion is about the call: some reading of it that counts has the match. */
static bool is_about(struct decider *d, const struct policy *policy, const struct assertion *assertion,
                     struct slice text, size_t *ret_readings)
{
    const struct call_defaults none = {0};
    struct policy *space = policy->assertion_space;
    struct rule asked = {.match = assertion->match, .looks = match_looks(&assertion->match, EFFECT_DENY)};
    bool about = false;
    struct reading_interest interest = policy->interest;
    interest.classes |= 1u << READING_FIELD_PATH;
    interest.component_count = 0;
    CHECK(call_read(&d->reader, text, &none) == CALL_OK &&
          readings_make(&d->readings, &d->reader.call, &d->base, policy->arguments, policy->prefixes,
                        &interest, 0) == READINGS_OK);
    for (size_t i = 0; i < d->readings.count && !about; i++) {
        const struct reading *reading = &d->readings.list[i];
        CHECK(facts_make(&d->facts, space, &d->reader.call));
        if (policy_match(space, &asked, &d->facts, reading) == FIELD_ALL) {
            CHECK(facts_make(&d->facts, policy, &d->reader.call));
            about = counts(d, policy, reading);
        }
    }
    *ret_readings = d->readings.count;
    return about;
}

static bool check_assertion(struct decider *d, const struct policy *policy, const struct assertion *assertion,
                            enum assertion_result result, struct slice witness,
                            const struct decision *decisions)
{
    struct buf call;
    struct decision decision;
    size_t readings = 0;
    bool ok = result != ASSERTION_FAILED;
    buf_init(&call, 1 << 16);
    if (result == ASSERTION_REFUTED) {
        ok = decide(d, policy, witness, &decision) && is_bad(assertion, decision.kind) &&
             is_about(d, policy, assertion, witness, &readings);
    }
    for (size_t i = 0; ok && result == ASSERTION_PROVED && i < CALLS; i++) {
        if (is_bad(assertion, decisions[i].kind)) {
            write_call(&call, i);
            ok = !is_about(d, policy, assertion, buf_slice_of(&call), &readings) ||
                 (readings != 1 && !is_bad_for_all(assertion, decisions[i].kind));
        }
    }
    if (!ok && check_failed < 10) {
        printf("assertion %.*s: result %d, readings %zu, %.*s\n",
               SLICE_FMT(policy_text(policy->assertion_space, assertion->name)), result, readings,
               SLICE_FMT(result == ASSERTION_REFUTED ? witness : buf_slice_of(&call)));
    }
    buf_finish(&call);
    return ok;
}

static void check_assertions(struct decider *d, const struct policy *policy, const struct decision *decisions,
                             const char *document)
{
    struct analysis *analysis = analysis_create(policy, policy->assertion_space, policy->assertions,
                                                policy->assertion_count, &d->base);
    CHECK(analysis != NULL);
    test_index_assertions(policy);
    for (uint32_t i = 0; analysis != NULL && i < policy->assertion_count; i++) {
        struct buf call;
        struct refutation refutation = {0};
        buf_init(&call, 1 << 20);
        enum assertion_result result = assertion_prove(analysis, i, &refutation, &call);
        bool ok = check_assertion(d, policy, &policy->assertions[i], result, buf_slice_of(&call), decisions);
        unconfirmed += result == ASSERTION_UNCONFIRMED;
        if (!ok && check_failed < 10) {
            printf("  of %s\n", document);
        }
        CHECK(ok);
        buf_finish(&call);
    }
    analysis_destroy(analysis);
}

/* Whether each prefix of `other` is one of the policy's. */
static bool has_prefixes_of(const struct policy *policy, const struct policy *other)
{
    const struct path_prefixes *mine = policy->prefixes, *theirs = other->prefixes;
    for (uint32_t i = 0; i < theirs->count; i++) {
        uint32_t j = 0;
        while (j < mine->count && !slice_eq(mine->list[j].path, theirs->list[i].path)) {
            j++;
        }
        if (j == mine->count) {
            return false;
        }
    }
    return true;
}

/* A tree has a reading for each prefix below it: where the last rule with one goes, or the first comes, that
 * reading does, and no class speaks of it (callgate(1), EXACT ANSWERS). */
static bool is_left_out(const struct policy *from, const struct policy *to, size_t n, int change)
{
    bool tree = strcmp(tools[n % COUNT(tools)], "Grep") == 0;
    return tree && !(change < 0 ? has_prefixes_of(to, from) : has_prefixes_of(from, to));
}

static void check_diff(struct decider *d, const struct policy *from, const struct policy *to,
                       const struct decision *was, const struct decision *is)
{
    struct diff diff;
    diff_init(&diff);
    diff_find(from, to, &d->base, DIFF_EXCEPT, &diff);
    bool ok = !diff.failed, weaker = false;
    for (size_t i = 0; i < diff.count; i++) {
        const struct diff_class *class = &diff.list[i];
        struct decision a, b;
        weaker = weaker || class->weaker;
        ok = ok && (class->witness.ptr == NULL ||
                    (decide(d, from, class->witness, &a) && decide(d, to, class->witness, &b) &&
                     a.kind == class->from.kind && b.kind == class->to.kind && a.rule == class->from.rule &&
                     b.rule == class->to.rule));
    }
    CHECK(ok);
    for (size_t i = 0; i < CALLS; i++) {
        int change = decision_rank(is[i].kind) - decision_rank(was[i].kind);
        bool said =
            change == 0 || (change < 0 ? weaker : diff.count != 0) || is_left_out(from, to, i, change);
        if (!said && check_failed < 10) {
            struct buf call;
            buf_init(&call, 1 << 16);
            write_call(&call, i);
            printf("a change of %d is in no class: %.*s\n", change, SLICE_FMT(buf_slice_of(&call)));
            buf_finish(&call);
        }
        CHECK(said);
    }
    diff_finish(&diff);
}

static void decide_all(struct decider *d, const struct policy *policy, struct decision *ret)
{
    struct buf call;
    buf_init(&call, 1 << 16);
    for (size_t i = 0; i < CALLS; i++) {
        write_call(&call, i);
        CHECK(decide(d, policy, buf_slice_of(&call), &ret[i]));
    }
    buf_finish(&call);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 150, seed = 7;
    static struct decision decisions[2][CALLS];
    struct decider d = {.base = test_base()};
    CHECK(call_reader_init(&d.reader) && readings_init(&d.readings) && facts_init(&d.facts));
    for (uint64_t n = 0; n < count; n++) {
        struct policy *policies[2] = {NULL, NULL};
        struct buf text;
        buf_init(&text, 1 << 20);
        uint64_t again = seed;
        for (uint32_t side = 0; side < 2; side++) {
            /* The second is the first with a rule less at its end, or all another. */
            uint64_t *from = side == 1 && n % 2 ? &again : &seed;
            random_document(&text, from, n, side * (n % 2 ? 0 : 10), side == 1 && n % 2 ? 3 : 4);
            buf_byte(&text, '\0');
            policies[side] = test_load((struct slice){text.ptr, text.len - 1});
            CHECK(policies[side] != NULL);
            if (policies[side] != NULL) {
                decide_all(&d, policies[side], decisions[side]);
                check_dead(&d, policies[side], decisions[side], text.ptr);
                check_assertions(&d, policies[side], decisions[side], text.ptr);
            }
        }
        int failed = check_failed;
        check_diff(&d, policies[0], policies[1], decisions[0], decisions[1]);
        if (check_failed != failed && check_failed < 10) {
            printf("  pair %llu\n", (unsigned long long)n);
        }
        policy_destroy(policies[0]);
        policy_destroy(policies[1]);
        buf_finish(&text);
    }
    printf("%u of %llu assertions neither proved nor refuted\n", unconfirmed,
           ASSERTIONS * 2 * (unsigned long long)count);
    CHECK(unconfirmed <= count / 8);
    call_reader_finish(&d.reader);
    readings_finish(&d.readings);
    facts_finish(&d.facts);
    return check_done();
}
