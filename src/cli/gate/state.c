/* `state`: a copy of all that callgate keeps, and putting it back. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backup/backup.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate state backup [--replace] [--state DIR] [--home DIR] FILE\n"
    "       callgate state restore [--replace] [--state DIR] [--home DIR] FILE\n\n"
    "backup  copies the journal with its parts, the store of approvals, the rest of the state directory and "
    "the\n"
    "        settings in ~/.config/callgate (policies, people.json, …) into one tar archive, of one moment, "
    "also "
    "while\n"
    "        gates run; then verifies it: every byte, the journal's chain, the store's integrity\n"
    "restore verifies a backup in the same way and puts it in place. Refused while a gate or a broker runs, "
    "and "
    "over\n"
    "        what is there unless --replace is given; the journal tells of it (system.restored)\n\n"
    "  --replace             backup: over a FILE that is there; restore: over the state and the settings "
    "that "
    "are there.\n"
    "                        What was there stays beside, its name ends in .before- and the time\n"
    "  --state DIR           where journal and approvals live (default: ~/.local/state/callgate)\n"
    "  --home DIR            whose settings\n\n"
    "FILE holds what the journal holds, and the secrets of the settings: it is readable by you alone. Root's "
    "policies in\n"
    "/etc/callgate are not in it. Approvals that were alive then are alive again until they are over: see "
    "'callgate\n"
    "approvals'. Exit: 0 done, 2 could not be done.\n";

/* An absolute name, in the arena; NULL without memory or a working directory. */
static const char *absolute(struct options *options, const char *path)
{
    char cwd[PATH_MAX], whole[2 * PATH_MAX];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    if (path[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL) {
        return NULL;
    }
    snprintf(whole, sizeof(whole), "%s%s%.*s", path[0] == '/' ? "" : cwd, path[0] == '/' ? "" : "/", (int)len,
             path);
    return arena_copy(&options->arena, slice_of(whole)).ptr;
}

static int carry_out(struct options *options, bool restoring, bool replace)
{
    char config[PATH_MAX + 32];
    struct buf report, error;
    int code = EXIT_UNABLE;
    snprintf(config, sizeof(config), "%.*s/.config/callgate", SLICE_FMT(options->base.home));
    struct backup_options backup = {
        .file = options->argv[1],
        .state_dir = absolute(options, options->state_dir),
        .config_dir = config,
        .program = CALLGATE_VERSION,
        .replace = replace,
    };
    buf_init(&report, 1u << 20);
    buf_init(&error, 1u << 16);
    if (backup.state_dir == NULL) {
        buf_text(&error, "the working directory cannot be told");
    } else if (restoring ? backup_restore(&backup, &report, &error)
                         : backup_write(&backup, &report, &error)) {
        code = EXIT_YES;
    }
    /* A restore that failed in the middle tells what it did, too. */
    int printed = print(&report);
    if (code != EXIT_YES) {
        say("%.*s", SLICE_FMT(error.len > 0 ? buf_slice_of(&error) : SLICE("no memory")));
    }
    buf_finish(&report);
    buf_finish(&error);
    return code == EXIT_YES ? printed : code;
}

static int run(int argc, char **argv)
{
    struct options options;
    bool replace = false;
    const struct option_spec own[] = {{"replace", OPTION_FLAG, &replace}};
    int code = options_read(&options, &command_state, argc, argv, TAKES_STATE | TAKES_PATHS, own, 1);
    if (code != -1) {
        return code;
    }
    bool restoring = options.argc > 0 && slice_is(slice_of(options.argv[0]), "restore");
    bool known = restoring || (options.argc > 0 && slice_is(slice_of(options.argv[0]), "backup"));
    code = known && options.argc == 2 ? carry_out(&options, restoring, replace)
                                      : usage_error(&command_state, "say 'backup FILE' or 'restore FILE'");
    options_finish(&options);
    return code;
}

const struct cli_command command_state = {"state", "back up journal, approvals and settings, or restore them",
                                          usage, run};
