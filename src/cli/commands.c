#include "cli/commands.h"

/* clang-format off */
const struct command *const commands[] = {
    &command_acknowledge,
    &command_approve,
    &command_assert,
    &command_bench,
    &command_check,
    &command_diff,
    &command_dismiss,
    &command_doctor,
    &command_eval,
    &command_explain,
    &command_fmt,
    &command_hook,
    &command_import,
    &command_journal,
    &command_pending,
    &command_refuse,
    &command_relay,
    &command_reload,
    &command_replay,
    &command_reply,
    &command_run,
    &command_schema,
    &command_stats,
    &command_status,
    &command_test,
};
/* clang-format on */
const size_t command_count = sizeof(commands) / sizeof(*commands);
