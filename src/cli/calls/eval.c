/* callgate eval and callgate explain: one call a line in, one decision or explanation out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/calls/calls.h"
#include "cli/calls/explain_text.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate eval --policy [TIER=]FILE... [OPTION...] - | FILE\n\n"
    "Reads one call a line, "
    "{\"tool\",\"input\"?,\"server\"?,\"sessionKey\"?:{\"channel\",\"thread\"},\"actor\"?}, and\n"
    "prints one decision a line. Asks nobody and writes nothing anywhere.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --approvals FILE      live approvals: "
    "[{\"rule\",\"channel\",\"thread\",\"granted\",\"expires\",\"callHash\"?}]\n"
    "  --now MS              the time of evaluation, in milliseconds since 1970 (default: now)\n"
    "  --server NAME         the server of calls that name none\n"
    "  --explain             adds a member `explain`: readings and rules, as `callgate explain` has them\n"
    "  --cwd DIR, --home DIR what relative paths and ~ start from\n"
    "  --root DIR            one more start of relative paths; repeatable\n\n"
    "Exit: 0 once every line is answered, 2 could not be done.\n";

static const char explain_usage[] =
    "usage: callgate explain --policy [TIER=]FILE... [OPTION...] - | FILE\n\n"
    "Reads one call a line, as `callgate eval` does, and says why each was decided as it was: the readings, "
    "where each\n"
    "came from, and for every rule looked at the first field that failed, with both values.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --all                 rules for other tools and servers, too, instead of their number\n"
    "  --format json         one JSON object a line, with every rule\n"
    "  --approvals FILE, --now MS, --server NAME, --cwd DIR, --home DIR, --root DIR\n"
    "                        as for `callgate eval`\n\n"
    "Exit: 0 once every line is answered, 2 could not be done.\n";

enum output { OUTPUT_DECISION, OUTPUT_WITH_EXPLAIN, OUTPUT_JSON, OUTPUT_TEXT, OUTPUT_TEXT_WHOLE };

static void answer(struct judge *judge, enum output output, struct slice call, struct buf *out)
{
    if (output >= OUTPUT_JSON) {
        struct buf json;
        buf_init(&json, (size_t)1 << 30);
        judge_explain(judge, &json);
        if (output == OUTPUT_JSON) {
            buf_slice(out, buf_slice_of(&json));
        } else {
            explain_text_write(out, call, buf_slice_of(&json), output == OUTPUT_TEXT_WHOLE);
        }
        out->failed = out->failed || !buf_ok(&json);
        buf_finish(&json);
    } else {
        decision_write_json(out, judge->policy, &judge->decision);
    }
    if (output == OUTPUT_WITH_EXPLAIN && buf_ok(out)) {
        out->len--; /* the closing brace comes behind one more member */
        buf_text(out, ",\"explain\":");
        judge_explain(judge, out);
        buf_byte(out, '}');
    }
    buf_byte(out, '\n');
}

static int judge_lines(struct judge *judge, enum output output, int fd, const char *name)
{
    struct input_lines lines;
    struct slice line = {0};
    struct buf out;
    enum line_result result;
    int code = EXIT_YES;
    bool told = true; /* whoever reads the answers may act on them */
    buf_init(&out, (size_t)1 << 30);
    input_lines_init(&lines, fd, LIMIT_MESSAGE_BYTES);
    while ((result = input_lines_next(&lines, &line)) >= LINE_TOO_LONG && code == EXIT_YES) {
        if (result == LINE_READ && line.len == 0) {
            continue;
        }
        if (result == LINE_TOO_LONG) {
            judge_too_long(judge);
        } else {
            judge_may_have_run(judge, told);
            judge_text(judge, line);
        }
        told = false;
        answer(judge, output, line, &out);
        /* A person at a terminal, or a program that waits for each answer, sees it at once. */
        if (lines.at == lines.buf.len || out.len > (1u << 20)) {
            code = print(&out);
            buf_reset(&out);
            told = true;
        }
    }
    if (result == LINE_FAILED) {
        say("%s cannot be read: %s", name, strerror(errno));
        code = EXIT_UNABLE;
    }
    if (code == EXIT_YES && out.len) {
        code = print(&out);
    }
    input_lines_finish(&lines);
    buf_finish(&out);
    return code;
}

struct own {
    const char *approvals, *now, *server;
    bool explain, all;
};

static int evaluate(const struct cli_command *command, struct options *options, const struct own *own,
                    enum output output)
{
    static struct judge judge;
    struct approvals_list list = {0};
    int64_t now = clock_wall_ms();
    if (own->now != NULL && !option_number(own->now, INT64_MIN + 1, INT64_MAX, &now)) {
        return usage_error(command, "--now is a whole number of milliseconds");
    }
    if (own->server != NULL && !*own->server) {
        return usage_error(command, "--server is empty");
    }
    if (options->argc != 1) {
        return usage_error(command, "name the file of calls, or '-' for standard input");
    }
    struct policy *policy = options_load_policy(command, options);
    if (policy == NULL) {
        return EXIT_UNABLE;
    }
    int code = EXIT_UNABLE;
    if (!judge_init(&judge, policy, &options->base)) {
        say("no memory");
        policy_destroy(policy);
        return code;
    }
    if (output == OUTPUT_DECISION) { /* whoever asks why sees every reading */
        judge_spare_paths(&judge);
    }
    if (own->server != NULL) {
        judge.defaults.server = slice_of(own->server);
    }
    int fd = calls_open(options->argv[0]);
    if (fd >= 0 && (own->approvals == NULL || approvals_read(&list, policy, own->approvals))) {
        judge.approvals = (struct approvals){.list = list.list, .count = list.count, .now = now};
        code = judge_lines(&judge, output, fd, options->argv[0]);
    }
    if (fd >= 0) {
        close(fd);
    }
    approvals_finish(&list);
    judge_finish(&judge);
    policy_destroy(policy);
    return code;
}

static int read_and_evaluate(const struct cli_command *command, int argc, char **argv, unsigned groups)
{
    struct options options;
    struct own own = {0};
    const struct option_spec specs[] = {
        {"approvals", OPTION_VALUE, &own.approvals},
        {"now", OPTION_VALUE, &own.now},
        {"server", OPTION_VALUE, &own.server},
        {command == &command_eval ? "explain" : "all", OPTION_FLAG,
         command == &command_eval ? &own.explain : &own.all},
    };
    bool eval = command == &command_eval;
    int code = options_read(&options, command, argc, argv, groups, specs, 4);
    if (code != -1) {
        return code;
    }
    enum output output = own.explain ? OUTPUT_WITH_EXPLAIN : OUTPUT_DECISION;
    if (!eval) {
        output = options.json ? OUTPUT_JSON : own.all ? OUTPUT_TEXT_WHOLE : OUTPUT_TEXT;
    }
    code = evaluate(command, &options, &own, output);
    options_finish(&options);
    return code;
}

static int run_eval(int argc, char **argv)
{
    return read_and_evaluate(&command_eval, argc, argv, TAKES_POLICY | TAKES_PATHS);
}

static int run_explain(int argc, char **argv)
{
    return read_and_evaluate(&command_explain, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_FORMAT);
}

const struct cli_command command_eval = {"eval", "print the decision for each call", usage, run_eval};
const struct cli_command command_explain = {"explain", "say why a call is decided as it is", explain_usage,
                                            run_explain};
