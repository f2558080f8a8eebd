/* The keeper: a small process between the gate and a program that the gate starts, so that nothing of that
 * program outlives the gate, in whatever way the gate ends.
 *
 * The gate starts its own executable with KEEPER_COMMAND as the first argument; child.h does that. The keeper
 * starts the program in a group of its own and adopts what the program leaves behind (it is a subreaper), so
 * that a process that called setsid is found as well. Three ways lead to its end: the program ends and has
 * left nothing; the gate asks for it; or the control pipe ends, which it does even when the gate is killed.
 * Should the keeper itself be killed, the kernel kills the program (its parent-death signal). */
#ifndef PROCESS_KEEPER_H
#define PROCESS_KEEPER_H

#include <stdint.h>

#define KEEPER_COMMAND "keep-process"

/* The descriptors that a keeper is given, beside 0, 1 and 2, which are the program's. */
enum {
    KEEPER_CONTROL = 3, /* bytes of enum keeper_order come from here; its end is the end */
    KEEPER_REPORTS = 4, /* struct keeper_report go there */
};

enum keeper_order {
    KEEPER_TERMINATE = 'T', /* SIGTERM to the program's group */
    KEEPER_KILL = 'K',      /* SIGKILL to everything that is left */
};

enum keeper_event {
    KEEPER_STARTED = 1, /* value: the program's process id */
    KEEPER_FAILED,      /* value: the errno with which it could not be started; the keeper ends */
    KEEPER_EXITED,      /* value: its exit code, or 128 and its signal; others of its tree may live on */
};

struct keeper_report {
    int32_t event; /* enum keeper_event */
    int32_t value;
};

/* What main calls, first of all, when argv[1] is KEEPER_COMMAND; the program's command follows. Returns the
 * program's exit code once nothing of it is left. */
int keeper_main(int argc, char **argv);

#endif
