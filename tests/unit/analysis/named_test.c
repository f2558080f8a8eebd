/* Assertions over lists, commands and hosts, held to every call of a small alphabet: what is proved has no call that
 * shows otherwise, and what is refuted comes with one. */
#include "../../check.h"
#include "analysis/analysis.h"
#include "build.h"

#define CALLS 1000u

static char calls[CALLS][256];
static uint32_t call_count;
static struct call_reader reader;
static struct readings readings;
static struct facts facts;

static void make_calls(void)
{
    static const char *const tools[] = {"t", "u", "v"}, *const hosts[] = {"", "h.org", "s.h.org", "q.net"};
    static const char *const commands[] = {"",      "a",      "a x", "a y",     "a q",    "a x q", "a -f",
                                           "a -gf", "/d/a x", "b x", "b",       "n",      "n x",   "X=1 a x",
                                           "a $X",  "a x $X", "if",  "a q q x", "/d/b x", "a x x"};
    for (uint32_t i = 0; i < 3 * 4 * 20 * 2 * 2; i++) {
        const char *host = hosts[i / 3 % 4], *command = commands[i / 12 % 20];
        size_t len = (size_t)snprintf(calls[call_count], sizeof(calls[0]), "{\"tool\":\"%s\",\"input\":{",
                                      tools[i % 3]);
        char *at = calls[call_count] + len;
        size_t room = sizeof(calls[0]) - len;
        if (*command != '\0') {
            int more = snprintf(at, room, "\"command\":\"%s\"%s", command, *host != '\0' ? "," : "");
            at += more;
            room -= (size_t)more;
        }
        if (*host != '\0') {
            int more = snprintf(at, room, "\"url\":\"https://%s/\"", host);
            at += more;
            room -= (size_t)more;
        }
        static const char *const hints[] = {
            "", ",\"annotations\":{}", ",\"annotations\":{\"destructiveHint\":false}",
            ",\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":null}",
            ",\"annotations\":{\"readOnlyHint\":true}"};
        (void)snprintf(at, room, "},\"sessionKey\":{\"channel\":\"C\",\"thread\":\"1\"},\"actor\":\"%s\"%s}",
                       i / 240 % 2 == 0 ? "session_owner" : "claude_process",
                       hints[(i + i / 480 + i / 7) % 5]);
        call_count++;
    }
}

static struct decision decide(const struct policy *policy, struct slice text)
{
    const struct call_defaults none = {0};
    struct path_base base = test_base();
    CHECK(call_read(&reader, text, &none) == CALL_OK);
    CHECK(readings_make(&readings, &reader.call, &base, policy->arguments, policy->prefixes,
                        &policy->interest, 0) == READINGS_OK);
    CHECK(facts_make(&facts, policy, &reader.call));
    return policy_evaluate(policy, &facts, readings.list, readings.count, NULL);
}

static void put_list(struct buf *buf, const char *key, const char *const *values, uint32_t count,
                     uint64_t *seed)
{
    uint32_t first = test_below(seed, count), second = test_below(seed, count);
    if (test_below(seed, 3) != 0 || first == second) {
        buf_printf(buf, "\"%s\":\"%s\"", key, values[first]);
    } else {
        buf_printf(buf, "\"%s\":[\"%s\",\"%s\"]", key, values[first], values[second]);
    }
}

static void put_match(struct buf *buf, bool allow, uint64_t *seed)
{
    static const char *const tools[] = {"t", "u"}, *const prefixes[] = {"a",     "a x",  "a *", "b",
                                                                        "a * x", "/d/a", "b x"},
                             *const words[] = {"x", "-f", "q*", "*x"},
                             *const hosts[] = {"h.org", "*.h.org", "q.net"};
    bool some = false, command = test_below(seed, 10) < 6;
    buf_byte(buf, '{');
    if (test_below(seed, 3) == 0) {
        test_comma(buf, &some);
        put_list(buf, "tool", tools, 2, seed);
    }
    if (test_below(seed, 6) == 0) {
        test_comma(buf, &some);
        buf_printf(buf, "\"actor\":\"%s\"", test_below(seed, 2) ? "session_owner" : "claude_process");
    }
    if (command && (allow || test_below(seed, 4) != 0)) {
        test_comma(buf, &some);
        put_list(buf, test_below(seed, 3) == 0 ? "command" : "commandPrefix", prefixes, 7, seed);
    }
    if (command && !allow && test_below(seed, 3) == 0) {
        test_comma(buf, &some);
        put_list(buf, "commandWord", words, 4, seed);
    }
    if (!allow && test_below(seed, 5) == 0) {
        test_comma(buf, &some);
        buf_printf(buf, "\"annotations\":{\"%s\":%s}",
                   test_below(seed, 2) ? "destructiveHint" : "readOnlyHint",
                   test_below(seed, 2) ? "true" : "false");
    }
    if (!command && test_below(seed, 2) == 0) {
        test_comma(buf, &some);
        put_list(buf, "host", hosts, 3, seed);
    }
    if (!some) {
        buf_text(buf, "\"tool\":\"t\"");
    }
    buf_byte(buf, '}');
}

static void put_policy(struct buf *policy, struct buf *asked, const char *never, uint64_t *seed)
{
    static const char *const effects[] = {"\"deny\",\"reason\":\"no\"", "\"auto_approve\"",
                                          "\"require_approval\""};
    uint32_t rules = 1 + test_below(seed, 4);
    buf_reset(policy);
    buf_reset(asked);
    buf_text(policy, "{\"rules\":[");
    for (uint32_t i = 0; i < rules; i++) {
        uint32_t effect = test_below(seed, 3);
        buf_printf(policy, "%s{\"id\":\"r%u\",\"effect\":%s,\"match\":", i > 0 ? "," : "", i,
                   effects[effect]);
        put_match(policy, effect == 1, seed);
        buf_byte(policy, '}');
    }
    buf_text(asked, "[{\"id\":\"asked\",\"effect\":\"deny\",\"reason\":\"in\",\"match\":");
    size_t begin = asked->len;
    put_match(asked, false, seed);
    buf_text(policy, "],\"requireAuthoredPolicy\":[\"u\"],\"assertions\":[{\"name\":\"s\",\"match\":");
    buf_bytes(policy, asked->ptr + begin, asked->len - begin);
    buf_printf(policy, ",\"never\":[%s]}]}", never);
    buf_text(asked, "}]");
}

static unsigned long dead, alive;

/* No call of the alphabet is decided by a rule that is said to decide none. */
static void ask_dead(const struct policy *policy, struct slice text)
{
    struct path_base base = test_base();
    struct findings warnings;
    findings_init(&warnings);
    struct analysis *analysis = analysis_create(policy, NULL, NULL, 0, &base);
    CHECK(analysis != NULL);
    dead_find(analysis, &warnings);
    CHECK(!warnings.failed);
    bool decides[8] = {false};
    for (uint32_t i = 0; i < call_count; i++) {
        struct decision decision = decide(policy, slice_of(calls[i]));
        if (decision.rule != NULL) {
            decides[decision.rule - policy->rules] = true;
        }
    }
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        bool said = false;
        for (size_t j = 0; j < warnings.count; j++) {
            said = said || slice_eq(warnings.list[j].rule, policy_text(policy, policy->rules[i].id));
        }
        struct buf call;
        buf_init(&call, 1u << 20);
        bool shown = dead_witness(analysis, i, &call);
        struct decision decision = {.rule = NULL};
        if (shown) {
            decision = decide(policy, buf_slice_of(&call));
        }
        bool wrong = (said && (decides[i] || shown)) || (shown && decision.rule != &policy->rules[i]);
        if (wrong) {
            printf("rule %u said %d decides %d shown %d: %.*s\n%.*s\n", i, said, decides[i], shown,
                   SLICE_FMT(text), SLICE_FMT(buf_slice_of(&call)));
        }
        CHECK(!wrong);
        dead += said;
        alive += shown;
        buf_finish(&call);
    }
    findings_finish(&warnings);
    analysis_destroy(analysis);
}

/* The search for a call does not try every combination of a host with commands and arguments: a question may stay open that
 * some call would settle. */
static unsigned long proved, refuted, open, missed, wrong;

/* Whether a call has a reading that the assertion speaks of, and a decision that it forbids. */
static bool shows(const struct policy *policy, const struct policy *asked, struct slice call)
{
    struct decision in = decide(asked, call);
    if (in.kind != DECISION_DENY || in.cause != CAUSE_NONE || in.noted) {
        return false;
    }
    return decide(policy, call).kind == DECISION_ALLOW;
}

static void ask(const struct policy *policy, const struct policy *asked, struct slice text)
{
    struct path_base base = test_base();
    struct refutation refutation;
    struct buf call;
    buf_init(&call, 1u << 20);
    struct analysis *analysis =
        analysis_create(policy, policy->assertion_space, policy->assertions, 1, &base);
    CHECK(analysis != NULL);
    enum assertion_result result = assertion_prove(analysis, 0, &refutation, &call);
    bool shown = false;
    for (uint32_t i = 0; i < call_count && !shown; i++) {
        shown = shows(policy, asked, slice_of(calls[i]));
    }
    bool bad = result == ASSERTION_FAILED || (result == ASSERTION_PROVED && shown) ||
               (result == ASSERTION_REFUTED && !shows(policy, asked, buf_slice_of(&call)));
    proved += result == ASSERTION_PROVED;
    refuted += result == ASSERTION_REFUTED;
    open += result == ASSERTION_UNCONFIRMED;
    wrong += bad;
    missed += result == ASSERTION_UNCONFIRMED && shown;
    if (bad) {
        printf("%s, %s: %.*s\n%.*s\n", result == ASSERTION_PROVED ? "proved" : "refuted",
               shown ? "shown" : "not shown", SLICE_FMT(text), SLICE_FMT(buf_slice_of(&call)));
    }
    analysis_destroy(analysis);
    buf_finish(&call);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1500;
    uint64_t seed = 1;
    struct buf text, asked_text;
    CHECK(call_reader_init(&reader) && readings_init(&readings) && facts_init(&facts));
    buf_init(&text, 1u << 20);
    buf_init(&asked_text, 1u << 20);
    make_calls();
    for (unsigned long i = 0; i < rounds; i++) {
        put_policy(&text, &asked_text, "\"allow\"", &seed);
        struct policy *policy = test_load(buf_slice_of(&text)), *asked = test_load(buf_slice_of(&asked_text));
        CHECK(policy != NULL && asked != NULL);
        if (policy != NULL && asked != NULL) {
            ask(policy, asked, buf_slice_of(&text));
            ask_dead(policy, buf_slice_of(&text));
        }
        policy_destroy(policy);
        policy_destroy(asked);
    }
    printf("%lu rules decide no call, %lu are shown to decide some\n", dead, alive);
    printf("%lu proved, %lu refuted, %lu not answered, of which a call settles %lu, %lu wrong\n", proved,
           refuted, open, missed, wrong);
    CHECK(wrong == 0 && missed <= rounds / 5000 && proved > rounds / 10 && refuted > rounds / 10 &&
          open < rounds / 20);
    buf_finish(&text);
    buf_finish(&asked_text);
    call_reader_finish(&reader);
    readings_finish(&readings);
    facts_finish(&facts);
    return check_done();
}
