/* The words that start a program in a confinement, for `confine` and for `run --confine`. */
#ifndef CLI_CONFINE_CONFINE_H
#define CLI_CONFINE_CONFINE_H

#include "cli/options.h"
#include "confine/view.h"

struct confine_options {
    const struct cli_command *command; /* for messages */
    struct option_list writable;       /* directories beside the working directory and the roots */
    const char *gate;                  /* a broker's judging socket; NULL: none */
    bool landlock;                     /* by Landlock alone, which holds less */
    bool private_network;
    bool proxied_network; /* a network of its own with a proxy outside (net/net.h); then also: */
    const char *server, *channel,
        *thread; /* of the calls that its requests are; NULL: none, local, a fresh one */
};

/* The argument list of callgate-confine for the command in options->argv, the policy that the options name, and the
 * view that follows from it; ends with NULL and lives in ret_view, which the caller finishes. NULL after saying why;
 * then there is no view. */
MUST_USE char **confine_words(struct options *options, const struct confine_options *own,
                              struct view *ret_view);

/* Makes own->gate the absolute name of the socket at which a broker judges, started if none is there, so that its other
 * socket is there to be hidden. False after saying why not. */
MUST_USE bool confine_find_broker(struct options *options, struct confine_options *own);

/* Runs the command in options->argv confined, and judges its requests to the network. Its exit code. */
int confine_with_network(struct options *options, const struct confine_options *own);

/* The argument list of a program that does that for a server; ends with NULL. NULL after saying why. */
MUST_USE char **confine_server_words(struct options *options, const struct confine_options *own);

#endif
