/* What doctor has tried inside a confinement: the tasks of callgate-confine-probe, by name.
 *
 * The program reads TASK NUL ARGUMENT NUL from standard input, as often as there are tasks, and answers each with a line
 * "NUMBER reached|held WHAT-WAS-SEEN". */
#ifndef CONFINE_PROBE_H
#define CONFINE_PROBE_H

#define PROBE_PLACE "place" /* DEVICE:INODE:PATH: whether that very file is at that place */
#define PROBE_WRITE                                                                                          \
    "write" /* PATH: whether it can be opened for writing or replaced, or a directory be changed */
#define PROBE_PATH     "path"     /* whether a directory of the environment's PATH can be changed */
#define PROBE_SIGNAL   "signal"   /* PID: whether it can be sent SIGUSR1 */
#define PROBE_PTRACE   "ptrace"   /* PID: whether it can be traced, or its environment read */
#define PROBE_TERMINAL "terminal" /* PATH: whether it can be opened and written to */
#define PROBE_TYPING   "typing"   /* whether input can be put into the controlling terminal */
#define PROBE_CONNECT  "connect"  /* PATH: whether somebody answers at that socket */
#define PROBE_COMMAND  "command"  /* words, each behind a tab: whether that command succeeds */
#define PROBE_ENVIRONMENT                                                                                    \
    "environment" /* HOME, state directory and the same words: … when the environment names both */
#define PROBE_NAMED_SOCKETS                                                                                  \
    "sockets" /* PATH that may be reached: whether a socket that the environment names can be */
#define PROBE_NETWORK "network" /* whether any address outside can be reached */

#endif
