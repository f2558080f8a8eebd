#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/approvals.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "gate/decide.h"

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
    "  --cwd DIR, --home DIR what relative paths and ~ start from\n"
    "  --root DIR            one more start of relative paths; repeatable\n\n"
    "Exit: 0 once every line is answered, 2 could not be done.\n";

struct evaluation {
    const struct policy *policy;
    struct decider decider;
    struct call_reader reader;
    struct call_defaults defaults;
    struct approvals approvals;
    const struct path_base *base;
    struct buf out;
};

static struct decision judge_line(struct evaluation *e, enum line_result read, struct slice line)
{
    enum call_result result =
        read == LINE_TOO_LONG ? CALL_OVER_LIMIT : call_read(&e->reader, line, &e->defaults);
    struct decision deny = {.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
    switch (result) {
    case CALL_OK:
        e->approvals.channel = e->reader.call.channel;
        e->approvals.thread = e->reader.call.thread;
        return decide(&e->decider, e->policy, &e->reader.call, e->base, 0, &e->approvals);
    case CALL_MALFORMED:
        deny.cause = CAUSE_MALFORMED;
        deny.detail = slice_of(e->reader.detail);
        return deny;
    case CALL_OVER_LIMIT:
        deny.cause = CAUSE_OVER_LIMIT;
        return deny;
    default:
        return deny;
    }
}

static int eval_lines(struct evaluation *e, int fd)
{
    struct lines lines;
    struct slice line = {0};
    enum line_result result;
    int code = EXIT_YES;
    lines_init(&lines, fd, LIMIT_MESSAGE_BYTES);
    while ((result = lines_next(&lines, &line)) >= LINE_TOO_LONG && code == EXIT_YES) {
        if (result == LINE_READ && line.len == 0)
            continue;
        struct decision decision = judge_line(e, result, line);
        decision_write_json(&e->out, e->policy, &decision);
        buf_byte(&e->out, '\n');
        /* A person at a terminal, or a program that waits for each answer, sees it at once. */
        if (lines.at == lines.buf.len || e->out.len > (1u << 20)) {
            code = print(&e->out);
            buf_reset(&e->out);
        }
    }
    if (result == LINE_FAILED) {
        say("the calls cannot be read");
        code = EXIT_UNABLE;
    }
    if (code == EXIT_YES && e->out.len)
        code = print(&e->out);
    lines_finish(&lines);
    return code;
}

static int eval(struct options *options, struct evaluation *e, const char *approvals_file, const char *from)
{
    struct approvals_list list = {0};
    struct policy *policy = options_load_policy(&command_eval, options);
    if (!policy)
        return EXIT_UNABLE;
    e->policy = policy;
    e->base = &options->base;
    int code = EXIT_UNABLE, fd = strcmp(from, "-") == 0 ? dup(0) : open(from, O_RDONLY | O_CLOEXEC);
    buf_init(&e->out, (size_t)64 << 20);
    bool ready = decider_init(&e->decider) && call_reader_init(&e->reader);
    if (fd < 0)
        say("%s cannot be opened", from);
    else if (!ready)
        say("no memory");
    else if (!approvals_file || approvals_read(&list, policy, approvals_file)) {
        e->approvals.list = list.list;
        e->approvals.count = list.count;
        code = eval_lines(e, fd);
    }
    if (fd >= 0)
        close(fd);
    if (ready) {
        call_reader_finish(&e->reader);
        decider_finish(&e->decider);
    }
    approvals_finish(&list);
    buf_finish(&e->out);
    policy_destroy(policy);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *approvals = NULL, *now = NULL, *server = NULL;
    const struct option_spec own[] = {
        {"approvals", OPTION_VALUE, &approvals},
        {"now", OPTION_VALUE, &now},
        {"server", OPTION_VALUE, &server},
    };
    int code = options_read(&options, &command_eval, argc, argv, TAKES_POLICY | TAKES_PATHS, own, 3);
    if (code != -1)
        return code;
    static struct evaluation e;
    e.defaults =
        (struct call_defaults){.channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    if (server)
        e.defaults.server = slice_of(server);
    e.approvals.now = clock_wall_ms();
    if (now && !option_number(now, INT64_MIN + 1, INT64_MAX, &e.approvals.now))
        code = usage_error(&command_eval, "--now is a whole number of milliseconds");
    else if (server && !*server)
        code = usage_error(&command_eval, "--server is empty");
    else if (options.argc != 1)
        code = usage_error(&command_eval, "name the file of calls, or '-' for standard input");
    else
        code = eval(&options, &e, approvals, options.argv[0]);
    options_finish(&options);
    return code;
}

const struct command command_eval = {"eval", "print the decision for each call", usage, run};
