/* A person's answer to a request, as every command gives it. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "cli/command.h"

/* Counts the answer of `as` (NULL: the user's own name) and says what became of it. Returns the exit code. */
int answer_request(const struct command *command, const char *state_dir, struct slice code, const char *as,
                   bool yes);

#endif
