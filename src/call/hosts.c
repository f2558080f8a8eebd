/* Hosts of a call, each once. */
#include "call/internal.h"

bool hosts_add(struct scratch *scratch, struct sink *sink, uint32_t value, const struct url_host *host)
{
    bool is_new;
    struct text_slot *slot =
        set_add(&sink->set, scratch->seed, &scratch->out->arena, url_host_text(host), &is_new);
    if (slot == NULL) {
        return call_no_memory(scratch);
    }
    if (!is_new) {
        return true;
    }
    if (sink->set.used > LIMIT_CALL_HOSTS) {
        return call_over_limit(scratch, "256 hosts");
    }
    return sink_append(scratch, sink,
                       (struct reading){.host_kind = READING_HOST, .host = slot->text, .host_value = value});
}

bool hosts_add_unreadable(struct scratch *scratch, struct sink *sink, uint32_t value)
{
    if (sink->aside || sink->unreadable) {
        return true;
    }
    sink->unreadable = true;
    return sink_append(scratch, sink,
                       (struct reading){.host_kind = READING_HOST_UNREADABLE, .host_value = value});
}
