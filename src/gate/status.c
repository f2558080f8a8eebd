/* What a running gate says of itself to `status`. */
#include <unistd.h>

#include "base/clock.h"
#include "gate/internal.h"

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

void gate_write_policy(struct buf *buf, const struct gate *gate)
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
    buf_printf(&json, ",\"started\":\"%s\",\"reloads\":%llu,\"observing\":%s,\"policy\":", started,
               (unsigned long long)gate->reloads, gate_observes(gate) ? "true" : "false");
    gate_write_policy(&json, gate);
    buf_byte(&json, '}');
    if (!buf_ok(&json) || !registry_write(&gate->registry, REGISTRY_STATUS, buf_slice_of(&json))) {
        gate_tell(gate, "the status of this gate cannot be written");
    }
    buf_finish(&json);
}
