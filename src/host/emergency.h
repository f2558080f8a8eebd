/* The deny that stands ready: what a hook prints when it can do nothing else.
 *
 * The only part of this room that has state of the whole process (signals, a timer, standard output), and
 * that prints and exits: it must, because it works when nothing else does. One process answers once. */
#ifndef HOST_EMERGENCY_H
#define HOST_EMERGENCY_H

#include "host/host.h"

/* Call before anything that can fail. Makes standard input, output and error exist; forgets the environment;
 * unblocks signals; from now on the deadline and every signal that would end the process print the event's
 * deny in one write and end it with the code that the host reads as a deny. Allocates nothing.
 * Quiet: standard error takes nothing but the line of a deny, unless it is a terminal, for a host that shows
 * it to its agent. */
void emergency_arm(const struct host_event *event, uint32_t deadline_ms, bool quiet);

/* From now on the deny is this event's. */
void emergency_event(const struct host_event *event);

/* Moves the deadline: milliseconds since emergency_arm. What is over already fires at once. */
void emergency_deadline(uint32_t deadline_ms);

/* Milliseconds since emergency_arm. */
uint32_t emergency_elapsed(void);

/* Prints a deny in one write, with the reason that the agent hears, and ends the process as emergency_answer does. */
_Noreturn void emergency_deny(const struct host_event *event, struct slice reason);

/* Prints an answer in one write and ends the process; an answer that cannot be printed is a deny by its exit
 * code. */
_Noreturn void emergency_answer(const struct host_event *event, enum host_answer answer);

#endif
