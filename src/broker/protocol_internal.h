/* Frames between a broker and its clients. Inside this room.
 *
 * A frame is its length (four bytes, the lowest first, of what follows), its kind (one byte), and its fields: numbers
 * of fixed size, texts with their length before them. A frame that is longer than FRAME_MOST, of an unknown kind, or
 * whose fields do not fill it exactly ends the connection. */
#ifndef BROKER_PROTOCOL_INTERNAL_H
#define BROKER_PROTOCOL_INTERNAL_H

#include "gate/gate.h"

#define BROKER_MAGIC   "callgate"
#define BROKER_VERSION 3u
#define USABLE_MOST    16384u /* tools that are asked about at once */
#define FRAME_HEAD     ((size_t)5)
#define FRAME_MOST     ((size_t)LIMIT_MESSAGE_BYTES * 2) /* a call, its names and where its paths start */

enum frame_kind {
    FRAME_HELLO = 1, /* magic, version, terms → FRAME_WELCOME */
    FRAME_WELCOME,   /* version, whether it may go on, lines for people */
    FRAME_JUDGE,     /* a call → FRAME_OUTCOME */
    FRAME_UNREADABLE, /* a message that is no call: a deny, so there is no answer; FRAME_COMMIT tells whether it is recorded */
    FRAME_OUTCOME,
    FRAME_NOTE,     /* an event; no answer */
    FRAME_COMMIT,   /* → FRAME_DONE */
    FRAME_WITHDRAW, /* a request's number → FRAME_DONE */
    FRAME_RELOAD,   /* → FRAME_DONE */
    FRAME_SERVERS,  /* → FRAME_NAMES */
    FRAME_NAMES,
    FRAME_DONE,  /* whether it was, lines for people */
    FRAME_ENDED, /* a request's number and how it ended: comes by itself, at any time */
    FRAME_VOTE,  /* a person's answer → FRAME_ANSWER; at the approving socket only */
    FRAME_ANSWER,
    FRAME_USABLE,   /* a session, tools → FRAME_USES */
    FRAME_USES,     /* of each tool whether some call of the session could use it */
    FRAME_RELOADED, /* the policy may be another: comes by itself, at any time */
    FRAME_KINDS,
};

/* ---- Writing. The buffer fails as a whole. ---- */

size_t frame_begin(struct buf *buf, enum frame_kind kind); /* returns where it began, for frame_end */
void frame_end(struct buf *buf, size_t began);
void put_u8(struct buf *buf, uint8_t value);
void put_u32(struct buf *buf, uint32_t value);
void put_u64(struct buf *buf, uint64_t value);
void put_text(struct buf *buf, struct slice text); /* ptr NULL stays NULL */
void put_base(struct buf *buf, const struct path_base *base);
void put_held(struct buf *buf, const struct held *held);
void put_outcome(struct buf *buf, const struct outcome *outcome);
void put_session(struct buf *buf, const struct call_defaults *session);

/* ---- Reading. Fields are borrowed from the frame; once something does not fit, all that follow are zero. ---- */

struct fields {
    struct slice left;
    bool failed;
};

uint8_t take_u8(struct fields *fields);
uint32_t take_u32(struct fields *fields);
uint64_t take_u64(struct fields *fields);
struct slice take_text(struct fields *fields);
bool take_bool(struct fields *fields); /* anything but 0 and 1 does not fit */
void take_bytes(struct fields *fields, void *to, size_t len);
/* The roots live in the arena. */
struct path_base take_base(struct fields *fields, struct arena *arena);
struct held take_held(struct fields *fields);
/* `tell` is borrowed from the frame. */
struct outcome take_outcome(struct fields *fields);
struct call_defaults take_session(struct fields *fields);
/* Whether all fitted and nothing is left. */
bool fields_end(const struct fields *fields);

/* The first frame of some bytes: its kind, its fields, and how many bytes it is. Length 0: not whole yet.
 * False when it can not be one. */
MUST_USE bool frame_first(struct slice bytes, enum frame_kind *ret_kind, struct fields *ret_fields,
                          size_t *ret_length);

#endif
