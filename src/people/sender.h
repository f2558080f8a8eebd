/* The sender: takes notices from the outbox of a state directory and delivers them.
 *
 * One runs for a state directory at a time. Commands, desktop notices and bells: at most one a second and
 * eight at once, each killed with its whole group after SENDER_COMMAND_MS; when more than eight wait, the
 * oldest are dropped, and the next one says how many. Webhooks are delivered in their order by the program
 * `callgate-webhook`, and tried again, with growing pauses of at most a minute, until they arrive or are a day
 * old. */
#ifndef PEOPLE_SENDER_H
#define PEOPLE_SENDER_H

#include "people/outbox.h"

#define SENDER_COMMAND_MS 30000u
#define SENDER_LINGER_MS  10000u

/* Delivers until nothing has waited for SENDER_LINGER_MS. `webhook` is the absolute name of callgate-webhook.
 * True when it did its work, or another sender is there to do it; else false with a line in ret_error. */
MUST_USE bool sender_run(int state_dir, const char *webhook, struct buf *ret_error);

#endif
