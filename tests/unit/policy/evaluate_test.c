/* Combining, matching, equality, approvals: a policy, a call, a decision. SPEC.md sections 3, 5, 6 and 11. */
#include "evaluate_cases.h"
#include "support.h"

struct bench {
    struct call_reader reader;
    struct facts facts;
    struct buf text;
};

static void bench_init(struct bench *bench)
{
    CHECK(call_reader_init(&bench->reader));
    CHECK(facts_init(&bench->facts));
    buf_init(&bench->text, 1 << 20);
}

static void bench_finish(struct bench *bench)
{
    call_reader_finish(&bench->reader);
    facts_finish(&bench->facts);
    buf_finish(&bench->text);
}

/* Reads a call; its text must outlive the use of it. */
static const struct call *call_of(struct bench *bench, const char *text)
{
    struct call_defaults defaults = {
        .channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    enum call_result result = call_read(&bench->reader, slice_of(text), &defaults);
    CHECK(result == CALL_OK);
    return result == CALL_OK ? &bench->reader.call : NULL;
}

static size_t readings_of(const char *const *paths, struct reading *readings)
{
    size_t count = 0;
    for (; count < 3 && paths[count] != NULL; count++) {
        bool unreadable = paths[count][0] == '!';
        readings[count] = (struct reading){.kind = unreadable ? READING_UNREADABLE : READING_PATH,
                                           .path = unreadable ? SLICE("") : slice_of(paths[count])};
    }
    if (count == 0) {
        readings[count++] = (struct reading){.kind = READING_NO_PATH};
    }
    return count;
}

static void check_case(struct bench *bench, const struct evaluate_case *c)
{
    struct policy *policy = load_good(c->policy);
    char *text = unquoted(c->call);
    const struct call *call = policy == NULL ? NULL : call_of(bench, text);
    if (call != NULL) {
        struct reading readings[3];
        size_t count = readings_of(c->paths, readings);
        struct approvals none = {.channel = call->channel, .thread = call->thread};
        CHECK(facts_make(&bench->facts, policy, call));
        struct decision decision = policy_evaluate(policy, &bench->facts, readings, count, &none);
        buf_reset(&bench->text);
        decision_write_json(&bench->text, policy, &decision);
        /* The want is written with ' for "; so is what we got. */
        for (size_t i = 0; i < bench->text.len; i++) {
            bench->text.ptr[i] = bench->text.ptr[i] == '"' ? '\'' : bench->text.ptr[i];
        }
        bool same = slice_is(buf_slice_of(&bench->text), c->want);
        CHECK(same);
        if (!same) {
            printf("  %s\n  want %s\n  got  %.*s\n", c->name, c->want, SLICE_FMT(buf_slice_of(&bench->text)));
        }
    }
    free(text);
    policy_destroy(policy);
}

/* ---- Approvals ---- */

static const uint8_t hash_a[32] = {1}, hash_b[32] = {2};

struct approval_case {
    const char *name, *scope;
    struct approval approval;
    bool covers;
};

#define HERE .channel = SLICE("C1"), .thread = SLICE("1.1"), .granted = 1000, .expires = 2000
static const struct approval_case approval_cases[] = {
    {"live", "session", {HERE}, true},
    {"from the first moment",
     "session",
     {.channel = SLICE("C1"), .thread = SLICE("1.1"), .granted = 1500, .expires = 2000},
     true},
    {"not before",
     "session",
     {.channel = SLICE("C1"), .thread = SLICE("1.1"), .granted = 1501, .expires = 2000},
     false},
    {"not at its end",
     "session",
     {.channel = SLICE("C1"), .thread = SLICE("1.1"), .granted = 1000, .expires = 1500},
     false},
    {"another channel",
     "session",
     {.channel = SLICE("C"), .thread = SLICE("1.1"), .granted = 1000, .expires = 2000},
     false},
    {"another thread",
     "session",
     {.channel = SLICE("C1"), .thread = SLICE("11.1"), .granted = 1000, .expires = 2000},
     false},
    {"a joined key is no key",
     "session",
     {.channel = SLICE("C11"), .thread = SLICE(".1"), .granted = 1000, .expires = 2000},
     false},
    {"another rule", "session", {HERE, .rule = 1}, false},
    {"a call's, its own", "call", {HERE, .for_call = true, .call_hash = {1}}, true},
    {"a call's, another", "call", {HERE, .for_call = true, .call_hash = {2}}, false},
    {"a session's does not cover a call's rule", "call", {HERE}, false},
    {"a call's, its own, for a session's rule", "session", {HERE, .for_call = true, .call_hash = {1}}, true},
    {"narrowed to another call", "session", {HERE, .for_call = true, .call_hash = {2}}, false},
    {"once, its own", "once", {HERE, .for_call = true, .call_hash = {1}}, true},
    {"once asks for a call", "once", {HERE}, false},
};

static void check_approvals(struct bench *bench)
{
    char *text = unquoted("{'tool':'t'}");
    const struct call *call = call_of(bench, text);
    struct reading reading = {.kind = READING_NO_PATH};
    for (size_t i = 0; call != NULL && i < sizeof(approval_cases) / sizeof(approval_cases[0]); i++) {
        const struct approval_case *c = &approval_cases[i];
        struct policy *policy =
            load_good(c->scope[0] == 's'
                          ? "[" Q("q", "'tool':'t'") "," A("a", "'tool':'u'") "]"
                          : "[{'id':'q','effect':'require_approval','scope':'call','match':{'tool':'t'}}]");
        struct approvals approvals = {&c->approval, 1, 1500, call->channel, call->thread, hash_a};
        CHECK(facts_make(&bench->facts, policy, call));
        struct decision decision = policy_evaluate(policy, &bench->facts, &reading, 1, &approvals);
        CHECK(decision.kind == (c->covers ? DECISION_ALLOW : DECISION_REQUIRE));
        CHECK(decision.by_approval == c->covers);
        CHECK(decision.rule == &policy->rules[0]);
        if ((decision.kind == DECISION_ALLOW) != c->covers) {
            printf("  %s\n", c->name);
        }
        approvals.call_hash = hash_b;
        CHECK(policy_evaluate(policy, &bench->facts, &reading, 1, NULL).kind == DECISION_REQUIRE);
        policy_destroy(policy);
    }
    free(text);
}

/* An approval of one rule does not help where another reading's rule asks. */
static void check_two_approvals(struct bench *bench)
{
    struct policy *policy =
        load_good("[" Q("p", "'pathPrefix':'/nowhere/p'") "," Q("q", "'pathPrefix':'/nowhere/q'") "]");
    char *text = unquoted("{'tool':'t'}");
    const struct call *call = call_of(bench, text);
    CHECK(facts_make(&bench->facts, policy, call));
    struct reading readings[2] = {{.kind = READING_PATH, .path = SLICE("/nowhere/p/1")},
                                  {.kind = READING_PATH, .path = SLICE("/nowhere/q/1")}};
    struct approval list[2] = {{HERE, .rule = 0}, {HERE, .rule = 1}};
    struct approvals approvals = {list, 1, 1500, call->channel, call->thread, NULL};
    struct decision decision = policy_evaluate(policy, &bench->facts, readings, 2, &approvals);
    CHECK(decision.kind == DECISION_REQUIRE && decision.rule == &policy->rules[1] && decision.reading == 1);
    approvals.count = 2;
    decision = policy_evaluate(policy, &bench->facts, readings, 2, &approvals);
    CHECK(decision.kind == DECISION_ALLOW && decision.by_approval && decision.reading == 0);
    free(text);
    policy_destroy(policy);
}

/* ---- An unknown input (SPEC.md section 11) ---- */

static void check_unknown_input(struct bench *bench)
{
    static const struct {
        const char *policy;
        uint32_t kind, cause;
        const char *rule;
    } unknown[] = {
        {"[" A("a", "'tool':'t'") "," A("b", "'pathPrefix':'/'") "]", DECISION_ALLOW, CAUSE_NONE, "a"},
        {"[" D("a", "'tool':'t'") "]", DECISION_DENY, CAUSE_NONE, "a"},
        {"[" A("a", "'tool':'t','pathPrefix':'/nowhere'") "," D("b", "'tool':'t'") "]", DECISION_REQUIRE,
         CAUSE_UNKNOWN_INPUT, "a"},
        {"[" D("a", "'pathComponent':'x'") "]", DECISION_REQUIRE, CAUSE_UNKNOWN_INPUT, "a"},
        {"[" D("a", "'argEquals':{'k':1}") "]", DECISION_REQUIRE, CAUSE_UNKNOWN_INPUT, "a"},
        {"[" D("a", "'tool':'u','argEquals':{'k':1}") "," D("b", "'tool':'t'") "]", DECISION_DENY, CAUSE_NONE,
         "b"},
        {"[]", DECISION_ALLOW, CAUSE_NONE, NULL},
        {"{'requireAuthoredPolicy':['t']}", DECISION_DENY, CAUSE_NO_RULE, NULL},
    };
    struct call_name name = {.tool = SLICE("t")};
    struct call call = {.names = &name,
                        .name_count = 1,
                        .channel = SLICE("C1"),
                        .thread = SLICE("1.1"),
                        .actor = ACTOR_CLAUDE_PROCESS};
    struct reading reading = {.kind = READING_NO_PATH};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct policy *policy = load_good(unknown[i].policy);
        CHECK(facts_make(&bench->facts, policy, &call));
        struct decision decision = policy_evaluate(policy, &bench->facts, &reading, 1, NULL);
        CHECK(decision.kind == unknown[i].kind);
        CHECK(decision.cause == unknown[i].cause);
        CHECK((decision.rule == NULL) == (unknown[i].rule == NULL));
        if (decision.rule != NULL && unknown[i].rule != NULL) {
            CHECK(slice_is(policy_text(policy, decision.rule->id), unknown[i].rule));
        }
        buf_reset(&bench->text);
        decision_write_json(&bench->text, policy, &decision);
        if (decision.cause == CAUSE_UNKNOWN_INPUT) {
            CHECK_BUF(&bench->text,
                      "{\"kind\":\"require\",\"rule\":\"default\",\"approver\":\"human_approver\","
                      "\"ttlMs\":300000,\"approvers\":1}");
        }
        policy_destroy(policy);
    }
}

/* ---- Names, shapes, failures ---- */

/* A name that may be split in several ways is judged in every way. */
static void check_names(struct bench *bench)
{
    struct policy *policy =
        load_good("[" A("a", "'tool':'b__c'") "," D("d", "'server':'a__b','tool':'c'") "]");
    struct call_name names[2] = {{.tool = SLICE("b__c"), .server = SLICE("a"), .has_server = true},
                                 {.tool = SLICE("c"), .server = SLICE("a__b"), .has_server = true}};
    struct call call = {.names = names,
                        .name_count = 2,
                        .channel = SLICE("C1"),
                        .thread = SLICE("1.1"),
                        .actor = ACTOR_CLAUDE_PROCESS};
    struct reading readings[2] = {{.kind = READING_NO_PATH, .name = 0}, {.kind = READING_NO_PATH, .name = 1}};
    CHECK(policy->names_server && !policy->has_path_rules);
    CHECK(facts_make(&bench->facts, policy, &call));
    struct decision decision = policy_evaluate(policy, &bench->facts, readings, 2, NULL);
    CHECK(decision.kind == DECISION_DENY && decision.reading == 1);
    CHECK(policy_match(policy, &policy->rules[0], &bench->facts, &readings[0]) == FIELD_ALL);
    CHECK(policy_match(policy, &policy->rules[0], &bench->facts, &readings[1]) == FIELD_TOOL);
    CHECK(policy_match(policy, &policy->rules[1], &bench->facts, &readings[1]) == FIELD_ALL);
    policy_destroy(policy);
}

static void check_failures(struct bench *bench)
{
    struct policy *policy = load_good("[]");
    char *text = unquoted("{'tool':'t'}");
    const struct call *call = call_of(bench, text);
    CHECK(facts_make(&bench->facts, policy, call));
    struct decision decision = policy_evaluate(policy, &bench->facts, NULL, 0, NULL);
    CHECK(decision.kind == DECISION_DENY && decision.cause == CAUSE_INTERNAL);
    struct reading stray = {.kind = READING_NO_PATH, .name = 1};
    CHECK(policy_evaluate(policy, &bench->facts, &stray, 1, NULL).kind == DECISION_DENY);
    CHECK(decision_rank(DECISION_DENY) > decision_rank(DECISION_REQUIRE));
    CHECK(decision_rank(DECISION_REQUIRE) > decision_rank(DECISION_ALLOW));
    CHECK(decision_rank(DECISION_ALLOW ^ 1) == decision_rank(DECISION_DENY));
    static const struct {
        struct decision decision;
        const char *json;
    } shapes[] = {
        {{0}, "{\"kind\":\"deny\",\"rule\":\"default\",\"reason\":\"internal failure\"}"},
        {{.kind = 7}, "{\"kind\":\"deny\",\"rule\":\"default\",\"reason\":\"internal failure\"}"},
        {{.cause = CAUSE_MALFORMED, .detail = {"no tool", 7}},
         "{\"kind\":\"deny\",\"rule\":\"default\",\"reason\":\"malformed call: no tool\"}"},
        {{.cause = CAUSE_OVER_LIMIT},
         "{\"kind\":\"deny\",\"rule\":\"default\",\"reason\":\"call is over a limit\"}"},
        {{.cause = CAUSE_NO_RULE, .detail = {"a\"\n", 3}},
         "{\"kind\":\"deny\",\"rule\":\"default\",\"reason\":\"no policy authored for tool 'a\\\"\\n'\"}"},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        buf_reset(&bench->text);
        decision_write_json(&bench->text, policy, &shapes[i].decision);
        CHECK_BUF(&bench->text, shapes[i].json);
    }
    free(text);
    policy_destroy(policy);
}

int main(void)
{
    struct bench bench;
    bench_init(&bench);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_case(&bench, &cases[i]);
    }
    check_approvals(&bench);
    check_two_approvals(&bench);
    check_unknown_input(&bench);
    check_names(&bench);
    check_failures(&bench);
    bench_finish(&bench);
    return check_done();
}
