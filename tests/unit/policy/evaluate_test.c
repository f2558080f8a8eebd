/* Combining, matching, equality, approvals: a policy, a call, a decision. SPEC.md sections 3, 5, 6 and 11. */
#include "support.h"

#define ALLOW(id)     "{'kind':'allow','rule':'" id "'}"
#define NO_RULE       "{'kind':'allow'}"
#define DENY(id)      "{'kind':'deny','rule':'" id "','reason':'r'}"
#define DEFAULT(tool) "{'kind':'deny','rule':'default','reason':'no policy authored for tool '" tool "''}"
#define REQUIRE(id, ttl, n)                                                                                  \
    "{'kind':'require','rule':'" id "','approver':'human_approver','ttlMs':" ttl ",'approvers':" n "}"
#define UNREADABLE "{'kind':'deny','rule':'default','reason':'path cannot be resolved'}"

/* Rules, without the quoting of their keys. */
#define A(id, match)    "{'id':'" id "','effect':'auto_approve','match':{" match "}}"
#define D(id, match)    "{'id':'" id "','effect':'deny','reason':'r','match':{" match "}}"
#define Q(id, match)    "{'id':'" id "','effect':'require_approval','match':{" match "}}"
#define P(id, match, n) "{'id':'" id "','effect':'deny','reason':'r','priority':" n ",'match':{" match "}}"

/* Readings of a call: `paths` are canonical, `!` is an unreadable one; NULL: one without a path. */
struct evaluate_case {
    const char *name, *policy, *call, *paths[3], *want;
};

static const struct evaluate_case cases[] = {
    /* ---- Order ---- */
    {"no rules", "[]", "{'tool':'t'}", {NULL}, NO_RULE},
    {"the first that matches",
     "[" D("d", "'tool':'t'") "," A("a", "'tool':'t'") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("d")},
    {"others are passed over",
     "[" D("d", "'tool':'x'") "," A("a", "'tool':'t'") "]",
     "{'tool':'t'}",
     {NULL},
     ALLOW("a")},
    {"tiers before order",
     "[" A("w", "'tool':'t','tier':'workspace'") "," D("u", "'tool':'t','tier':'user'") "," A(
         "x", "'tool':'t','tier':'admin','actor':'session_owner'") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("u")},
    {"a tier without a match is passed over",
     "[" A("d", "'tool':'t'") "," D("a", "'tool':'x','tier':'admin'") "]",
     "{'tool':'t'}",
     {NULL},
     ALLOW("d")},
    {"require", "[" Q("q", "'tool':'t'") "]", "{'tool':'t'}", {NULL}, REQUIRE("q", "300000", "1")},
    {"require, with its own figures",
     "[{'id':'q','effect':'require_approval','match':{'tool':'t'},'ttlMs':5,'approvers':3}]",
     "{'tool':'t'}",
     {NULL},
     REQUIRE("q", "5", "3")},

    /* ---- Groups ---- */
    {"the lowest priority speaks",
     "[" P("a", "'tool':'t'", "100") "," P("b", "'tool':'t'", "50") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("b")},
    {"a negative priority too",
     "[" P("a", "'tool':'t'", "0") "," P("b", "'tool':'t'", "-1") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("b")},
    {"of equals the first",
     "[" P("a", "'tool':'t'", "5") "," P("b", "'tool':'t'", "5") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("a")},
    {"the last of three",
     "[" P("a", "'tool':'t'", "9") "," P("b", "'tool':'t'", "8") "," P("c", "'tool':'t'", "7") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("c")},
    {"at the first one's place",
     "[" P("a", "'tool':'t'", "100") "," A("x", "'tool':'t'") "," P("b", "'tool':'t'", "50") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("b")},
    {"another effect is no equivalent",
     "[" A("x", "'tool':'t'") "," P("b", "'tool':'t'", "1") "]",
     "{'tool':'t'}",
     {NULL},
     ALLOW("x")},
    {"another tier is no equivalent",
     "[" P("a", "'tool':'t','tier':'user'", "9") "," P("b", "'tool':'t'", "1") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("a")},
    {"another field is no equivalent",
     "[" P("a", "'tool':'t'", "9") "," P("b", "'tool':'t','channel':'C1'", "1") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("a")},
    {"an equal argEquals in another order and spelling",
     "[" P("a", "'argEquals':{'x':1,'y':{'p':2,'q':[]}}",
           "9") "," P("b", "'argEquals':{'y':{'q':[],'p':2.0},'x':1e0}", "1") "]",
     "{'tool':'t','input':{'x':1,'y':{'p':2,'q':[]}}}",
     {NULL},
     DENY("b")},
    {"a prefix in another spelling",
     "[" P("a", "'pathPrefix':'/nowhere/x'", "9") "," P("b", "'pathPrefix':'/nowhere//x/.'", "1") "]",
     "{'tool':'t'}",
     {"/nowhere/x/y"},
     DENY("b")},
    {"the default tier by name is the default tier",
     "[" P("a", "'tool':'t'", "9") "," P("b", "'tool':'t','tier':'default'", "1") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("b")},

    /* ---- Fields ---- */
    {"tool, bytes", "[" D("d", "'tool':'T'") "]", "{'tool':'t'}", {NULL}, NO_RULE},
    {"toolPrefix", "[" D("d", "'toolPrefix':'get_'") "]", "{'tool':'get_x'}", {NULL}, DENY("d")},
    {"toolPrefix, the whole name",
     "[" D("d", "'toolPrefix':'get_'") "]",
     "{'tool':'get_'}",
     {NULL},
     DENY("d")},
    {"toolPrefix, a longer one", "[" D("d", "'toolPrefix':'get_'") "]", "{'tool':'get'}", {NULL}, NO_RULE},
    {"server", "[" D("d", "'server':'s'") "]", "{'tool':'t','server':'s'}", {NULL}, DENY("d")},
    {"server absent", "[" D("d", "'server':'s'") "]", "{'tool':'t'}", {NULL}, NO_RULE},
    {"server, another", "[" D("d", "'server':'s'") "]", "{'tool':'t','server':'d'}", {NULL}, NO_RULE},
    {"channel",
     "[" D("d", "'channel':'C2'") "," D("e", "'channel':'C1'") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("e")},
    {"thread",
     "[" D("d", "'thread_ts':'2.2'") "," D("e", "'thread_ts':'1.1'") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("e")},
    {"actor",
     "[" D("d", "'actor':'session_owner'") "," D("e", "'actor':'claude_process'") "]",
     "{'tool':'t'}",
     {NULL},
     DENY("e")},
    {"all fields",
     "[" D("d", "'tool':'t','server':'s','channel':'C1','thread_ts':'9'") "]",
     "{'tool':'t','server':'s'}",
     {NULL},
     NO_RULE},

    /* ---- Paths and readings ---- */
    {"under", "[" D("d", "'pathPrefix':'/nowhere/a'") "]", "{'tool':'t'}", {"/nowhere/a/b"}, DENY("d")},
    {"the prefix itself",
     "[" D("d", "'pathPrefix':'/nowhere/a'") "]",
     "{'tool':'t'}",
     {"/nowhere/a"},
     DENY("d")},
    {"a sibling", "[" D("d", "'pathPrefix':'/nowhere/a'") "]", "{'tool':'t'}", {"/nowhere/ab"}, NO_RULE},
    {"the root is above all", "[" D("d", "'pathPrefix':'/'") "]", "{'tool':'t'}", {"/nowhere/ab"}, DENY("d")},
    {"no path",
     "[" D("d", "'pathPrefix':'/'") "," D("e", "'pathComponent':'a'") "]",
     "{'tool':'t'}",
     {NULL},
     NO_RULE},
    {"components", "[" D("d", "'pathComponent':'*.pem'") "]", "{'tool':'t'}", {"/a/b.pem/c"}, DENY("d")},
    {"prefix and component",
     "[" D("d", "'pathPrefix':'/nowhere','pathComponent':'.git'") "]",
     "{'tool':'t'}",
     {"/x/.git"},
     NO_RULE},
    {"the strictest reading",
     "[" A("a", "'pathPrefix':'/nowhere/a'") "," Q("q", "'pathPrefix':'/nowhere/q'") "," D(
         "d", "'pathPrefix':'/nowhere/d'") "]",
     "{'tool':'t'}",
     {"/nowhere/a/1", "/nowhere/d/1", "/nowhere/q/1"},
     DENY("d")},
    {"require over allow",
     "[" A("a", "'pathPrefix':'/nowhere/a'") "," Q("q", "'pathPrefix':'/nowhere/q'") "]",
     "{'tool':'t'}",
     {"/nowhere/a/1", "/nowhere/q/1"},
     REQUIRE("q", "300000", "1")},
    {"among equals the first",
     "[" D("d", "'pathPrefix':'/nowhere/d'") "," D("e", "'pathPrefix':'/nowhere/e'") "]",
     "{'tool':'t'}",
     {"/nowhere/e", "/nowhere/d"},
     DENY("e")},
    {"an allow by no rule is an allow",
     "[" A("a", "'pathPrefix':'/nowhere/a'") "]",
     "{'tool':'t'}",
     {"/nowhere/b", "/nowhere/a"},
     NO_RULE},
    {"unreadable stops at a path rule",
     "[" A("a", "'pathPrefix':'/nowhere/a'") "]",
     "{'tool':'t'}",
     {"!"},
     UNREADABLE},
    {"unreadable stops at a component rule",
     "[" A("a", "'pathComponent':'x'") "]",
     "{'tool':'t'}",
     {"!"},
     UNREADABLE},
    {"unreadable: a rule before decides",
     "[" A("a", "'tool':'t'") "," A("b", "'pathComponent':'x'") "]",
     "{'tool':'t'}",
     {"!"},
     ALLOW("a")},
    {"unreadable: another tool's path rule does not matter",
     "[" A("b", "'tool':'u','pathComponent':'x'") "]",
     "{'tool':'t'}",
     {"!"},
     NO_RULE},
    {"unreadable: nor does one whose arguments differ",
     "[" A("b", "'pathComponent':'x','argEquals':{'k':1}") "]",
     "{'tool':'t'}",
     {"!"},
     NO_RULE},
    {"unreadable: one whose arguments are equal does",
     "[" A("b", "'pathComponent':'x','argEquals':{'k':1}") "]",
     "{'tool':'t','input':{'k':1}}",
     {"!"},
     UNREADABLE},
    {"unreadable beside readable",
     "[" A("a", "'pathPrefix':'/nowhere/a'") "]",
     "{'tool':'t'}",
     {"/nowhere/a", "!"},
     UNREADABLE},

    /* ---- The default set ---- */
    {"upload_file", "[]", "{'tool':'upload_file'}", {NULL}, DEFAULT("upload_file")},
    {"upload_file with a rule",
     "[" A("a", "'tool':'upload_file'") "]",
     "{'tool':'upload_file'}",
     {NULL},
     ALLOW("a")},
    {"listed", "{'requireAuthoredPolicy':['x']}", "{'tool':'x'}", {NULL}, DEFAULT("x")},
    {"listed beside the built-in one",
     "{'requireAuthoredPolicy':['x']}",
     "{'tool':'upload_file'}",
     {NULL},
     DEFAULT("upload_file")},
    {"a star", "{'requireAuthoredPolicy':['*']}", "{'tool':'x'}", {NULL}, DEFAULT("x")},
    {"a server's star",
     "{'requireAuthoredPolicy':['s/*']}",
     "{'tool':'x','server':'s'}",
     {NULL},
     DEFAULT("x")},
    {"a server's star, another server",
     "{'requireAuthoredPolicy':['s/*']}",
     "{'tool':'x','server':'z'}",
     {NULL},
     NO_RULE},
    {"a server's star, no server", "{'requireAuthoredPolicy':['s/*']}", "{'tool':'x'}", {NULL}, NO_RULE},
    {"a server's tool",
     "{'requireAuthoredPolicy':['s/x']}",
     "{'tool':'x','server':'s'}",
     {NULL},
     DEFAULT("x")},
    {"a server's other tool",
     "{'requireAuthoredPolicy':['s/x']}",
     "{'tool':'y','server':'s'}",
     {NULL},
     NO_RULE},
    {"a tool of that very name",
     "{'requireAuthoredPolicy':['s/x']}",
     "{'tool':'s/x'}",
     {NULL},
     DEFAULT("s/x")},
    {"a rule's id is no entry", "[" D("x", "'tool':'t'") "]", "{'tool':'x'}", {NULL}, NO_RULE},

    /* ---- Equality of arguments ---- */
    {"others don't matter",
     "[" D("d", "'argEquals':{'a':'x'}") "]",
     "{'tool':'t','input':{'b':1,'a':'x'}}",
     {NULL},
     DENY("d")},
    {"another value",
     "[" D("d", "'argEquals':{'a':'x'}") "]",
     "{'tool':'t','input':{'a':'y'}}",
     {NULL},
     NO_RULE},
    {"absent is not null", "[" D("d", "'argEquals':{'a':null}") "]", "{'tool':'t'}", {NULL}, NO_RULE},
    {"null", "[" D("d", "'argEquals':{'a':null}") "]", "{'tool':'t','input':{'a':null}}", {NULL}, DENY("d")},
    {"key order",
     "[" D("d", "'argEquals':{'o':{'x':1,'y':2}}") "]",
     "{'tool':'t','input':{'o':{'y':2,'x':1}}}",
     {NULL},
     DENY("d")},
    {"array order",
     "[" D("d", "'argEquals':{'o':[1,2]}") "]",
     "{'tool':'t','input':{'o':[2,1]}}",
     {NULL},
     NO_RULE},
    {"whole objects",
     "[" D("d", "'argEquals':{'o':{'x':1}}") "]",
     "{'tool':'t','input':{'o':{'x':1,'y':2}}}",
     {NULL},
     NO_RULE},
    {"numbers by value",
     "[" D("d", "'argEquals':{'n':1}") "]",
     "{'tool':'t','input':{'n':10.0e-1}}",
     {NULL},
     DENY("d")},
    {"minus zero",
     "[" D("d", "'argEquals':{'n':0}") "]",
     "{'tool':'t','input':{'n':-0.0}}",
     {NULL},
     DENY("d")},
    {"beyond 2^53",
     "[" D("d", "'argEquals':{'n':9007199254740993}") "]",
     "{'tool':'t','input':{'n':9007199254740992}}",
     {NULL},
     NO_RULE},
    {"beyond everything",
     "[" D("d", "'argEquals':{'n':1e400}") "]",
     "{'tool':'t','input':{'n':10e399}}",
     {NULL},
     DENY("d")},
    {"a string is no number to an allow",
     "[" A("a", "'argEquals':{'n':1}") "]",
     "{'tool':'t','input':{'n':'1'}}",
     {NULL},
     NO_RULE},
    {"a string that is the text of a value, to an allow",
     "[" A("a", "'argEquals':{'n':'1e0'}") "]",
     "{'tool':'t','input':{'n':1}}",
     {NULL},
     NO_RULE},
    {"true is not 1 to an allow",
     "[" A("a", "'argEquals':{'n':1}") "]",
     "{'tool':'t','input':{'n':true}}",
     {NULL},
     NO_RULE},
    {"escapes",
     "[" D("d", "'argEquals':{'s':'/e'}") "]",
     "{'tool':'t','input':{'\\u0073':'\\u002fe'}}",
     {NULL},
     DENY("d")},
    {"two keys",
     "[" D("d", "'argEquals':{'b':2,'a':1}") "]",
     "{'tool':'t','input':{'a':1,'c':3,'b':2}}",
     {NULL},
     DENY("d")},
    {"two keys, one apart",
     "[" D("d", "'argEquals':{'b':2,'a':1}") "]",
     "{'tool':'t','input':{'a':1,'b':1}}",
     {NULL},
     NO_RULE},
    {"many keys, unsorted",
     "[" D("d", "'argEquals':{'a':1,'b':2,'c':3,'d':4,'e':5,'f':6,'g':7}") "]",
     "{'tool':'t','input':{'g':7,'c':3,'a':1,'e':5,'b':2,'f':6,'d':4}}",
     {NULL},
     DENY("d")},
    {"only top level",
     "[" D("d", "'argEquals':{'a':1}") "]",
     "{'tool':'t','input':{'o':{'a':1}}}",
     {NULL},
     NO_RULE},
    {"an empty key", "[" D("d", "'argEquals':{'':1}") "]", "{'tool':'t','input':{'':1}}", {NULL}, DENY("d")},
    {"a NUL in a key",
     "[" D("d", "'argEquals':{'a\\u0000b':1}") "]",
     "{'tool':'t','input':{'a\\u0000c':1}}",
     {NULL},
     NO_RULE},
};

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
