/* A policy is taken over, at start or at a reload, or refused. SPEC.md section 8. */
#include <stdlib.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/clock.h"
#include "gate/inside.h"

/* More than this many warnings or violations in one event help nobody. */
#define LISTED_MOST 100

bool policy_digest(const struct policy *policy, char ret_hex[HASH_HEX + 1])
{
    struct buf text;
    uint8_t hash[HASH_SIZE];
    buf_init(&text, (size_t)2 << 30);
    policy_write_canonical(&text, policy);
    bool ok = buf_ok(&text) && hash_bytes(buf_slice_of(&text), hash);
    buf_finish(&text);
    if (ok) {
        hash_to_hex(hash, ret_hex);
    }
    return ok;
}

static void tell_unnamed(const struct policy *policy, const struct rule *rule, struct findings *ret_errors)
{
    struct finding *finding = findings_add(ret_errors, "server",
                                           "it names a server, and this server has no name: say which it is "
                                           "with --server NAME");
    if (finding == NULL) {
        return;
    }
    finding->file = rule->file;
    finding->file_name = arena_copy(&ret_errors->arena, policy->files[rule->file].name);
    finding->line = rule->line;
    finding->column = rule->column;
    finding->rule = arena_copy(&ret_errors->arena, policy_text(policy, rule->id));
}

struct policy *gate_load(const struct gate *gate, struct source_texts *texts, struct findings *ret_errors)
{
    struct policy *policy = sources_load(gate->options.sources, &gate->options.base, texts, ret_errors);
    if (policy == NULL || !gate->options.must_name_server || gate->options.server.ptr != NULL ||
        !policy->names_server) {
        return policy;
    }
    const struct rule *rule = policy->rules;
    while (rule->match.server == 0) {
        rule++;
    }
    tell_unnamed(policy, rule, ret_errors);
    policy_destroy(policy);
    return NULL;
}

static uint32_t rules_of(const struct policy *policy, const char *path)
{
    for (uint32_t i = 0; i < policy->file_count; i++) {
        if (policy->files[i].used && slice_is(policy->files[i].name, path)) {
            return policy->files[i].rules;
        }
    }
    return 0;
}

/* Every file that was considered, and what became of it. */
static void write_files(struct buf *buf, const struct gate *gate)
{
    const struct sources *sources = gate->options.sources;
    buf_byte(buf, '[');
    for (size_t i = 0; i < sources->count && i < gate->texts.count; i++) {
        const struct source_file *file = &sources->files[i];
        buf_text(buf, i ? ",{\"file\":" : "{\"file\":");
        json_write_bytes(buf, slice_of(file->path));
        buf_printf(buf, ",\"rules\":%u,\"state\":\"%s\",\"tier\":\"%s\"", rules_of(gate->policy, file->path),
                   source_state_name(gate->texts.states[i]),
                   file->at_tier ? tier_name(file->tier) : "operator");
        if (gate->texts.why[i][0]) {
            buf_text(buf, ",\"why\":");
            json_write_bytes(buf, slice_of(gate->texts.why[i]));
        }
        buf_byte(buf, '}');
    }
    buf_byte(buf, ']');
}

static void write_policy(struct buf *buf, const struct gate *gate)
{
    char loaded[CLOCK_ISO_SIZE];
    clock_iso8601(gate->loaded_ms, loaded);
    buf_printf(
        buf,
        "{\"digest\":\"%s\",\"generation\":%llu,\"loaded\":\"%s\",\"rules\":%u,\"warnings\":%zu,\"files\":",
        gate->digest, (unsigned long long)gate->generation, loaded, gate->policy->rule_count, gate->warnings);
    write_files(buf, gate);
    buf_byte(buf, '}');
}

void gate_write_status(struct gate *gate)
{
    if (!gate->registered) {
        return;
    }
    char started[CLOCK_ISO_SIZE];
    struct buf json;
    buf_init(&json, 1u << 20);
    clock_iso8601(gate->started_ms, started);
    buf_printf(&json, "{\"pid\":%ld,\"surface\":", (long)getpid());
    json_write_string(&json, slice_of(gate->options.surface));
    buf_text(&json, ",\"server\":");
    if (gate->options.server.ptr != NULL) {
        json_write_bytes(&json, gate->options.server);
    } else {
        buf_text(&json, "null");
    }
    buf_printf(&json, ",\"started\":\"%s\",\"reloads\":%llu,\"policy\":", started,
               (unsigned long long)gate->reloads);
    write_policy(&json, gate);
    buf_byte(&json, '}');
    if (!buf_ok(&json) || !registry_write(&gate->registry, REGISTRY_STATUS, buf_slice_of(&json))) {
        gate_tell(gate, "the status of this gate cannot be written");
    }
    buf_finish(&json);
}

static void write_warnings(struct gate *gate, struct buf *detail, const struct findings *warnings)
{
    struct buf line;
    buf_init(&line, 64u << 10);
    buf_text(detail, ",\"warnings\":[");
    for (size_t i = 0; i < warnings->count && i < LISTED_MOST; i++) {
        buf_reset(&line);
        lint_write_text(&line, &warnings->list[i]);
        gate_tell(gate, "%.*s", SLICE_FMT(buf_slice_of(&line)));
        if (i) {
            buf_byte(detail, ',');
        }
        json_write_bytes(detail, buf_slice_of(&line));
    }
    if (warnings->count > LISTED_MOST) {
        gate_tell(gate, "and %zu more warnings: callgate check lists all", warnings->count - LISTED_MOST);
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
    buf_init(&error, 4096);
    buf_text(&detail, "{\"policy\":");
    write_policy(&detail, gate);
    write_warnings(gate, &detail, warnings);
    buf_byte(&detail, '}');
    struct event event = {.kind = "policy.loaded", .detail = buf_slice_of(&detail)};
    bool noted = buf_ok(&detail) && journal_stage(gate->desk.journal, &event) &&
                 journal_commit(gate->desk.journal, true, &error);
    if (!noted) {
        gate_tell_journal(gate, error.len ? buf_slice_of(&error) : SLICE("no memory"));
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
    if (!gate->options.brief) {
        tell_doubts(gate);
        gate->turn_failed = !note_loaded(gate, &warnings) || gate->turn_failed;
    }
    gate_write_status(gate);
    findings_finish(&warnings);
    return true;
}

/* ---- Reload ---- */

/* A source's texts must not become the last good ones before the whole policy is adopted. */
static bool copy_texts(const struct source_texts *texts, struct source_texts *ret_copy)
{
    *ret_copy = (struct source_texts){.list = calloc(texts->count + 1, sizeof(*ret_copy->list)),
                                      .states = calloc(texts->count + 1, sizeof(*ret_copy->states)),
                                      .count = texts->count};
    if (ret_copy->list == NULL || ret_copy->states == NULL) {
        ret_copy->count = 0;
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < texts->count; i++) {
        buf_init(&ret_copy->list[i], texts->list[i].ceiling);
        buf_slice(&ret_copy->list[i], buf_slice_of(&texts->list[i]));
        ok = ok && buf_ok(&ret_copy->list[i]);
    }
    return ok;
}

/* With --no-weakening: what the new policy decides less strictly than the acknowledged baseline, or until
 * there is one than the policy at start. Sets diff.failed when that cannot be told. */
static void find_weakening(struct gate *gate, struct refusal *refusal)
{
    struct buf error;
    buf_init(&error, 4096);
    enum baseline_result result = baseline_load(gate->desk.dir, &refusal->baseline, &error);
    const struct policy *from = result == BASELINE_READ ? refusal->baseline : gate->first;
    if (result == BASELINE_FAILED || !policy_digest(refusal->policy, refusal->new_digest)) {
        gate_tell(gate, "the reload cannot be compared with the baseline: %.*s",
                  SLICE_FMT(buf_slice_of(&error)));
        refusal->diff.failed = true;
    } else {
        diff_find(from, refusal->policy, &gate->options.base, DIFF_BRIEF, &refusal->diff);
        diff_find_unreadable(from, refusal->policy, &gate->options.base, DIFF_BRIEF, &refusal->unreadable);
    }
    buf_finish(&error);
}

static bool is_refused(const struct refusal *refusal)
{
    return diff_is_weaker(&refusal->diff) || diff_is_weaker(&refusal->unreadable) ||
           refusal->violations.failed || refusal->violations.count > 0;
}

bool gate_reload(struct gate *gate)
{
    struct refusal refusal;
    struct source_texts texts = {0};
    struct buf lines;
    bool adopted = false;
    gate->reloads++;
    refusal_init(&refusal);
    buf_init(&lines, 4u << 20);
    if (copy_texts(&gate->texts, &texts)) {
        refusal.policy = gate_load(gate, &texts, &refusal.errors);
    }
    sources_write_errors(&lines, &refusal.errors);
    if (lines.len) { /* what is told ends its line itself */
        gate_tell(gate, "%.*s", (int)lines.len - 1, lines.ptr);
    }
    if (refusal.policy != NULL) {
        violations_find(gate->policy, refusal.policy, &refusal.violations);
    }
    if (refusal.policy != NULL && gate->options.no_weakening) {
        find_weakening(gate, &refusal);
    }
    if (refusal.policy != NULL && !is_refused(&refusal)) {
        adopted = gate_adopt(gate, refusal.policy, &texts);
        refusal.policy = NULL; /* adopted or destroyed */
    }
    if (adopted) {
        gate_tell(gate, "policy reloaded: generation %llu, %u rules", (unsigned long long)gate->generation,
                  gate->policy->rule_count);
    } else {
        gate_refuse(gate, &refusal);
    }
    refusal_finish(&refusal);
    source_texts_finish(&texts);
    buf_finish(&lines);
    return adopted;
}
