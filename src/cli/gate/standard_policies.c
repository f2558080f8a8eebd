/* Tells which of the standard places' policy files are used. */
#include "cli/gate/standard_policies.h"

#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"
#include "json/json.h"

struct place {
    const struct source_file *file;
    const char *state;
    char why[SOURCE_WHY_SIZE];
    uint32_t rules;
};

/* Of a file, when there is no policy: its own first error, or that another file has one. */
static void describe_unloaded(struct place *place, const struct findings *errors)
{
    place->state = access(place->file->path, F_OK) == 0 ? "not used" : source_state_name(SOURCE_ABSENT);
    for (size_t i = 0; i < errors->count; i++) {
        const struct finding *f = &errors->list[i];
        if (slice_is(f->file_name, place->file->path)) {
            place->state = "does not load";
            snprintf(place->why, sizeof(place->why), "%u:%u: %.*s", f->line, f->column,
                     SLICE_FMT(f->message));
            return;
        }
    }
    if (place->state[0] == 'n') {
        snprintf(place->why, sizeof(place->why), "another file does not load");
    }
}

static void describe(struct place *place, const struct policy *policy, const struct source_texts *texts,
                     size_t i)
{
    place->state = source_state_name(texts->states[i]);
    snprintf(place->why, sizeof(place->why), "%s", texts->why[i]);
    for (uint32_t k = 0; k < policy->file_count; k++) {
        if (policy->files[k].used && slice_is(policy->files[k].name, place->file->path)) {
            place->rules = policy->files[k].rules;
        }
    }
}

static void write_place(struct buf *out, const struct place *place, bool json)
{
    if (json) {
        buf_text(out, "{\"file\":");
        json_write_bytes(out, slice_of(place->file->path));
        buf_printf(out, ",\"rules\":%u,\"state\":\"%s\",\"tier\":\"%s\"", place->rules, place->state,
                   tier_name(place->file->tier));
        if (place->why[0]) {
            buf_text(out, ",\"why\":");
            json_write_bytes(out, slice_of(place->why));
        }
        buf_byte(out, '}');
        return;
    }
    buf_text(out, "    file     ");
    utf8_append_printable(out, slice_of(place->file->path));
    buf_printf(out, "  (tier %s, %u rules, %s%s", tier_name(place->file->tier), place->rules, place->state,
               place->why[0] ? ": " : "");
    utf8_append_printable(out, slice_of(place->why));
    buf_text(out, ")\n");
}

void standard_policies_write(struct buf *out, const struct path_base *base, bool json)
{
    struct sources sources;
    struct source_texts texts = {0};
    struct findings errors;
    findings_init(&errors);
    bool ready = sources_init(&sources) && sources_add_places(&sources, base, true);
    struct policy *policy = ready ? sources_load(&sources, base, &texts, &errors) : NULL;
    if (json) {
        buf_byte(out, '[');
    }
    for (size_t i = 0; ready && i < sources.count; i++) {
        struct place place = {.file = &sources.files[i]};
        if (policy != NULL) {
            describe(&place, policy, &texts, i);
        } else {
            describe_unloaded(&place, &errors);
        }
        if (json && i > 0) {
            buf_byte(out, ',');
        }
        write_place(out, &place, json);
    }
    if (json) {
        buf_byte(out, ']');
    }
    out->failed = out->failed || !ready || errors.failed;
    policy_destroy(policy);
    source_texts_finish(&texts);
    findings_finish(&errors);
    sources_finish(&sources);
}
