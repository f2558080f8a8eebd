/* `approve`, `refuse` and `deny`: a person's answer to requests. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/people/answer.h"

static const char approve_usage[] =
    "usage: callgate approve [--once|--call] CODE... [--as NAME] [--state DIR]\n"
    "       callgate approve [--once|--call] --rule ID [--as NAME] [--state DIR]\n\n"
    "Approves the requests with these codes. With a quorum, each person counts once, and the narrowest "
    "answer\n"
    "holds. Says what a yes covers, and what else was released. In a terminal it asks how far the yes goes "
    "when\n"
    "the rule allows more than this call and neither --once nor --call is given.\n\n"
    "  --once      this call, one time\n"
    "  --call      this very call, also when it comes again, until the rule's ttlMs has passed\n"
    "  --rule ID   every request of this rule that waits\n"
    "  --as NAME   your name in people.json: it counts only for whom it authenticates\n"
    "  --people FILE  another people.json than the standard one\n\n"
    "Exit: 0 every answer counts, 1 some request does not wait or you have answered it already, 2 could not "
    "be "
    "done.\n";

#define REFUSAL_USAGE(name, other)                                                                           \
    "usage: callgate " name " [--because TEXT] CODE... [--as NAME] [--state DIR]\n\n"                        \
    "Refuses the requests with these codes: one refusal ends a request, and the same call stays refused\n"   \
    "for its session until the rule's ttlMs has passed. " other " does the same.\n\n"                        \
    "  --because TEXT  why, for the journal\n"                                                               \
    "  --rule ID       every request of this rule that waits\n"                                              \
    "  --as NAME       your name in people.json: it counts only for whom it authenticates\n"                 \
    "  --people FILE   another people.json than the standard one\n\n"                                        \
    "Exit: 0 refused, 1 some request does not wait or you have answered it already, 2 could not be done.\n"

static const char refuse_usage[] = REFUSAL_USAGE("refuse", "callgate deny");
static const char deny_usage[] = REFUSAL_USAGE("deny", "callgate refuse");

#define ANSWER_BYTES ((size_t)16 << 20)
#define BECAUSE_MOST 1000 /* characters of a reason, more are no reason */

static void write_call(struct buf *out, const struct request *r)
{
    buf_printf(out, "%s: ", r->code);
    if (r->server.ptr != NULL) {
        utf8_append_printable(out, r->server);
        buf_byte(out, '/');
    }
    utf8_append_printable(out, r->tool);
    buf_text(out, " (rule '");
    utf8_append_printable(out, r->rule);
    buf_text(out, "')");
}

void answer_write_covers(struct buf *out, const struct request *request, enum approval_scope scope)
{
    unsigned seconds = request->ttl_ms / 1000;
    switch (scope) {
    case APPROVAL_SESSION:
        buf_text(out, "every call of rule '");
        utf8_append_printable(out, request->rule);
        buf_text(out, "' in this session (");
        utf8_append_printable(out, request->channel);
        buf_byte(out, ' ');
        utf8_append_printable(out, request->thread);
        buf_printf(out, "), for %u s", seconds);
        break;
    case APPROVAL_CALL:
        buf_printf(out, "this very call, also when it comes again, for %u s", seconds);
        break;
    default:
        buf_text(out, "this call, one time");
    }
}

static void write_result(struct buf *out, const struct people_answer *answer)
{
    const struct request *r = &answer->request;
    if (r->state == REQUEST_APPROVED || r->state == REQUEST_REFUSED) {
        buf_text(out, r->state == REQUEST_APPROVED ? "approved " : "refused ");
    } else {
        buf_printf(out, "counted, %u of %u approvers: ", r->given, r->needed);
    }
    write_call(out, r);
    buf_byte(out, '\n');
    if (r->state == REQUEST_REFUSED) {
        buf_printf(out, "  the same call stays refused in this session for %u s\n", r->ttl_ms / 1000);
    } else {
        buf_text(out, r->state == REQUEST_APPROVED ? "  covers " : "  will cover ");
        answer_write_covers(out, r, r->narrowed);
        buf_byte(out, '\n');
    }
    for (size_t i = 1; i < answer->ended_count; i++) {
        buf_text(out, r->state == REQUEST_REFUSED ? "  also refused " : "  also released ");
        write_call(out, &answer->ended[i]);
        buf_byte(out, '\n');
    }
}

/* Why no request with this code waits. */
static void tell_gone(struct people *people, struct slice code)
{
    struct request last;
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (people_last(people, code, &last, &error) != STORE_DONE) {
        say("no request with the code %.*s waits; 'callgate pending' lists those that do", SLICE_FMT(code));
    } else if (last.state == REQUEST_WITHDRAWN) {
        say("%.*s: the call is gone: it was cancelled, or what held it has ended", SLICE_FMT(code));
    } else {
        say("%.*s waits no longer: it was %s", SLICE_FMT(code), request_state_name(last.state));
    }
    buf_finish(&error);
}

/* One command's answers: whose they are, and where they go. */
struct answers {
    struct people *people;
    struct roster roster;
    struct voter voter;
};

static int answer_one(const struct answers *answers, const struct vote *vote)
{
    struct people *people = answers->people;
    struct people_answer answer;
    struct buf out, error;
    int result = EXIT_UNABLE;
    buf_init(&out, ANSWER_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    switch (people_take_answer(people, &answers->roster, &answers->voter, vote, &answer, &error)) {
    case STORE_DONE:
        write_result(&out, &answer);
        result = print(&out);
        break;
    case STORE_NONE:
        tell_gone(people, vote->code);
        result = EXIT_NO;
        break;
    case STORE_TWICE:
        say("%.*s: you have answered this request already", SLICE_FMT(vote->code));
        result = EXIT_NO;
        break;
    case STORE_FORBIDDEN:
        say("%.*s: %.*s", SLICE_FMT(vote->code), SLICE_FMT(buf_message(&error)));
        result = EXIT_NO;
        break;
    default:
        say("%.*s: the answer does not count: %.*s", SLICE_FMT(vote->code), SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&out);
    buf_finish(&error);
    return result;
}

/* Asks in a terminal how far a yes goes, where the rule allows more than this call. False: no answer, no yes. */
static bool ask_scope(struct people *people, struct vote *vote)
{
    struct request request;
    struct buf error, text;
    char line[16] = "";
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init_message(&text, MESSAGE_BYTES);
    bool waits = people_last(people, vote->code, &request, &error) == STORE_DONE &&
                 request.state == REQUEST_WAITING && request.scope == APPROVAL_SESSION;
    bool answered = true;
    if (waits) {
        write_call(&text, &request);
        buf_text(&text, "\n  the rule allows: ");
        answer_write_covers(&text, &request, request.scope);
        fprintf(stderr, "%.*s\nhow far does your yes go? [o]nce, this [c]all, all that the [r]ule allows: ",
                SLICE_FMT(buf_message(&text)));
        answered =
            fgets(line, sizeof(line), stdin) != NULL && strchr("ocr", line[0]) != NULL && line[0] != '\0';
        vote->scope = line[0] == 'o' ? APPROVAL_ONCE : line[0] == 'c' ? APPROVAL_CALL : APPROVAL_SESSION;
    }
    if (!answered) {
        say("not answered: say o, c or r, or use --once or --call");
    }
    buf_finish(&error);
    buf_finish(&text);
    return answered;
}

/* Codes of the requests of one rule, in the arena of `options`. */
static bool codes_of_rule(struct people *people, const char *rule, struct options *options,
                          struct buf *ret_error)
{
    struct request *requests;
    size_t count = 0;
    if (!people_waiting(people, &requests, &count, ret_error)) {
        return false;
    }
    options->argv = arena_array(&options->arena, count + 1, sizeof(*options->argv));
    options->argc = 0;
    for (size_t i = 0; options->argv != NULL && i < count; i++) {
        struct slice code = arena_copy(&options->arena, slice_of(requests[i].code));
        if (slice_is(requests[i].rule, rule) && code.ptr != NULL) {
            options->argv[options->argc++] = (char *)code.ptr;
        }
    }
    return options->argv != NULL;
}

static int answer_all(const struct answers *answers, const struct answering *answering,
                      struct options *options, struct vote vote)
{
    struct people *people = answers->people;
    bool asks =
        vote.yes && !answering->once && !answering->call && answering->may_ask && isatty(STDIN_FILENO);
    int result = EXIT_YES;
    for (int i = 0; i < options->argc; i++) {
        vote.code = slice_of(options->argv[i]);
        int one = asks && !ask_scope(people, &vote) ? EXIT_NO : answer_one(answers, &vote);
        result = one > result ? one : result;
    }
    if (options->argc == 0) {
        say("no request of rule '%s' waits", answering->rule);
        result = EXIT_NO;
    }
    return result;
}

/* Who answers: the user of the system who runs this, or whom a bridge vouches for. */
static bool find_voter(const struct answering *answering, struct answers *answers, struct buf *name,
                       struct buf *ret_error)
{
    bool bridge = answering->surface == PEOPLE_BRIDGE;
    if (bridge) {
        buf_text(name, answering->as);
    } else {
        people_own_name(name);
    }
    bool ok = buf_ok(name);
    if (!ok) {
        buf_text(ret_error, "your name cannot be told");
    }
    ok = ok && people_read_roster(&answers->roster, answering->people, ret_error);
    answers->voter = (struct voter){answering->surface, buf_slice_of(name),
                                    slice_of(answering->as != NULL && !bridge ? answering->as : "")};
    if (ok && !answers->roster.present && answering->as != NULL) {
        say("note: without people.json your answer counts as the user who runs this, whatever --as says");
    }
    return ok;
}

int answer_requests(const struct cli_command *command, struct options *options,
                    const struct answering *answering)
{
    struct buf error, name;
    struct answers answers = {0};
    int result = EXIT_UNABLE;
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&name, MESSAGE_BYTES);
    const struct vote vote = {
        .yes = answering->yes,
        .scope = answering->once   ? APPROVAL_ONCE
                 : answering->call ? APPROVAL_CALL
                                   : APPROVAL_SESSION,
        .because = slice_of(answering->because != NULL ? answering->because : ""),
    };
    if (answering->as != NULL && !people_name_usable(slice_of(answering->as))) {
        result =
            usage_error(command, "--as: no usable name: it is empty, begins or ends with a space, or has "
                                 "characters that nobody sees");
    } else if (find_voter(answering, &answers, &name, &error) &&
               (answers.people = people_open(options->state_dir, &error)) != NULL &&
               (answering->rule == NULL || codes_of_rule(answers.people, answering->rule, options, &error))) {
        result = answer_all(&answers, answering, options, vote);
    } else {
        say("the answer does not count: %.*s", SLICE_FMT(buf_message(&error)));
    }
    people_close(answers.people);
    roster_finish(&answers.roster);
    buf_finish(&error);
    buf_finish(&name);
    return result;
}

static const char *fault_of(const struct options *options, const struct answering *answering)
{
    for (int i = 0; i < options->argc; i++) {
        if (!code_valid(slice_of(options->argv[i]))) {
            return "name codes of five letters, as 'callgate pending' shows them";
        }
    }
    if (answering->rule != NULL ? options->argc != 0 : options->argc == 0) {
        return "name one code of five letters or more, as 'callgate pending' shows them, or a rule with "
               "--rule";
    }
    if (answering->once && answering->call) {
        return "--once or --call: the narrower one is --once";
    }
    if (answering->because != NULL &&
        (strlen(answering->because) > BECAUSE_MOST ||
         utf8_valid_upto(slice_of(answering->because)) != strlen(answering->because))) {
        return "--because: a text of at most 1000 bytes";
    }
    return NULL;
}

static int run_answer(const struct cli_command *command, int argc, char **argv, bool yes)
{
    struct options options;
    struct answering answering = {.yes = yes, .may_ask = true};
    const struct option_spec own[] = {
        {"as", OPTION_VALUE, &answering.as},
        {"people", OPTION_VALUE, &answering.people},
        {"rule", OPTION_VALUE, &answering.rule},
        {yes ? "once" : "because", yes ? OPTION_FLAG : OPTION_VALUE,
         yes ? (void *)&answering.once : (void *)&answering.because},
        {"call", OPTION_FLAG, &answering.call},
    };
    int code = options_read(&options, command, argc, argv, TAKES_STATE | STATE_IS_THERE, own, yes ? 5 : 4);
    if (code != -1) {
        return code;
    }
    const char *fault = fault_of(&options, &answering);
    code = fault != NULL ? usage_error(command, "%s", fault) : answer_requests(command, &options, &answering);
    options_finish(&options);
    return code;
}

static int run_approve(int argc, char **argv)
{
    return run_answer(&command_approve, argc, argv, true);
}

static int run_refuse(int argc, char **argv)
{
    return run_answer(&command_refuse, argc, argv, false);
}

static int run_deny(int argc, char **argv)
{
    return run_answer(&command_deny, argc, argv, false);
}

const struct cli_command command_approve = {"approve", "approve a waiting request", approve_usage,
                                            run_approve};
const struct cli_command command_deny = {"deny", "another name of refuse", deny_usage, run_deny};
const struct cli_command command_refuse = {"refuse", "refuse a waiting request", refuse_usage, run_refuse};
