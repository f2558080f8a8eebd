/* `slack`: starts the program that carries approvals to Slack. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/libexec.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate slack [--state DIR] [--people FILE]\n"
    "       callgate slack check\n\n"
    "Carries requests to Slack and answers back, over Socket Mode: no port is open. Each request is a "
    "message with\n"
    "buttons; 'y CODE' and 'n CODE' in its thread count as well. Who may answer stands in people.json\n"
    "(callgate people add NAME --slack WORKSPACE/USER).\n\n"
    "The state directory holds slack.json:\n"
    "  {\"channel\": \"C0123456789\", \"botTokenFile\": \"/…/bot\", \"appTokenFile\": \"/…/app\"}\n\n"
    "  check   proves tokens, channel and people, and says what is missing\n\n"
    "docs/slack.md goes from nothing to a first approved call.\n\n"
    "Exit: 0 told to end, 1 check found something missing, 2 could not be done.\n";

static int run(int argc, char **argv)
{
    struct options options;
    const char *people = NULL, *api = NULL;
    const struct option_spec own[] = {{"people", OPTION_VALUE, &people}, {"api", OPTION_VALUE, &api}};
    int code = options_read(&options, &command_slack, argc, argv, TAKES_STATE | TAKES_PATHS, own, 2);
    if (code != -1) {
        return code;
    }
    bool check = options.argc == 1 && strcmp(options.argv[0], "check") == 0;
    if (options.argc > 0 && !check) {
        code = usage_error(&command_slack, "say nothing more, or 'check'");
    } else if (api != NULL && strncmp(api, "http://127.0.0.1:", 17) != 0) {
        code = usage_error(&command_slack, "--api is for tests: an address on this machine");
    } else {
        char *const words[] = {"callgate-slack",
                               check ? "check" : "run",
                               (char *)options.state_dir,
                               (char *)options.base.home.ptr,
                               (char *)(people != NULL ? people : ""),
                               (char *)(api != NULL ? api : ""),
                               NULL};
        code = libexec_become("callgate-slack", words);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_slack = {"slack", "approvals in Slack", usage, run};
