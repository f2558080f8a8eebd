/* `confine`: a program in a view of the system that the policy makes, with the gate's state out of its reach. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/broker.h"
#include "cli/commands.h"
#include "cli/confine/places_internal.h"
#include "cli/libexec.h"
#include "cli/options.h"
#include "confine/landlock.h"
#include "host/host.h"

static const char usage[] =
    "usage: callgate confine [--gate SOCKET] [--write DIR]... [--no-net | --confine-net] [--policy "
    "[TIER=]FILE]... -- "
    "COMMAND "
    "[ARG...]\n"
    "       callgate confine --print [--write DIR]...\n\n"
    "Runs COMMAND in a view of the system that the policy makes: places to which every call is denied are "
    "not there,\n"
    "only the working directory and what --write names can be written, /tmp, /dev and /proc are its own, and "
    "the\n"
    "gate's state is out of reach. No root is needed.\n\n"
    "  --gate SOCKET a broker outside judges there ('callgate serve'), for the hooks and gates inside that "
    "name it\n"
    "                with --gate; it is started when none is there\n"
    "  --write DIR   DIR can be written, too; or a name: @cache, @npm, @cargo, @go, @maven, @gradle, "
    "@claude-code,\n"
    "                @codex, @opencode. So can what documents name under 'confine' (callgate-policy(5))\n"
    "  --no-net      no network\n"
    "  --confine-net no network but for a proxy outside: what rules let through by host, each request judged "
    "and\n"
    "                journalled as a call of the tool 'network'. --server, --channel and --thread say whose\n"
    "  --landlock    where there are no user namespaces: by Landlock alone, which holds less. What it does "
    "not "
    "hold is\n"
    "                told at each start\n"
    "  --print       says what is hidden, writable and read-only, and what the kernel does not enforce\n\n"
    "Example: callgate confine --write ~/.cache -- claude\n\n"
    "Exit: COMMAND's own status; 125 when the confinement cannot be made, 2 could not be done.\n";

/* Adds the policy's own files: one that stands in the project would else be the agent's to write. A workspace's own
 * file is left out, because it is the project's, and can only narrow. */
static bool add_policies(struct options *options, struct view_options *ret_options)
{
    const struct sources *sources = &options->sources;
    struct slice *both =
        arena_array(&options->arena, ret_options->frozen_count + sources->count + 1, sizeof(*both));
    size_t count = ret_options->frozen_count;
    char real[PATH_MAX];
    if (both == NULL) {
        return false;
    }
    if (count > 0) {
        memcpy(both, ret_options->frozen, count * sizeof(*both));
    }
    for (size_t i = 0; i < sources->count; i++) {
        const struct source_file *file = &sources->files[i];
        if (file->text == NULL && !(file->at_tier && file->tier == TIER_WORKSPACE) &&
            realpath(file->path, real) != NULL) {
            both[count] = arena_copy(&options->arena, slice_of(real));
            if (both[count++].ptr == NULL) {
                return false;
            }
        }
    }
    ret_options->frozen = both;
    ret_options->frozen_count = count;
    return true;
}

/* What steers the agents that are known, wherever below the home directory it stands. */
static bool find_frozen(struct options *options, struct view_options *ret_options)
{
    struct slice *list = NULL;
    size_t count = 0;
    for (size_t i = 0; i < host_count; i++) {
        struct slice *places;
        size_t more;
        if (!host_steering_places(&options->arena, hosts[i], options->base.home, &places, &more)) {
            return false;
        }
        struct slice *both = arena_array(&options->arena, count + more, sizeof(*both));
        if (both == NULL) {
            return false;
        }
        memcpy(both, list != NULL ? list : places, count * sizeof(*both));
        memcpy(both + count, places, more * sizeof(*both));
        list = both;
        count += more;
    }
    ret_options->frozen = list;
    ret_options->frozen_count = count;
    return add_policies(options, ret_options);
}

/* Landlock subtracts nothing from a directory that can be written to: the gate's own must not lie in one. */
static bool holds_gate(const struct options *options, const struct view *view)
{
    const struct sources *sources = &options->sources;
    const char *bad = landlock_can_write(view, slice_of(options->state_dir)) ? options->state_dir : NULL;
    char real[PATH_MAX];
    for (size_t i = 0; bad == NULL && i < sources->count; i++) {
        const struct source_file *file = &sources->files[i];
        bool own = file->text == NULL && !(file->at_tier && file->tier == TIER_WORKSPACE);
        bad = own && realpath(file->path, real) != NULL && landlock_can_write(view, slice_of(real))
                  ? file->path
                  : NULL;
    }
    if (bad != NULL) {
        say("%s lies where the program could write, and Landlock cannot keep it out: move it, or confine "
            "without landlock",
            bad);
    }
    return bad == NULL;
}

/* Whether a confinement by Landlock can be had here. */
static bool has_landlock(const struct options *options, const struct view *view)
{
    int abi = landlock_abi();
    if (abi < LANDLOCK_ABI_LEAST) {
        say("confining by Landlock takes its ABI %d (Linux 6.2), and this kernel has %s: boot a newer one, "
            "or with "
            "'lsm=landlock,...', or confine without landlock",
            LANDLOCK_ABI_LEAST,
            abi == 0   ? "none"
            : abi == 1 ? "ABI 1"
                       : "ABI 2");
        return false;
    }
    return holds_gate(options, view);
}

static bool make_view(struct options *options, const struct confine_options *own, struct view *ret_view)
{
    struct buf error;
    struct policy *policy = options_load_policy(own->command, options);
    struct view_options wanted = {
        .policy = policy,
        .base = &options->base,
        .state_dir = slice_of(options->state_dir),
        .gate_socket = own->gate != NULL ? slice_of(own->gate) : (struct slice){0},
    };
    buf_init(&error, 64u << 10);
    bool ok =
        policy != NULL && confine_find_places(options, own, policy, &wanted) && find_frozen(options, &wanted);
    if (ok && !view_make(ret_view, &wanted, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        ok = false;
    }
    if (ok && own->landlock && !has_landlock(options, ret_view)) {
        view_finish(ret_view);
        ok = false;
    }
    buf_finish(&error);
    policy_destroy(policy);
    return ok;
}

/* Never silently less: what Landlock does not hold is told at each start. */
static void tell_gaps(const struct view *view)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    landlock_write_gaps(&text, view, landlock_abi());
    say("confined by Landlock alone, which holds less than a view of the system:");
    say_lines(&text);
    buf_finish(&text);
}

char **confine_words(struct options *options, const struct confine_options *own, struct view *ret_view)
{
    struct buf path;
    size_t count = 0;
    char **words = NULL;
    buf_init(&path, PATH_MAX);
    libexec_path("callgate-confine", &path);
    if (!buf_ok(&path) || access(path.ptr, X_OK) != 0) {
        say("callgate-confine is not there: it is a program of its own; install the whole package");
    } else if (make_view(options, own, ret_view)) {
        const char *program = arena_copy(&options->arena, slice_of(path.ptr)).ptr;
        words = program == NULL ? NULL
                                : view_arguments(ret_view, program,
                                                 own->proxied_network   ? "--net-fd=3"
                                                 : own->private_network ? "--no-net"
                                                                        : NULL,
                                                 own->landlock, (size_t)options->argc + 1, &count);
        for (int i = 0; words != NULL && i < options->argc; i++) {
            words[count++] = options->argv[i];
        }
        if (words == NULL) {
            say("no memory");
            view_finish(ret_view);
        } else if (own->landlock) {
            tell_gaps(ret_view);
        }
    }
    buf_finish(&path);
    return words;
}

static int print_view(struct options *options, const struct confine_options *own)
{
    struct view view;
    struct buf text;
    if (!make_view(options, own, &view)) {
        return EXIT_UNABLE;
    }
    buf_init(&text, (size_t)64 << 20);
    view_write(&text, &view, own->landlock);
    if (own->landlock) {
        landlock_write_gaps(&text, &view, landlock_abi());
    }
    buf_text(&text, own->proxied_network
                        ? "network   what rules let through, by a proxy outside, each request journalled\n"
                    : own->private_network ? "network   none\n"
                    : own->landlock ? "network   as outside, but for sockets of the local system: none\n"
                                    : "network   as outside\n");
    int code = print(&text);
    buf_finish(&text);
    view_finish(&view);
    return code;
}

static void say_line(const char *line)
{
    say("%s", line);
}

bool confine_find_broker(struct options *options, struct confine_options *own)
{
    char real[PATH_MAX];
    struct buf error;
    const struct broker_client_options client = {
        .socket = own->gate, .starts = true, .state_dir = options->state_dir, .base = options->base};
    const struct gate_options surface = {
        .surface = "confine", .state_dir = options->state_dir, .say = say_line};
    buf_init(&error, (size_t)1 << 20);
    struct gate *gate = broker_connect(&client, &surface, &error);
    bool ok = gate != NULL && realpath(own->gate, real) != NULL;
    gate_close(gate);
    if (!ok) {
        say("no broker judges at %s: %.*s", own->gate, SLICE_FMT(buf_slice_of(&error)));
    } else if (strncmp(real, "/tmp/", 5) == 0) {
        say("%s cannot be seen inside, because /tmp is private there: let the broker listen elsewhere", real);
        ok = false;
    } else {
        own->gate = arena_copy(&options->arena, slice_of(real)).ptr;
        ok = own->gate != NULL;
    }
    buf_finish(&error);
    return ok;
}

static int start(struct options *options, struct confine_options *own)
{
    struct view view;
    if (own->gate != NULL && !confine_find_broker(options, own)) {
        return EXIT_UNABLE;
    }
    if (own->proxied_network) {
        return confine_with_network(options, own);
    }
    char **words = confine_words(options, own, &view);
    if (words == NULL) {
        return EXIT_UNABLE;
    }
    (void)umask(umask_at_start);
    execv(words[0], words);
    say("%s cannot be started: %s", words[0], strerror(errno));
    view_finish(&view);
    return EXIT_UNABLE;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct confine_options own = {.command = &command_confine};
    bool print = false;
    const struct option_spec specs[] = {
        {"write", OPTION_LIST, &own.writable},
        {"print", OPTION_FLAG, &print},
        {"landlock", OPTION_FLAG, &own.landlock},
        {"no-net", OPTION_FLAG, &own.private_network},
        {"confine-net", OPTION_FLAG, &own.proxied_network},
        {"server", OPTION_VALUE, &own.server},
        {"channel", OPTION_VALUE, &own.channel},
        {"thread", OPTION_VALUE, &own.thread},
        {"gate", OPTION_VALUE, &own.gate},
    };
    int code = options_read(&options, &command_confine, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            specs, sizeof(specs) / sizeof(specs[0]));
    if (code != -1) {
        return code;
    }
    if (!print && options.argc == 0) {
        code = usage_error(&command_confine, "name a command behind '--', or say --print");
    } else if (own.landlock && (own.proxied_network || own.gate != NULL)) {
        code = usage_error(&command_confine,
                           "--landlock has no network of its own and reaches no socket: leave out "
                           "--confine-net and --gate");
    } else if (own.proxied_network && own.private_network) {
        code = usage_error(&command_confine, "--no-net and --confine-net are two: name one");
    } else if (!options_surface_places(&command_confine, &options)) {
        code = EXIT_UNABLE;
    } else {
        code = print ? print_view(&options, &own) : start(&options, &own);
    }
    free(own.writable.items);
    options_finish(&options);
    return code;
}

const struct cli_command command_confine = {"confine", "a program in a view that the policy makes", usage,
                                            run};
