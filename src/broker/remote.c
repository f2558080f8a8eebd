/* The bytes between a client and its broker: sent whole or not, answers waited for, the connection made anew. */
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

#define WELCOME_MS  20000      /* to welcome: it may have to load a policy first */
#define START_MS    3000       /* for one that is started to listen */
#define AGAIN_NS    200000000u /* a broker that is gone is looked for again after this */
#define PAUSE_MS    10
#define LINES_BYTES ((size_t)64 << 20)

/* ---- Bytes ---- */

void remote_hang_up(struct remote *r)
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

bool remote_send(struct remote *r, struct slice bytes, uint64_t until_ns)
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
int remote_receive(struct remote *r)
{
    char *room = buf_reserve(&r->in, 64u << 10);
    ssize_t n = room != NULL ? recv(r->fd, room, 64u << 10, MSG_DONTWAIT) : 0;
    if (n > 0) {
        buf_added(&r->in, (size_t)n);
        return 1;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

struct ended *remote_find_held(struct remote *r, int64_t number)
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
    struct ended *held = remote_find_held(r, (int64_t)take_u64(fields));
    uint8_t state = take_u8(fields);
    if (fields_end(fields) && held != NULL && state > REQUEST_WAITING && state <= REQUEST_WITHDRAWN) {
        held->state = (enum request_state)state;
    }
}

/* The next frame that is no news. 1: there is one, 0: none is whole yet, -1: that is no broker. */
int remote_next_frame(struct remote *r, enum frame_kind *ret_kind, struct fields *ret_fields)
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
        if (*ret_kind == FRAME_RELOADED) {
            r->policy_moved = true;
        } else if (*ret_kind == FRAME_ENDED) {
            take_ended(r, ret_fields);
        } else {
            return 1;
        }
    }
}

/* Sends what is in `out` and waits for a frame of a kind, whose fields live until the next question. */
bool remote_exchange(struct remote *r, enum frame_kind wanted, uint32_t wait_ms, struct fields *ret_fields)
{
    uint64_t until = clock_mono_ns() + wait_ms * 1000000ull;
    enum frame_kind kind = FRAME_HELLO;
    bool ok = buf_ok(&r->out) && remote_send(r, buf_slice_of(&r->out), until);
    buf_reset(&r->out);
    while (ok) {
        int have = remote_next_frame(r, &kind, ret_fields);
        if (have > 0 && kind == wanted) {
            return true;
        }
        int came = have == 0 ? remote_receive(r) : -1;
        ok = came > 0 || (came == 0 && wait_for(r->fd, POLLIN, until));
    }
    remote_hang_up(r);
    return false;
}

/* ---- Connecting ---- */

void remote_tell_lines(struct remote *r, struct slice lines)
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
    *ret_answered = remote_exchange(r, FRAME_WELCOME, WELCOME_MS, &fields);
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
        remote_hang_up(r);
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

bool remote_connect(struct remote *r, struct buf *ret_error)
{
    remote_hang_up(r);
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
            r->policy_moved = true;
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
bool remote_ready(struct remote *r)
{
    struct buf error;
    if (r->fd >= 0 && has_ended(r->fd)) {
        remote_hang_up(r); /* started anew, maybe: then this call need not be the price */
        r->tried_ns = 0;
    }
    if (r->fd >= 0) {
        return true;
    }
    if (clock_mono_ns() - r->tried_ns < AGAIN_NS) {
        return false;
    }
    buf_init_message(&error, LINES_BYTES);
    bool reached = remote_connect(r, &error);
    if (!reached && !r->told) {
        remote_tell_lines(r, buf_message(&error));
        remote_tell_lines(r, SLICE("calls are denied until a broker is there"));
    }
    r->told = !reached;
    buf_finish(&error);
    return reached;
}
