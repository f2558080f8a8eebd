/* What the files of the sender share. Nothing outside src/people includes this. */
#ifndef PEOPLE_SENDER_INTERNAL_H
#define PEOPLE_SENDER_INTERNAL_H

#include <uv.h>

#include "people/sender.h"

#define OUTBOX_LOOK_MOST 4096u
#define SENDER_GIVE_UP   65 /* callgate-webhook's exit code when trying again would not help (EX_DATAERR) */

struct sender {
    uv_loop_t loop;
    uv_timer_t timer;
    int outbox;
    const char *webhook;
    size_t running;
    uint64_t started_ms, busy_ms; /* uv_now */
    bool waits;                   /* something waited at the last look */
    uint64_t dropped;             /* since the sender started */
    uint64_t untold;              /* dropped and not yet told in a notice */

    bool posting;
    char post_name[64];
    uint64_t pause_ms, next_post_ms;
    int64_t failing_since; /* wall clock; 0: not failing */
    char failing_why[80];
};

/* Starts the delivery of one item; a webhook ends in sender_posted. What cannot be started is as what failed. */
void sender_start(struct sender *s, const char *name, bool webhook);
void sender_posted(struct sender *s, int64_t status);

#endif
