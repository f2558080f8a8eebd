/* Every policy of up to three rules over a small alphabet, held to every call of it: two tools, three commands with an
 * open and an unreadable one, two hosts, three places, two arguments with loose values, and rules with arms.
 *
 * A rule that is called dead decides no call; a call that shows a rule or refutes a sentence is decided so; what is proved
 * has no call against it; where a rule is taken out, no call changes outside the classes of the difference, and none
 * becomes less strict where the difference says that it is not weaker. What is not proved is counted, and is no fault.
 *
 * usage: every_test [PART PARTS]: every PARTS-th policy, from PART on. */
#include "../../check.h"
#include "analysis/analysis.h"
#include "build.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- The alphabet ---- */

static const char *const tools[] = {"t", "u"};
static const char *const commands[] = {"", "a x", "b x", "a", "a $X", "if"};
static const char *const hosts[] = {"", "h.org", "q.net"};
static const char *const places[] = {"", "/nonexistent/a", "/nonexistent/a/b", "/nonexistent/c"};
static const char *const forces[] = {"", "true", "\"yes\""};
static const char *const counts[] = {"", "1", "\"2\""};
#define CALLS (COUNT(tools) * COUNT(commands) * COUNT(hosts) * COUNT(places) * COUNT(forces) * COUNT(counts))

static const char *const matches[] = {
    "{\"tool\":\"t\"}",
    "{\"commandPrefix\":\"a\"}",
    "{\"tool\":[\"t\",\"u\"],\"commandPrefix\":[\"a x\",\"b\"]}",
    "{\"host\":[\"h.org\",\"q.net\"]}",
    "{\"tool\":\"u\",\"host\":\"h.org\"}",
    "{\"pathPrefix\":\"/nonexistent/a\"}",
    "{\"tool\":\"u\",\"pathPrefix\":[\"/nonexistent/a/b\",\"/nonexistent/c\"]}",
    "{\"argEquals\":{\"f\":true}}",
    "{\"tool\":\"t\",\"argIn\":{\"n\":[1,2]}}",
};
static const char *const effects[] = {"\"auto_approve\"", "\"deny\",\"reason\":\"no\"",
                                      "\"require_approval\""};
#define RULES (COUNT(matches) * COUNT(effects))

/* Sentences, each "never allowed". */
static const char *const asked[] = {
    "{\"tool\":\"u\"}",
    "{\"commandPrefix\":\"a\"}",
    "{\"host\":\"q.net\"}",
    "{\"pathPrefix\":\"/nonexistent/a/b\"}",
    "{\"tool\":\"t\",\"argEquals\":{\"f\":true}}",
};

/* ---- Calls ---- */

static struct call_reader *readers; /* one for each call of the alphabet, read once */
static char texts[CALLS][320];
static struct call_reader reader;
static struct readings readings;
static struct facts facts;

static void put_member(struct buf *buf, bool *some, const char *name, const char *value, bool quoted)
{
    if (*value != '\0') {
        test_comma(buf, some);
        buf_printf(buf, quoted ? "\"%s\":\"%s\"" : "\"%s\":%s", name, value);
    }
}

static void make_calls(void)
{
    const struct call_defaults none = {0};
    readers = calloc(CALLS, sizeof(*readers));
    CHECK(readers != NULL);
    for (size_t i = 0; readers != NULL && i < CALLS; i++) {
        size_t n = i / COUNT(tools);
        struct buf buf;
        bool some = false;
        char host[64];
        buf_init(&buf, 1u << 16);
        buf_printf(&buf, "{\"tool\":\"%s\",\"input\":{", tools[i % COUNT(tools)]);
        put_member(&buf, &some, "command", commands[n % COUNT(commands)], true);
        n /= COUNT(commands);
        const char *name = hosts[n % COUNT(hosts)];
        const char *end = *name != '\0' ? "/" : "";
        (void)snprintf(host, sizeof(host), "%s%s%s", *name != '\0' ? "https://" : "", name, end);
        put_member(&buf, &some, "url", host, true);
        n /= COUNT(hosts);
        put_member(&buf, &some, "path", places[n % COUNT(places)], true);
        n /= COUNT(places);
        put_member(&buf, &some, "f", forces[n % COUNT(forces)], false);
        n /= COUNT(forces);
        put_member(&buf, &some, "n", counts[n], false);
        buf_text(&buf, "},\"sessionKey\":{\"channel\":\"C\",\"thread\":\"1\"},\"actor\":\"claude_process\"}");
        CHECK(buf_ok(&buf) && buf.len < sizeof(texts[i]));
        memcpy(texts[i], buf.ptr, buf.len);
        buf_finish(&buf);
        CHECK(call_reader_init(&readers[i]) && call_read(&readers[i], slice_of(texts[i]), &none) == CALL_OK);
    }
}

static struct decision decide(const struct policy *policy, const struct call *call)
{
    struct path_base base = test_base();
    CHECK(readings_make(&readings, call, &base, policy->arguments, policy->prefixes, &policy->interest, 0) ==
          READINGS_OK);
    CHECK(facts_make(&facts, policy, call));
    return policy_evaluate(policy, &facts, readings.list, readings.count, NULL);
}

static struct decision decide_text(const struct policy *policy, struct slice text)
{
    const struct call_defaults none = {0};
    CHECK(call_read(&reader, text, &none) == CALL_OK);
    return decide(policy, &reader.call);
}

/* What a policy says of every call. */
struct decided {
    struct decision of[CALLS];
};

static unsigned long pairs;

static void decide_all(const struct policy *policy, struct decided *ret)
{
    for (size_t i = 0; i < CALLS; i++) {
        ret->of[i] = decide(policy, &readers[i].call);
    }
    pairs += CALLS;
}

/* ---- Sets of calls ---- */

/* The calls that have a reading of a match, for each match that was asked about. */
struct set {
    struct set *next;
    struct slice match;
    bool has[CALLS];      /* surely */
    bool may_have[CALLS]; /* or it is not known */
};
static struct set *sets;

/* A class's match as a rule may have it, which has all of the class: without what stands beside a path, and with the
 * arguments that are compared loosely in place of all. */
static void put_match(struct buf *buf, struct slice match)
{
    static const struct json_options options = {.max_depth = 16, .max_bytes = 1u << 20};
    struct json_doc doc;
    struct json_error error;
    bool some = false;
    json_init(&doc);
    CHECK(json_parse(&doc, match, &options, &error));
    const struct json_value *root = json_root(&doc), *key;
    bool loose = json_get(&doc, root, "argLoosely") != NULL;
    buf_byte(buf, '{');
    for (key = json_first(&doc, root); key != NULL; key = json_right(&doc, root, key)) {
        struct slice name = json_str(key);
        if (slice_is(name, "beside") || (loose && slice_is(name, "argEquals"))) {
            continue;
        }
        test_comma(buf, &some);
        json_write_string(buf, slice_is(name, "argLoosely") ? SLICE("argEquals") : name);
        buf_byte(buf, ':');
        buf_slice(buf, json_text_of(&doc, json_member_value(key)));
    }
    buf_text(buf, some ? "}" : "\"tool\":\"*\"}");
    json_finish(&doc);
}

static const struct set *set_of(struct slice match)
{
    for (struct set *at = sets; at != NULL; at = at->next) {
        if (slice_eq(at->match, match)) {
            return at;
        }
    }
    struct buf text;
    buf_init(&text, 1u << 20);
    buf_text(&text, "[{\"id\":\"s\",\"effect\":\"deny\",\"reason\":\"in\",\"match\":");
    put_match(&text, match);
    buf_text(&text, "}]");
    struct policy *policy = test_load(buf_slice_of(&text));
    struct set *set = calloc(1, sizeof(*set));
    char *copy = malloc(match.len + 1);
    CHECK(policy != NULL && set != NULL && copy != NULL);
    if (policy != NULL && set != NULL && copy != NULL) {
        memcpy(copy, match.ptr, match.len);
        set->match = (struct slice){copy, match.len};
        for (size_t i = 0; i < CALLS; i++) {
            struct decision decision = decide(policy, &readers[i].call);
            set->may_have[i] = decision.kind != DECISION_ALLOW;
            set->has[i] = decision.kind == DECISION_DENY && decision.cause == CAUSE_NONE && !decision.noted;
        }
        set->next = sets;
        sets = set;
    }
    policy_destroy(policy);
    buf_finish(&text);
    return set;
}

/* ---- Policies ---- */

static void put_policy(struct buf *text, const size_t *rules, size_t count, bool with_sentences)
{
    buf_reset(text);
    buf_text(text, "{\"rules\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(text, "%s{\"id\":\"r%zu\",\"effect\":%s,\"match\":%s}", i > 0 ? "," : "", i,
                   effects[rules[i] % COUNT(effects)], matches[rules[i] / COUNT(effects)]);
    }
    buf_text(text, "]");
    for (size_t i = 0; with_sentences && i < COUNT(asked); i++) {
        buf_printf(text, "%s{\"name\":\"s\",\"match\":%s,\"never\":[\"allow\"]}",
                   i > 0 ? "," : ",\"assertions\":[", asked[i]);
    }
    buf_text(text, with_sentences ? "]}" : "}");
}

static unsigned long policies, faults, dead, shown, rules_open, proved, refuted, sentences_open, weaker, kept,
    unproved_weaker, classes;

static void fault(const char *what, struct slice policy, struct slice more)
{
    if (faults++ < 10) {
        printf("%s: %.*s\n    %.*s\n", what, SLICE_FMT(policy), SLICE_FMT(more));
    }
}

/* ---- Questions ---- */

static bool is_said(const struct policy *policy, const struct findings *warnings, uint32_t rule)
{
    for (size_t i = 0; i < warnings->count; i++) {
        if (slice_eq(warnings->list[i].rule, policy_text(policy, policy->rules[rule].id))) {
            return true;
        }
    }
    return false;
}

static void ask_dead(struct analysis *analysis, const struct policy *policy, const struct decided *decided,
                     struct slice text)
{
    struct findings warnings;
    bool decides[3] = {false};
    findings_init(&warnings);
    dead_find(analysis, &warnings);
    CHECK(!warnings.failed);
    for (size_t i = 0; i < CALLS; i++) {
        if (decided->of[i].rule != NULL) {
            decides[decided->of[i].rule - policy->rules] = true;
        }
    }
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        struct buf call;
        buf_init(&call, 1u << 20);
        bool said = is_said(policy, &warnings, i), found = dead_witness(analysis, i, &call);
        struct decision decision = {.rule = NULL};
        if (found) {
            decision = decide_text(policy, buf_slice_of(&call));
        }
        if ((said && (decides[i] || found)) || (found && decision.rule != &policy->rules[i])) {
            fault(said ? "a rule that is called dead decides a call"
                       : "a call that shows a rule shows another",
                  text, buf_slice_of(&call));
        }
        dead += said;
        shown += found;
        rules_open += !said && !found;
        buf_finish(&call);
    }
    findings_finish(&warnings);
}

static void ask_sentences(struct analysis *analysis, const struct policy *policy,
                          const struct decided *decided, struct slice text)
{
    for (size_t k = 0; k < COUNT(asked); k++) {
        const struct set *in = set_of(slice_of(asked[k]));
        struct refutation refutation;
        struct buf call;
        buf_init(&call, 1u << 20);
        enum assertion_result result = assertion_prove(analysis, k, &refutation, &call);
        bool against = false;
        for (size_t i = 0; i < CALLS; i++) {
            against = against || (in->has[i] && decided->of[i].kind == DECISION_ALLOW);
        }
        bool wrong = result == ASSERTION_FAILED || (result == ASSERTION_PROVED && against);
        if (result == ASSERTION_REFUTED) {
            wrong = decide_text(policy, buf_slice_of(&call)).kind != DECISION_ALLOW;
        }
        if (wrong) {
            fault(result == ASSERTION_PROVED ? "a call is against what is proved" : "what refutes does not",
                  text, result == ASSERTION_PROVED ? slice_of(asked[k]) : buf_slice_of(&call));
        }
        proved += result == ASSERTION_PROVED;
        refuted += result == ASSERTION_REFUTED;
        sentences_open += result == ASSERTION_UNCONFIRMED;
        buf_finish(&call);
    }
}

static bool in_some_class(const struct diff *diff, size_t call)
{
    for (size_t i = 0; i < diff->count; i++) {
        if (diff->list[i].list != NULL || set_of(diff->list[i].match)->may_have[call]) {
            return true;
        }
    }
    return false;
}

/* What changes where one rule is taken out. */
static void ask_diff(const struct policy *from, const struct decided *before, const struct policy *to,
                     const struct decided *after, struct slice text)
{
    struct path_base base = test_base();
    struct diff diff;
    diff_init(&diff);
    diff_find(from, to, &base, DIFF_BRIEF, &diff);
    CHECK(!diff.failed);
    bool says = diff_is_weaker(&diff), seen = false;
    classes += diff.count;
    for (size_t i = 0; i < CALLS; i++) {
        if (before->of[i].kind == after->of[i].kind) {
            continue;
        }
        bool less = decision_rank(after->of[i].kind) < decision_rank(before->of[i].kind);
        seen = seen || less;
        if (less && !says) {
            fault("a call is decided less strictly, and no class is weaker", text, slice_of(texts[i]));
        }
        if (!in_some_class(&diff, i)) {
            fault("a call changes outside the classes", text, slice_of(texts[i]));
        }
    }
    for (size_t i = 0; i < diff.count; i++) {
        const struct diff_class *class = &diff.list[i];
        if (class->witness.ptr == NULL || class->list != NULL || class->aside) {
            continue;
        }
        struct decision one = decide_text(from, class->witness), other = decide_text(to, class->witness);
        if (one.kind == other.kind && one.rule != NULL && other.rule != NULL &&
            slice_eq(policy_text(from, one.rule->id), policy_text(to, other.rule->id))) {
            fault("a call that shows a class shows no change", text, class->witness);
        }
    }
    weaker += says;
    kept += !says;
    unproved_weaker += says && !seen;
    diff_finish(&diff);
}

static void ask_policy(struct buf *text, const size_t *rules, size_t count)
{
    struct path_base base = test_base();
    static struct decided decided, less;
    put_policy(text, rules, count, true);
    struct policy *policy = test_load(buf_slice_of(text));
    CHECK(policy != NULL);
    if (policy == NULL) {
        return;
    }
    policies++;
    decide_all(policy, &decided);
    struct analysis *analysis =
        analysis_create(policy, policy->assertion_space, policy->assertions, COUNT(asked), &base);
    CHECK(analysis != NULL);
    ask_dead(analysis, policy, &decided, buf_slice_of(text));
    ask_sentences(analysis, policy, &decided, buf_slice_of(text));
    if (count > 1) {
        struct buf other;
        size_t rest[2] = {rules[policies % 2], rules[2 % count]};
        buf_init(&other, 1u << 16);
        put_policy(&other, rest, count - 1, false);
        struct policy *smaller = test_load(buf_slice_of(&other));
        CHECK(smaller != NULL);
        if (smaller != NULL) {
            decide_all(smaller, &less);
            ask_diff(policy, &decided, smaller, &less, buf_slice_of(text));
        }
        policy_destroy(smaller);
        buf_finish(&other);
    }
    analysis_destroy(analysis);
    policy_destroy(policy);
}

int main(int argc, char **argv)
{
    unsigned long part = argc > 2 ? strtoul(argv[1], NULL, 10) : 1,
                  parts = argc > 2 ? strtoul(argv[2], NULL, 10) : 97;
    unsigned long number = 0;
    struct buf text;
    CHECK(call_reader_init(&reader) && readings_init(&readings) && facts_init(&facts));
    buf_init(&text, 1u << 16);
    make_calls();
    for (size_t count = 1; count <= 3; count++) {
        size_t all = count == 1 ? RULES : count == 2 ? RULES * RULES : RULES * RULES * RULES;
        for (size_t i = 0; i < all; i++) {
            size_t rules[3] = {i % RULES, i / RULES % RULES, i / RULES / RULES};
            if (number++ % parts == part % parts) {
                ask_policy(&text, rules, count);
            }
        }
    }
    printf("%lu policies, %lu calls: %lu pairs, %lu differ\n", policies, (unsigned long)CALLS, pairs, faults);
    printf("rules: %lu dead, %lu shown to decide, %lu not proved\n", dead, shown, rules_open);
    printf("sentences: %lu proved, %lu refuted, %lu not proved\n", proved, refuted, sentences_open);
    printf("differences: %lu weaker (%lu by no call of the alphabet), %lu not, %lu classes\n", weaker,
           unproved_weaker, kept, classes);
    CHECK(faults == 0 && dead > 0 && shown > dead && proved > 0 && refuted > 0 && weaker > 0 && kept > 0);
    for (size_t i = 0; readers != NULL && i < CALLS; i++) {
        call_reader_finish(&readers[i]);
    }
    while (sets != NULL) {
        struct set *next = sets->next;
        free((void *)(uintptr_t)sets->match.ptr);
        free(sets);
        sets = next;
    }
    free(readers);
    buf_finish(&text);
    call_reader_finish(&reader);
    readings_finish(&readings);
    facts_finish(&facts);
    return check_done();
}
