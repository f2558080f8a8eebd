/* A reload that was refused: told, journalled, and kept for review. */
#include "base/clock.h"
#include "gate/internal.h"

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
    confined_finish(&refusal->confined);
    diff_finish(&refusal->unreadable);
    diff_finish(&refusal->diff);
    violations_finish(&refusal->violations);
    findings_finish(&refusal->errors);
    policy_destroy(refusal->baseline);
    policy_destroy(refusal->policy);
}

/* ---- As JSON, for the journal (cut to EVENT_LIST_MOST of each kind) and for review (whole) ---- */

static void write_error_list(struct buf *json, const struct findings *errors, size_t most)
{
    buf_text(json, ",\"errors\":[");
    for (size_t i = 0; i < errors->count && i < most; i++) {
        const struct finding *f = &errors->list[i];
        buf_printf(json, "%s{\"code\":\"%s\",\"file\":", i ? "," : "", f->code);
        json_write_bytes(json, f->file_name);
        buf_printf(json, ",\"line\":%u,\"message\":", f->line);
        json_write_bytes(json, f->message);
        buf_byte(json, '}');
    }
    buf_byte(json, ']');
    if (errors->count > most) {
        buf_printf(json, ",\"moreErrors\":%zu", errors->count - most);
    }
}

static void write_violation_list(struct buf *json, const struct violations *violations, size_t most)
{
    buf_text(json, ",\"violations\":[");
    for (size_t i = 0; i < violations->count && i < most; i++) {
        const struct violation *v = &violations->list[i];
        buf_text(json, i ? ",{\"existingDeny\":" : "{\"existingDeny\":");
        json_write_bytes(json, v->existing_deny);
        buf_text(json, ",\"newRule\":");
        json_write_bytes(json, v->new_rule);
        buf_byte(json, '}');
    }
    buf_byte(json, ']');
    if (violations->count > most) {
        buf_printf(json, ",\"moreViolations\":%zu", violations->count - most);
    }
}

/* The weakenings of a difference, each with a call that shows it; *count counts them, listed or not. */
static void write_weaker(struct buf *json, const struct diff *diff, bool unreadable, size_t most,
                         size_t *count)
{
    for (size_t i = 0; i < diff->count; i++) {
        const struct diff_class *class = &diff->list[i];
        if (!class->weaker || (*count)++ >= most) {
            continue;
        }
        buf_printf(json, "%s{\"from\":\"%s\",\"match\":", *count > 1 ? "," : "",
                   decision_kind_name(class->from.kind));
        buf_slice(json, class->match.len ? class->match : SLICE("{}"));
        buf_printf(json, ",\"to\":\"%s\"%s,\"witness\":", decision_kind_name(class->to.kind),
                   unreadable ? ",\"unreadable\":true" : "");
        buf_slice(json, class->witness.ptr != NULL ? class->witness : SLICE("null"));
        buf_byte(json, '}');
    }
}

/* The weakenings of `confine`. */
static void write_confined(struct buf *json, const struct confined_changes *confined, size_t most)
{
    size_t count = 0;
    if (confined->weaker == 0) {
        return;
    }
    for (size_t i = 0; i < confined->count; i++) {
        const struct confined_change *change = &confined->list[i];
        if (change->weaker && count++ < most) {
            buf_printf(json, "%s{\"added\":%s,\"list\":\"%s\",\"place\":", count > 1 ? "," : ",\"confine\":[",
                       change->added ? "true" : "false", change->writes ? "write" : "read");
            json_write_bytes(json, change->place);
            buf_byte(json, '}');
        }
    }
    buf_byte(json, ']');
    if (count > most) {
        buf_printf(json, ",\"moreConfine\":%zu", count - most);
    }
}

/* Whether it is a weakening that an operator can accept. */
static bool is_weaker(const struct refusal *refusal, size_t weaker_classes)
{
    return weaker_classes > 0 || refusal->allows_observing || refusal->confined.weaker > 0;
}

/* False when it does not fit. */
static bool write_refusal(struct buf *json, const struct refusal *refusal, const char *when, size_t most)
{
    size_t weaker = 0;
    buf_printf(json, "{\"when\":\"%s\"", when);
    write_error_list(json, &refusal->errors, most);
    write_violation_list(json, &refusal->violations, most);
    buf_text(json, ",\"weaker\":[");
    write_weaker(json, &refusal->diff, false, most, &weaker);
    write_weaker(json, &refusal->unreadable, true, most, &weaker);
    buf_byte(json, ']');
    if (weaker > most) {
        buf_printf(json, ",\"moreWeaker\":%zu", weaker - most);
    }
    if (refusal->allows_observing) {
        buf_text(json, ",\"allowsObserving\":true");
    }
    write_confined(json, &refusal->confined, most);
    if (refusal->new_digest[0] && is_weaker(refusal, weaker)) {
        buf_printf(json, ",\"digest\":\"%s\"", refusal->new_digest);
    }
    buf_byte(json, '}');
    return buf_ok(json);
}

static void write_what_fits(struct buf *json, const struct refusal *refusal, const char *when, size_t most)
{
    buf_reset(json);
    if (write_refusal(json, refusal, when, most)) {
        return;
    }
    buf_reset(json);
    if (!write_refusal(json, refusal, when, EVENT_LIST_MOST)) {
        buf_reset(json);
        buf_printf(json, "{\"when\":\"%s\"}", when);
    }
}

/* ---- To the operator ---- */

static size_t tell_weaker(struct gate *gate, const struct diff *diff, bool unreadable)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->count; i++) {
        const struct diff_class *class = &diff->list[i];
        if (!class->weaker) {
            continue;
        }
        count++;
        gate_tell(gate, "weaker than the baseline: %s becomes %s for %.*s%s",
                  decision_kind_name(class->from.kind), decision_kind_name(class->to.kind),
                  SLICE_FMT(class->match), unreadable ? " with a path that cannot be resolved" : "");
    }
    return count;
}

static void tell(struct gate *gate, const struct refusal *refusal)
{
    for (size_t i = 0; i < refusal->violations.count; i++) {
        gate_tell(gate, "%.*s", SLICE_FMT(refusal->violations.list[i].message));
    }
    size_t weaker = tell_weaker(gate, &refusal->diff, false) + tell_weaker(gate, &refusal->unreadable, true);
    if (refusal->allows_observing) {
        gate_tell(gate, "weaker than the baseline: observing is no longer forbidden (allowObserve)");
    }
    for (size_t i = 0; i < refusal->confined.count; i++) {
        const struct confined_change *change = &refusal->confined.list[i];
        if (change->weaker) {
            gate_tell(gate, "weaker than the baseline: confine.%s %s '%.*s'",
                      change->writes ? "write" : "read", change->writes ? "gets" : "loses",
                      SLICE_FMT(change->place));
        }
    }
    if (is_weaker(refusal, weaker)) {
        gate_tell(gate, "to accept exactly this: callgate acknowledge %s", refusal->new_digest);
    }
    gate_tell(gate, "reload refused: the running policy stays");
}

static void journal_refusal(struct gate *gate, const struct refusal *refusal, const char *when)
{
    struct buf json, error;
    buf_init(&json, 1u << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    write_what_fits(&json, refusal, when, EVENT_LIST_MOST);
    struct event event = {.kind = "policy.reload_refused", .detail = buf_slice_of(&json)};
    if (!journal_stage(gate->ledger->journal, &event) ||
        !journal_commit(gate->ledger->journal, true, &error)) {
        gate_tell_journal(gate, buf_message(&error));
    }
    buf_finish(&json);
    buf_finish(&error);
}

void gate_refuse(struct gate *gate, const struct refusal *refusal)
{
    char when[CLOCK_ISO_SIZE];
    struct buf json;
    clock_iso8601(clock_wall_ms(), when);
    journal_refusal(gate, refusal, when);
    tell(gate, refusal);
    buf_init(&json, REGISTRY_FILE_MOST);
    write_what_fits(&json, refusal, when, SIZE_MAX);
    if (gate->registered && !registry_write(&gate->registry, REGISTRY_REFUSED, buf_slice_of(&json))) {
        gate_tell(gate, "the list of refused reloads cannot be written");
    }
    buf_finish(&json);
    gate_write_status(gate);
}
