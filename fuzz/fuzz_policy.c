/* Arbitrary bytes as a policy document. Errors are in order and in their places; a policy that loads survives
 * being written and loaded again; and its decisions are those of the plainest reading of SPEC.md section 3.
 */
#include <string.h>

#include "document/document.h"
#include "fuzz.h"
#include "index/index.h"

static const struct path_base base = {.cwd = {"/", 1}, .home = {"/nowhere", 8}};

static struct policy *load(struct slice text, bool workspace, struct findings *ret_errors)
{
    struct policy_source source = {.name = SLICE("fuzz"), .tier = TIER_DEFAULT, .text = text};
    if (workspace) {
        source.at_tier = true;
        source.tier = TIER_WORKSPACE;
    }
    findings_init(ret_errors);
    struct policy *policy = policy_load(&source, 1, &base, ret_errors);
    FUZZ_CHECK(!ret_errors->failed);
    return policy;
}

/* ---- Errors ---- */

static void check_errors(struct slice text, const struct findings *errors)
{
    size_t alone = 0, repeats = 0;
    for (size_t i = 0; i < errors->count; i++) {
        const struct finding *error = &errors->list[i];
        uint32_t line = 0, column = 0;
        json_place(text, error->offset, &line, &column);
        FUZZ_CHECK(error->offset <= text.len);
        FUZZ_CHECK(error->line == line && error->column == column);
        FUZZ_CHECK(i == 0 || errors->list[i - 1].offset <= error->offset);
        FUZZ_CHECK(error->pointer.len == 0 || error->pointer.ptr[0] == '/');
        FUZZ_CHECK(error->message.len > 0 && memchr(error->message.ptr, '\n', error->message.len) == NULL);
        alone += strcmp(error->code, "json-syntax") == 0 || strcmp(error->code, "limit") == 0;
        repeats += strcmp(error->code, "duplicate-key") == 0;
    }
    FUZZ_CHECK(alone == 0 || errors->count == 1);
    FUZZ_CHECK(repeats == 0 || repeats == errors->count);
}

/* ---- Written and loaded again ---- */

static void write_rule(struct buf *buf, const struct policy *policy, const struct rule *rule)
{
    buf_text(buf, "{\"id\":");
    json_write_string(buf, policy_text(policy, rule->id));
    buf_printf(buf, ",\"effect\":\"%s\",\"priority\":%d,\"match\":", effect_name(rule->effect),
               rule->priority);
    rule_write_match_json(buf, policy, rule);
    buf->len--;
    buf_printf(buf, ",\"tier\":\"%s\"}", tier_name((enum tier)rule->tier));
    if (rule->effect == EFFECT_DENY) {
        buf_text(buf, ",\"reason\":");
        json_write_string(buf, policy_text(policy, rule->reason));
    } else if (rule->effect == EFFECT_REQUIRE_APPROVAL) {
        buf_printf(buf, ",\"ttlMs\":%u,\"approvers\":%u,\"scope\":\"%s\"", rule->ttl_ms, rule->approvers,
                   scope_name((enum scope)rule->scope));
    }
    buf_byte(buf, '}');
}

static void check_again(const struct policy *policy)
{
    struct buf document, first, second;
    struct findings errors;
    buf_init(&document, 1u << 26);
    buf_init(&first, 1u << 26);
    buf_init(&second, 1u << 26);
    buf_text(&document, "[");
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        buf_text(&document, i == 0 ? "" : ",");
        write_rule(&document, policy, &policy->rules[i]);
    }
    buf_text(&document, "]");
    FUZZ_CHECK(buf_ok(&document));
    struct policy *again = load(buf_slice_of(&document), false, &errors);
    FUZZ_CHECK(again != NULL && again->rule_count == policy->rule_count);
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        buf_reset(&first);
        buf_reset(&second);
        write_rule(&first, policy, &policy->rules[i]);
        write_rule(&second, again, &again->rules[i]);
        FUZZ_CHECK(buf_ok(&first) && slice_eq(buf_slice_of(&first), buf_slice_of(&second)));
        FUZZ_CHECK(policy->rules[i].speaker == again->rules[i].speaker);
    }
    buf_reset(&first);
    policy_write_canonical(&first, policy);
    FUZZ_CHECK(buf_ok(&first));
    policy_destroy(again);
    findings_finish(&errors);
    buf_finish(&document);
    buf_finish(&first);
    buf_finish(&second);
}

/* ---- Decisions ---- */

/* Tier, effect and match as one text. */
static void write_kind(struct buf *buf, const struct policy *policy, const struct rule *rule)
{
    buf_reset(buf);
    buf_printf(buf, "%u %u ", rule->tier, rule->effect);
    rule_write_match_json(buf, policy, rule);
    FUZZ_CHECK(buf_ok(buf));
}

/* The speaker of a rule's equivalents, by comparing it with every other. */
static const struct rule *plain_speaker(const struct policy *policy, const struct rule *rule)
{
    struct buf kind, other;
    buf_init(&kind, 1u << 26);
    buf_init(&other, 1u << 26);
    write_kind(&kind, policy, rule);
    const struct rule *speaker = NULL;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        write_kind(&other, policy, &policy->rules[i]);
        if (slice_eq(buf_slice_of(&kind), buf_slice_of(&other)) &&
            (speaker == NULL || policy->rules[i].priority < speaker->priority)) {
            speaker = &policy->rules[i];
        }
    }
    buf_finish(&kind);
    buf_finish(&other);
    return speaker;
}

/* The rule that ends evaluation, found tier by tier in authored order. */
static const struct rule *plain_winner(const struct policy *policy, const struct facts *facts,
                                       const struct reading *reading, enum match_field *ret_field)
{
    for (uint8_t tier = 0; tier < TIER_COUNT; tier++) {
        for (uint32_t i = 0; i < policy->rule_count; i++) {
            const struct rule *rule = &policy->rules[i];
            *ret_field = rule->tier == tier ? policy_match(policy, rule, facts, reading) : FIELD_TOOL;
            if (*ret_field == FIELD_ALL || *ret_field == FIELD_UNKNOWN) {
                return plain_speaker(policy, rule);
            }
        }
    }
    return NULL;
}

static void check_reading(const struct policy *policy, const struct facts *facts,
                          const struct reading *reading)
{
    enum match_field field = FIELD_TOOL;
    const struct rule *winner = plain_winner(policy, facts, reading, &field);
    struct decision decision = policy_evaluate(policy, facts, reading, 1, NULL);
    struct decision linear = policy_evaluate_linear(policy, facts, reading, 1, NULL);
    FUZZ_CHECK(decision.kind == linear.kind && decision.rule == linear.rule &&
               decision.cause == linear.cause);
    FUZZ_CHECK(decision.rule == winner);
    if (winner == NULL) {
        FUZZ_CHECK(decision.kind == (facts->names[0].needs_rule ? DECISION_DENY : DECISION_ALLOW));
    } else if (field == FIELD_UNKNOWN) {
        FUZZ_CHECK(decision.kind == DECISION_DENY && decision.cause == CAUSE_UNREADABLE);
    } else {
        FUZZ_CHECK((decision.kind == DECISION_ALLOW) == (winner->effect == EFFECT_AUTO_APPROVE));
        FUZZ_CHECK((decision.kind == DECISION_DENY) == (winner->effect == EFFECT_DENY));
    }
}

static void check_calls(const struct policy *policy)
{
    static const char *const calls[] = {
        "{\"tool\":\"t\"}",
        "{\"tool\":\"get_x\",\"server\":\"s\",\"input\":{\"k\":1,\"o\":{\"b\":2,\"a\":[null]}}}",
        "{\"tool\":\"upload_file\",\"actor\":\"session_owner\",\"input\":{\"k\":\"v\"}}",
    };
    static const struct reading readings[] = {{.kind = READING_NO_PATH},
                                              {.kind = READING_UNREADABLE},
                                              {.kind = READING_PATH, .path = {"/srv/a/.env", 11}},
                                              {.kind = READING_PATH, .path = {"/", 1}}};
    struct call_defaults defaults = {
        .channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    struct call_reader reader;
    struct facts facts;
    FUZZ_CHECK(call_reader_init(&reader) && facts_init(&facts));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        FUZZ_CHECK(call_read(&reader, slice_of(calls[i]), &defaults) == CALL_OK);
        FUZZ_CHECK(facts_make(&facts, policy, &reader.call));
        for (size_t r = 0; r < sizeof(readings) / sizeof(readings[0]); r++) {
            check_reading(policy, &facts, &readings[r]);
        }
    }
    facts_finish(&facts);
    call_reader_finish(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct findings errors;
    struct policy *policy = load(text, false, &errors);
    check_errors(text, &errors);
    FUZZ_CHECK((policy == NULL) == (errors.count != 0));
    if (policy != NULL && policy->rule_count < 200) {
        check_again(policy);
        check_calls(policy);
    }
    policy_destroy(policy);
    findings_finish(&errors);

    /* What an agent can write: it is left out, or it only tightens. */
    policy = load(text, true, &errors);
    check_errors(text, &errors);
    FUZZ_CHECK(policy != NULL && policy->files[0].used == (errors.count == 0));
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        FUZZ_CHECK(policy->rules[i].effect == EFFECT_DENY && policy->rules[i].tier >= TIER_WORKSPACE);
    }
    policy_destroy(policy);
    findings_finish(&errors);
    return 0;
}
