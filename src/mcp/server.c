/* The server's lines: what is a message goes on to the client, what nobody asked for does not. */
#include "mcp/proxy.h"
#include "mcp/said.h"

static void pass(struct proxy *p, struct slice raw)
{
    if (!turn_add(&p->turn, raw, false)) {
        proxy_fail(p, "no memory");
    }
}

/* npx and others greet on standard output. */
static void babble(struct proxy *p)
{
    if (!p->babble_told) {
        proxy_say(p, "the server writes lines that are no messages to its standard output: they are dropped");
    }
    p->babble_told = true;
}

/* The open request that a response answers. It is answered with that. */
static bool settle(struct proxy *p, const struct said *said)
{
    struct ids_entry *entry = ids_find(&p->asked, &said->id);
    if (entry == NULL || entry->state == IDS_HELD) {
        proxy_note(p, "mcp.dropped", "a response of the server that answers nothing", (struct slice){0});
        return false;
    }
    ids_remove(&p->asked, entry);
    return true;
}

static void request(struct proxy *p, const struct said *said, struct slice raw)
{
    if (ids_find(&p->wanted, &said->id) == NULL && ids_add(&p->wanted, &said->id, IDS_SENT) == NULL) {
        proxy_note(p, "mcp.dropped", "too many requests of the server wait for an answer", said->method);
        return;
    }
    proxy_note(p, "mcp.server_request", "a request of the server", said->method);
    pass(p, raw);
}

static void notification(struct proxy *p, const struct said *said, struct slice raw)
{
    struct id id;
    if (slice_is(said->method, "notifications/cancelled") &&
        id_read(json_get(&p->doc, said->params, "requestId"), &id)) {
        struct ids_entry *entry = ids_find(&p->wanted, &id);
        if (entry != NULL) {
            entry->state = IDS_CANCELLED;
        }
    }
    pass(p, raw);
}

static void take(struct proxy *p, const struct said *said, struct slice raw)
{
    switch (said->kind) {
    case SAID_REQUEST:
        request(p, said, raw);
        break;
    case SAID_NOTIFICATION:
        notification(p, said, raw);
        break;
    case SAID_RESPONSE:
        if (!settle(p, said)) {
            break;
        }
        if (said->input_required) {
            proxy_note(p, "mcp.input_required", "a result that asks the client for input", (struct slice){0});
        }
        pass(p, raw);
        break;
    case SAID_BROKEN:
        if (settle(p, said)) {
            proxy_note(p, "mcp.dropped", "a response that cannot be handed on", (struct slice){0});
            answer_error(&p->turn.answers, &said->id, RPC_INTERNAL, "The server's response cannot be read");
        }
        break;
    default:
        babble(p);
        break;
    }
}

static const struct slice line_end = {"\n", 1};

static void take_line(struct proxy *p, struct slice text, struct slice raw)
{
    if (text.len == 0) {
        return;
    }
    if (!said_parse(&p->doc, &p->scratch, text)) {
        struct scan scan;
        scan_start(&scan);
        scan_feed(&scan, text);
        struct said said = said_rescue(&scan, &p->doc);
        take(p, &said, raw);
        return;
    }
    const struct json_value *root = json_root(&p->doc);
    if (root->type != JSON_ARRAY) {
        struct said said = said_read(&p->doc, root);
        take(p, &said, raw);
        return;
    }
    /* A batch, which only 2025-03-26 had: its messages go on one by one. */
    for (const struct json_value *v = json_first(&p->doc, root); v != NULL;
         v = json_right(&p->doc, root, v)) {
        struct said said = said_read(&p->doc, v);
        size_t before = p->turn.count;
        take(p, &said, (struct slice){text.ptr + v->offset, v->length});
        if (p->turn.count > before) {
            pass(p, line_end);
        }
    }
}

static void take_long_line(struct proxy *p)
{
    struct said said = said_rescue(&p->server.intake.scan, &p->doc);
    take(p, &said, (struct slice){0});
}

void server_turn(struct proxy *p)
{
    struct slice text, raw;
    enum line_kind kind;
    while ((kind = intake_next(&p->server.intake, &text, &raw)) != LINE_NONE) {
        if (kind == LINE_WHOLE) {
            take_line(p, text, raw);
        } else {
            take_long_line(p);
        }
    }
    proxy_end_turn(p, &p->client);
}

void server_last(struct proxy *p)
{
    struct slice text, raw;
    enum line_kind kind = intake_last(&p->server.intake, &text, &raw);
    if (kind == LINE_WHOLE) {
        size_t before = p->turn.count;
        take_line(p, text, raw);
        if (p->turn.count > before) {
            pass(p, line_end);
        }
    } else if (kind == LINE_TOO_LONG) {
        take_long_line(p);
    }
    proxy_end_turn(p, &p->client);
}
