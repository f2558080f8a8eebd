/* The broker, for the commands that are its clients. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "broker/broker.h"
#include "cli/options.h"

/* Whether a command with --gate was given nothing that only the broker's configuration says. Else says so. */
MUST_USE bool broker_takes(const struct cli_command *command, const struct options *options, bool own_terms);

#endif
