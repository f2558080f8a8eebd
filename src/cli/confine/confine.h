/* The words that start a program in a confinement, for `confine` and for `run --confine`. */
#ifndef CLI_CONFINE_CONFINE_H
#define CLI_CONFINE_CONFINE_H

#include "cli/options.h"
#include "confine/view.h"

struct confine_options {
    const struct cli_command *command; /* for messages */
    struct option_list writable;       /* directories beside the working directory and the roots */
    const char *gate;                  /* a broker's judging socket; NULL: none */
    bool private_network;
};

/* The argument list of callgate-confine for the command in options->argv, the policy that the options name, and the
 * view that follows from it; ends with NULL and lives in ret_view, which the caller finishes. NULL after saying why;
 * then there is no view. */
MUST_USE char **confine_words(struct options *options, const struct confine_options *own,
                              struct view *ret_view);

#endif
