/* Rules as they act, a call tried on them, and what a changed policy would change. Nothing here writes a policy. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/clock.h"
#include "console/internal.h"
#include "gate/state.h"
#include "journal/counts.h"

#define RULES_MOST    5000u /* of a policy that is looked into for dead rules while others wait */
#define CLASSES_SHOWN 200u
#define EXCEPTS_SHOWN 20u

static int64_t query_pid(const struct exchange *x)
{
    struct slice text = exchange_query(x, "gate");
    return text.len > 0 && text.len < 12 ? strtoll(text.ptr, NULL, 10) : 0;
}

static bool load(struct exchange *x, int64_t pid, struct gate_policy *ret_policy)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool loaded = gate_policy_load(x->console, pid, ret_policy, &error);
    if (!loaded) {
        buf_text(&x->out, "{\"failed\":");
        write_printable(&x->out, buf_message(&error));
        buf_byte(&x->out, '}');
    }
    buf_finish(&error);
    return loaded;
}

/* ---- The list ---- */

static void write_rule(struct buf *buf, const struct policy *policy, const struct rule *rule,
                       const struct journal_counts *counts)
{
    const struct journal_count count = journal_counts_of(counts, policy_text(policy, rule->id));
    buf_printf(
        buf, "{\"tier\":\"%s\",\"effect\":\"%s\",\"line\":%u,\"allow\":%llu,\"deny\":%llu,\"require\":%llu",
        tier_name((enum tier)rule->tier), effect_name(rule->effect), rule->line,
        (unsigned long long)count.allow, (unsigned long long)count.deny, (unsigned long long)count.require);
    write_named(buf, "last", slice_of(count.last));
    write_named(buf, "rule", policy_text(policy, rule->id));
    write_named(buf, "file", policy->files[rule->file].name);
    write_named(buf, "reason", policy_text(policy, rule->reason));
    if (rule->effect == EFFECT_REQUIRE_APPROVAL) {
        buf_printf(buf, ",\"approvers\":%u,\"ttl\":%u,\"scope\":\"%s\"", rule->approvers, rule->ttl_ms,
                   scope_name((enum scope)rule->scope));
    }
    if (&policy->rules[rule->speaker] != rule) {
        write_named(buf, "same", policy_text(policy, policy->rules[rule->speaker].id));
    }
    buf_text(buf, ",\"match\":");
    rule_write_match_json(buf, policy, rule);
    buf_byte(buf, '}');
}

static void write_warnings(struct buf *buf, const struct gate_policy *loaded)
{
    struct findings warnings;
    findings_init(&warnings);
    lint(loaded->policy, &warnings);
    if (loaded->policy->rule_count <= RULES_MOST) {
        struct analysis *analysis = analysis_create(loaded->policy, NULL, NULL, 0, &loaded->base);
        if (analysis != NULL) {
            dead_find(analysis, &warnings);
            analysis_destroy(analysis);
        }
    }
    for (size_t i = 0; i < warnings.count; i++) {
        const struct finding *f = &warnings.list[i];
        buf_printf(buf, "%s{\"kind\":\"%s\",\"line\":%u", i > 0 ? "," : "", f->code, f->line);
        write_named(buf, "rule", f->later.len > 0 ? f->later : f->rule);
        write_named(buf, "file", f->file_name);
        write_named(buf, "message", f->message);
        buf_byte(buf, '}');
    }
    findings_finish(&warnings);
}

static void write_rules(struct buf *buf, const struct policy *policy, const struct journal_counts *counts)
{
    bool any = false;
    for (uint32_t i = 0; i < policy->order_count && i < RULES_MOST; i++) {
        buf_text(buf, any ? "," : "");
        write_rule(buf, policy, &policy->rules[policy->order[i]], counts);
        any = true;
    }
    for (uint32_t i = 0; i < policy->rule_count && i < RULES_MOST;
         i++) { /* those for which another one speaks */
        if (policy->rules[i].speaker != i) {
            buf_text(buf, any ? "," : "");
            write_rule(buf, policy, &policy->rules[i], counts);
            any = true;
        }
    }
}

void answer_rules(struct exchange *x)
{
    struct gate_policy loaded;
    struct journal_counts counts = {0};
    struct buf error;
    if (!load(x, query_pid(x), &loaded)) {
        gate_policy_finish(&loaded);
        return;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    if (!journal_counts_read(&counts, x->console->state, x->console->options.state_dir, STATE_JOURNAL,
                             &error)) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    const struct policy *policy = loaded.policy;
    buf_printf(&x->out, "{\"gate\":%lld,\"current\":%s,\"count\":%u,\"files\":[", (long long)loaded.pid,
               loaded.is_current ? "true" : "false", policy->rule_count);
    for (uint32_t i = 0; i < policy->file_count; i++) {
        buf_text(&x->out, i > 0 ? "," : "");
        write_printable(&x->out, policy->files[i].name);
    }
    buf_text(&x->out, "],\"rules\":[");
    write_rules(&x->out, policy, &counts);
    buf_text(&x->out, "],\"warnings\":[");
    write_warnings(&x->out, &loaded);
    buf_text(&x->out, "]}");
    journal_counts_finish(&counts);
    buf_finish(&error);
    gate_policy_finish(&loaded);
}

/* ---- One call ---- */

/* Decides as `callgate explain` does: with no approvals, and as if nothing had run. */
static void explain(struct exchange *x, const struct gate_policy *loaded, struct slice call)
{
    static const struct call_defaults defaults = {
        .channel = {"C1", 2}, .thread = {"1.1", 3}, .actor = ACTOR_CLAUDE_PROCESS};
    struct decider decider;
    struct call_reader reader;
    struct approvals approvals = {.now = clock_wall_ms()};
    if (!decider_init(&decider)) {
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "memory");
        return;
    }
    if (!call_reader_init(&reader)) {
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "memory");
        decider_finish(&decider);
        return;
    }
    if (call_read(&reader, call, &defaults) != CALL_OK) {
        buf_text(&x->out, "{\"failed\":");
        write_printable(&x->out, slice_of(reader.detail != NULL ? reader.detail : "over a limit"));
        buf_byte(&x->out, '}');
    } else {
        approvals.channel = reader.call.channel;
        approvals.thread = reader.call.thread;
        struct decision decision =
            decide(&decider, loaded->policy, &reader.call, &loaded->base, READINGS_STILL, &approvals);
        if (decision.cause == CAUSE_OVER_LIMIT || decision.cause == CAUSE_INTERNAL) {
            buf_text(&x->out, "{\"decision\":");
            decision_write_json(&x->out, loaded->policy, &decision);
            buf_text(&x->out, ",\"readings\":[]}");
        } else {
            policy_explain(&x->out, loaded->policy, &reader.call, decider.readings.list,
                           decider.readings.count, &approvals);
        }
    }
    call_reader_finish(&reader);
    decider_finish(&decider);
}

void answer_explain(struct exchange *x)
{
    struct json_doc doc;
    struct gate_policy loaded;
    if (exchange_json(x, &doc)) {
        const struct json_value *call = json_get(&doc, json_root(&doc), "call");
        struct slice text = json_is(call, JSON_STRING)   ? json_str(call)
                            : json_is(call, JSON_OBJECT) ? json_text_of(&doc, call)
                                                         : SLICE("");
        if (load(x, member_number(&doc, "gate"), &loaded)) {
            explain(x, &loaded, text);
        }
        gate_policy_finish(&loaded);
    }
    json_finish(&doc);
}

/* ---- Another policy ---- */

static void write_side(struct buf *buf, const char *member, const struct policy *policy,
                       const struct diff_side *side)
{
    bool by_rule = side->rule != NULL && !side->stops;
    buf_printf(buf, ",\"%s\":{\"kind\":\"%s\"", member, decision_kind_name(side->kind));
    if (by_rule) {
        write_named(buf, "rule", policy_text(policy, side->rule->id));
        write_named(buf, "file", policy->files[side->rule->file].name);
        buf_printf(buf, ",\"line\":%u", side->rule->line);
    }
    buf_byte(buf, '}');
}

static void write_class(struct buf *buf, const struct policy *old, const struct policy *next,
                        const struct diff_class *class)
{
    buf_printf(buf, "{\"weaker\":%s", class->weaker ? "true" : "false");
    write_side(buf, "from", old, &class->from);
    write_side(buf, "to", next, &class->to);
    write_named(buf, "match", class->match.len > 0 ? class->match : SLICE("{}"));
    write_named(buf, "witness", class->witness);
    if (class->list != NULL) {
        write_named(buf, "list", slice_of(class->list));
        write_named(buf, "name", class->name);
        buf_printf(buf, ",\"added\":%s", class->added ? "true" : "false");
    }
    buf_text(buf, ",\"except\":[");
    for (size_t i = 0; class->except != NULL && i < class->except_count && i < EXCEPTS_SHOWN; i++) {
        buf_text(buf, i > 0 ? "," : "");
        write_printable(buf, class->except[i]);
    }
    buf_printf(buf, "],\"excepts\":%lld}", class->except != NULL ? (long long)class->except_count : -1LL);
}

static void compare(struct exchange *x, const struct gate_policy *loaded, const struct policy *next)
{
    struct diff diff;
    struct violations violations;
    diff_init(&diff);
    violations_init(&violations);
    diff_find(loaded->policy, next, &loaded->base, DIFF_EXCEPT, &diff);
    violations_find(loaded->policy, next, &violations);
    buf_printf(&x->out, "{\"whole\":%s,\"count\":%zu,\"violations\":[",
               diff.failed || violations.failed ? "false" : "true", diff.count);
    for (size_t i = 0; i < violations.count && i < CLASSES_SHOWN; i++) {
        buf_text(&x->out, i > 0 ? "," : "");
        write_printable(&x->out, violations.list[i].message);
    }
    buf_text(&x->out, "],\"classes\":[");
    for (size_t i = 0; i < diff.count && i < CLASSES_SHOWN; i++) {
        buf_text(&x->out, i > 0 ? "," : "");
        write_class(&x->out, loaded->policy, next, &diff.list[i]);
    }
    buf_text(&x->out, "]}");
    diff_finish(&diff);
    violations_finish(&violations);
}

static void write_errors(struct exchange *x, const struct findings *errors)
{
    struct buf text;
    buf_init_message(&text, 64u << 10);
    sources_write_errors(&text, errors);
    buf_text(&x->out, "{\"failed\":");
    write_printable(&x->out, buf_message(&text));
    buf_byte(&x->out, '}');
    buf_finish(&text);
}

/* The policy with the text in the place of one of its files. */
static struct policy *load_changed(const struct gate_policy *loaded, struct slice file, struct slice text,
                                   struct findings *ret_errors)
{
    size_t count = loaded->sources.count;
    struct policy_source *list = calloc(count + 1, sizeof(*list));
    struct policy *policy = NULL;
    size_t used = 0;
    bool replaced = false;
    for (size_t i = 0; list != NULL && i < count; i++) {
        const struct source_file *source = &loaded->sources.files[i];
        bool this_one = slice_is(file, source->path);
        if (loaded->texts.states[i] == SOURCE_USED || loaded->texts.states[i] == SOURCE_LAST_GOOD) {
            list[used++] = (struct policy_source){slice_of(source->path), source->tier, source->at_tier,
                                                  this_one ? text : buf_slice_of(&loaded->texts.list[i])};
            replaced = replaced || this_one;
        }
    }
    if (list != NULL && !replaced) {
        (void)findings_add(ret_errors, "file", "the policy has no such file any more");
    } else if (list != NULL) {
        policy = policy_load(list, used, &loaded->base, ret_errors);
    }
    free(list);
    return policy;
}

void answer_difference(struct exchange *x)
{
    struct json_doc doc;
    struct gate_policy loaded;
    struct findings errors;
    findings_init(&errors);
    if (exchange_json(x, &doc)) {
        if (load(x, member_number(&doc, "gate"), &loaded)) {
            struct policy *next =
                load_changed(&loaded, member_text(&doc, "file"), member_text(&doc, "text"), &errors);
            if (next == NULL || errors.count > 0) {
                write_errors(x, &errors);
            } else if (next->rule_count > RULES_MOST || loaded.policy->rule_count > RULES_MOST) {
                exchange_fail(x, MHD_HTTP_CONTENT_TOO_LARGE, "long");
            } else {
                compare(x, &loaded, next);
            }
            policy_destroy(next);
        }
        gate_policy_finish(&loaded);
    }
    json_finish(&doc);
    findings_finish(&errors);
}
