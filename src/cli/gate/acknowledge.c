/* callgate acknowledge: a policy as the baseline of reloads, or a gap in the journal. */
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate acknowledge DIGEST [--policy [TIER=]FILE...] [--state DIR]\n"
    "       callgate acknowledge --gap [--state DIR]\n\n"
    "Makes a policy the baseline that `callgate run --no-weakening` compares reloads with. DIGEST is the new "
    "one that\n"
    "`callgate diff` showed: nothing else than what it compared is accepted.\n\n"
    "  --gap                 you know why the journal is not the one that was written to: stop telling it\n"
    "  --policy [TIER=]FILE  a policy document; repeatable, in order (default: the standard places)\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
    "Exit: 0 acknowledged, 1 not: these files have another digest, say, 2 could not be done.\n";

static int acknowledge(struct options *options)
{
    struct buf error, out;
    int code = EXIT_NO;
    buf_init(&error, 64u << 20);
    buf_init(&out, 4096);
    if (gate_acknowledge(options->state_dir, &options->sources, &options->base, slice_of(options->argv[0]),
                         &error)) {
        buf_printf(&out, "acknowledged: %s\n", options->argv[0]);
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    buf_finish(&out);
    return code;
}

static int acknowledge_gap(const char *state_dir)
{
    struct buf error, out;
    bool was = false;
    int code = EXIT_UNABLE;
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&out, 4096);
    if (gate_acknowledge_gap(state_dir, &was, &error)) {
        buf_text(&out, was ? "acknowledged: the gap in the journal\n" : "the journal has no gap\n");
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    buf_finish(&out);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    bool gap = false;
    const struct option_spec own[] = {{"gap", OPTION_FLAG, &gap}};
    uint8_t hash[HASH_SIZE];
    int code = options_read(&options, &command_acknowledge, argc, argv,
                            TAKES_POLICY | TAKES_PATHS | TAKES_STATE, own, 1);
    if (code != -1) {
        return code;
    }
    if (gap && options.argc == 0 && options.policies.count == 0) {
        code = acknowledge_gap(options.state_dir);
    } else if (options.argc != 1 || gap || !hash_from_hex(slice_of(options.argv[0]), hash)) {
        code = usage_error(&command_acknowledge,
                           "name the digest, 64 hexadecimal digits, that `callgate diff` showed");
    } else if (!options_standard_places(&command_acknowledge, &options)) {
        code = EXIT_UNABLE;
    } else {
        code = acknowledge(&options);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_acknowledge = {"acknowledge", "accept a policy as the baseline for reloads",
                                                usage, run};
