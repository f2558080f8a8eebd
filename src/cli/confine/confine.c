/* `confine`: a program in a view of the system that the policy makes, with the gate's state out of its reach. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/libexec.h"
#include "cli/options.h"
#include "confine/view.h"

static const char usage[] =
    "usage: callgate confine [--write DIR]... [--no-net] [--policy [TIER=]FILE]... -- COMMAND [ARG...]\n"
    "       callgate confine --print [--write DIR]...\n\n"
    "Runs COMMAND in a view of the system that the policy makes: places to which every call is denied are "
    "not there,\n"
    "only the working directory and what --write names can be written, /tmp, /dev and /proc are its own, and "
    "the\n"
    "gate's state is out of reach. No root is needed.\n\n"
    "  --write DIR   DIR can be written, too\n"
    "  --no-net      no network\n"
    "  --print       says what is hidden, writable and read-only, and what the kernel does not enforce\n\n"
    "Example: callgate confine --write ~/.cache -- claude\n\n"
    "Exit: COMMAND's own status; 125 when the confinement cannot be made, 2 could not be done.\n";

struct confine_options {
    struct option_list writable;
    bool print, private_network;
};

/* The writable directories, canonical: the working directory first. False after saying which is not there. */
static bool find_writable(const struct options *options, const struct confine_options *own,
                          struct arena *arena, struct view_options *ret_options)
{
    struct slice *list = arena_array(arena, own->writable.count + 1, sizeof(*list));
    char real[PATH_MAX];
    for (size_t i = 0; list != NULL && i <= own->writable.count; i++) {
        const char *name = i == 0 ? options->base.cwd.ptr : own->writable.items[i - 1];
        if (realpath(name, real) == NULL) {
            say("%s cannot be made writable: it is not there", name);
            return false;
        }
        list[i] = arena_copy(arena, slice_of(real));
    }
    ret_options->writable = list;
    ret_options->writable_count = own->writable.count + 1;
    return list != NULL;
}

static int start(struct view *view, const struct options *options, bool private_network)
{
    size_t count = 0;
    char **words =
        view_arguments(view, "callgate-confine", private_network, (size_t)options->argc + 1, &count);
    if (words == NULL) {
        say("no memory");
        return EXIT_UNABLE;
    }
    for (int i = 0; i < options->argc; i++) {
        words[count++] = options->argv[i];
    }
    words[count] = NULL;
    return libexec_become("callgate-confine", words);
}

static int confine(struct options *options, const struct confine_options *own, struct policy *policy)
{
    struct view view;
    struct buf text;
    int code = EXIT_UNABLE;
    struct view_options wanted = {
        .policy = policy, .base = &options->base, .state_dir = slice_of(options->state_dir)};
    buf_init(&text, (size_t)64 << 20);
    if (!find_writable(options, own, &options->arena, &wanted)) {
        code = EXIT_UNABLE;
    } else if (!view_make(&view, &wanted, &text)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&text)));
    } else {
        if (own->print) {
            view_write(&text, &view);
            code = print(&text);
        } else {
            code = start(&view, options, own->private_network);
        }
        view_finish(&view);
    }
    buf_finish(&text);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct confine_options own = {0};
    const struct option_spec specs[] = {
        {"write", OPTION_LIST, &own.writable},
        {"print", OPTION_FLAG, &own.print},
        {"no-net", OPTION_FLAG, &own.private_network},
    };
    int code = options_read(&options, &command_confine, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            specs, 3);
    if (code != -1) {
        return code;
    }
    struct policy *policy = NULL;
    if (!own.print && options.argc == 0) {
        code = usage_error(&command_confine, "name a command behind '--', or say --print");
    } else if (!options_surface_places(&command_confine, &options) ||
               (policy = options_load_policy(&command_confine, &options)) == NULL) {
        code = EXIT_UNABLE;
    } else {
        code = confine(&options, &own, policy);
    }
    policy_destroy(policy);
    free(own.writable.items);
    options_finish(&options);
    return code;
}

const struct command command_confine = {"confine", "a program in a view that the policy makes", usage, run};
