/* The connection of a client to its broker: bytes, frames, hello, and a broker that is started when none listens. Inside
 * this room only. */
#ifndef BROKER_REMOTE_INTERNAL_H
#define BROKER_REMOTE_INTERNAL_H

#include "broker/internal.h"

#define ANSWER_MS 5000u /* how long a broker may take to answer; a hung one is a deny after this */
#define ENDS_MOST 4096u

struct ended {
    int64_t number;
    enum request_state state; /* REQUEST_WAITING: it waits */
};

struct remote {
    struct broker_client_options options;
    char *socket, *state_dir, *surface; /* its own copies: a connection is made anew long after */
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
    bool policy_moved; /* the broker's policy may be another */
    bool told;         /* the operator knows that the broker cannot be reached */
    struct ended held[ENDS_MOST];
    size_t held_count;
};

void remote_hang_up(struct remote *r);

bool remote_send(struct remote *r, struct slice bytes, uint64_t until_ns);

/* The next frame that is no news. 1: there is one, 0: none is whole yet, -1: that is no broker. */
int remote_next_frame(struct remote *r, enum frame_kind *ret_kind, struct fields *ret_fields);

/* Sends what is in `out` and waits for a frame of a kind, whose fields live until the next question. */
bool remote_exchange(struct remote *r, enum frame_kind wanted, uint32_t wait_ms, struct fields *ret_fields);

struct ended *remote_find_held(struct remote *r, int64_t number);

void remote_tell_lines(struct remote *r, struct slice lines);

/* Whether a broker is there. One that was lost is looked for again, not with every call. */
bool remote_ready(struct remote *r);

bool remote_connect(struct remote *r, struct buf *ret_error);

/* 1: something came, 0: nothing is there, -1: the end. */
int remote_receive(struct remote *r);

#endif
