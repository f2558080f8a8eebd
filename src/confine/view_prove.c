/* The questions: a document of assertions over the policy, and the analysis that proves them. */
#include <string.h>

#include "confine/view_internal.h"
#include "policy/policy.h"

#define DOCUMENT_BYTES ((size_t)256 << 20)

static void write_document(struct buf *text, const struct view_question *questions, size_t count)
{
    buf_text(text, "{\"rules\":[],\"assertions\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(text, "%s{\"name\":\"%zu\",\"match\":{\"pathPrefix\":", i > 0 ? "," : "", i);
        json_write_bytes(text, questions[i].path);
        buf_text(text, "},\"never\":[\"allow\",\"require\"],\"evenApproved\":true}");
    }
    buf_text(text, "]}");
}

static bool ask(const struct policy *policy, const struct policy *asked, const struct path_base *base,
                struct view_question *questions, struct arena *arena)
{
    struct buf call;
    struct analysis *analysis =
        analysis_create(policy, asked->assertion_space, asked->assertions, asked->assertion_count, base);
    bool ok = analysis != NULL;
    buf_init(&call, (size_t)64 << 20);
    for (uint32_t i = 0; ok && i < asked->assertion_count; i++) {
        struct refutation refutation = {0};
        buf_reset(&call);
        questions[i].proved = assertion_prove(analysis, i, &refutation, &call) == ASSERTION_PROVED;
        if (!questions[i].proved && refutation.rule != NULL) {
            questions[i].against = arena_copy(arena, policy_text(policy, refutation.rule->id));
        }
    }
    buf_finish(&call);
    analysis_destroy(analysis);
    return ok;
}

bool view_prove(const struct policy *policy, const struct path_base *base, struct view_question *questions,
                size_t count, struct arena *arena, struct buf *ret_error)
{
    struct buf text;
    struct findings errors;
    if (count == 0) {
        return true;
    }
    buf_init(&text, DOCUMENT_BYTES);
    findings_init(&errors);
    write_document(&text, questions, count);
    const struct policy_source source = {SLICE("the view's questions"), TIER_DEFAULT, false,
                                         buf_slice_of(&text)};
    struct policy *asked = buf_ok(&text) ? policy_load(&source, 1, base, &errors) : NULL;
    bool ok = asked != NULL && asked->assertion_count == count && ask(policy, asked, base, questions, arena);
    if (!ok) {
        buf_text(ret_error, "the policy cannot be turned into a view: ");
        buf_slice(ret_error, errors.count > 0 ? errors.list[0].message : SLICE("no memory"));
    }
    policy_destroy(asked);
    findings_finish(&errors);
    buf_finish(&text);
    return ok;
}
