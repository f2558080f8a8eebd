/* The client's lines: each is judged, and acted upon once the journal has what was decided. */
#include "mcp/revision_internal.h"
#include "mcp/session_inside_internal.h"

/* How often a client that asked for progress hears that its call waits. */
#define PROGRESS_EVERY_MS 5000

static const struct slice no_code = {0};

/* ---- Refusals and denials ---- */

static void answer(struct session *s, const struct message *message, int code)
{
    answer_error(&s->batch.answers, &message->id, code, answer_text(code));
}

/* Whoever waits for an element of a batch that is refused as a whole is answered by itself. */
static void answer_batch(struct session *s, const struct message *message)
{
    const struct json_value *root = json_root(&s->doc);
    bool answered = false;
    for (const struct json_value *v = json_first(&s->doc, root); v != NULL;
         v = json_right(&s->doc, root, v)) {
        struct id id;
        if (json_get(&s->doc, v, "method") != NULL &&
            id_to_answer(&s->doc, json_get(&s->doc, v, "id"), &id)) {
            answer_error(&s->batch.answers, &id, message->code, answer_text(message->code));
            answered = true;
        }
    }
    if (!answered) {
        answer(s, message, message->code);
    }
}

/* A refused line is a call as far as anyone can tell: it is journalled as the denial of one. */
static void refuse(struct session *s, const struct message *message, const struct came *came)
{
    struct slice tool = call_tool_of(&s->doc, message);
    uint32_t cause = message->over_limit ? CAUSE_OVER_LIMIT : CAUSE_MALFORMED;
    (void)gate_judge_unreadable(s->gate, cause, tool, slice_of(message->why), came, &s->options->defaults);
    s->batch.staged = true;
    if (message->is_batch) {
        answer_batch(s, message);
    } else {
        answer(s, message, message->code);
    }
}

static void refuse_as(struct session *s, struct message *message, int code, const char *why,
                      struct slice text)
{
    struct came came = {.bytes = text};
    message->code = code;
    message->why = why;
    refuse(s, message, &came);
}

enum method_standing {
    METHOD_UNKNOWN = 0, /* no revision and no extension has it */
    METHOD_KNOWN,
    METHOD_NAMED, /* by --allow-method: it is judged like a call of a tool of that name */
};

static enum method_standing standing_of(const struct session *s, struct slice method, enum method_sort sort)
{
    if (revision_client_may(method, sort, REVISION_ANY)) {
        return METHOD_KNOWN;
    }
    const char *const *allowed = s->options->allowed_methods;
    for (; allowed != NULL && *allowed != NULL; allowed++) {
        if (slice_is(method, *allowed)) {
            return METHOD_NAMED;
        }
    }
    return METHOD_UNKNOWN;
}

/* ---- Roots ---- */

/* The calls from now on start from these, too. */
static void start_from_roots(struct session *s)
{
    gate_start_from(s->gate, &s->roots.base);
    session_note(s, "mcp.roots", "roots of the client: relative paths may start there", (struct slice){0});
}

/* ---- Calls ---- */

/* A client that does not read gets no more of what it can do without. */
static void send_progress(struct session *s, struct held_call *call)
{
    if (call->token.ptr != NULL && !s->client_full) {
        answer_progress(&s->batch.answers, call->token, ++call->progress);
    }
    call->progress_ms = s->now_ms + PROGRESS_EVERY_MS;
}

static void hold(struct session *s, const struct message *message, struct ids_entry *entry,
                 const struct held *claim, struct slice text, struct slice raw)
{
    enum answer_shape shape = call_answer_shape(&s->doc, message);
    struct slice token = call_progress_token(&s->doc, message);
    struct held_call *call = held_add(&s->held, entry, raw, text, token);
    if (call == NULL) {
        struct held_call lost = {.claim = *claim};
        if (!held_shared(&s->held, &lost)) {
            gate_withdraw(s->gate, claim);
        }
        ids_remove(&s->client_ids, entry);
        answer_denied(&s->batch.answers, &message->id, shape, DENIAL_POLICY, (struct slice){0});
        return;
    }
    entry->state = IDS_HELD;
    call->claim = *claim;
    call->asks_people = s->maker.call.asks_people;
    call->shape = shape;
    call->deadline_ms = s->now_ms + s->options->hold_for_ms;
    send_progress(s, call);
}

/* A call that comes before the server's tools are known. */
static void park(struct session *s, const struct message *message, struct ids_entry *entry, struct slice text,
                 struct slice raw)
{
    struct slice token = call_progress_token(&s->doc, message);
    struct held_call *call = held_add(&s->held, entry, raw, text, token);
    if (call == NULL) {
        ids_remove(&s->client_ids, entry);
        answer_denied(&s->batch.answers, &message->id, call_answer_shape(&s->doc, message), DENIAL_POLICY,
                      (struct slice){0});
        return;
    }
    entry->state = IDS_HELD;
    call->parked = true;
    call->shape = call_answer_shape(&s->doc, message);
    call->deadline_ms = s->now_ms + s->options->hold_for_ms;
    call->progress_ms = call->deadline_ms;
}

static void judge(struct session *s, struct message *message, struct ids_entry *entry, struct slice text,
                  struct slice raw)
{
    const char *why = tool_list_make_call(s, message);
    if (why != NULL) {
        ids_remove(&s->client_ids, entry);
        refuse_as(s, message, RPC_BAD_PARAMS, why, text);
        return;
    }
    enum tool_standing standing = message->form == CALL_FORM_TOOL
                                      ? tool_list_standing(s, message, s->maker.name.tool)
                                      : TOOL_MAY_BE_CALLED;
    if (standing == TOOL_WAITS) {
        park(s, message, entry, text, raw);
        return;
    }
    /* The place among the lines comes first, so that an allow that is journalled is one that is handed on. */
    if (!batch_reserve(&s->batch)) {
        ids_remove(&s->client_ids, entry);
        refuse_as(s, message, RPC_INTERNAL, "no memory", text);
        return;
    }
    s->maker.call.asks_people = message->form == CALL_FORM_TOOL && tool_list_undeclared(s, &s->maker.call);
    s->maker.call.waits_ms = (uint32_t)s->options->hold_for_ms;
    struct outcome outcome =
        standing == TOOL_MAY_NOT
            ? gate_deny(s->gate, &s->maker.call, SLICE("the tool is not as it was accepted (callgate tools)"))
            : gate_judge(s->gate, &s->maker.call, NULL, no_code);
    s->batch.staged = true;
    if (outcome.kind == OUTCOME_ALLOW) {
        batch_add_reserved(&s->batch, raw, true);
        session_note_sent(s, entry, s->maker.name.tool, outcome.correlation);
        return;
    }
    if (outcome.kind == OUTCOME_HELD) {
        hold(s, message, entry, &outcome.held, text, raw);
        return;
    }
    ids_remove(&s->client_ids, entry);
    answer_denied(&s->batch.answers, &message->id, call_answer_shape(&s->doc, message), outcome.denial,
                  outcome.tell);
}

static void request(struct session *s, struct message *message, struct slice text, struct slice raw)
{
    if (ids_find(&s->client_ids, &message->id) != NULL) {
        refuse_as(s, message, RPC_INVALID, "an id that is still in use", text);
        return;
    }
    if (message->form == CALL_FORM_NONE) {
        enum method_standing standing = standing_of(s, message->method, METHOD_REQUEST);
        if (standing == METHOD_UNKNOWN) {
            session_note(s, "mcp.refused", "a method that no revision has", message->method);
            answer(s, message, RPC_NO_METHOD);
            return;
        }
        message->form = standing == METHOD_NAMED ? CALL_FORM_METHOD : CALL_FORM_NONE;
    }
    struct ids_entry *entry = ids_add(&s->client_ids, &message->id, IDS_SENT);
    if (entry == NULL) {
        refuse_as(s, message, RPC_INTERNAL, "too many requests wait for an answer", text);
        return;
    }
    tool_list_note_request(s, message, entry);
    if (roots_take_inputs(&s->roots, &s->doc, message->params)) {
        start_from_roots(s);
    }
    if (message->form != CALL_FORM_NONE) {
        judge(s, message, entry, text, raw);
        return;
    }
    if (revision_is_of_extension(message->method)) {
        session_note(s, "mcp.extension", "a method of an extension", message->method);
    }
    session_pass(s, raw);
}

/* ---- What is no request ---- */

void session_withdraw(struct session *s, struct held_call *call)
{
    if (!call->parked && !held_shared(&s->held, call)) {
        gate_withdraw(s->gate, &call->claim);
        s->batch.staged = true;
    }
    held_take(&s->held, call);
    ids_remove(&s->client_ids, call->entry);
}

/* True when the notification has been dealt with: the server has not seen the request that it cancels. */
static bool cancel(struct session *s, const struct message *message)
{
    struct id id;
    const struct json_value *value = json_get(&s->doc, message->params, "requestId");
    struct ids_entry *entry = id_read(value, &id) ? ids_find(&s->client_ids, &id) : NULL;
    if (entry == NULL) {
        return false;
    }
    if (entry->state == IDS_HELD) {
        struct held_call *call = entry->held;
        session_withdraw(s, call);
        held_free(call);
        return true;
    }
    entry->state = IDS_CANCELLED;
    return false;
}

/* A notification that --allow-method names: a call that nobody waits for, so that it cannot be held. */
static void judge_notification(struct session *s, struct message *message, struct slice text,
                               struct slice raw)
{
    message->form = CALL_FORM_METHOD;
    const char *why = call_make(&s->maker, &s->doc, message);
    if (why == NULL && !batch_reserve(&s->batch)) {
        why = "no memory";
    }
    if (why != NULL) {
        struct came came = {.bytes = text};
        (void)gate_judge_unreadable(s->gate, CAUSE_MALFORMED, message->method, slice_of(why), &came,
                                    &s->options->defaults);
        s->batch.staged = true;
        return;
    }
    s->batch.staged = true;
    if (gate_judge_unheld(s->gate, &s->maker.call).kind == OUTCOME_ALLOW) {
        batch_add_reserved(&s->batch, raw, true);
    }
}

static void notification(struct session *s, struct message *message, struct slice text, struct slice raw)
{
    if (message->form != CALL_FORM_NONE) {
        session_note(s, "mcp.dropped", "a call without an id", message->method);
        return;
    }
    switch (standing_of(s, message->method, METHOD_NOTIFICATION)) {
    case METHOD_NAMED:
        judge_notification(s, message, text, raw);
        return;
    case METHOD_KNOWN:
        if (!slice_is(message->method, "notifications/cancelled") || !cancel(s, message)) {
            session_pass(s, raw);
        }
        return;
    default:
        session_note(s, "mcp.dropped", "a notification that no revision has", message->method);
    }
}

static void response(struct session *s, const struct message *message, struct slice raw)
{
    struct ids_entry *entry = ids_find(&s->server_ids, &message->id);
    if (entry == NULL) {
        session_note(s, "mcp.dropped", "a response of the client that answers nothing", (struct slice){0});
        return;
    }
    ids_remove(&s->server_ids, entry);
    if (roots_take(&s->roots, &s->doc, json_get(&s->doc, json_root(&s->doc), "result"))) {
        start_from_roots(s);
    }
    session_pass(s, raw);
}

/* ---- Held calls ---- */

static void forget_held(struct session *s, struct held_call *call)
{
    held_take(&s->held, call);
    ids_remove(&s->client_ids, call->entry);
    held_free(call);
}

/* The request of a held call has ended: the call is read and judged anew. */
static void settle(struct session *s, struct held_call *call)
{
    if (!batch_reserve(&s->batch)) {
        return; /* it waits on, and is looked at again */
    }
    struct message message = message_read(&s->doc, call->text);
    struct outcome outcome = {0};
    if (message.form == CALL_FORM_NONE) {
        message.form = CALL_FORM_METHOD; /* one that --allow-method names */
    }
    if (message.kind == MESSAGE_REQUEST && tool_list_make_call(s, &message) == NULL) {
        s->maker.call.asks_people = call->asks_people;
        s->maker.call.waits_ms =
            call->deadline_ms > s->now_ms ? (uint32_t)(call->deadline_ms - s->now_ms) : 0;
        outcome = gate_judge(s->gate, &s->maker.call, &call->claim, no_code);
        s->batch.staged = true;
    }
    if (outcome.kind == OUTCOME_HELD) {
        call->claim = outcome.held; /* its paths are no longer those that people were shown */
    } else if (outcome.kind == OUTCOME_ALLOW) {
        batch_add_reserved(&s->batch, call->raw, true);
        session_note_sent(s, call->entry, s->maker.name.tool, outcome.correlation);
        call->entry->state = IDS_SENT;
        call->entry->held = NULL;
        held_take(&s->held, call);
        call->next = s->released;
        s->released = call;
    } else {
        answer_denied(&s->batch.answers, &call->entry->id, call->shape, outcome.denial, outcome.tell);
        forget_held(s, call);
    }
}

/* The server's tools are known now: the call is read again, as if it had just come. */
static void unpark(struct session *s, struct held_call *call)
{
    struct ids_entry *entry = call->entry;
    struct message message = message_read(&s->doc, call->text);
    held_take(&s->held, call);
    entry->held = NULL;
    entry->state = IDS_SENT;
    call->next = s->released; /* its line must live until the batch is sent */
    s->released = call;
    judge(s, &message, entry, call->text, call->raw);
}

bool session_look_at_held(struct session *s)
{
    s->parked_ready = false;
    if (s->held.count == 0) {
        return false;
    }
    uint64_t now = s->now_ms;
    bool look = gate_people_moved(s->gate);
    struct held_call *call = s->held.first, *next;
    for (; call != NULL; call = next) {
        next = call->next;
        if (call->parked && s->tools_state != LIST_ASKED) {
            unpark(s, call);
        } else if (look && !call->parked && gate_held_state(s->gate, &call->claim) != REQUEST_WAITING) {
            settle(s, call);
        } else if (now >= call->deadline_ms) {
            session_note(s, "mcp.not_in_time", "the client was told that a call was not approved in time",
                         (struct slice){0});
            /* The request stays open: a retry of the call passes once it is approved. */
            answer_denied(&s->batch.answers, &call->entry->id, call->shape, DENIAL_NOT_IN_TIME,
                          held_tell(&call->claim));
            forget_held(s, call);
        } else if (now >= call->progress_ms) {
            send_progress(s, call);
        }
    }
    if (s->list_failed) {
        s->list_failed = false;
        s->tools_state = LIST_UNKNOWN; /* the next call asks again */
    }
    return true;
}

bool session_waits_for_list(const struct session *s)
{
    for (const struct held_call *call = s->held.first; call != NULL; call = call->next) {
        if (call->parked) {
            return true;
        }
    }
    return false;
}

void session_leave(struct session *s)
{
    while (s->held.first != NULL) {
        struct held_call *call = s->held.first;
        answer_denied(&s->batch.answers, &call->entry->id, call->shape, DENIAL_NOT_IN_TIME,
                      held_tell(&call->claim));
        session_withdraw(s, call);
        held_free(call);
    }
}

/* ---- Lines ---- */

void session_client_line(struct session *s, struct slice text, struct slice raw)
{
    if (text.len == 0) {
        return;
    }
    struct message message = message_read(&s->doc, text);
    switch (message.kind) {
    case MESSAGE_REQUEST:
        request(s, &message, text, raw);
        break;
    case MESSAGE_NOTIFICATION:
        notification(s, &message, text, raw);
        break;
    case MESSAGE_RESPONSE:
        response(s, &message, raw);
        break;
    default:
        refuse_as(s, &message, message.code, message.why, text);
        break;
    }
}

void session_client_long_line(struct session *s, const struct long_line *long_line)
{
    const struct scan *scan = &long_line->scan;
    struct message message = {
        .over_limit = true,
        .code = RPC_INVALID,
        .why = "a message over the limit",
    };
    if (!scan_id_to_answer(scan, (struct slice){scan->id, scan->id_len}, &s->doc, &message.id)) {
        message.id = (struct id){0};
    }
    struct came came = {.hash = long_line->hashed ? long_line->hash : NULL, .length = long_line->length};
    refuse(s, &message, &came);
}

/* The line is read again for what the answer needs, which is cheaper than to keep it for every call that goes
 * well. */
void session_deny_batch(struct session *s)
{
    for (size_t i = 0; i < s->batch.count; i++) {
        struct batch_line *line = &s->batch.lines[i];
        if (!line->is_call) {
            continue;
        }
        struct slice text = line->raw;
        text.len -= text.len > 0 && text.ptr[text.len - 1] == '\n';
        text.len -= text.len > 0 && text.ptr[text.len - 1] == '\r';
        struct message message = message_read(&s->doc, text);
        struct ids_entry *entry = ids_find(&s->client_ids, &message.id);
        if (entry != NULL) {
            ids_remove(&s->client_ids, entry);
        }
        if (message.kind == MESSAGE_REQUEST) {
            answer_denied(&s->batch.answers, &message.id, call_answer_shape(&s->doc, &message), DENIAL_POLICY,
                          (struct slice){0});
        }
        line->raw.len = 0;
    }
}
