/* `watch`: starts the terminal view, which is a program of its own. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/libexec.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate watch [--people FILE] [--state DIR]\n\n"
    "Shows requests that wait and decisions that pass, live, in this terminal, and takes answers:\n\n"
    "  Enter  the whole call        o  approve once\n"
    "  /      filter                a  approve what the rule allows\n"
    "  ?      all keys              c  approve this call, also again\n"
    "  q      leave                 r  refuse\n\n"
    "Exit: 0 left, 2 could not be done.\n";

static int run(int argc, char **argv)
{
    struct options options;
    const char *people = NULL;
    const struct option_spec own[] = {{"people", OPTION_VALUE, &people}};
    int code = options_read(&options, &command_watch, argc, argv,
                            TAKES_STATE | TAKES_PATHS | STATE_IS_THERE | TAKES_NO_WORDS, own, 1);
    if (code != -1) {
        return code;
    }
    char *const words[] = {"callgate-watch", (char *)options.state_dir, (char *)options.base.home.ptr,
                           (char *)(people != NULL ? people : ""), NULL};
    code = libexec_become("callgate-watch", words);
    options_finish(&options);
    return code;
}

const struct cli_command command_watch = {"watch", "requests and decisions, live, in a terminal", usage, run};
