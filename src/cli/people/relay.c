/* callgate relay: the options of the permission relay. */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/gate/serve.h"
#include "cli/options.h"
#include "relay/relay.h"

static const char usage[] =
    "usage: callgate relay --policy [TIER=]FILE... [OPTION...]\n\n"
    "A channel server with the permission relay of Claude Code: speaks MCP on standard input and output, "
    "answers the\n"
    "permission requests that a rule can answer without the input, and puts all others before people, under "
    "the\n"
    "host's own code ('callgate pending', 'callgate approve CODE').\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order.\n"
    "                        /etc/callgate/policy.json comes before all, if it is there\n"
    "  --channel C           the session's channel (default: relay)\n"
    "  --thread T            the session's thread (default: fresh for each start)\n"
    "  --gate SOCKET         a broker judges ('callgate serve'): then --policy is not given here\n"
    "  --observe             deny and hold nothing: what a rule would deny or people would be asked about "
    "is\n"
    "                        journalled, and left to the dialog at the terminal\n"
    "  --state DIR           where journal and approvals live (default: ~/.local/state/callgate)\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
    "Exit: 0 the host closed its end, 2 could not be started.\n";

static void say_line(const char *line)
{
    say("%s", line);
}

static int relay(struct options *options, const char *channel, const char *thread, const char *broker,
                 bool observe)
{
    char fresh[HASH_HEX + 1];
    uint8_t random[HASH_SIZE];
    struct buf error;
    struct gate_options gate_options = {
        .surface = "relay",
        .sources = &options->sources,
        .state_dir = options->state_dir,
        .base = options->base,
        .observe = observe,
        .say = say_line,
    };
    if (!random_bytes(random, sizeof(random))) {
        say("no random numbers");
        return EXIT_UNABLE;
    }
    hash_to_hex(random, fresh);
    fresh[32] = '\0';
    buf_init(&error, (size_t)64 << 20);
    const struct broker_client_options client = {
        .socket = broker, .starts = true, .state_dir = options->state_dir, .base = options->base};
    struct gate *gate =
        broker != NULL ? broker_connect(&client, &gate_options, &error) : gate_open(&gate_options, &error);
    if (error.len) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    if (gate == NULL && error.len == 0) {
        say("no memory to start with");
    }
    buf_finish(&error);
    if (gate == NULL) {
        return EXIT_UNABLE;
    }
    struct relay_options relay_options = {
        .gate = gate,
        .channel = slice_of(channel != NULL ? channel : "relay"),
        .thread = slice_of(thread != NULL ? thread : fresh),
        .actor = ACTOR_CLAUDE_PROCESS,
        .in = 0,
        .out = 1,
    };
    say_without_waiting();
    int code = relay_run(&relay_options) == 0 ? EXIT_YES : EXIT_UNABLE;
    gate_close(gate);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *channel = NULL, *thread = NULL, *broker = NULL;
    bool observe = false;
    const struct option_spec own[] = {
        {"channel", OPTION_VALUE, &channel},
        {"thread", OPTION_VALUE, &thread},
        {"gate", OPTION_VALUE, &broker},
        {"observe", OPTION_FLAG, &observe},
    };
    int code = options_read(&options, &command_relay, argc, argv,
                            TAKES_POLICY | TAKES_PATHS | TAKES_STATE | TAKES_NO_WORDS, own,
                            sizeof(own) / sizeof(*own));
    if (code != -1) {
        return code;
    }
    if (broker != NULL ? !broker_takes(&command_relay, &options, observe)
                       : !options_surface_places(&command_relay, &options)) {
        code = EXIT_UNABLE;
    } else {
        code = relay(&options, channel, thread, broker, observe);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_relay = {"relay", "relay an agent's permission requests to rules and people",
                                          usage, run};
