/* Adopting a policy, at start or at a reload: told, journalled, shown. SPEC.md section 8. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/clock.h"
#include "base/file.h"
#include "gate/internal.h"

/* The policies that `broad` warnings were told of, the last ones: a digest a line, in the state directory. Said at every
 * start, they would be read at none. */
#define WARNED_FILE "warned"
#define WARNED_MOST ((size_t)32 * (HASH_HEX + 1))

/* Whether this policy's were told before; notes that they are told now. When that cannot be read, they were not. */
static bool was_told(struct gate *gate)
{
    struct buf text, now;
    bool told = false;
    buf_init(&text, WARNED_MOST + 1);
    buf_init(&now, 2 * WARNED_MOST);
    if (!file_read_at(gate->ledger->dir, WARNED_FILE, &text)) {
        buf_reset(&text);
    }
    buf_printf(&now, "%s\n", gate->digest);
    for (size_t at = 0; at + HASH_HEX < text.len; at += HASH_HEX + 1) {
        struct slice line = {text.ptr + at, HASH_HEX + 1};
        told = told || slice_eq(line, (struct slice){now.ptr, HASH_HEX + 1});
        if (now.len < WARNED_MOST) {
            buf_slice(&now, line);
        }
    }
    if (!told && buf_ok(&now)) {
        (void)!file_replace_at(gate->ledger->dir, WARNED_FILE ".new", WARNED_FILE, buf_slice_of(&now), false);
    }
    buf_finish(&text);
    buf_finish(&now);
    return told;
}

static bool has_broad(const struct findings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++) {
        if (strcmp(warnings->list[i].code, "broad") == 0) {
            return true;
        }
    }
    return false;
}

/* To standard error and to the journal; of `broad`, a policy's only once to the former. */
static void write_warnings(struct gate *gate, struct buf *detail, const struct findings *warnings)
{
    bool told = has_broad(warnings) && was_told(gate);
    struct buf line;
    buf_init(&line, 64u << 10);
    buf_text(detail, ",\"warnings\":[");
    for (size_t i = 0; i < warnings->count && i < EVENT_LIST_MOST; i++) {
        buf_reset(&line);
        lint_write_text(&line, &warnings->list[i]);
        if (!told || strcmp(warnings->list[i].code, "broad") != 0) {
            gate_tell(gate, "%.*s", SLICE_FMT(buf_slice_of(&line)));
        }
        if (i) {
            buf_byte(detail, ',');
        }
        json_write_bytes(detail, buf_slice_of(&line));
    }
    if (warnings->count > EVENT_LIST_MOST) {
        gate_tell(gate, "and %zu more warnings: callgate check lists all", warnings->count - EVENT_LIST_MOST);
    }
    buf_byte(detail, ']');
    buf_finish(&line);
}

static void tell_doubts(struct gate *gate)
{
    struct buf lines;
    buf_init(&lines, 1u << 20);
    sources_write_doubts(&lines, gate->options.sources);
    if (lines.len && buf_ok(&lines)) { /* what is told ends its line itself */
        gate_tell(gate, "%.*s", (int)lines.len - 1, lines.ptr);
    }
    buf_finish(&lines);
}

static bool note_loaded(struct gate *gate, const struct findings *warnings)
{
    struct buf detail, error;
    buf_init(&detail, 4u << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    buf_text(&detail, "{\"policy\":");
    gate_write_policy(&detail, gate);
    buf_text(&detail, gate_observes(gate) ? ",\"observing\":true" : "");
    write_warnings(gate, &detail, warnings);
    buf_byte(&detail, '}');
    struct event event = {.kind = "policy.loaded", .detail = buf_slice_of(&detail)};
    bool noted = buf_ok(&detail) && journal_stage(gate->ledger->journal, &event) &&
                 journal_commit(gate->ledger->journal, true, &error);
    if (!noted) {
        gate_tell_journal(gate, buf_message(&error));
    }
    buf_finish(&detail);
    buf_finish(&error);
    return noted || gate->options.journal_optional;
}

bool gate_adopt(struct gate *gate, struct policy *policy, struct source_texts *texts)
{
    char digest[HASH_HEX + 1] = "";
    struct findings warnings;
    findings_init(&warnings);
    bool ready = true;
    if (!gate->options.brief) {
        lint(policy, &warnings);
        ready = policy_digest(policy, digest) && !warnings.failed;
    }
    if (!ready) {
        findings_finish(&warnings);
        policy_destroy(policy);
        return false;
    }
    policy_destroy(gate->policy);
    free(gate->rules_of_ids);
    gate->rules_of_ids = NULL;
    source_texts_finish(&gate->texts);
    gate->policy = policy;
    gate->texts = *texts;
    *texts = (struct source_texts){0};
    memcpy(gate->digest, digest, sizeof(digest));
    gate->generation++;
    gate->loaded_ms = clock_wall_ms();
    gate->warnings = warnings.count;
    if (gate->registered && !registry_write(&gate->registry, REGISTRY_REFUSED, (struct slice){0})) {
        gate_tell(gate, "the list of refused reloads cannot be written");
    }
    gate_tell_observing(gate);
    if (!gate->options.brief) {
        tell_doubts(gate);
        gate->turn_failed = !note_loaded(gate, &warnings) || gate->turn_failed;
        gate_tell_stale(gate);
    }
    gate_write_status(gate);
    findings_finish(&warnings);
    return true;
}
