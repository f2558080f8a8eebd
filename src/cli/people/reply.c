/* `reply`: for programs that carry people's messages: a text of the form of a reply is consumed and counted.
 */
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/people/answer.h"

static const char usage[] =
    "usage: callgate reply --as NAME [--people FILE] [--state DIR] TEXT\n\n"
    "For a bridge that carries people's messages to an agent. A text like 'y abcde' or 'no abcde' is an "
    "answer to a\n"
    "request: it is counted for the person of people.json whom NAME authenticates as \"bridge\", and must "
    "not be passed on to the agent, whatever became of it.\n\n"
    "Exit: 0 an answer that counts; 1 an answer that does not (no such request waits, or NAME has answered "
    "already):\n"
    "do not pass it on; 3 no answer: pass the text on; 2 could not be done: do not pass it on.\n";

#define EXIT_PASS_ON 3

static int run(int argc, char **argv)
{
    struct options options;
    const char *as = NULL;
    bool yes;
    char request[CODE_LENGTH + 1];
    const char *people = NULL;
    const struct option_spec own[] = {{"as", OPTION_VALUE, &as}, {"people", OPTION_VALUE, &people}};
    int code = options_read(&options, &command_reply, argc, argv, TAKES_STATE, own, 2);
    if (code != -1) {
        return code;
    }
    if (options.argc != 1 || as == NULL || !*as) {
        code = usage_error(&command_reply, "name who answers with --as, and give the text as one argument");
    } else if (!reply_parse(slice_of(options.argv[0]), &yes, request)) {
        code = EXIT_PASS_ON;
    } else {
        struct answering answering = {.yes = yes, .surface = PEOPLE_BRIDGE, .as = as, .people = people};
        options.argv[0] = request;
        code = answer_requests(&command_reply, &options, &answering);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_reply = {"reply", "count a person's message that is an answer", usage, run};
