/* `doctor`: is the hook there, does it find its policy and its journal, and does a deny come through? */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/agents/doctor_internal.h"
#include "cli/agents/subprocess.h"
#include "cli/commands.h"
#include "install/observers.h"

static const char usage[] =
    "usage: callgate doctor [HOST] [--user|--project|--managed] [--settings FILE] [OPTION...]\n"
    "       callgate doctor --confine [--gate SOCKET] [--write DIR]... [--no-net|--confine-net] "
    "[OPTION...]\n\n"
    "Proves that a deny comes through. Looks whether the hook is in the host's settings for every event and\n"
    "every tool, its program is there, the switch that turns a failure into a deny is set, the policy "
    "loads,\n"
    "and the journal can be written. Then a broken message, a call that the policy denies and one that it\n"
    "lets through go to the installed command line, run as the host runs it, and the answers are compared\n"
    "byte for byte. Says what is wrong and the command that mends it.\n"
    "HOST: claude-code, gemini, codex, cursor or opencode (default: every host with a hook of "
    "callgate's).\n\n"
    "With --confine it proves a confinement: from inside, as 'callgate confine' with the same options makes "
    "it, it\n"
    "tries to get at denied files, the state directory, the store, the journal, the policy, sockets, other\n"
    "processes, other terminals and the programs in PATH, and says of each what held.\n\n"
    "  --user, --project, --managed\n"
    "                        only the hook of this place (default: each that is there)\n"
    "  --settings FILE       another file than the host's own\n"
    "  --policy [TIER=]FILE, --state DIR\n"
    "                        what to look at where no hook is installed\n"
    "  --cwd DIR, --home DIR where the project is, and whose settings\n\n"
    "The calls that are tried stand in the journal like all others, in the session callgate-doctor.\n\n"
    "Exit: 0 all is well, 1 something is wrong, 2 could not be done.\n";

/* ---- Places ---- */

static bool wants_scope(const struct doctor *d, enum install_scope scope)
{
    const bool wanted[] = {d->user, d->project, d->managed};
    return wanted[scope] || !(d->user || d->project || d->managed);
}

/* The number of hooks in a place; they are checked. */
static size_t check_place(struct doctor *d, const struct install_place *place, const char *path)
{
    struct installed_hook *list = NULL;
    struct arena arena;
    struct buf error;
    size_t count = 0;
    arena_init(&arena, 64u << 20);
    buf_init(&error, 1u << 16);
    snprintf(d->place, sizeof(d->place), "%s, %s: ", place->host->name, doctor_scope_names[place->scope]);
    if (!installed_hooks_find(place, &arena, &list, &count, &error)) {
        doctor_fault(d, "mend the settings by hand", "%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (count > 0) {
        doctor_good(d, "%zu hook(s) in %s", count, path);
        doctor_check_events(d, place, list, count);
        for (size_t i = 0; i < count; i++) {
            doctor_check_hook(d, place, &list[i], i == 0);
        }
    }
    d->place[0] = '\0';
    buf_finish(&error);
    arena_finish(&arena);
    return count;
}

static size_t check_host(struct doctor *d, const struct host *host, struct buf *looked)
{
    struct buf path, before;
    size_t found = 0;
    buf_init(&path, 1u << 16);
    buf_init(&before, 1u << 16);
    for (enum install_scope scope = INSTALL_SCOPE_USER; scope <= INSTALL_SCOPE_MANAGED; scope++) {
        struct install_place place = {
            .host = host,
            .scope = scope,
            .settings = d->settings,
            .home = d->options.base.home,
            .project = d->options.base.cwd,
        };
        buf_reset(&path);
        /* A project in the home directory has the user's settings, and a named file is one file. */
        if (!wants_scope(d, scope) || !install_place_path(&place, &path) ||
            slice_eq(buf_slice_of(&path), buf_slice_of(&before))) {
            continue;
        }
        buf_printf(looked, "%s%s", looked->len ? ", " : "", path.ptr);
        found += check_place(d, &place, path.ptr);
        buf_reset(&before);
        buf_slice(&before, buf_slice_of(&path));
    }
    buf_finish(&path);
    buf_finish(&before);
    return found;
}

static void check_without_hook(struct doctor *d)
{
    struct options *o = &d->options;
    if (!options_surface_places(&command_doctor, o)) {
        doctor_fault(d, "write one of the files named above, or name one with --policy FILE",
                     "there is no policy");
        return;
    }
    struct policy *policy = doctor_load_policy(d, o, "callgate check, with the same --policy", true);
    if (policy != NULL) {
        doctor_check_state(d, o);
    }
    policy_destroy(policy);
}

/* Gates before servers that were told to observe. Whether a policy forbids that, each knows by itself. */
static void check_gates(struct doctor *d)
{
    struct observer *list = NULL;
    size_t count = 0;
    struct buf text;
    struct arena arena;
    arena_init(&arena, 512u << 20);
    buf_init(&text, 1u << 20);
    (void)!observers_find(d->options.state_dir, d->options.base.home, d->options.base.cwd, &arena, &list,
                          &count, &text);
    for (size_t i = 0; i < count; i++) {
        buf_reset(&text);
        observer_write(&text, &list[i]);
        if (list[i].place.host == NULL) {
            doctor_fault(d, "callgate enforce", "OBSERVING: %.*s denies and holds nothing",
                         SLICE_FMT(buf_slice_of(&text)));
        }
    }
    buf_finish(&text);
    arena_finish(&arena);
}

static int sum_up(const struct doctor *d)
{
    printf("%u fault(s)\n", d->faults);
    if (fflush(stdout) != 0) {
        return EXIT_UNABLE;
    }
    return d->faults ? EXIT_NO : EXIT_YES;
}

static int doctor(struct doctor *d, const struct host *only)
{
    struct buf looked;
    char mend[256];
    size_t found = 0;
    buf_init(&looked, 1u << 16);
    for (size_t i = 0; i < host_count; i++) {
        size_t here = only == NULL || only == hosts[i] ? check_host(d, hosts[i], &looked) : 0;
        if (here) {
            warn_of_host_version(hosts[i]);
        }
        found += here;
    }
    snprintf(mend, sizeof(mend), "callgate hook install %s --policy FILE",
             only != NULL ? only->name : "HOST");
    if (found == 0) {
        doctor_fault(d, mend, "no hook of callgate's is installed; looked at %.*s",
                     SLICE_FMT(buf_slice_of(&looked)));
        check_without_hook(d);
    }
    check_gates(d);
    buf_finish(&looked);
    return sum_up(d);
}

static int confinement(struct doctor *d, const struct confine_options *own)
{
    int code = doctor_confinement(d, own);
    return code == EXIT_YES ? sum_up(d) : code;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *find_clash(const struct doctor *d, const struct host *host, bool confines,
                              const struct confine_options *own)
{
    if (d->options.argc > 1 || (d->options.argc == 1 && host == NULL)) {
        return "name one host: claude-code, gemini, codex, cursor or opencode";
    }
    if (d->settings != NULL && host == NULL) {
        return "--settings is of one host: name it";
    }
    if (confines && (host != NULL || d->user || d->project || d->managed)) {
        return "--confine proves a confinement, of which no host and no settings are a part";
    }
    if (!confines &&
        (own->gate != NULL || own->writable.count > 0 || own->private_network || own->proxied_network)) {
        return "--gate, --write, --no-net and --confine-net go with --confine";
    }
    return NULL;
}

static int run(int argc, char **argv)
{
    struct doctor d = {0};
    struct confine_options confine = {.command = &command_doctor};
    bool confines = false;
    const struct option_spec own[] = {
        {"user", OPTION_FLAG, &d.user},
        {"project", OPTION_FLAG, &d.project},
        {"managed", OPTION_FLAG, &d.managed},
        {"settings", OPTION_VALUE, &d.settings},
        {"confine", OPTION_FLAG, &confines},
        {"gate", OPTION_VALUE, &confine.gate},
        {"write", OPTION_LIST, &confine.writable},
        {"no-net", OPTION_FLAG, &confine.private_network},
        {"confine-net", OPTION_FLAG, &confine.proxied_network},
    };
    int code = options_read(&d.options, &command_doctor, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            own, sizeof(own) / sizeof(*own));
    if (code != -1) {
        return code;
    }
    const struct host *host = d.options.argc == 1 ? host_find(d.options.argv[0]) : NULL;
    const char *clash = find_clash(&d, host, confines, &confine);
    if (clash != NULL) {
        code = usage_error(&command_doctor, "%s", clash);
    } else {
        code = confines ? confinement(&d, &confine) : doctor(&d, host);
    }
    free(confine.writable.items);
    options_finish(&d.options);
    return code;
}

const struct cli_command command_doctor = {"doctor", "prove that a deny comes through", usage, run};
