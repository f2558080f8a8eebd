/* A session's life, and its way to the journal and the operator. */
#include "mcp/session_inside_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void session_say(struct session *s, const char *line)
{
    if (s->options->say != NULL) {
        s->options->say(line);
    }
}

void session_note(struct session *s, const char *kind, const char *what, struct slice method)
{
    const struct call_defaults *defaults = &s->options->defaults;
    struct buf detail;
    buf_init(&detail, (size_t)4 << 10);
    buf_text(&detail, "{\"what\":");
    json_write_string(&detail, slice_of(what));
    if (method.len > 0 && method.len <= 256) {
        buf_text(&detail, ",\"method\":");
        json_write_bytes(&detail, method);
    }
    buf_byte(&detail, '}');
    struct event event = {
        .kind = kind,
        .server = defaults->server,
        .has_session = true,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .detail = buf_ok(&detail) ? buf_slice_of(&detail) : (struct slice){0},
    };
    gate_note(s->gate, &event);
    s->batch.staged = true;
    buf_finish(&detail);
}

void session_pass(struct session *s, struct slice raw)
{
    if (!batch_add(&s->batch, raw, false)) {
        s->fault = "no memory";
    }
}

/* ---- How calls end ---- */

struct sent_call {
    uint64_t sent_ms;
    char correlation[GATE_CORRELATION_SIZE];
    size_t tool_len;
    char tool[];
};

void session_note_sent(struct session *s, struct ids_entry *entry, struct slice tool,
                       const char correlation[GATE_CORRELATION_SIZE])
{
    struct sent_call *sent = s->options->outcomes_off ? NULL : malloc(sizeof(*sent) + tool.len);
    if (sent == NULL) {
        return;
    }
    *sent = (struct sent_call){.sent_ms = s->now_ms, .tool_len = tool.len};
    memcpy(sent->correlation, correlation, sizeof(sent->correlation));
    memcpy(sent->tool, tool.ptr, tool.len);
    entry->sent = sent;
}

void session_note_end(struct session *s, const struct ids_entry *entry, const char *outcome, size_t size)
{
    const struct sent_call *sent = entry->sent;
    if (sent == NULL) {
        return;
    }
    const struct call_defaults *defaults = &s->options->defaults;
    char detail[96];
    int len = snprintf(detail, sizeof(detail), "{\"durationMs\":%llu,\"resultBytes\":%zu}",
                       (unsigned long long)(s->now_ms - sent->sent_ms), size);
    struct event event = {
        .kind = "call.ended",
        .outcome = outcome,
        .tool = {sent->tool, sent->tool_len},
        .server = defaults->server,
        .actor = slice_of(actor_name(defaults->actor)),
        .has_session = true,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .correlation_id = slice_of(sent->correlation),
        .detail = {detail, (size_t)len},
    };
    gate_note(s->gate, &event);
    s->batch.staged = true;
}

/* ---- The batch ---- */

size_t session_commit(struct session *s)
{
    if (s->batch.staged && !gate_commit(s->gate)) {
        session_deny_batch(s);
    }
    if (!buf_ok(&s->batch.answers)) {
        s->fault = "no memory for an answer";
        buf_reset(&s->batch.answers);
    }
    return batch_pieces(&s->batch);
}

/* Gives the document's memory back when one line has made it large. */
static void trim(struct session *s)
{
    if (s->doc.cap > 1u << 16) {
        json_finish(&s->doc);
        json_init(&s->doc);
    }
    if (s->scratch.cap > (size_t)1 << 20) {
        size_t ceiling = s->scratch.ceiling;
        buf_finish(&s->scratch);
        buf_init(&s->scratch, ceiling);
    }
}

void session_sent(struct session *s)
{
    while (s->released != NULL) {
        struct held_call *call = s->released;
        s->released = call->next;
        held_free(call);
    }
    batch_reset(&s->batch);
    trim(s);
}

/* ---- Its life ---- */

bool session_init(struct session *s, const struct session_options *options)
{
    *s = (struct session){.options = options, .gate = options->gate};
    json_init(&s->doc);
    batch_init(&s->batch);
    buf_init(&s->scratch, SERVER_LINE_BYTES);
    buf_init(&s->own_meta, LIMIT_MESSAGE_BYTES);
    return call_maker_init(&s->maker, &options->defaults) && roots_init(&s->roots, &options->base);
}

void session_finish(struct session *s)
{
    session_sent(s);
    call_maker_finish(&s->maker);
    roots_finish(&s->roots);
    batch_finish(&s->batch);
    buf_finish(&s->scratch);
    buf_finish(&s->own_meta);
    json_finish(&s->doc);
    while (s->held.first != NULL) {
        struct held_call *call = s->held.first;
        held_take(&s->held, call);
        held_free(call);
    }
    ids_finish(&s->client_ids);
    ids_finish(&s->server_ids);
}
