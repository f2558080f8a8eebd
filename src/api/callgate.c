/* The public library: callgate.h over the rooms below. Nothing is decided here. */
#include "callgate.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "document/document.h"
#include "index/index.h"

struct cg_policy {
    struct policy *policy;
};

struct cg_report {
    struct findings errors, warnings;
};

struct cg_call {
    struct call_reader reader;
    enum call_result result;
    struct buf text; /* canonical, once asked for */
    char *copy;      /* of the caller's text, which the reader's document borrows */
};

struct cg_readings {
    struct readings readings;
    struct facts facts;
    enum readings_result result;
    const struct policy *policy; /* the facts hold for this one only */
};

_Static_assert((int)CG_DENY == (int)DECISION_DENY && (int)CG_REQUIRE == (int)DECISION_REQUIRE &&
                   (int)CG_ALLOW == (int)DECISION_ALLOW,
               "the public kinds are the policy's");

uint32_t cg_abi_version(void)
{
    return CG_ABI_VERSION;
}

const char *cg_version(void)
{
    return CALLGATE_VERSION;
}

/* ---- Policies ---- */

/* The members that the first release had: a program that was built before a later one was appended says this
 * size, and the members that it does not know are zero. */
#define BASE_FIRST_SIZE (offsetof(cg_base, root_count) + sizeof(((cg_base *)0)->root_count))

/* What is wrong with a base, for the report; NULL: nothing. */
static const char *base_fault(const cg_base *base)
{
    if (base == NULL) {
        return "no base was given: the working directory and the home directory must be known";
    }
    if (base->size < BASE_FIRST_SIZE) {
        return "the size of the base is too small: set it to sizeof(cg_base)";
    }
    if (base->cwd == NULL || base->cwd[0] != '/') {
        return "the working directory of the base must be an absolute path";
    }
    if (base->home == NULL || base->home[0] != '/') {
        return "the home directory of the base must be an absolute path";
    }
    if (base->root_count > 0 && base->roots == NULL) {
        return "the base counts roots and has none";
    }
    return NULL;
}

/* Roots as slices; *ret_base borrows the caller's texts. */
static bool convert_base(const cg_base *base, struct slice **ret_roots, struct path_base *ret_base)
{
    *ret_roots = NULL;
    *ret_base = (struct path_base){0};
    if (base_fault(base) != NULL) {
        return false;
    }
    *ret_roots = calloc(base->root_count + 1, sizeof(**ret_roots));
    if (*ret_roots == NULL) {
        return false;
    }
    for (size_t i = 0; i < base->root_count; i++) {
        (*ret_roots)[i] = slice_of(base->roots[i]);
    }
    *ret_base = (struct path_base){.cwd = slice_of(base->cwd),
                                   .home = slice_of(base->home),
                                   .roots = *ret_roots,
                                   .root_count = base->root_count};
    return true;
}

static void convert_document(const cg_document *document, struct policy_source *ret)
{
    static const enum tier tiers[] = {TIER_DEFAULT, TIER_ADMIN, TIER_USER, TIER_WORKSPACE};
    *ret = (struct policy_source){
        .name = slice_of(document->name != NULL ? document->name : ""),
        .text = {document->text, document->length},
        /* An unknown tier gets the strictest treatment: only what tightens is taken. */
        .tier = TIER_WORKSPACE,
        .at_tier = document->tier != CG_TIER_OPERATOR,
    };
    if ((unsigned)document->tier < sizeof(tiers) / sizeof(*tiers)) {
        ret->tier = tiers[document->tier];
    }
}

static cg_policy *load(const cg_document *documents, size_t count, const struct path_base *base,
                       cg_report *report)
{
    struct policy_source *sources = calloc(count + 1, sizeof(*sources));
    cg_policy *policy = calloc(1, sizeof(*policy));
    report->errors.failed = sources == NULL || policy == NULL;
    if (sources != NULL && policy != NULL) {
        for (size_t i = 0; i < count; i++) {
            convert_document(&documents[i], &sources[i]);
        }
        policy->policy = policy_load(sources, count, base, &report->errors);
        if (policy->policy != NULL && !assertions_check(policy->policy, base, &report->errors)) {
            policy_destroy(policy->policy);
            policy->policy = NULL;
        }
        if (policy->policy != NULL) {
            lint(policy->policy, &report->warnings);
        }
    }
    free(sources);
    if (policy != NULL && policy->policy != NULL) {
        return policy;
    }
    free(policy);
    return NULL;
}

cg_policy *cg_policy_load(const cg_document *documents, size_t count, const cg_base *base,
                          cg_report **ret_report)
{
    struct slice *roots;
    struct path_base path_base;
    cg_policy *policy = NULL;
    cg_report *report = calloc(1, sizeof(*report));
    if (ret_report != NULL) {
        *ret_report = NULL;
    }
    if (report == NULL) {
        return NULL;
    }
    findings_init(&report->errors);
    findings_init(&report->warnings);
    const char *fault = base_fault(base);
    if (fault != NULL) {
        (void)findings_add(&report->errors, "bad-base", "%s", fault);
    }
    bool converted = convert_base(base, &roots, &path_base);
    if (converted) {
        policy = load(documents, count, &path_base, report);
    }
    free(roots);
    report->errors.failed = report->errors.failed || (!converted && fault == NULL);
    if (report->errors.failed || report->warnings.failed) {
        cg_policy_free(policy);
        policy = NULL;
    } else if (ret_report != NULL) {
        *ret_report = report;
        return policy;
    }
    cg_report_free(report);
    return policy;
}

void cg_policy_free(cg_policy *policy)
{
    if (policy == NULL) {
        return;
    }
    policy_destroy(policy->policy);
    free(policy);
}

size_t cg_policy_rules(const cg_policy *policy)
{
    return policy != NULL ? policy->policy->rule_count : 0;
}

size_t cg_report_count(const cg_report *report)
{
    return report != NULL ? report->errors.count + report->warnings.count : 0;
}

/* Findings' texts are made followed by a NUL (arena_copy); one that is absent is "". */
static const char *text_of(struct slice s)
{
    return s.ptr != NULL ? s.ptr : "";
}

int cg_report_get(const cg_report *report, size_t index, cg_finding *ret_finding)
{
    if (index >= cg_report_count(report) || ret_finding->size < sizeof(*ret_finding)) {
        return 0;
    }
    bool error = index < report->errors.count;
    const struct finding *f =
        error ? &report->errors.list[index] : &report->warnings.list[index - report->errors.count];
    *ret_finding = (cg_finding){
        .size = ret_finding->size,
        .severity = error ? CG_ERROR : CG_WARNING,
        .code = f->code,
        .file = text_of(f->file_name),
        .line = f->line,
        .column = f->column,
        .pointer = text_of(f->pointer),
        .rule = text_of(f->rule),
        .message = text_of(f->message),
        .later = text_of(f->later),
        .earlier = text_of(f->earlier),
        .cross_tier = f->cross_tier,
        .file_length = f->file_name.len,
        .pointer_length = f->pointer.len,
        .rule_length = f->rule.len,
        .message_length = f->message.len,
        .later_length = f->later.len,
        .earlier_length = f->earlier.len,
    };
    return 1;
}

void cg_report_free(cg_report *report)
{
    if (report == NULL) {
        return;
    }
    findings_finish(&report->errors);
    findings_finish(&report->warnings);
    free(report);
}

/* ---- Calls ---- */

cg_call *cg_call_create(const char *text, size_t length)
{
    const struct call_defaults defaults = {
        .channel = SLICE(""), .thread = SLICE(""), .actor = ACTOR_CLAUDE_PROCESS};
    cg_call *call = calloc(1, sizeof(*call));
    char *copy = length <= LIMIT_MESSAGE_BYTES ? malloc(length + 1) : NULL;
    if (call != NULL && length > LIMIT_MESSAGE_BYTES) {
        call->result = CALL_OVER_LIMIT;
        return call;
    }
    if (call != NULL && copy != NULL && call_reader_init(&call->reader)) {
        call->copy = copy;
        memcpy(copy, text, length);
        buf_init(&call->text, (size_t)LIMIT_MESSAGE_BYTES * 6 + 4096);
        call->result = call_read(&call->reader, (struct slice){copy, length}, &defaults);
        if (call->result != CALL_NO_MEMORY) {
            return call;
        }
        cg_call_free(call);
        return NULL;
    }
    free(copy);
    free(call);
    return NULL;
}

void cg_call_free(cg_call *call)
{
    if (call == NULL) {
        return;
    }
    if (call->copy != NULL) {
        call_reader_finish(&call->reader);
        buf_finish(&call->text);
        free(call->copy);
    }
    free(call);
}

int cg_call_ok(const cg_call *call)
{
    return call != NULL && call->result == CALL_OK;
}

const char *cg_call_text(cg_call *call, size_t *ret_length)
{
    if (!cg_call_ok(call)) {
        return NULL;
    }
    if (call->text.len == 0) {
        call_write_canonical(&call->text, &call->reader.call);
        buf_byte(&call->text, '\0');
    }
    if (!buf_ok(&call->text)) {
        return NULL;
    }
    *ret_length = call->text.len - 1;
    return call->text.ptr;
}

/* ---- Readings ---- */

cg_readings *cg_readings_make(const cg_policy *policy, const cg_call *call, const cg_base *base)
{
    struct slice *roots;
    struct path_base path_base;
    if (policy == NULL || call == NULL) {
        return NULL;
    }
    cg_readings *readings = calloc(1, sizeof(*readings));
    if (readings == NULL || !readings_init(&readings->readings)) {
        free(readings);
        return NULL;
    }
    bool ok = facts_init(&readings->facts);
    if (!ok) {
        readings_finish(&readings->readings);
        free(readings);
        return NULL;
    }
    ok = convert_base(base, &roots, &path_base);
    readings->policy = policy->policy;
    readings->result = READINGS_OK;
    if (ok && call->result == CALL_OK) {
        readings->result =
            readings_make(&readings->readings, &call->reader.call, &path_base, policy->policy->arguments,
                          policy->policy->prefixes, &policy->policy->interest, 0);
        ok = readings->result != READINGS_NO_MEMORY &&
             facts_make(&readings->facts, policy->policy, &call->reader.call);
    }
    free(roots);
    if (ok) {
        return readings;
    }
    cg_readings_free(readings);
    return NULL;
}

void cg_readings_free(cg_readings *readings)
{
    if (readings == NULL) {
        return;
    }
    readings_finish(&readings->readings);
    facts_finish(&readings->facts);
    free(readings);
}

size_t cg_readings_count(const cg_readings *readings)
{
    return readings != NULL ? readings->readings.count : 0;
}

const char *cg_readings_path(const cg_readings *readings, size_t index, size_t *ret_length,
                             int *ret_unreadable)
{
    if (index >= cg_readings_count(readings)) {
        return NULL;
    }
    const struct reading *reading = &readings->readings.list[index];
    if (ret_unreadable != NULL) {
        *ret_unreadable = reading->kind == READING_UNREADABLE;
    }
    if (reading->kind != READING_PATH) {
        return NULL;
    }
    *ret_length = reading->path.len;
    return reading->path.ptr;
}

/* ---- Decisions ---- */

/* What cg_decision.private_ holds. */
struct kept {
    struct decision decision;
};
_Static_assert(sizeof(struct kept) <= sizeof(((cg_decision *)0)->private_),
               "a decision fits its public struct");

static struct decision kept_decision(const cg_decision *decision)
{
    struct kept kept;
    memcpy(&kept, decision->private_, sizeof(kept));
    return kept.decision;
}

static bool convert_approvals(const cg_policy *policy, const cg_call *call, const cg_approvals *approvals,
                              struct approval *list, size_t most, struct approvals *ret)
{
    *ret = (struct approvals){.list = list,
                              .now = approvals->now,
                              .channel = call->reader.call.channel,
                              .thread = call->reader.call.thread,
                              .call_hash = approvals->call_hash};
    for (size_t i = 0; i < approvals->count; i++) {
        const cg_approval *from = &approvals->list[i];
        uint32_t id = intern_find(&policy->policy->symbols, slice_of(from->rule));
        uint32_t rule = 0;
        while (id && rule < policy->policy->rule_count && policy->policy->rules[rule].id != id) {
            rule++;
        }
        if (!id || rule == policy->policy->rule_count ||
            (from->call_hash != NULL && approvals->call_hash == NULL)) {
            continue;
        }
        if (!slice_is(ret->channel, from->channel) || !slice_is(ret->thread, from->thread)) {
            continue;
        }
        if (ret->count == most) {
            return false;
        }
        struct approval *to = &list[ret->count++];
        *to = (struct approval){.rule = rule,
                                .channel = slice_of(from->channel),
                                .thread = slice_of(from->thread),
                                .granted = from->granted,
                                .expires = from->expires,
                                .for_call = from->call_hash != NULL};
        if (from->call_hash != NULL) {
            memcpy(to->call_hash, from->call_hash, sizeof(to->call_hash));
        }
    }
    return true;
}

/* More approvals than this for one session are the caller's mistake, and deny: evaluation allocates nothing.
 */
#define APPROVALS_AT_ONCE 64

static struct decision evaluate(const cg_policy *policy, const cg_call *call, const cg_readings *readings,
                                const cg_approvals *approvals)
{
    struct approval list[APPROVALS_AT_ONCE];
    struct approvals converted = {0};
    struct decision deny = {.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
    if (policy == NULL || call == NULL || readings == NULL || readings->policy != policy->policy) {
        return deny;
    }
    if (call->result == CALL_MALFORMED) {
        deny.cause = CAUSE_MALFORMED;
        deny.detail = slice_of(call->reader.detail);
        return deny;
    }
    if (call->result == CALL_OVER_LIMIT || readings->result == READINGS_OVER_LIMIT) {
        deny.cause = CAUSE_OVER_LIMIT;
        return deny;
    }
    if (call->result != CALL_OK || readings->result != READINGS_OK) {
        return deny;
    }
    if (approvals != NULL &&
        (approvals->size < sizeof(*approvals) ||
         !convert_approvals(policy, call, approvals, list, APPROVALS_AT_ONCE, &converted))) {
        return deny;
    }
    return policy_evaluate(policy->policy, &readings->facts, readings->readings.list,
                           readings->readings.count, &converted);
}

void cg_evaluate(const cg_policy *policy, const cg_call *call, const cg_readings *readings,
                 const cg_approvals *approvals, cg_decision *ret_decision)
{
    struct kept kept = {evaluate(policy, call, readings, approvals)};
    const struct decision *decision = &kept.decision;
    if (ret_decision->size < sizeof(*ret_decision)) {
        return;
    }
    *ret_decision = (cg_decision){.size = ret_decision->size, .reading = decision->reading};
    memcpy(ret_decision->private_, &kept, sizeof(kept));
    struct slice rule = {0};
    if (decision->rule != NULL && decision->cause == CAUSE_NONE) {
        rule = policy_text(policy->policy, decision->rule->id);
    } else if (decision->kind == DECISION_DENY) {
        rule = SLICE("default");
    }
    ret_decision->rule = rule.ptr;
    ret_decision->rule_length = rule.len;
    if (decision->kind == DECISION_REQUIRE && decision->rule != NULL) {
        ret_decision->kind = CG_REQUIRE;
        ret_decision->ttl_ms = decision->rule->ttl_ms;
        ret_decision->approvers = decision->rule->approvers;
    } else if (decision->kind == DECISION_ALLOW) {
        ret_decision->kind = CG_ALLOW;
    }
}

/* As snprintf does. */
static size_t hand_out(struct buf *text, char *buffer, size_t size)
{
    size_t len = buf_ok(text) ? text->len : 0;
    if (size > 0) {
        size_t fits = len < size - 1 ? len : size - 1;
        if (fits) {
            memcpy(buffer, text->ptr, fits);
        }
        buffer[fits] = '\0';
    }
    buf_finish(text);
    return len;
}

size_t cg_decision_json(const cg_policy *policy, const cg_decision *decision, char *buffer, size_t size)
{
    struct decision kept = kept_decision(decision);
    struct buf text;
    buf_init(&text, (size_t)LIMIT_MESSAGE_BYTES * 7);
    decision_write_json(&text, policy != NULL ? policy->policy : NULL, &kept);
    return hand_out(&text, buffer, size);
}

size_t cg_decision_reason(const cg_policy *policy, const cg_decision *decision, char *buffer, size_t size)
{
    struct decision kept = kept_decision(decision);
    struct buf text;
    buf_init(&text, (size_t)LIMIT_MESSAGE_BYTES * 7);
    if (kept.kind == DECISION_DENY) {
        decision_write_reason(&text, policy != NULL ? policy->policy : NULL, &kept);
    }
    return hand_out(&text, buffer, size);
}

size_t cg_policy_rule_text(const cg_policy *policy, const char *rule, char *buffer, size_t size)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    uint32_t id = policy != NULL ? intern_find(&policy->policy->symbols, slice_of(rule)) : 0;
    for (uint32_t i = 0; id && i < policy->policy->rule_count; i++) {
        if (policy->policy->rules[i].id == id) {
            rule_write_canonical(&text, policy->policy, &policy->policy->rules[i]);
            break;
        }
    }
    return hand_out(&text, buffer, size);
}
