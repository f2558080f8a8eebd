/* `enforce`: ends observing, wherever it was begun. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/gate/reload.h"
#include "cli/options.h"
#include "install/observers.h"

static const char usage[] =
    "usage: callgate enforce [--dry-run] [--state DIR] [--cwd DIR] [--home DIR]\n\n"
    "Ends observing: takes --observe out of every hook that 'callgate hook install --observe' wrote and of\n"
    "every server that 'callgate wrap --observe' put behind a gate, and makes the gates that run deny and\n"
    "hold from now on.\n\n"
    "  --dry-run             only say what would be done\n"
    "  --state DIR           where journal and approvals live (default: ~/.local/state/callgate)\n"
    "  --cwd DIR, --home DIR where the project is, and whose settings\n\n"
    "Exit: 0 nothing observes any more, 1 nothing did, 2 something could not be ended.\n";

/* Each state directory once. */
struct states {
    const char *list[64];
    size_t count;
};

static void add_state(struct states *states, const char *state)
{
    for (size_t i = 0; i < states->count; i++) {
        if (strcmp(states->list[i], state) == 0) {
            return;
        }
    }
    if (states->count < sizeof(states->list) / sizeof(*states->list)) {
        states->list[states->count++] = state;
    }
}

static bool end_one(const struct observer *observer, const struct options *options, bool dry_run)
{
    struct buf report, error;
    buf_init(&report, 64u << 20);
    buf_init_message(&error, 1u << 16);
    bool done = observer_end(observer, options->state_dir, dry_run, &report, &error);
    print_lines(&report);
    if (!done) {
        buf_reset(&report);
        observer_write(&report, observer);
        say("%.*s still observes: %.*s", SLICE_FMT(buf_slice_of(&report)), SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&report);
    buf_finish(&error);
    return done;
}

/* The gates that run: at once, whatever their reload comes to. */
static bool end_running(const char *state)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool done = gate_enforce(state, &error);
    if (!done) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    fflush(stdout);
    return done && reload_gates(state) != EXIT_UNABLE;
}

static int enforce(struct options *options, bool dry_run)
{
    struct observer *list = NULL;
    struct states states = {.count = 0};
    size_t count = 0;
    struct buf report;
    struct arena arena;
    arena_init(&arena, 512u << 20);
    buf_init(&report, 1u << 20);
    bool ok = observers_find(options->state_dir, options->base.home, options->base.cwd, &arena, &list, &count,
                             &report);
    say_lines(&report);
    add_state(&states, options->state_dir);
    for (size_t i = 0; i < count; i++) {
        ok = end_one(&list[i], options, dry_run) && ok;
        add_state(&states, list[i].state != NULL ? list[i].state : options->state_dir);
    }
    for (size_t i = 0; i < states.count && !dry_run; i++) {
        ok = (count == 0 && options_state_is_absent(options)) || (end_running(states.list[i]) && ok);
    }
    printf("%zu hook(s) and file(s) of servers %s\n", count, dry_run ? "would enforce" : "enforce now");
    buf_finish(&report);
    arena_finish(&arena);
    return fflush(stdout) != 0 || !ok ? EXIT_UNABLE : count > 0 ? EXIT_YES : EXIT_NO;
}

static int run(int argc, char **argv)
{
    struct options options;
    bool dry_run = false;
    const struct option_spec own[] = {{"dry-run", OPTION_FLAG, &dry_run}};
    int code = options_read(&options, &command_enforce, argc, argv,
                            TAKES_STATE | TAKES_PATHS | TAKES_NO_WORDS, own, 1);
    if (code != -1) {
        return code;
    }
    code = enforce(&options, dry_run);
    options_finish(&options);
    return code;
}

const struct cli_command command_enforce = {"enforce", "end observing, wherever it was begun", usage, run};
