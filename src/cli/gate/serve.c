/* `serve`: the broker. */
#include "cli/gate/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "host/host.h"
#include "install/install.h"
#include "net/net.h"

static const char usage[] =
    "usage: callgate serve [--policy [TIER=]FILE...] [--gate SOCKET] [OPTION...]\n\n"
    "Judges for every hook, gate and relay of a user that is started with --gate SOCKET: one compiled "
    "policy, one\n"
    "journal writer and one store for all. Which files are the policy is said here and never by a client. A "
    "client\n"
    "that finds no broker starts one; whatever goes wrong between the two is a deny.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "                        (default: the standard places, the workspace's by each client's directory)\n"
    "  --gate SOCKET         where to listen (default: gate.sock in the state directory). Answers of people\n"
    "                        are taken at SOCKET.approve, never from a confined process\n"
    "  --socket-fd N         listens already at this descriptor (a service manager's)\n"
    "  --idle SECONDS        ends when nobody has been connected for so long (default: never)\n"
    "  --no-weakening        refuse a reload that decides anything less strictly (see 'callgate run')\n"
    "  --observe             deny and hold nothing, only journal what would be (see 'callgate run')\n"
    "  --fsync always|batch|never, --journal required|optional\n"
    "                        as for 'callgate run', for all clients\n"
    "  --journal-max-size N  bytes (K, M, G): a journal that would be longer is rotated (default: never)\n"
    "  --notify PROGRAM      tell people of requests by this program, too (see 'callgate notices')\n"
    "  --state DIR           where journal and approvals live (default: ~/.local/state/callgate)\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ of its own start from\n"
    "  --quiet               say nothing on standard error once it runs\n\n"
    "SIGHUP loads the policies again; SIGUSR1 rotates the journal. A client that finds no broker starts one "
    "with the\n"
    "options of the last one of its state directory. Exit: 0 told to end, 2 could not be started.\n";

bool broker_takes(const struct cli_command *command, const struct options *options, bool own_terms)
{
    if (options->sources.count > 0 || own_terms) {
        (void)usage_error(
            command, "with --gate the policy and how it is recorded are the broker's: give those options "
                     "to 'callgate serve'");
        return false;
    }
    return true;
}

static void say_line(const char *line)
{
    say("%s", line);
}

static bool add_built_in(struct sources *sources, struct slice surface, struct slice project,
                         struct arena *arena)
{
    if (slice_is(surface, NET_SURFACE)) {
        return sources_add_built_in(sources, "the network's tool", NET_BUILT_IN);
    }
    for (size_t i = 0; i < host_count; i++) {
        const struct host *host = hosts[i];
        struct slice text = {0};
        bool is_host =
            slice_starts_with(surface, SLICE("hook ")) && slice_is(slice_from(surface, 5), host->name);
        if (!is_host) {
            continue;
        }
        return sources_add_built_in(sources, host->name, host->path_arguments) &&
               (project.ptr == NULL ||
                (host_project_protection(arena, host, project, &text) &&
                 sources_add_built_in(sources, "the project's steering files", text.ptr)));
    }
    return true;
}

struct serve_options {
    const char *gate, *socket_fd, *idle, *fsync, *journal, *journal_max_size, *notify;
    bool no_weakening, observe, quiet;
};

/* -1, or the exit code of a usage error. */
static int fill(struct broker_options *broker, const struct serve_options *own)
{
    static const char *const modes[] = {"batch", "always", "never"};
    int64_t fd = -1, idle = 0;
    size_t mode = 0;
    while (own->fsync != NULL && mode < 3 && strcmp(own->fsync, modes[mode]) != 0) {
        mode++;
    }
    if (mode == 3) {
        return usage_error(&command_serve, "--fsync is always, batch or never");
    }
    broker->fsync = (enum journal_fsync)mode;
    broker->journal_optional = own->journal != NULL && strcmp(own->journal, "optional") == 0;
    if (own->journal != NULL && !broker->journal_optional && strcmp(own->journal, "required") != 0) {
        return usage_error(&command_serve, "--journal is required or optional");
    }
    if (own->socket_fd != NULL && !option_number(own->socket_fd, 3, 1023, &fd)) {
        return usage_error(&command_serve, "--socket-fd is the number of a descriptor, from 3");
    }
    if (own->idle != NULL && !option_number(own->idle, 1, 86400, &idle)) {
        return usage_error(&command_serve, "--idle is a number of seconds from 1 to 86400");
    }
    if (own->journal_max_size != NULL &&
        !option_size(own->journal_max_size, JOURNAL_SIZE_LEAST, &broker->journal_max_size)) {
        return usage_error(&command_serve,
                           "--journal-max-size is a number of bytes, or 100K, 100M, 1G; at least 64K");
    }
    if (own->notify != NULL && own->notify[0] != '/') {
        return usage_error(&command_serve, "--notify: name a program by its whole path");
    }
    broker->notify = own->notify;
    broker->socket_fd = (int)fd;
    broker->idle_ms = (uint32_t)idle * 1000;
    broker->no_weakening = own->no_weakening;
    broker->observe = own->observe;
    if (own->observe && broker->journal_optional) {
        return usage_error(&command_serve, "--observe needs the journal: leave out --journal optional");
    }
    return -1;
}

/* ---- What is kept of how it was started ---- */

struct words {
    struct arena *arena;
    const char **list;
    size_t count, most;
    bool failed;
};

/* An option and its value, copied; nothing where the value is NULL. */
static void keep(struct words *words, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    const char *copy = arena_copy(words->arena, slice_of(value)).ptr;
    if (copy == NULL || words->count + 2 > words->most) {
        words->failed = true;
        return;
    }
    words->list[words->count++] = name;
    words->list[words->count++] = copy;
}

/* `[TIER=]FILE` with the file's real name: the next broker starts in another directory. */
static void keep_policy(struct words *words, const struct source_file *file)
{
    char *real = realpath(file->path, NULL);
    struct buf word;
    buf_init(&word, 64u << 10);
    if (file->at_tier) {
        buf_printf(&word, "%s=", tier_name(file->tier));
    }
    buf_text(&word, real != NULL ? real : file->path);
    buf_byte(&word, '\0');
    words->failed = words->failed || !buf_ok(&word);
    keep(words, "--policy", buf_ok(&word) ? word.ptr : NULL);
    buf_finish(&word);
    free(real);
}

static bool keep_words(struct broker_options *broker, struct options *options,
                       const struct serve_options *own)
{
    struct words words = {.arena = &options->arena, .most = 2 * options->sources.count + 24};
    words.list = arena_array(&options->arena, words.most, sizeof(*words.list));
    if (words.list == NULL) {
        return false;
    }
    for (size_t i = 0; i < options->sources.count; i++) {
        keep_policy(&words, &options->sources.files[i]);
    }
    const char *cwd = arena_copy(&options->arena, options->base.cwd).ptr;
    const char *home = arena_copy(&options->arena, options->base.home).ptr;
    words.failed = words.failed || cwd == NULL || home == NULL;
    keep(&words, "--cwd", cwd);
    keep(&words, "--home", home);
    keep(&words, "--fsync", own->fsync);
    keep(&words, "--journal", own->journal);
    keep(&words, "--journal-max-size", own->journal_max_size);
    keep(&words, "--notify", own->notify);
    if (own->no_weakening) {
        words.list[words.count++] = "--no-weakening";
    }
    if (own->observe) {
        words.list[words.count++] = "--observe";
    }
    broker->words = words.list;
    broker->word_count = words.count;
    return !words.failed;
}

/* The rules that came along with hooks: `hook install` has recorded them in the state directory. */
static bool knows_protection(const char *state_dir, struct slice file)
{
    struct recorded_place *list = NULL;
    size_t count = 0;
    struct arena arena;
    struct buf error;
    bool known = false;
    arena_init(&arena, 64u << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    if (installed_places(state_dir, &arena, &list, &count, &error)) {
        for (size_t i = 0; i < count && !known; i++) {
            known = list[i].protect != NULL && slice_is(file, list[i].protect);
        }
    }
    buf_finish(&error);
    arena_finish(&arena);
    return known;
}

static int serve(struct options *options, const struct serve_options *own)
{
    struct buf error, path;
    struct broker_options broker = {
        .sources = &options->sources,
        .standard_places = options->sources.count == 0,
        .state_dir = options->state_dir,
        .base = options->base,
        .add_built_in = add_built_in,
        .knows_protection = knows_protection,
        .say = own->quiet ? NULL : say_line,
    };
    int code = fill(&broker, own);
    if (code != -1) {
        return code;
    }
    buf_init(&path, MESSAGE_BYTES);
    buf_init_message(&error, (size_t)64 << 20);
    buf_printf(&path, "%s/gate.sock", options->state_dir);
    buf_byte(&path, '\0');
    broker.socket = own->gate != NULL ? own->gate : path.ptr;
    /* The admin's file comes before all others, as for every surface. */
    bool ready = buf_ok(&path) && keep_words(&broker, options, own) &&
                 (broker.standard_places || sources_add_places(&options->sources, &options->base, false));
    if (!ready) {
        buf_text(&error, "no memory, or the name of the state directory is too long");
    }
    code = ready && broker_serve(&broker, &error) == 0 ? EXIT_YES : EXIT_UNABLE;
    if (error.len > 0 && code != EXIT_YES) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    buf_finish(&path);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct serve_options own = {0};
    const struct option_spec specs[] = {
        {"gate", OPTION_VALUE, &own.gate},       {"socket-fd", OPTION_VALUE, &own.socket_fd},
        {"idle", OPTION_VALUE, &own.idle},       {"fsync", OPTION_VALUE, &own.fsync},
        {"journal", OPTION_VALUE, &own.journal}, {"no-weakening", OPTION_FLAG, &own.no_weakening},
        {"observe", OPTION_FLAG, &own.observe},  {"quiet", OPTION_FLAG, &own.quiet},
        {"notify", OPTION_VALUE, &own.notify},   {"journal-max-size", OPTION_VALUE, &own.journal_max_size},
    };
    int code = options_read(&options, &command_serve, argc, argv,
                            TAKES_POLICY | TAKES_PATHS | TAKES_STATE | TAKES_NO_WORDS, specs,
                            sizeof(specs) / sizeof(*specs));
    if (code != -1) {
        return code;
    }
    code = serve(&options, &own);
    options_finish(&options);
    return code;
}

const struct cli_command command_serve = {"serve", "judge for every hook and gate of a user", usage, run};
