/* The commands of the program: one file each, found through one sorted table (commands.c). */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <sys/types.h>

#include "gate/sources.h"

/* Exit codes. */
enum {
    EXIT_YES = 0,    /* done; the answer is yes or neutral */
    EXIT_NO = 1,     /* done; the answer is no */
    EXIT_UNABLE = 2, /* could not be done */
};

struct cli_command {
    const char *name;
    const char *summary; /* one line for `callgate --help` */
    const char *usage;   /* the whole text of `callgate NAME --help` */
    int (*run)(int argc, char **argv);
};

/* Sorted by name; each stands in the file of its name. */
extern const struct cli_command *const commands[];
extern const size_t command_count;

/* Says what is wrong with the arguments and how to get help; returns EXIT_UNABLE. */
int usage_error(const struct cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The umask that the program was started with, for the processes that it starts; its own is 077. */
extern mode_t umask_at_start;

/* From now on a message that standard error has no room for is lost, and counted, instead of waited with: for
 * commands on which an agent's calls wait. */
void say_without_waiting(void);

/* A message to standard error: "callgate: …\n". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
