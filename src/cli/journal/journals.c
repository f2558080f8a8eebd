/* Finds the journals that a command is about. */
#include "cli/journal/journals.h"

#include "cli/options.h"
#include "gate/state.h"

/* The parts of the journal in the state directory, which --state names or else is this user's own. */
static int find_own(struct journals *journals, const struct cli_command *command, const char *state)
{
    struct buf error, *dir = &journals->path;
    int code = -1;
    buf_init_message(&error, MESSAGE_BYTES);
    bool known = state != NULL || gate_default_state_dir(dir);
    if (state != NULL) {
        buf_text(dir, state);
    }
    buf_byte(dir, '\0');
    if (!known || !buf_ok(dir)) {
        code = usage_error(command, "the home directory cannot be told; name a journal");
    } else if (!journal_parts_find(dir->ptr, STATE_JOURNAL, &journals->parts, &error)) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
        code = EXIT_UNABLE;
    } else {
        journals->dir = dir->ptr;
        journals->files = journals->parts.files;
        journals->count = journals->parts.count;
    }
    buf_finish(&error);
    return code;
}

int journals_find(struct journals *ret_journals, const struct cli_command *command, const char *const *files,
                  size_t count, const char *state)
{
    *ret_journals = (struct journals){.files = files, .count = count};
    buf_init(&ret_journals->path, 64u << 10);
    if (count > 0) {
        return state != NULL ? usage_error(command, "name journals, or a state directory, not both") : -1;
    }
    return find_own(ret_journals, command, state);
}

void journals_finish(struct journals *journals)
{
    buf_finish(&journals->path);
    journal_parts_finish(&journals->parts);
}
