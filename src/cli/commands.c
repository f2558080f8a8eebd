/* The table of commands as main.c searches it. */
#include "cli/commands.h"

#define COMMAND_ADDRESS(name) &command_##name,
const struct cli_command *const commands[] = {EVERY_COMMAND(COMMAND_ADDRESS)};
const size_t command_count = sizeof(commands) / sizeof(*commands);
