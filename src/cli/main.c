/* main: hardens the process, then finds the command of the first argument in the table. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/standard.h"
#include "cli/commands.h"
#include "document/schema.h"
#include "process/keeper.h"

mode_t umask_at_start;

#define COMMANDS_MOST 64

static int help(FILE *to, int code)
{
    fputs("callgate decides whether an AI agent's tool call runs, is denied, or waits for a person.\n\n"
          "usage: callgate COMMAND [OPTION...] [ARGUMENT...]\n\n",
          to);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\n'callgate COMMAND --help' says more; so does man callgate.\n", to);
    return code;
}

static int compare(const void *name, const void *command)
{
    return strcmp(name, (*(const struct cli_command *const *)command)->name);
}

static int unknown(const char *name)
{
    struct choice choices[COMMANDS_MOST + 1] = {{0}};
    for (size_t i = 0; i < command_count && i < COMMANDS_MOST; i++) {
        choices[i].name = commands[i]->name;
    }
    const char *near = schema_advise_choice(choices, slice_of(name));
    if (near != NULL) {
        say("there is no command '%s': did you mean '%s'? 'callgate --help' lists them", name, near);
    } else {
        say("there is no command '%s'; 'callgate --help' lists them", name);
    }
    return EXIT_UNABLE;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], KEEPER_COMMAND) == 0) {
        return keeper_main(argc, argv); /* not for people: process/child.h starts it */
    }
    /* A host takes a hook that fails for leave to go on: its deny must stand ready before anything can. */
    if (argc >= 2 && strcmp(argv[1], command_hook.name) == 0) {
        hook_prepare(argc - 1, argv + 1);
    }
    if (!standard_hold()) {
        return EXIT_UNABLE;
    }
#ifndef __SANITIZE_ADDRESS__ /* whose leak check must trace the process */
    /* The agent runs as the same user: it must not read this process's memory, nor a core of it. */
    prctl(PR_SET_DUMPABLE, 0);
#endif
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write, which denies */
    umask_at_start = umask(077);
    if (argc < 2) {
        return help(stderr, EXIT_UNABLE);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("callgate " CALLGATE_VERSION);
        return EXIT_YES;
    }
    bool helping = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (helping && argc == 2)) {
        return help(stdout, EXIT_YES);
    }
    const char *name = argv[helping ? 2 : 1];
    const struct cli_command *const *command =
        bsearch(name, commands, command_count, sizeof(*commands), compare);
    if (command == NULL) {
        return unknown(name);
    }
    if (helping) {
        fputs((*command)->usage, stdout);
        return EXIT_YES;
    }
    return (*command)->run(argc - 1, argv + 1);
}
