/* A gate whose door is a broker's: each question is sent and its answer waited for. Whatever fails is a deny, and the
 * connection is made anew with the next question. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/remote_internal.h"
#include "gate/door.h"
#include "gate/usable.h"

#define WELCOME_MS 20000 /* to welcome: it may have to load a policy first */

/* ---- The door ---- */

static void write_call(struct remote *r, const struct call *call, const struct held *prior,
                       struct slice wanted, bool may_hold)
{
    static const struct held none;
    size_t began = frame_begin(&r->out, FRAME_JUDGE);
    put_base(&r->out, &r->base);
    put_u32(&r->out, (uint32_t)call->name_count);
    for (size_t i = 0; i < call->name_count; i++) {
        put_text(&r->out, call->names[i].has_server ? call->names[i].server : (struct slice){0});
        put_text(&r->out, call->names[i].tool);
        put_u8(&r->out, call->names[i].hints_not);
    }
    put_text(&r->out, call->channel);
    put_text(&r->out, call->thread);
    put_u8(&r->out, (uint8_t)call->actor);
    put_text(&r->out, call->input != NULL ? json_text_of(call->doc, call->input) : (struct slice){0});
    put_text(&r->out, call->input == NULL && call->preview.ptr == NULL ? SLICE("") : call->preview);
    put_u8(&r->out, may_hold);
    put_u8(&r->out, prior != NULL);
    put_held(&r->out, prior != NULL ? prior : &none);
    put_text(&r->out, wanted);
    put_u8(&r->out, call->asks_people);
    put_u32(&r->out, call->waits_ms);
    frame_end(&r->out, began);
}

static struct outcome take_answer(struct remote *r)
{
    struct fields fields;
    if (!remote_exchange(r, FRAME_OUTCOME, ANSWER_MS, &fields)) {
        r->turn_failed = true;
        return (struct outcome){.kind = OUTCOME_DENY};
    }
    return take_outcome(&fields);
}

static void forget(struct remote *r, int64_t number)
{
    struct ended *held = remote_find_held(r, number);
    if (held != NULL) {
        size_t at = (size_t)(held - r->held);
        r->held_count--;
        memmove(held, held + 1, (r->held_count - at) * sizeof(*held));
    }
}

static void remember(struct remote *r, int64_t number)
{
    if (remote_find_held(r, number) != NULL) {
        return;
    }
    /* Several calls may wait for one request, so it stays known once it has ended; the oldest such makes room. */
    for (size_t i = 0; i < r->held_count && r->held_count == ENDS_MOST; i++) {
        if (r->held[i].state != REQUEST_WAITING) {
            forget(r, r->held[i].number);
        }
    }
    if (r->held_count < ENDS_MOST) {
        r->held[r->held_count++] = (struct ended){.number = number};
    }
}

static struct outcome judge(void *self, const struct call *call, const struct held *prior,
                            struct slice wanted_code, bool may_hold)
{
    struct remote *r = self;
    struct outcome lost = {.kind = OUTCOME_DENY};
    /* What was held by a broker that is gone was withdrawn. */
    if (prior != NULL && remote_find_held(r, prior->number) == NULL) {
        lost.denial = DENIAL_NOT_IN_TIME;
        return lost;
    }
    if (!remote_ready(r)) {
        return lost;
    }
    buf_reset(&r->out);
    buf_slice(&r->out, buf_slice_of(&r->notes));
    r->out.failed = r->out.failed || !buf_ok(&r->notes);
    buf_reset(&r->notes);
    r->asks = false;
    write_call(r, call, prior, wanted_code, may_hold);
    struct outcome outcome = take_answer(r);
    if (outcome.kind == OUTCOME_HELD && outcome.held.number != 0) {
        remember(r, outcome.held.number);
    }
    return outcome;
}

static struct outcome judge_unreadable(void *self, uint32_t cause, struct slice tool, struct slice phrase,
                                       const struct came *came, const struct call_defaults *defaults)
{
    struct remote *r = self;
    uint8_t hash[HASH_SIZE] = {0};
    bool known =
        came != NULL && (came->bytes.ptr != NULL ? hash_bytes(came->bytes, hash) : came->hash != NULL);
    if (known && came->bytes.ptr == NULL) {
        memcpy(hash, came->hash, sizeof(hash));
    }
    /* A deny whatever the broker says: it goes with the next question, or with the commit. A turn may have thousands. */
    r->asks = true;
    size_t began = frame_begin(&r->notes, FRAME_UNREADABLE);
    put_u32(&r->notes, cause);
    put_text(&r->notes, tool);
    put_text(&r->notes, phrase);
    put_u8(&r->notes, known);
    buf_bytes(&r->notes, hash, sizeof(hash));
    put_u64(&r->notes, known ? (came->bytes.ptr != NULL ? came->bytes.len : came->length) : 0);
    put_session(&r->notes, defaults);
    frame_end(&r->notes, began);
    bool unreadable = cause == CAUSE_MALFORMED || cause == CAUSE_OVER_LIMIT;
    return (struct outcome){
        .kind = OUTCOME_DENY, .cause = cause, .denial = unreadable ? DENIAL_UNREADABLE : DENIAL_POLICY};
}

static void start_from(void *self, const struct path_base *base)
{
    struct remote *r = self;
    r->base = *base;
}

static bool servers(void *self, struct arena *arena, struct slice **ret_names, size_t *ret_count)
{
    struct remote *r = self;
    struct fields fields;
    if (!remote_ready(r)) {
        return false;
    }
    buf_reset(&r->out);
    frame_end(&r->out, frame_begin(&r->out, FRAME_SERVERS));
    if (!remote_exchange(r, FRAME_NAMES, ANSWER_MS, &fields)) {
        return false;
    }
    bool known = take_bool(&fields);
    uint32_t count = take_u32(&fields);
    struct slice *names =
        count <= fields.left.len ? arena_array(arena, (size_t)count + 1, sizeof(*names)) : NULL;
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        struct slice name = take_text(&fields);
        names[i] = name.ptr != NULL ? arena_copy(arena, name) : (struct slice){0};
        known = known && names[i].ptr != NULL;
    }
    *ret_names = names;
    *ret_count = count;
    return known && names != NULL && fields_end(&fields);
}

static void note(void *self, const struct event *event)
{
    struct remote *r = self;
    static const uint8_t no_hash[HASH_SIZE];
    r->asks = r->asks || strcmp(event->kind, "call.ended") != 0;
    size_t began = frame_begin(&r->notes, FRAME_NOTE);
    put_text(&r->notes, slice_of(event->kind));
    put_text(&r->notes, event->tool);
    put_text(&r->notes, event->server);
    put_text(&r->notes, event->reason);
    put_text(&r->notes, event->rule);
    put_text(&r->notes, event->actor);
    put_text(&r->notes, event->correlation_id);
    put_u8(&r->notes, event->has_session);
    put_text(&r->notes, event->channel);
    put_text(&r->notes, event->thread);
    put_u8(&r->notes, event->call_hash != NULL);
    buf_bytes(&r->notes, event->call_hash != NULL ? event->call_hash : no_hash, HASH_SIZE);
    put_text(&r->notes, event->detail);
    frame_end(&r->notes, began);
}

/* Asks with the frame in `out` for a plain yes or no; lines for the operator may come along. */
static bool ask_done(struct remote *r, uint32_t wait_ms)
{
    struct fields fields;
    if (!remote_exchange(r, FRAME_DONE, wait_ms, &fields)) {
        return false;
    }
    bool ok = take_bool(&fields);
    struct slice lines = take_text(&fields);
    if (!fields_end(&fields)) {
        remote_hang_up(r);
        return false;
    }
    remote_tell_lines(r, lines);
    return ok;
}

/* Each call is committed with its answer; what is left are events of the surface's own. That a call has ended stops
 * nothing: it is sent and not waited for, so that a call costs one question. The broker writes it with what it reads. */
static bool commit(void *self)
{
    struct remote *r = self;
    bool ok = !r->turn_failed, asks = r->asks || !buf_ok(&r->notes);
    r->turn_failed = r->asks = false;
    if (r->notes.len == 0 && buf_ok(&r->notes)) {
        return ok;
    }
    bool there = remote_ready(r); /* first: it may have to say hello with the same buffer */
    buf_reset(&r->out);
    buf_slice(&r->out, buf_slice_of(&r->notes));
    r->out.failed = r->out.failed || !buf_ok(&r->notes);
    buf_reset(&r->notes);
    if (asks) {
        frame_end(&r->out, frame_begin(&r->out, FRAME_COMMIT));
        return there && ask_done(r, ANSWER_MS) && ok;
    }
    if (!there || !buf_ok(&r->out) ||
        !remote_send(r, buf_slice_of(&r->out), clock_mono_ns() + ANSWER_MS * 1000000ull)) {
        remote_hang_up(r);
    }
    buf_reset(&r->out);
    return ok;
}

static void tick(void *self)
{
    (void)self; /* the broker has a clock of its own */
}

/* News that have come, without waiting. */
static bool people_moved(void *self)
{
    struct remote *r = self;
    enum frame_kind kind;
    struct fields fields;
    int came = 0;
    while (r->fd >= 0 && (came = remote_receive(r)) > 0) {
    }
    if (r->fd >= 0 && (came < 0 || remote_next_frame(r, &kind, &fields) != 0)) {
        remote_hang_up(r); /* gone, or an answer that nobody asked for */
    }
    return true;
}

static enum request_state held_state(void *self, const struct held *held)
{
    struct ended *ended = remote_find_held(self, held->number);
    return ended != NULL ? ended->state : REQUEST_WITHDRAWN;
}

static void withdraw(void *self, const struct held *held)
{
    struct remote *r = self;
    if (remote_find_held(r, held->number) == NULL || r->fd < 0) {
        return;
    }
    forget(r, held->number);
    buf_reset(&r->out);
    size_t began = frame_begin(&r->out, FRAME_WITHDRAW);
    put_u64(&r->out, (uint64_t)held->number);
    frame_end(&r->out, began);
    (void)ask_done(r, ANSWER_MS);
}

static bool reload(void *self)
{
    struct remote *r = self;
    if (!remote_ready(r)) {
        return false;
    }
    buf_reset(&r->out);
    frame_end(&r->out, frame_begin(&r->out, FRAME_RELOAD));
    return ask_done(r, WELCOME_MS);
}

static bool usable(void *self, const struct call_defaults *session, const struct offered_tool *tools,
                   size_t count, bool *ret_usable)
{
    struct remote *r = self;
    struct fields fields;
    if (count > USABLE_MOST || !remote_ready(r)) {
        return false;
    }
    buf_reset(&r->out);
    size_t began = frame_begin(&r->out, FRAME_USABLE);
    put_session(&r->out, session);
    put_u32(&r->out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_text(&r->out, tools[i].name);
        put_u8(&r->out, tools[i].hints_not);
    }
    frame_end(&r->out, began);
    if (!remote_exchange(r, FRAME_USES, WELCOME_MS, &fields) || take_u32(&fields) != count ||
        fields.left.len != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        ret_usable[i] = take_u8(&fields) != 0;
    }
    return true;
}

static bool policy_moved(void *self)
{
    struct remote *r = self;
    (void)people_moved(r); /* takes the news that have come */
    bool moved = r->policy_moved;
    r->policy_moved = false;
    return moved;
}

static void finish(void *self)
{
    struct remote *r = self;
    remote_hang_up(r);
    buf_finish(&r->out);
    buf_finish(&r->in);
    buf_finish(&r->notes);
    free(r->socket);
    free(r->state_dir);
    free(r->surface);
    free(r);
}

static const struct gate_door door = {
    .judge = judge,
    .judge_unreadable = judge_unreadable,
    .start_from = start_from,
    .servers = servers,
    .note = note,
    .commit = commit,
    .tick = tick,
    .people_moved = people_moved,
    .held_state = held_state,
    .withdraw = withdraw,
    .reload = reload,
    .usable = usable,
    .policy_moved = policy_moved,
    .close = finish,
};

static struct remote *create(const struct broker_client_options *options, const char *surface)
{
    struct remote *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->fd = -1;
    r->options = *options;
    r->base = options->base;
    buf_init(&r->out, FRAME_MOST * 2);
    buf_init(&r->in, FRAME_MOST * 2);
    buf_init(&r->notes, FRAME_MOST);
    r->socket = strdup(options->socket);
    r->state_dir = strdup(options->state_dir != NULL ? options->state_dir : "");
    r->surface = strdup(surface);
    if (r->socket == NULL || r->state_dir == NULL || r->surface == NULL) {
        finish(r);
        return NULL;
    }
    return r;
}

struct gate *broker_connect(const struct broker_client_options *options,
                            const struct gate_options *gate_options, struct buf *ret_error)
{
    struct remote *r = create(options, gate_options->surface);
    struct gate *gate = NULL;
    if (r == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    r->named = gate_options->server.ptr != NULL;
    r->unnamed_refused = gate_options->must_name_server;
    r->readings_flags = gate_options->readings_flags;
    r->tells_refusals = gate_options->tell_refusals;
    r->say = gate_options->say;
    bool reached = remote_connect(r, ret_error);
    if (reached) {
        gate = gate_of_door(&door, r);
    }
    if (gate == NULL) {
        finish(r);
    }
    return gate;
}

/* ---- Asking without a gate ---- */

static bool hello_only(struct remote *r, struct fields *ret_fields)
{
    r->options.base = (struct path_base){.cwd = SLICE("/"), .home = SLICE("/")};
    r->fd = address_connect(r->socket);
    buf_reset(&r->out);
    size_t began = frame_begin(&r->out, FRAME_HELLO);
    buf_bytes(&r->out, BROKER_MAGIC, sizeof(BROKER_MAGIC) - 1);
    put_u32(&r->out, BROKER_VERSION);
    frame_end(&r->out, began);
    return r->fd >= 0 && remote_exchange(r, FRAME_WELCOME, ANSWER_MS, ret_fields);
}

bool broker_answers(const char *socket, struct buf *ret_error)
{
    const struct broker_client_options options = {.socket = socket,
                                                  .base = {.cwd = SLICE("/"), .home = SLICE("/")}};
    struct remote *r = create(&options, "");
    if (r == NULL) {
        buf_text(ret_error, "no memory");
        return false;
    }
    bool ok = remote_connect(r, ret_error);
    finish(r);
    return ok;
}

/* ---- People ---- */

bool broker_vote(const char *socket, const struct vote *vote, struct buf *ret_json, struct buf *ret_error)
{
    const struct broker_client_options options = {.socket = socket};
    struct remote *r = create(&options, "");
    struct fields fields;
    bool ok = false;
    if (r == NULL) {
        buf_text(ret_error, "no memory");
        return false;
    }
    if (hello_only(r, &fields)) {
        buf_reset(&r->out);
        size_t began = frame_begin(&r->out, FRAME_VOTE);
        put_text(&r->out, vote->code);
        put_u8(&r->out, vote->yes);
        put_u8(&r->out, (uint8_t)vote->scope);
        put_text(&r->out, vote->because);
        frame_end(&r->out, began);
        ok = remote_exchange(r, FRAME_ANSWER, ANSWER_MS, &fields);
    }
    if (ok) {
        buf_slice(ret_json, take_text(&fields));
        buf_slice(ret_error, take_text(&fields));
        ok = fields_end(&fields);
    } else {
        buf_printf(ret_error, "the broker at %s does not take answers from here", socket);
    }
    finish(r);
    return ok;
}
