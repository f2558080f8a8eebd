/* Every command's entry; each is defined in the file of its name. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command command_approve, command_check, command_diff, command_eval, command_journal,
    command_pending, command_refuse, command_run, command_schema, command_status;

#endif
