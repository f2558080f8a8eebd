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
#include "broker/internal.h"
#include "gate/door.h"

#define ANSWER_MS   5000       /* how long a broker may take to answer; a hung one is a deny after this */
#define WELCOME_MS  20000      /* to welcome: it may have to load a policy first */
#define START_MS    3000       /* for one that is started to listen */
#define AGAIN_NS    200000000u /* a broker that is gone is looked for again after this */
#define PAUSE_MS    10
#define LINES_BYTES ((size_t)64 << 20)
#define ENDS_MOST   4096u

struct ended {
    int64_t number;
    enum request_state state; /* REQUEST_WAITING: it waits */
};

struct remote {
    struct broker_client_options options;
    char *socket, *state_dir; /* kept */
    const char *surface;
    bool named, unnamed_refused, tells_refusals;
    unsigned readings_flags;
    void (*say)(const char *line);
    struct path_base base; /* where the paths of calls start */
    int fd;                /* -1: not connected */
    uint64_t tried_ns;
    struct buf out, in;
    size_t taken;     /* of `in`, by the answer that is being read */
    struct buf notes; /* frames of events, for the next commit */
    bool asks;        /* among them are some that the commit waits for */
    bool turn_failed;
    bool told; /* the operator knows that the broker cannot be reached */
    struct ended held[ENDS_MOST];
    size_t held_count;
};

/* ---- Bytes ---- */

static void hang_up(struct remote *r)
{
    if (r->fd >= 0) {
        close(r->fd);
    }
    r->fd = -1;
    r->held_count = 0; /* the broker has withdrawn them, or its successor will */
    buf_reset(&r->in);
    r->taken = 0;
}

/* False when the time is over or the other end is gone. */
static bool wait_for(int fd, short events, uint64_t until_ns)
{
    struct pollfd one = {.fd = fd, .events = events};
    for (;;) {
        uint64_t now = clock_mono_ns();
        int left = now >= until_ns ? 0 : (int)((until_ns - now) / 1000000u) + 1;
        int ready = poll(&one, 1, left);
        if (ready > 0) {
            return true;
        }
        if (ready == 0 || errno != EINTR) {
            return false;
        }
    }
}

static bool send_all(struct remote *r, struct slice bytes, uint64_t until_ns)
{
    while (bytes.len > 0) {
        ssize_t n = send(r->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            bytes = slice_from(bytes, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            if (!wait_for(r->fd, POLLOUT, until_ns)) {
                return false;
            }
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* 1: something came, 0: nothing is there, -1: the end. */
static int receive(struct remote *r)
{
    char *room = buf_reserve(&r->in, 64u << 10);
    ssize_t n = room != NULL ? recv(r->fd, room, 64u << 10, MSG_DONTWAIT) : 0;
    if (n > 0) {
        buf_added(&r->in, (size_t)n);
        return 1;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static struct ended *find_held(struct remote *r, int64_t number)
{
    for (size_t i = 0; i < r->held_count; i++) {
        if (r->held[i].number == number) {
            return &r->held[i];
        }
    }
    return NULL;
}

static void take_ended(struct remote *r, struct fields *fields)
{
    struct ended *held = find_held(r, (int64_t)take_u64(fields));
    uint8_t state = take_u8(fields);
    if (fields_end(fields) && held != NULL && state > REQUEST_WAITING && state <= REQUEST_WITHDRAWN) {
        held->state = (enum request_state)state;
    }
}

/* The next frame that is no news. 1: there is one, 0: none is whole yet, -1: that is no broker. */
static int next_frame(struct remote *r, enum frame_kind *ret_kind, struct fields *ret_fields)
{
    size_t length;
    buf_drop(&r->in, r->taken);
    r->taken = 0;
    for (;;) {
        if (!frame_first(slice_from(buf_slice_of(&r->in), r->taken), ret_kind, ret_fields, &length)) {
            return -1;
        }
        if (length == 0) {
            buf_drop(&r->in, r->taken);
            r->taken = 0;
            return 0;
        }
        r->taken += length;
        if (*ret_kind != FRAME_ENDED) {
            return 1;
        }
        take_ended(r, ret_fields);
    }
}

/* Sends what is in `out` and waits for a frame of a kind, whose fields live until the next question. */
static bool exchange(struct remote *r, enum frame_kind wanted, uint32_t wait_ms, struct fields *ret_fields)
{
    uint64_t until = clock_mono_ns() + wait_ms * 1000000ull;
    enum frame_kind kind = FRAME_HELLO;
    bool ok = buf_ok(&r->out) && send_all(r, buf_slice_of(&r->out), until);
    buf_reset(&r->out);
    while (ok) {
        int have = next_frame(r, &kind, ret_fields);
        if (have > 0 && kind == wanted) {
            return true;
        }
        int came = have == 0 ? receive(r) : -1;
        ok = came > 0 || (came == 0 && wait_for(r->fd, POLLIN, until));
    }
    hang_up(r);
    return false;
}

/* ---- Connecting ---- */

static void tell_lines(struct remote *r, struct slice lines)
{
    while (lines.len > 0 && r->say != NULL) {
        const char *lf = memchr(lines.ptr, '\n', lines.len);
        size_t len = lf != NULL ? (size_t)(lf - lines.ptr) : lines.len;
        char *line = strndup(lines.ptr, len);
        if (line != NULL) {
            r->say(line);
        }
        free(line);
        lines = slice_from(lines, len < lines.len ? len + 1 : len);
    }
}

static void write_hello(struct remote *r)
{
    size_t began = frame_begin(&r->out, FRAME_HELLO);
    buf_bytes(&r->out, BROKER_MAGIC, sizeof(BROKER_MAGIC) - 1);
    put_u32(&r->out, BROKER_VERSION);
    put_text(&r->out, slice_of(r->surface));
    put_text(&r->out, r->options.project);
    put_text(&r->out, r->options.protect != NULL ? slice_of(r->options.protect) : (struct slice){0});
    put_u8(&r->out, r->unnamed_refused && !r->named);
    put_u8(&r->out, r->tells_refusals);
    put_u32(&r->out, r->readings_flags);
    put_base(&r->out, &r->options.base);
    frame_end(&r->out, began);
}

/* *ret_answered: the broker has said something. */
static bool greet(struct remote *r, bool *ret_answered, struct buf *ret_error)
{
    struct fields fields;
    buf_reset(&r->out);
    write_hello(r);
    *ret_answered = exchange(r, FRAME_WELCOME, WELCOME_MS, &fields);
    if (!*ret_answered) {
        buf_printf(ret_error, "the broker at %s does not answer", r->socket);
        return false;
    }
    (void)take_u32(&fields);
    bool ok = take_bool(&fields);
    struct slice lines = take_text(&fields);
    bool whole = fields_end(&fields);
    buf_slice(ret_error, whole ? lines : SLICE("the broker's answer cannot be read"));
    if (!ok || !whole) {
        hang_up(r);
    }
    return ok && whole;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

static bool reach(struct remote *r)
{
    r->fd = address_connect(r->socket);
    bool absent = r->fd < 0 && (errno == ENOENT || errno == ECONNREFUSED);
    if (!absent || !r->options.starts || !broker_start(r->socket, r->state_dir)) {
        return r->fd >= 0;
    }
    uint64_t until = clock_mono_ns() + START_MS * 1000000ull;
    while (r->fd < 0 && clock_mono_ns() < until) {
        pause_ms(PAUSE_MS);
        r->fd = address_connect(r->socket);
    }
    return r->fd >= 0;
}

static bool connect_now(struct remote *r, struct buf *ret_error)
{
    hang_up(r);
    r->tried_ns = clock_mono_ns();
    /* Twice: one that ends just now, because it is started anew, is not the last word. */
    for (int i = 0;; i++) {
        bool answered = false;
        uint64_t began = clock_mono_ns();
        if (!reach(r)) {
            buf_printf(ret_error, "no broker can be reached at %s: %s; start it with 'callgate serve'",
                       r->socket, strerror(errno));
            return false;
        }
        if (greet(r, &answered, ret_error)) {
            return true;
        }
        if (answered || i > 0 || clock_mono_ns() - began > AGAIN_NS) {
            return false;
        }
        buf_reset(ret_error);
        pause_ms(PAUSE_MS);
    }
}

/* Whether the other end is closed, without waiting and without taking anything. */
static bool has_ended(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Whether a broker is there. One that was lost is looked for again, not with every call. */
static bool ready(struct remote *r)
{
    struct buf error;
    if (r->fd >= 0 && has_ended(r->fd)) {
        hang_up(r); /* started anew, maybe: then this call need not be the price */
        r->tried_ns = 0;
    }
    if (r->fd >= 0) {
        return true;
    }
    if (clock_mono_ns() - r->tried_ns < AGAIN_NS) {
        return false;
    }
    buf_init_message(&error, LINES_BYTES);
    bool reached = connect_now(r, &error);
    if (!reached && !r->told) {
        tell_lines(r, buf_message(&error));
        tell_lines(r, SLICE("calls are denied until a broker is there"));
    }
    r->told = !reached;
    buf_finish(&error);
    return reached;
}

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
    frame_end(&r->out, began);
}

static struct outcome take_answer(struct remote *r)
{
    struct fields fields;
    if (!exchange(r, FRAME_OUTCOME, ANSWER_MS, &fields)) {
        r->turn_failed = true;
        return (struct outcome){.kind = OUTCOME_DENY};
    }
    return take_outcome(&fields);
}

static void forget(struct remote *r, int64_t number)
{
    struct ended *held = find_held(r, number);
    if (held != NULL) {
        size_t at = (size_t)(held - r->held);
        r->held_count--;
        memmove(held, held + 1, (r->held_count - at) * sizeof(*held));
    }
}

static void remember(struct remote *r, int64_t number)
{
    if (find_held(r, number) != NULL) {
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
    if (prior != NULL && find_held(r, prior->number) == NULL) {
        lost.denial = DENIAL_NOT_IN_TIME;
        return lost;
    }
    if (!ready(r)) {
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
    put_text(&r->notes, defaults->server);
    put_text(&r->notes, defaults->channel);
    put_text(&r->notes, defaults->thread);
    put_u8(&r->notes, (uint8_t)defaults->actor);
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
    if (!ready(r)) {
        return false;
    }
    buf_reset(&r->out);
    frame_end(&r->out, frame_begin(&r->out, FRAME_SERVERS));
    if (!exchange(r, FRAME_NAMES, ANSWER_MS, &fields)) {
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
    if (!exchange(r, FRAME_DONE, wait_ms, &fields)) {
        return false;
    }
    bool ok = take_bool(&fields);
    struct slice lines = take_text(&fields);
    if (!fields_end(&fields)) {
        hang_up(r);
        return false;
    }
    tell_lines(r, lines);
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
    bool there = ready(r); /* first: it may have to say hello with the same buffer */
    buf_reset(&r->out);
    buf_slice(&r->out, buf_slice_of(&r->notes));
    r->out.failed = r->out.failed || !buf_ok(&r->notes);
    buf_reset(&r->notes);
    if (asks) {
        frame_end(&r->out, frame_begin(&r->out, FRAME_COMMIT));
        return there && ask_done(r, ANSWER_MS) && ok;
    }
    if (!there || !buf_ok(&r->out) ||
        !send_all(r, buf_slice_of(&r->out), clock_mono_ns() + ANSWER_MS * 1000000ull)) {
        hang_up(r);
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
    while (r->fd >= 0 && (came = receive(r)) > 0) {
    }
    if (r->fd >= 0 && (came < 0 || next_frame(r, &kind, &fields) != 0)) {
        hang_up(r); /* gone, or an answer that nobody asked for */
    }
    return true;
}

static enum request_state held_state(void *self, const struct held *held)
{
    struct ended *ended = find_held(self, held->number);
    return ended != NULL ? ended->state : REQUEST_WITHDRAWN;
}

static void withdraw(void *self, const struct held *held)
{
    struct remote *r = self;
    if (find_held(r, held->number) == NULL || r->fd < 0) {
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
    if (!ready(r)) {
        return false;
    }
    buf_reset(&r->out);
    frame_end(&r->out, frame_begin(&r->out, FRAME_RELOAD));
    return ask_done(r, WELCOME_MS);
}

static void finish(void *self)
{
    struct remote *r = self;
    hang_up(r);
    buf_finish(&r->out);
    buf_finish(&r->in);
    buf_finish(&r->notes);
    free(r->socket);
    free(r->state_dir);
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
    .close = finish,
};

static struct remote *create(const struct broker_client_options *options)
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
    if (r->socket == NULL || r->state_dir == NULL) {
        finish(r);
        return NULL;
    }
    return r;
}

struct gate *broker_connect(const struct broker_client_options *options,
                            const struct gate_options *gate_options, struct buf *ret_error)
{
    struct remote *r = create(options);
    struct gate *gate = NULL;
    if (r == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    r->surface = gate_options->surface;
    r->named = gate_options->server.ptr != NULL;
    r->unnamed_refused = gate_options->must_name_server;
    r->readings_flags = gate_options->readings_flags;
    r->tells_refusals = gate_options->tell_refusals;
    r->say = gate_options->say;
    bool reached = connect_now(r, ret_error);
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
    r->surface = "";
    r->options.base = (struct path_base){.cwd = SLICE("/"), .home = SLICE("/")};
    r->fd = address_connect(r->socket);
    buf_reset(&r->out);
    size_t began = frame_begin(&r->out, FRAME_HELLO);
    buf_bytes(&r->out, BROKER_MAGIC, sizeof(BROKER_MAGIC) - 1);
    put_u32(&r->out, BROKER_VERSION);
    frame_end(&r->out, began);
    return r->fd >= 0 && exchange(r, FRAME_WELCOME, ANSWER_MS, ret_fields);
}

bool broker_answers(const char *socket, struct buf *ret_error)
{
    const struct broker_client_options options = {.socket = socket,
                                                  .base = {.cwd = SLICE("/"), .home = SLICE("/")}};
    struct remote *r = create(&options);
    if (r == NULL) {
        buf_text(ret_error, "no memory");
        return false;
    }
    r->surface = "";
    bool ok = connect_now(r, ret_error);
    finish(r);
    return ok;
}

/* ---- People ---- */

bool broker_vote(const char *socket, const struct vote *vote, struct buf *ret_json, struct buf *ret_error)
{
    const struct broker_client_options options = {.socket = socket};
    struct remote *r = create(&options);
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
        ok = exchange(r, FRAME_ANSWER, ANSWER_MS, &fields);
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
