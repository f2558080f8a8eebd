/* The server's lines: what is a message goes on to the client, what nobody asked for does not. */
#include <stdio.h>

#include "mcp/server_message.h"
#include "mcp/session_inside_internal.h"

/* npx and others greet on standard output. */
static void babble(struct session *s)
{
    if (!s->babble_told) {
        session_say(s,
                    "the server writes lines that are no messages to its standard output: they are dropped");
    }
    s->babble_told = true;
}

/* Journals that something of the server's had to be mended; the first time, the operator hears of it. */
static void note_repair(struct session *s, const char *what, struct slice method)
{
    if (!s->repair_told) {
        session_say(s,
                    "the server writes messages that are not quite JSON-RPC: they are repaired where that is "
                    "possible, and the journal says what was wrong (mcp.repaired)");
    }
    s->repair_told = true;
    session_note(s, "mcp.repaired", what, method);
}

/* The same id as the other kind of value: SDKs take "2" for an answer to 2, and so do their servers write it.
 * `room` takes a number's text. */
static bool other_spelling(const struct id *id, char room[ID_NUMBER_TEXT], struct id *ret_id)
{
    int64_t number = 0;
    if (id->kind == ID_NUMBER) {
        int len = snprintf(room, ID_NUMBER_TEXT, "%lld", (long long)id->number);
        *ret_id = (struct id){.kind = ID_STRING, .text = {room, (size_t)len}};
        return true;
    }
    if (id->kind != ID_STRING || !id_text_is_number(id->text, &number)) {
        return false;
    }
    *ret_id = (struct id){.kind = ID_NUMBER, .number = number};
    return true;
}

/* The open request that a response answers; NULL when there is none. */
static struct ids_entry *answered(struct session *s, const struct server_message *message)
{
    char room[ID_NUMBER_TEXT];
    struct id other;
    struct ids_entry *entry = ids_find(&s->client_ids, &message->id);
    if (entry == NULL && other_spelling(&message->id, room, &other)) {
        entry = ids_find(&s->client_ids, &other);
    }
    if (entry == NULL || entry->state == IDS_HELD) {
        session_note(s, "mcp.dropped", "a response of the server that answers nothing", (struct slice){0});
        return NULL;
    }
    return entry;
}

static bool is_input_required(const struct json_doc *doc, const struct json_value *result)
{
    const struct json_value *type = json_get(doc, result, "resultType");
    return json_is(type, JSON_STRING) && slice_is(json_str(type), "input_required");
}

static const char *outcome_of(const struct json_doc *doc, const struct server_message *message,
                              const struct ids_entry *entry)
{
    if (entry->state == IDS_CANCELLED) {
        return "cancelled";
    }
    if (message->result == NULL) {
        return "protocol_error";
    }
    return json_is(json_get(doc, message->result, "isError"), JSON_TRUE) ? "tool_error" : "ok";
}

/* Hands a list of tools on without those that nobody has accepted. False when all of it may go on. */
static bool hand_on_filtered(struct session *s, const struct server_message *message,
                             const struct ids_entry *entry)
{
    struct buf result, line;
    if (entry->use == USE_NONE || message->result == NULL) {
        return false;
    }
    buf_init(&result, 2 * SERVER_LINE_BYTES);
    buf_init(&line, 2 * SERVER_LINE_BYTES);
    bool filtered = tool_list_filter(s, message->result, &result);
    if (filtered) {
        buf_text(&line, "{\"jsonrpc\":\"2.0\",\"id\":");
        id_write(&line, &entry->id);
        buf_text(&line, ",\"result\":");
        buf_slice(&line, buf_slice_of(&result));
        buf_text(&line, "}\n");
        if (!buf_ok(&result) || !buf_ok(&line) || !batch_add_copy(&s->batch, buf_slice_of(&line))) {
            s->fault = "no memory";
        }
    }
    buf_finish(&line);
    buf_finish(&result);
    return filtered;
}

/* Hands a response on: as it stands, or written anew when a client could not read it so. */
static void hand_on(struct session *s, const struct server_message *message, const struct ids_entry *entry,
                    struct slice raw, bool mended)
{
    bool same_id = entry->id.kind == message->id.kind;
    if (hand_on_filtered(s, message, entry)) {
        return;
    }
    if (same_id && message->repair == NULL && !mended) {
        session_pass(s, raw);
        return;
    }
    if (!same_id) {
        note_repair(s, "an id of another type than it was asked with", (struct slice){0});
    } else if (message->repair != NULL) {
        note_repair(s, message->repair, (struct slice){0});
    }
    struct buf line;
    buf_init(&line, 2 * SERVER_LINE_BYTES);
    server_message_write(&line, &s->doc, message, &entry->id);
    if (!buf_ok(&line) || !batch_add_copy(&s->batch, buf_slice_of(&line))) {
        s->fault = "no memory";
    }
    buf_finish(&line);
}

static void response(struct session *s, const struct server_message *message, struct slice raw, bool mended)
{
    struct ids_entry *entry = answered(s, message);
    if (entry == NULL) {
        return;
    }
    if (tool_list_take(s, message, entry)) {
        ids_remove(&s->client_ids, entry);
        return;
    }
    session_note_end(s, entry, outcome_of(&s->doc, message, entry), raw.len);
    if (is_input_required(&s->doc, message->result)) {
        session_note(s, "mcp.input_required", "a result that asks the client for input", (struct slice){0});
    }
    hand_on(s, message, entry, raw, mended);
    ids_remove(&s->client_ids, entry);
}

/* A response that no client could read: whoever waits is told so. */
static void broken(struct session *s, const struct server_message *message, size_t size)
{
    char text[160];
    struct ids_entry *entry = answered(s, message);
    if (entry == NULL) {
        return;
    }
    if (tool_list_take(s, message, entry)) {
        ids_remove(&s->client_ids, entry);
        return;
    }
    const char *why = message->why != NULL ? message->why : "it is not JSON";
    session_note_end(s, entry, "unreadable", size);
    session_note(s, "mcp.dropped", "a response that cannot be handed on", (struct slice){0});
    snprintf(text, sizeof(text), "The server's response cannot be read: %s", why);
    answer_error(&s->batch.answers, &entry->id, RPC_INTERNAL, text);
    ids_remove(&s->client_ids, entry);
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
    if (slice_is(message->method, "notifications/tools/list_changed")) {
        tool_list_changed(s);
    }
    session_pass(s, raw);
}

static void sort(struct session *s, const struct server_message *message, struct slice raw, bool mended)
{
    switch (message->kind) {
    case SERVER_MESSAGE_REQUEST:
        request(s, message, raw);
        break;
    case SERVER_MESSAGE_NOTIFICATION:
        notification(s, message, raw);
        break;
    case SERVER_MESSAGE_RESPONSE:
        response(s, message, raw, mended);
        break;
    case SERVER_MESSAGE_BROKEN:
        broken(s, message, raw.len);
        break;
    default:
        babble(s);
        break;
    }
}

/* Takes one message. `raw` is what goes on of it; a line end is added where it has none. */
static void take(struct session *s, const struct server_message *message, struct slice raw, bool mended)
{
    static const struct slice line_end = {"\n", 1};
    size_t before = s->batch.count;
    sort(s, message, raw, mended);
    if (s->batch.count > before && batch_last(&s->batch) != '\n') {
        session_pass(s, line_end);
    }
}

/* What goes on of a value of the document. Of a mended one the copy goes on, kept until the batch is sent. */
static struct slice text_to_hand_on(struct session *s, const struct json_value *value, bool mended,
                                    struct slice line)
{
    struct slice text =
        mended ? json_text_of(&s->doc, value) : (struct slice){line.ptr + value->offset, value->length};
    if (!mended) {
        return text;
    }
    struct slice copy = batch_keep(&s->batch, text);
    if (copy.ptr == NULL) {
        s->fault = "no memory";
        return (struct slice){"", 0};
    }
    return copy;
}

static void take_text(struct session *s, struct slice text, struct slice raw, bool mended)
{
    const struct json_value *root = json_root(&s->doc);
    if (root->type != JSON_ARRAY) {
        struct server_message message = server_message_read(&s->doc, root);
        bool copied =
            mended && message.kind != SERVER_MESSAGE_RESPONSE && message.kind != SERVER_MESSAGE_NONE;
        take(s, &message, copied ? text_to_hand_on(s, root, true, text) : raw, mended);
        return;
    }
    /* A batch, which only 2025-03-26 had: its messages go on one by one. */
    for (const struct json_value *v = json_first(&s->doc, root); v != NULL;
         v = json_right(&s->doc, root, v)) {
        struct server_message message = server_message_read(&s->doc, v);
        take(s, &message, text_to_hand_on(s, v, mended, text), mended);
    }
}

void session_server_line(struct session *s, struct slice text, struct slice raw)
{
    if (text.len == 0) {
        return;
    }
    const char *why = NULL;
    enum server_text kind = server_message_parse(&s->doc, &s->scratch, text, &why);
    if (kind == SERVER_TEXT_BROKEN) {
        struct scan scan;
        scan_start(&scan);
        scan_feed(&scan, text);
        struct server_message message = server_message_rescue(&scan, &s->doc, why);
        take(s, &message, raw, false);
        return;
    }
    const struct json_value *root = json_root(&s->doc);
    if (kind == SERVER_TEXT_MENDED && (root->type == JSON_OBJECT || root->type == JSON_ARRAY)) {
        note_repair(s, why, (struct slice){0});
    }
    take_text(s, text, raw, kind == SERVER_TEXT_MENDED);
}

void session_server_long_line(struct session *s, const struct scan *scan)
{
    struct server_message message = server_message_rescue(scan, &s->doc, "it is longer than 64 MiB");
    take(s, &message, (struct slice){0}, false);
}

/* ---- Its end ---- */

void session_lose_server(struct session *s)
{
    struct ids_entry *entry;
    while ((entry = ids_any(&s->client_ids)) != NULL) {
        if (entry->state != IDS_CANCELLED &&
            entry->use != USE_OWN_LIST) { /* who has cancelled waits for nothing */
            answer_error(&s->batch.answers, &entry->id, RPC_INTERNAL, "The server has ended");
        }
        session_note_end(s, entry, entry->state == IDS_CANCELLED ? "cancelled" : "server_ended", 0);
        if (entry->state == IDS_HELD) {
            struct held_call *call = entry->held;
            session_withdraw(s, call);
            held_free(call);
        } else {
            ids_remove(&s->client_ids, entry);
        }
    }
}
