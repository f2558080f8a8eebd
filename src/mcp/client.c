/* The client's lines: each is judged, and acted upon once the journal has what was decided. */
#include "mcp/proxy.h"
#include "mcp/revision.h"

/* How often a client that asked for progress hears that its call waits. */
#define PROGRESS_EVERY_MS 5000

static const struct slice no_code = {0};

/* ---- Refusals and denials ---- */

static void answer(struct proxy *p, const struct message *message, int code)
{
    answer_error(&p->turn.answers, &message->id, code, answer_text(code));
}

/* A refused line is a call as far as anyone can tell: it is journalled as the denial of one. */
static void refuse(struct proxy *p, const struct message *message)
{
    struct slice tool = call_tool_of(&p->doc, message);
    uint32_t cause = message->over_limit ? CAUSE_OVER_LIMIT : CAUSE_MALFORMED;
    (void)gate_judge_unreadable(p->gate, cause, tool, slice_of(message->why), &p->options->defaults);
    p->turn.staged = true;
    answer(p, message, message->code);
}

static void refuse_as(struct proxy *p, struct message *message, int code, const char *why)
{
    message->code = code;
    message->why = why;
    refuse(p, message);
}

static bool method_allowed(const struct proxy *p, const struct message *message, enum method_sort sort)
{
    if (revision_client_may(message->method, sort, REVISION_ANY)) {
        return true;
    }
    const char *const *allowed = p->options->allowed_methods;
    for (; allowed != NULL && *allowed != NULL; allowed++) {
        if (slice_is(message->method, *allowed)) {
            return true;
        }
    }
    return false;
}

static void pass(struct proxy *p, struct slice raw)
{
    if (!turn_add(&p->turn, raw, false)) {
        proxy_fail(p, "no memory");
    }
}

/* ---- Roots ---- */

/* The calls from now on start from these, too. */
static void start_from_roots(struct proxy *p)
{
    gate_start_from(p->gate, &p->roots.base);
    proxy_note(p, "mcp.roots", "roots of the client: relative paths may start there", (struct slice){0});
}

/* ---- Calls ---- */

/* A client that does not read gets no more of what it can do without. */
static void send_progress(struct proxy *p, struct held_call *call)
{
    if (call->token.ptr != NULL && peer_queued(&p->client) <= QUEUE_CEILING) {
        answer_progress(&p->turn.answers, call->token, ++call->progress);
    }
    call->progress_ms = uv_now(&p->loop) + PROGRESS_EVERY_MS;
}

static void hold(struct proxy *p, const struct message *message, struct ids_entry *entry,
                 const struct held *claim, struct slice text, struct slice raw)
{
    enum answer_shape shape = call_answer_shape(&p->doc, message);
    struct slice token = call_progress_token(&p->doc, message);
    struct held_call *call = held_add(&p->held, entry, raw, text, token);
    if (call == NULL) {
        struct held_call lost = {.claim = *claim};
        if (!held_shared(&p->held, &lost)) {
            gate_withdraw(p->gate, claim);
        }
        ids_remove(&p->asked, entry);
        answer_denied(&p->turn.answers, &message->id, shape);
        return;
    }
    entry->state = IDS_HELD;
    call->claim = *claim;
    call->shape = shape;
    call->deadline_ms = uv_now(&p->loop) + p->options->hold_for_ms;
    send_progress(p, call);
}

static void judge(struct proxy *p, struct message *message, struct ids_entry *entry, struct slice text,
                  struct slice raw)
{
    const char *why = call_make(&p->maker, &p->doc, message);
    if (why != NULL) {
        ids_remove(&p->asked, entry);
        refuse_as(p, message, RPC_BAD_PARAMS, why);
        return;
    }
    struct outcome outcome = gate_judge(p->gate, &p->maker.call, NULL, no_code);
    p->turn.staged = true;
    if (outcome.kind == OUTCOME_ALLOW && turn_add(&p->turn, raw, true)) {
        return;
    }
    if (outcome.kind == OUTCOME_HELD) {
        hold(p, message, entry, &outcome.held, text, raw);
        return;
    }
    ids_remove(&p->asked, entry);
    answer_denied(&p->turn.answers, &message->id, call_answer_shape(&p->doc, message));
}

static void request(struct proxy *p, struct message *message, struct slice text, struct slice raw)
{
    if (ids_find(&p->asked, &message->id) != NULL) {
        refuse_as(p, message, RPC_INVALID, "an id that is still in use");
        return;
    }
    if (message->form == CALL_FORM_NONE && !method_allowed(p, message, METHOD_REQUEST)) {
        proxy_note(p, "mcp.refused", "a method that no revision has", message->method);
        answer(p, message, RPC_NO_METHOD);
        return;
    }
    struct ids_entry *entry = ids_add(&p->asked, &message->id, IDS_SENT);
    if (entry == NULL) {
        refuse_as(p, message, RPC_INTERNAL, "too many requests wait for an answer");
        return;
    }
    if (roots_take_inputs(&p->roots, &p->doc, message->params)) {
        start_from_roots(p);
    }
    if (message->form != CALL_FORM_NONE) {
        judge(p, message, entry, text, raw);
    } else {
        pass(p, raw);
    }
}

/* ---- What is no request ---- */

void client_withdraw(struct proxy *p, struct held_call *call)
{
    if (!held_shared(&p->held, call)) {
        gate_withdraw(p->gate, &call->claim);
        p->turn.staged = true;
    }
    held_take(&p->held, call);
    ids_remove(&p->asked, call->entry);
}

/* True when the notification has been dealt with: the server has not seen the request that it cancels. */
static bool cancel(struct proxy *p, const struct message *message)
{
    struct id id;
    const struct json_value *value = json_get(&p->doc, message->params, "requestId");
    struct ids_entry *entry = id_read(value, &id) ? ids_find(&p->asked, &id) : NULL;
    if (entry == NULL) {
        return false;
    }
    if (entry->state == IDS_HELD) {
        struct held_call *call = entry->held;
        client_withdraw(p, call);
        held_free(call);
        return true;
    }
    entry->state = IDS_CANCELLED;
    return false;
}

static void notification(struct proxy *p, const struct message *message, struct slice raw)
{
    if (message->form != CALL_FORM_NONE) {
        proxy_note(p, "mcp.dropped", "a call without an id", message->method);
        return;
    }
    if (!method_allowed(p, message, METHOD_NOTIFICATION)) {
        proxy_note(p, "mcp.dropped", "a notification that no revision has", message->method);
        return;
    }
    if (slice_is(message->method, "notifications/cancelled") && cancel(p, message)) {
        return;
    }
    pass(p, raw);
}

static void response(struct proxy *p, const struct message *message, struct slice raw)
{
    struct ids_entry *entry = ids_find(&p->wanted, &message->id);
    if (entry == NULL) {
        proxy_note(p, "mcp.dropped", "a response of the client that answers nothing", (struct slice){0});
        return;
    }
    ids_remove(&p->wanted, entry);
    if (roots_take(&p->roots, &p->doc, json_get(&p->doc, json_root(&p->doc), "result"))) {
        start_from_roots(p);
    }
    pass(p, raw);
}

/* ---- Held calls ---- */

static void forget_held(struct proxy *p, struct held_call *call)
{
    held_take(&p->held, call);
    ids_remove(&p->asked, call->entry);
    held_free(call);
}

/* The request of a held call has ended: the call is read and judged anew. */
static void settle(struct proxy *p, struct held_call *call)
{
    struct message message = message_read(&p->doc, call->text);
    struct outcome outcome = {0};
    if (message.kind == MESSAGE_REQUEST && call_make(&p->maker, &p->doc, &message) == NULL) {
        outcome = gate_judge(p->gate, &p->maker.call, &call->claim, no_code);
        p->turn.staged = true;
    }
    if (outcome.kind == OUTCOME_HELD) {
        call->claim = outcome.held; /* its paths are no longer those that people were shown */
    } else if (outcome.kind == OUTCOME_ALLOW && turn_add(&p->turn, call->raw, true)) {
        call->entry->state = IDS_SENT;
        call->entry->held = NULL;
        held_take(&p->held, call);
        call->next = p->released;
        p->released = call;
    } else {
        answer_denied(&p->turn.answers, &call->entry->id, call->shape);
        forget_held(p, call);
    }
}

void client_look_at_held(struct proxy *p)
{
    if (p->held.count == 0) {
        return;
    }
    uint64_t now = uv_now(&p->loop);
    bool look = gate_people_moved(p->gate);
    struct held_call *call = p->held.first, *next;
    for (; call != NULL; call = next) {
        next = call->next;
        if (look && gate_held_state(p->gate, &call->claim) != REQUEST_WAITING) {
            settle(p, call);
        } else if (now >= call->deadline_ms) {
            /* The request stays open: a retry of the call passes once it is approved. */
            answer_not_in_time(&p->turn.answers, &call->entry->id, call->shape);
            forget_held(p, call);
        } else if (now >= call->progress_ms) {
            send_progress(p, call);
        }
    }
    proxy_end_turn(p, &p->server);
}

/* ---- The turn ---- */

static void take_line(struct proxy *p, struct slice text, struct slice raw)
{
    if (text.len == 0) {
        return;
    }
    struct message message = message_read(&p->doc, text);
    switch (message.kind) {
    case MESSAGE_REQUEST:
        request(p, &message, text, raw);
        break;
    case MESSAGE_NOTIFICATION:
        notification(p, &message, raw);
        break;
    case MESSAGE_RESPONSE:
        response(p, &message, raw);
        break;
    default:
        refuse(p, &message);
        break;
    }
}

static void refuse_long_line(struct proxy *p)
{
    struct message message = {
        .over_limit = true,
        .code = RPC_INVALID,
        .why = "a message over the limit",
    };
    const struct scan *scan = &p->client.intake.scan;
    if (scan->has_answer || !scan_id(scan, &p->doc, &message.id)) {
        message.id = (struct id){0};
    }
    refuse(p, &message);
}

/* The line is read again for what the answer needs, which is cheaper than to keep it for every call that goes
 * well. */
void client_deny_turn(struct proxy *p)
{
    for (size_t i = 0; i < p->turn.count; i++) {
        struct turn_line *line = &p->turn.lines[i];
        if (!line->is_call) {
            continue;
        }
        struct slice text = line->raw;
        text.len -= text.len > 0 && text.ptr[text.len - 1] == '\n';
        text.len -= text.len > 0 && text.ptr[text.len - 1] == '\r';
        struct message message = message_read(&p->doc, text);
        struct ids_entry *entry = ids_find(&p->asked, &message.id);
        if (entry != NULL) {
            ids_remove(&p->asked, entry);
        }
        answer_denied(&p->turn.answers, &message.id, call_answer_shape(&p->doc, &message));
        line->raw.len = 0;
    }
}

void client_turn(struct proxy *p)
{
    struct slice text, raw;
    enum line_kind kind;
    while ((kind = intake_next(&p->client.intake, &text, &raw)) != LINE_NONE) {
        if (kind == LINE_WHOLE) {
            take_line(p, text, raw);
        } else {
            refuse_long_line(p);
        }
    }
    proxy_end_turn(p, &p->server);
}

void client_last(struct proxy *p)
{
    struct slice text, raw;
    enum line_kind kind = intake_last(&p->client.intake, &text, &raw);
    if (kind == LINE_WHOLE) {
        take_line(p, text, raw);
    } else if (kind == LINE_TOO_LONG) {
        refuse_long_line(p);
    }
    proxy_end_turn(p, &p->server);
}
