/* The server's lines: what is a message goes on to the client, what nobody asked for does not. */
#include "mcp/server_message.h"
#include "mcp/session_internal.h"

/* npx and others greet on standard output. */
static void babble(struct session *s)
{
    if (!s->babble_told) {
        session_say(s,
                    "the server writes lines that are no messages to its standard output: they are dropped");
    }
    s->babble_told = true;
}

/* The open request that a response answers. It is answered with that. */
static bool settle(struct session *s, const struct server_message *message)
{
    struct ids_entry *entry = ids_find(&s->client_ids, &message->id);
    if (entry == NULL || entry->state == IDS_HELD) {
        session_note(s, "mcp.dropped", "a response of the server that answers nothing", (struct slice){0});
        return false;
    }
    ids_remove(&s->client_ids, entry);
    return true;
}

static void request(struct session *s, const struct server_message *message, struct slice raw)
{
    if (ids_find(&s->server_ids, &message->id) == NULL &&
        ids_add(&s->server_ids, &message->id, IDS_SENT) == NULL) {
        session_note(s, "mcp.dropped", "too many requests of the server wait for an answer", message->method);
        return;
    }
    session_note(s, "mcp.server_request", "a request of the server", message->method);
    session_pass(s, raw);
}

static void notification(struct session *s, const struct server_message *message, struct slice raw)
{
    struct id id;
    if (slice_is(message->method, "notifications/cancelled") &&
        id_read(json_get(&s->doc, message->params, "requestId"), &id)) {
        struct ids_entry *entry = ids_find(&s->server_ids, &id);
        if (entry != NULL) {
            entry->state = IDS_CANCELLED;
        }
    }
    session_pass(s, raw);
}

static void sort(struct session *s, const struct server_message *message, struct slice raw)
{
    switch (message->kind) {
    case SERVER_MESSAGE_REQUEST:
        request(s, message, raw);
        break;
    case SERVER_MESSAGE_NOTIFICATION:
        notification(s, message, raw);
        break;
    case SERVER_MESSAGE_RESPONSE:
        if (!settle(s, message)) {
            break;
        }
        if (message->input_required) {
            session_note(s, "mcp.input_required", "a result that asks the client for input",
                         (struct slice){0});
        }
        session_pass(s, raw);
        break;
    case SERVER_MESSAGE_BROKEN:
        if (settle(s, message)) {
            session_note(s, "mcp.dropped", "a response that cannot be handed on", (struct slice){0});
            answer_error(&s->batch.answers, &message->id, RPC_INTERNAL,
                         "The server's response cannot be read");
        }
        break;
    default:
        babble(s);
        break;
    }
}

/* Takes one message. `raw` is what goes on of it; a line end is added where it has none. */
static void take(struct session *s, const struct server_message *message, struct slice raw)
{
    static const struct slice line_end = {"\n", 1};
    size_t before = s->batch.count;
    sort(s, message, raw);
    if (s->batch.count > before && raw.ptr[raw.len - 1] != '\n') {
        session_pass(s, line_end);
    }
}

void session_server_line(struct session *s, struct slice text, struct slice raw)
{
    if (text.len == 0) {
        return;
    }
    if (!server_message_parse(&s->doc, &s->scratch, text)) {
        struct scan scan;
        scan_start(&scan);
        scan_feed(&scan, text);
        struct server_message message = server_message_rescue(&scan, &s->doc);
        take(s, &message, raw);
        return;
    }
    const struct json_value *root = json_root(&s->doc);
    if (root->type != JSON_ARRAY) {
        struct server_message message = server_message_read(&s->doc, root);
        take(s, &message, raw);
        return;
    }
    /* A batch, which only 2025-03-26 had: its messages go on one by one. */
    for (const struct json_value *v = json_first(&s->doc, root); v != NULL;
         v = json_right(&s->doc, root, v)) {
        struct server_message message = server_message_read(&s->doc, v);
        take(s, &message, (struct slice){text.ptr + v->offset, v->length});
    }
}

void session_server_long_line(struct session *s, const struct scan *scan)
{
    struct server_message message = server_message_rescue(scan, &s->doc);
    take(s, &message, (struct slice){0});
}

/* ---- Its end ---- */

void session_lose_server(struct session *s)
{
    struct ids_entry *entry;
    while ((entry = ids_any(&s->client_ids)) != NULL) {
        answer_error(&s->batch.answers, &entry->id, RPC_INTERNAL, "The server has ended");
        if (entry->state == IDS_HELD) {
            struct held_call *call = entry->held;
            session_withdraw(s, call);
            held_free(call);
        } else {
            ids_remove(&s->client_ids, entry);
        }
    }
}
