#include "cli/journal/journals.h"

#include "cli/options.h"
#include "gate/state.h"

/* The journal of the state directory, which --state names or else is this user's own. */
static bool default_journal(const char *state, struct buf *ret_file)
{
    if (state != NULL) {
        buf_text(ret_file, state);
    } else if (!gate_default_state_dir(ret_file)) {
        return false;
    }
    buf_text(ret_file, "/" STATE_JOURNAL);
    buf_byte(ret_file, '\0');
    return buf_ok(ret_file);
}

int journals_find(struct journals *ret_journals, const struct command *command, const char *const *files,
                  size_t count, const char *state)
{
    *ret_journals = (struct journals){.files = files, .count = count};
    buf_init(&ret_journals->path, 64u << 10);
    if (count > 0) {
        return state != NULL ? usage_error(command, "name journals, or a state directory, not both") : -1;
    }
    if (!default_journal(state, &ret_journals->path)) {
        return usage_error(command, "the home directory cannot be told; name a journal");
    }
    ret_journals->only = ret_journals->path.ptr;
    ret_journals->files = &ret_journals->only;
    ret_journals->count = 1;
    return -1;
}

void journals_finish(struct journals *journals)
{
    buf_finish(&journals->path);
}
