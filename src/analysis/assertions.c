/* The assertions that documents carry: proved whenever a policy is loaded. */
#include "analysis/analysis.h"

#include <stdio.h>

/* The assertion's place in its own document. */
static struct slice pointer_of(const struct policy *policy, const struct assertion *assertion,
                               struct arena *arena)
{
    char text[48];
    size_t index = 0;
    for (const struct assertion *a = policy->assertions; a < assertion; a++) {
        index += a->file == assertion->file;
    }
    int len = snprintf(text, sizeof(text), "/assertions/%zu", index);
    return arena_copy(arena, (struct slice){text, (size_t)len});
}

static void add_finding(const struct policy *policy, const struct assertion *assertion,
                        enum assertion_result result, const struct refutation *refutation, struct slice call,
                        struct findings *errors)
{
    struct slice name = policy_text(policy->assertion_space, assertion->name);
    struct slice rule = refutation->rule != NULL ? policy_text(policy, refutation->rule->id) : SLICE("");
    const char *before = refutation->rule != NULL ? "rule '" : "the default",
               *behind = refutation->rule != NULL ? "'" : "";
    struct finding *f;
    if (result == ASSERTION_REFUTED) {
        f = findings_add(
            errors, "assertion-refuted",
            "assertion '%.*s' is refuted: %s%.*s%s decides %s for %.*s: change the rule or the assertion",
            SLICE_FMT(name), before, SLICE_FMT(rule), behind, decision_kind_name(refutation->kind),
            SLICE_FMT(call));
    } else if (result == ASSERTION_UNCONFIRMED) {
        f = findings_add(
            errors, "assertion-refuted",
            "assertion '%.*s' is not proved: %s%.*s%s stands against it: change the rule or the assertion",
            SLICE_FMT(name), before, SLICE_FMT(rule), behind);
    } else {
        f = findings_add(errors, "assertion-refuted",
                         "assertion '%.*s' could not be proved (memory, or too many steps)", SLICE_FMT(name));
    }
    if (f == NULL) {
        return;
    }
    f->file = assertion->file;
    f->file_name = arena_copy(&errors->arena, policy->files[assertion->file].name);
    f->pointer = pointer_of(policy, assertion, &errors->arena);
    f->line = assertion->line;
    f->column = assertion->column;
}

bool assertions_check(const struct policy *policy, const struct path_base *base, struct findings *errors)
{
    struct buf call;
    bool all = true;
    if (policy->assertion_count == 0) {
        return true;
    }
    struct analysis *analysis =
        analysis_create(policy, policy->assertion_space, policy->assertions, policy->assertion_count, base);
    if (analysis == NULL) {
        errors->failed = true;
        return false;
    }
    buf_init(&call, (size_t)64 << 20);
    for (uint32_t i = 0; i < policy->assertion_count; i++) {
        struct refutation refutation = {0};
        buf_reset(&call);
        enum assertion_result result = assertion_prove(analysis, i, &refutation, &call);
        if (result == ASSERTION_PROVED) {
            continue;
        }
        all = false;
        add_finding(policy, &policy->assertions[i], result, &refutation, buf_slice_of(&call), errors);
    }
    buf_finish(&call);
    analysis_destroy(analysis);
    return all;
}
