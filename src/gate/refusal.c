/* A reload that was refused: told, journalled, and kept for review. */
#include "base/clock.h"
#include "gate/inside.h"

/* More than this many of a kind in one event help nobody. */
#define LISTED_MOST 100

void refusal_init(struct refusal *refusal)
{
    *refusal = (struct refusal){0};
    findings_init(&refusal->errors);
    violations_init(&refusal->violations);
    diff_init(&refusal->diff);
    diff_init(&refusal->unreadable);
}

void refusal_finish(struct refusal *refusal)
{
    diff_finish(&refusal->unreadable);
    diff_finish(&refusal->diff);
    violations_finish(&refusal->violations);
    findings_finish(&refusal->errors);
    policy_destroy(refusal->baseline);
    policy_destroy(refusal->policy);
}

static void write_error_list(struct buf *json, const struct findings *errors)
{
    for (size_t i = 0; i < errors->count && i < LISTED_MOST; i++) {
        const struct finding *f = &errors->list[i];
        buf_printf(json, "%s{\"code\":\"%s\",\"file\":", i ? "," : "", f->code);
        json_write_bytes(json, f->file_name);
        buf_printf(json, ",\"line\":%u,\"message\":", f->line);
        json_write_bytes(json, f->message);
        buf_byte(json, '}');
    }
}

static void write_violation_list(struct gate *gate, struct buf *json, const struct violations *violations)
{
    for (size_t i = 0; i < violations->count && i < LISTED_MOST; i++) {
        const struct violation *v = &violations->list[i];
        gate_tell(gate, "%.*s", SLICE_FMT(v->message));
        buf_text(json, i ? ",{\"existingDeny\":" : "{\"existingDeny\":");
        json_write_bytes(json, v->existing_deny);
        buf_text(json, ",\"newRule\":");
        json_write_bytes(json, v->new_rule);
        buf_byte(json, '}');
    }
}

/* The first weakenings of a difference, each with a call that shows it; *listed counts them. */
static void write_weaker(struct gate *gate, struct buf *json, const struct diff *diff, bool unreadable,
                         size_t *listed)
{
    for (size_t i = 0; i < diff->count && *listed < LISTED_MOST; i++) {
        const struct diff_class *class = &diff->list[i];
        if (!class->weaker) {
            continue;
        }
        gate_tell(gate, "weaker than the baseline: %s becomes %s for %.*s%s",
                  decision_kind_name(class->from.kind), decision_kind_name(class->to.kind),
                  SLICE_FMT(class->match), unreadable ? " with a path that cannot be resolved" : "");
        buf_printf(json, "%s{\"from\":\"%s\",\"match\":", (*listed)++ ? "," : "",
                   decision_kind_name(class->from.kind));
        buf_slice(json, class->match.len ? class->match : SLICE("{}"));
        buf_printf(json, ",\"to\":\"%s\"%s,\"witness\":", decision_kind_name(class->to.kind),
                   unreadable ? ",\"unreadable\":true" : "");
        buf_slice(json, class->witness.ptr != NULL ? class->witness : SLICE("null"));
        buf_byte(json, '}');
    }
}

static void write_weaker_list(struct gate *gate, struct buf *json, const struct refusal *refusal)
{
    size_t listed = 0;
    write_weaker(gate, json, &refusal->diff, false, &listed);
    write_weaker(gate, json, &refusal->unreadable, true, &listed);
    if (listed) {
        gate_tell(gate, "to accept exactly this: callgate acknowledge %s", refusal->new_digest);
    }
}

void gate_refuse(struct gate *gate, const struct refusal *refusal)
{
    char when[CLOCK_ISO_SIZE];
    struct buf json, error;
    clock_iso8601(clock_wall_ms(), when);
    buf_init(&json, 1u << 20);
    buf_init(&error, 4096);
    buf_printf(&json, "{\"when\":\"%s\",\"errors\":[", when);
    write_error_list(&json, &refusal->errors);
    buf_text(&json, "],\"violations\":[");
    write_violation_list(gate, &json, &refusal->violations);
    buf_text(&json, "],\"weaker\":[");
    write_weaker_list(gate, &json, refusal);
    buf_byte(&json, ']');
    if (refusal->new_digest[0] && (diff_is_weaker(&refusal->diff) || diff_is_weaker(&refusal->unreadable))) {
        buf_printf(&json, ",\"digest\":\"%s\"", refusal->new_digest);
    }
    buf_byte(&json, '}');
    if (!buf_ok(&json)) {
        buf_reset(&json);
        buf_printf(&json, "{\"when\":\"%s\"}", when);
    }
    struct event event = {.kind = "policy.reload_refused", .detail = buf_slice_of(&json)};
    if (!journal_stage(gate->desk.journal, &event) || !journal_commit(gate->desk.journal, true, &error)) {
        gate_tell_journal(gate, error.len ? buf_slice_of(&error) : SLICE("no memory"));
    }
    gate_tell(gate, "reload refused: the running policy stays");
    if (gate->registered && !registry_write(&gate->registry, REGISTRY_REFUSED, buf_slice_of(&json))) {
        gate_tell(gate, "the list of refused reloads cannot be written");
    }
    buf_finish(&json);
    buf_finish(&error);
    gate_write_status(gate);
}
