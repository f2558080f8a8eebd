/* Approvals that no longer count, because their rule is no longer what people approved. SPEC.md section 6. */
#include <string.h>

#include "base/utf8.h"
#include "gate/judge_internal.h"

#define STALE_NAMED ((size_t)20) /* rules named in one line; it says how many more */

static bool is_stale(struct gate *gate, const struct grant *grant)
{
    uint8_t digest[HASH_SIZE];
    const struct rule *rule = gate_rule_by_id(gate, grant->rule);
    /* A rule that is not here may be another gate's. */
    return rule != NULL && judged_rule_digest(gate->policy, rule, digest) &&
           memcmp(digest, grant->rule_digest, HASH_SIZE) != 0;
}

static bool is_named(const struct grant *const *stale, size_t count, struct slice rule)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_eq(stale[i]->rule, rule)) {
            return true;
        }
    }
    return false;
}

static void tell(struct gate *gate, const struct grant *const *stale, size_t named, size_t count)
{
    struct buf line, detail;
    buf_init_message(&line, MESSAGE_BYTES);
    buf_init(&detail, DETAIL_BYTES);
    buf_printf(&line, "%zu approval(s) no longer count, because their rule has changed:", count);
    buf_text(&detail, "{\"rules\":[");
    for (size_t i = 0; i < named && i < STALE_NAMED; i++) {
        buf_text(&line, i > 0 ? ", '" : " '");
        utf8_append_printable(&line, stale[i]->rule);
        buf_byte(&line, '\'');
        buf_text(&detail, i > 0 ? "," : "");
        json_write_bytes(&detail, stale[i]->rule);
    }
    if (named > STALE_NAMED) {
        buf_printf(&line, " and %zu more rules", named - STALE_NAMED);
    }
    buf_printf(&detail, "],\"approvals\":%zu}", count);
    gate_tell(gate, "%.*s", SLICE_FMT(buf_message(&line)));
    struct event event = {.kind = "approval.stale", .detail = buf_slice_of(&detail)};
    if (buf_ok(&detail)) {
        gate_stage(gate, &event);
    }
    buf_finish(&line);
    buf_finish(&detail);
}

void gate_tell_stale(struct gate *gate)
{
    struct grant *grants = NULL;
    size_t count = 0, stale_count = 0, named = 0;
    struct arena arena;
    if (gate->ledger->store == NULL) {
        return;
    }
    arena_init(&arena, 0);
    bool read = store_all_grants(gate->ledger->store, times_now(), &arena, &grants, &count) == STORE_DONE;
    const struct grant **stale = read ? arena_array(&arena, count + 1, sizeof(*stale)) : NULL;
    for (size_t i = 0; stale != NULL && i < count; i++) {
        if (is_stale(gate, &grants[i])) {
            stale_count++;
            if (!is_named(stale, named, grants[i].rule)) {
                stale[named++] = &grants[i];
            }
        }
    }
    if (stale_count > 0) {
        tell(gate, stale, named, stale_count);
    }
    arena_finish(&arena);
}
