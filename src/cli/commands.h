/* Every command's entry; each is defined in the file of its name. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command command_acknowledge;
extern const struct command command_approve;
extern const struct command command_assert;
extern const struct command command_bench;
extern const struct command command_check;
extern const struct command command_diff;
extern const struct command command_dismiss;
extern const struct command command_doctor;
extern const struct command command_eval;
extern const struct command command_explain;
extern const struct command command_fmt;
extern const struct command command_hook;
extern const struct command command_import;
extern const struct command command_journal;
extern const struct command command_pending;
extern const struct command command_refuse;
extern const struct command command_relay;
extern const struct command command_reload;
extern const struct command command_replay;
extern const struct command command_reply;
extern const struct command command_run;
extern const struct command command_schema;
extern const struct command command_stats;
extern const struct command command_status;
extern const struct command command_test;

/* Makes a hook's deny stand ready. Called before anything else in the program. */
void hook_prepare(int argc, char **argv);

#endif
