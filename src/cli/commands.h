/* Every command by name: the one table of the program. Each command is defined in a file of src/cli, in the
 * folder of what it is about. A new command is one line here and its file in meson.build. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

/* Sorted by name: main.c searches it. */
/* clang-format off */
#define EVERY_COMMAND(EACH) \
    EACH(acknowledge) \
    EACH(approvals) \
    EACH(approve) \
    EACH(assert) \
    EACH(bench) \
    EACH(check) \
    EACH(confine) \
    EACH(console) \
    EACH(deny) \
    EACH(diff) \
    EACH(dismiss) \
    EACH(doctor) \
    EACH(enforce) \
    EACH(eval) \
    EACH(explain) \
    EACH(fmt) \
    EACH(hook) \
    EACH(import) \
    EACH(init) \
    EACH(journal) \
    EACH(learn) \
    EACH(notices) \
    EACH(pending) \
    EACH(people) \
    EACH(refuse) \
    EACH(relay) \
    EACH(reload) \
    EACH(replay) \
    EACH(reply) \
    EACH(run) \
    EACH(schema) \
    EACH(serve) \
    EACH(setup) \
    EACH(slack) \
    EACH(state) \
    EACH(stats) \
    EACH(status) \
    EACH(test) \
    EACH(tools) \
    EACH(uninstall) \
    EACH(unwrap) \
    EACH(watch) \
    EACH(wrap)
/* clang-format on */

#define DECLARE_COMMAND(name) extern const struct cli_command command_##name;
EVERY_COMMAND(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* Makes a hook's deny stand ready. Called before anything else in the program. */
void hook_prepare(int argc, char **argv);

#endif
