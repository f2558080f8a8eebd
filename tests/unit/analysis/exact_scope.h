/* The small scope of exact_test.c, all its calls decided, and random policies over it. */
#ifndef ANALYSIS_EXACT_SCOPE_H
#define ANALYSIS_EXACT_SCOPE_H

#include "analysis/analysis.h"

#include <stdlib.h>

#include "../../check.h"
#include "build.h"

/* ---- The scope: every value that a rule can name, and one like none of them ---- */

static const char *const tools[] = {"t", "tu", "u", "tq", "tuq", "uq", "zz", "upload_file", "s/tu", "s/*"};
static const char *const channels[] = {"A", "B", "Z"};
/* Each value of the rules, one that is loosely the same and of no rule, and none. */
static const char *const inputs[] = {
    "{}",
    "{\"k1\":1}",
    "{\"k1\":\"yes\"}",
    "{\"k0\":1}",
    "{\"k0\":1,\"k1\":1}",
    "{\"K0\":true,\"k1\":\"yes\"}",
    "{\"k0\":true,\"k1\":1}",
    "{\"k0\":true}",
    "{\"k0\":2}",
    "{\"k0\":2,\"k1\":1}",
    "{\"k0\":\" 2\",\"k1\":1}",
    "{\"k0\":\" 2\"}",
    "{\"k0\":1,\"k1\":\"yes\"}",
    "{\"k0\":2,\"k1\":\"yes\"}",
    "{\"k0\":\" 2\",\"k1\":\"yes\"}",
};
/* NULL: no path. Every prefix with and without more, with each set of patterns that a path below it can have.
 */
static const char *const paths[] = {NULL,          "/",     "/q",      "/q/b",     "/q/bq",    "/q/qb",
                                    "/q/bq/qb",    "/zz",   "/zz/q",   "/zz/q/b",  "/zz/q/bq", "/zz/q/qb",
                                    "/zz/q/bq/qb", "/zz/b", "/zz/b/q", "/zz/b/q/b"};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define SERVERS     2 /* none, "s" */
#define ACTORS      2
#define OTHERS      2 /* nothing, a host beside the path */
#define READINGS    (COUNT(paths) * OTHERS)
#define BARE_POINTS (COUNT(tools) * COUNT(channels) * COUNT(inputs) * SERVERS * ACTORS)
#define POINTS      (BARE_POINTS * READINGS)

struct universe {
    struct json_doc docs[COUNT(inputs)];
    struct call calls[BARE_POINTS];
    struct call_name names[BARE_POINTS];
    struct reading readings[READINGS];
    struct path_base base;
};

static void scope_init(struct universe *scope)
{
    static const struct json_options options = {.max_depth = 8, .max_bytes = 4096};
    struct json_error error;
    memset(scope, 0, sizeof(*scope));
    scope->base = test_base();
    for (size_t i = 0; i < COUNT(inputs); i++) {
        json_init(&scope->docs[i]);
        CHECK(json_parse(&scope->docs[i], slice_of(inputs[i]), &options, &error));
    }
    for (size_t i = 0; i < READINGS; i++) {
        const char *path = paths[i / OTHERS];
        scope->readings[i].kind = path == NULL ? READING_NO_PATH : READING_PATH;
        scope->readings[i].path = path == NULL ? SLICE("") : slice_of(path);
        if (i % OTHERS != 0) {
            scope->readings[i].host_kind = READING_HOST;
            scope->readings[i].host = SLICE("like.none");
        }
    }
    for (size_t i = 0; i < BARE_POINTS; i++) {
        size_t n = i;
        struct call *call = &scope->calls[i];
        scope->names[i].tool = slice_of(tools[n % COUNT(tools)]);
        n /= COUNT(tools);
        call->channel = slice_of(channels[n % COUNT(channels)]);
        n /= COUNT(channels);
        call->doc = &scope->docs[n % COUNT(inputs)];
        call->input = json_root(call->doc);
        n /= COUNT(inputs);
        scope->names[i].has_server = n % SERVERS != 0;
        scope->names[i].server = scope->names[i].has_server ? SLICE("s") : SLICE("");
        call->actor = n / SERVERS == 0 ? ACTOR_SESSION_OWNER : ACTOR_CLAUDE_PROCESS;
        call->thread = SLICE("1.1");
        call->names = &scope->names[i];
        call->name_count = 1;
    }
}

/* What decides each point: 0 the default deny, 1 the default allow, 2 + rule. */
static void decide_points(const struct universe *scope, const struct policy *policy, uint32_t *ret)
{
    struct facts facts;
    CHECK(facts_init(&facts));
    for (size_t i = 0; i < BARE_POINTS; i++) {
        if (!facts_make(&facts, policy, &scope->calls[i])) {
            CHECK(false);
            break;
        }
        for (size_t p = 0; p < READINGS; p++) {
            struct decision d = policy_evaluate_linear(policy, &facts, &scope->readings[p], 1, NULL);
            ret[i * READINGS + p] =
                d.rule != NULL ? 2 + (uint32_t)(d.rule - policy->rules) : d.kind == DECISION_ALLOW;
        }
    }
    facts_finish(&facts);
}

/* ---- Witnesses, by the slow evaluator ---- */

/* Decides a witness as text; the whole way. False when it is not a call that can be read. */
static bool decide_text(const struct universe *scope, const struct policy *policy, struct slice text,
                        struct decision *ret)
{
    struct call_reader reader;
    struct readings readings;
    struct facts facts;
    const struct call_defaults none = {0};
    struct reading_interest interest = policy->interest;
    interest.component_count = 0; /* as witnesses are made: no directory is looked through */
    bool ok = call_reader_init(&reader);
    ok = readings_init(&readings) && ok;
    ok = facts_init(&facts) && ok;
    ok = ok && call_read(&reader, text, &none) == CALL_OK &&
         readings_make(&readings, &reader.call, &scope->base, policy->arguments, policy->prefixes, &interest,
                       0) == READINGS_OK &&
         facts_make(&facts, policy, &reader.call);
    if (ok) {
        *ret = policy_evaluate_linear(policy, &facts, readings.list, readings.count, NULL);
    }
    call_reader_finish(&reader);
    readings_finish(&readings);
    facts_finish(&facts);
    return ok;
}

static bool decided_by(const struct universe *scope, const struct policy *policy, struct slice text,
                       uint32_t kind, const struct rule *rule)
{
    struct decision decision;
    return text.ptr != NULL && decide_text(scope, policy, text, &decision) && decision.kind == kind &&
           (rule == NULL ? decision.rule == NULL : decision.rule == rule && decision.cause == CAUSE_NONE);
}

/* ---- Random policies ---- */

static void maybe(struct buf *buf, bool *some, uint64_t *seed, uint32_t percent, const char *key,
                  const char *const *values, uint32_t count)
{
    if (test_below(seed, 100) < percent) {
        test_comma(buf, some);
        buf_printf(buf, "\"%s\":%s", key, values[test_below(seed, count)]);
    }
}

static void random_match(struct buf *buf, uint64_t *seed, uint32_t percent)
{
    static const char *const names[] = {"\"t\"", "\"tu\"", "\"u\""};
    static const char *const one[] = {"\"s\""}, *const two[] = {"\"A\"", "\"B\""};
    static const char *const actors[] = {"\"session_owner\"", "\"claude_process\""};
    static const char *const prefixes[] = {"\"/\"", "\"/zz\"", "\"/zz/b\""};
    static const char *const components[] = {"\"b\"", "\"b*\"", "\"*b\""};
    static const char *const args[] = {"{\"k0\":1}", "{\"k0\":2.0}", "{\"k1\":1}", "{\"k0\":1,\"k1\":1}"};
    bool some = false;
    buf_byte(buf, '{');
    maybe(buf, &some, seed, percent, test_below(seed, 2) ? "tool" : "toolPrefix", names, 3);
    maybe(buf, &some, seed, percent / 2, "server", one, 1);
    maybe(buf, &some, seed, percent, "channel", two, 2);
    maybe(buf, &some, seed, percent, "actor", actors, 2);
    maybe(buf, &some, seed, percent, "pathPrefix", prefixes, 3);
    maybe(buf, &some, seed, percent, "pathComponent", components, 3);
    maybe(buf, &some, seed, percent, "argEquals", args, 4);
    if (!some) {
        buf_text(buf, "\"argEquals\":{\"k1\":1}");
    }
    buf_byte(buf, '}');
}

static void random_rule(struct buf *buf, uint64_t *seed, uint32_t number, uint32_t percent)
{
    static const char *const effects[] = {"\"deny\",\"reason\":\"no\"",
                                          "\"auto_approve\"",
                                          "\"require_approval\"",
                                          "\"require_approval\",\"approvers\":2",
                                          "\"require_approval\",\"ttlMs\":5",
                                          "\"require_approval\",\"scope\":\"call\""};
    static const char *const tiers[] = {"default", "default", "user", "admin"};
    buf_printf(buf, "{\"id\":\"r%u\",\"effect\":%s,\"priority\":%u,\"match\":", number,
               effects[test_below(seed, 6)], test_below(seed, 2));
    random_match(buf, seed, percent);
    buf->len--;
    buf_printf(buf, ",\"tier\":\"%s\"}}", tiers[test_below(seed, 4)]);
}

/* A document; `rules` keeps the rules' texts of the one before, so that the next one is an edit of it. */
#define RULES 7
struct texts {
    struct buf rules[RULES];
    uint32_t made; /* so that no id comes twice */
};

static void random_document(struct buf *buf, struct texts *texts, uint64_t *seed, uint32_t changes,
                            uint32_t percent)
{
    static const char *const required[] = {"[]", "[\"t\"]", "[\"s/tu\"]", "[\"s/*\",\"u\"]", "[\"*\"]"};
    static const char *const never[] = {"\"allow\"", "\"deny\"", "\"require\"", "\"allow\",\"require\""};
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t at = changes == RULES ? i : test_below(seed, RULES);
        buf_reset(&texts->rules[at]);
        random_rule(&texts->rules[at], seed, texts->made++, percent);
    }
    if (changes < RULES && test_below(seed, 2)) { /* move one */
        struct buf first = texts->rules[0];
        uint32_t at = test_below(seed, RULES);
        texts->rules[0] = texts->rules[at];
        texts->rules[at] = first;
    }
    buf_reset(buf);
    buf_printf(buf, "{\"requireAuthoredPolicy\":%s,\"assertions\":[", required[test_below(seed, 5)]);
    for (uint32_t i = 0; i < 4; i++) {
        buf_printf(buf, "%s{\"name\":\"a%u\",\"never\":[%s],\"evenApproved\":%s,\"match\":", i ? "," : "", i,
                   never[test_below(seed, 4)], test_below(seed, 2) ? "true" : "false");
        random_match(buf, seed, percent);
        buf_byte(buf, '}');
    }
    buf_text(buf, "],\"rules\":[");
    uint32_t count = 1 + test_below(seed, RULES), some = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (some++ != 0) {
            buf_byte(buf, ',');
        }
        buf_slice(buf, buf_slice_of(&texts->rules[i]));
    }
    buf_text(buf, "]}");
}

#endif
