/* `approve` and `refuse`: a person's answer to a request. */
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/people/answer.h"

static const char approve_usage[] =
    "usage: callgate approve CODE [--as NAME] [--state DIR]\n\n"
    "Approves the request with this code. With a quorum, each person counts once.\n\n"
    "  --as NAME   who answers (default: your name in the user database)\n\n"
    "Exit: 0 the answer counts, 1 no such request waits or you have answered already, 2 could not be done.\n";

static const char refuse_usage[] =
    "usage: callgate refuse CODE [--as NAME] [--state DIR]\n\n"
    "Refuses the request with this code: one refusal ends it, and the same call stays refused for its "
    "session until\n"
    "the rule's ttlMs has passed.\n\n"
    "  --as NAME   who answers (default: your name in the user database)\n\n"
    "Exit: 0 refused, 1 no such request waits or you have answered already, 2 could not be done.\n";

static bool own_name(struct buf *ret_name)
{
    struct passwd entry, *found = NULL;
    char strings[16 << 10];
    if (getpwuid_r(getuid(), &entry, strings, sizeof(strings), &found) == 0 && found != NULL) {
        buf_text(ret_name, found->pw_name);
    } else {
        buf_printf(ret_name, "uid:%u", (unsigned)getuid());
    }
    return buf_ok(ret_name);
}

static void write_what(struct buf *out, const struct request *r)
{
    if (r->state == REQUEST_APPROVED) {
        buf_text(out, "approved: ");
    } else if (r->state == REQUEST_REFUSED) {
        buf_text(out, "refused: ");
    } else {
        buf_printf(out, "counted, %u of %u approvers: ", r->given, r->needed);
    }
    if (r->server.ptr != NULL) {
        utf8_append_printable(out, r->server);
        buf_byte(out, '/');
    }
    utf8_append_printable(out, r->tool);
    buf_text(out, " (rule '");
    utf8_append_printable(out, r->rule);
    buf_text(out, "')\n");
}

static int answer(struct people *people, struct slice code, struct slice identity, bool yes,
                  struct buf *error)
{
    struct request request = {0};
    struct buf out;
    int result = EXIT_UNABLE;
    switch (people_vote(people, code, identity, yes, &request, error)) {
    case STORE_DONE:
        buf_init(&out, 64u << 10);
        write_what(&out, &request);
        result = print(&out);
        buf_finish(&out);
        return result;
    case STORE_NONE:
        say("no request with the code %.*s waits; 'callgate pending' lists those that do", SLICE_FMT(code));
        return EXIT_NO;
    case STORE_TWICE:
        say("you have answered this request already");
        return EXIT_NO;
    default:
        say("the answer does not count: %.*s", SLICE_FMT(buf_slice_of(error)));
        return EXIT_UNABLE;
    }
}

static bool is_space(uint32_t c)
{
    return c == ' ' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* Whether no other name looks the same but for what nobody sees: a quorum counts people by their names. */
static bool usable_name(struct slice name)
{
    uint32_t first = 0, last = ' ';
    if (utf8_valid_upto(name) != name.len) {
        return false;
    }
    for (size_t pos = 0; pos < name.len;) {
        bool begins = pos == 0;
        last = utf8_next(name, &pos);
        first = begins ? last : first;
        if (utf8_unseen(last)) {
            return false;
        }
    }
    return !is_space(first) && !is_space(last);
}

int answer_request(const struct command *command, const char *state_dir, struct slice code, const char *as,
                   bool yes)
{
    struct buf error, name;
    struct people *people = NULL;
    int result = EXIT_UNABLE;
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&name, 4096);
    if (as != NULL) {
        buf_text(&name, as);
    }
    if (as != NULL && !usable_name(slice_of(as))) {
        result =
            usage_error(command, "--as: no usable name: it is empty, begins or ends with a space, or has "
                                 "characters that nobody sees");
    } else if (as == NULL && !own_name(&name)) {
        result = usage_error(command, "your name cannot be told; give it with --as");
    } else if (buf_ok(&name) && (people = people_open(state_dir, &error)) != NULL) {
        result = answer(people, code, buf_slice_of(&name), yes, &error);
    } else {
        say("the answer does not count: %.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    people_close(people);
    buf_finish(&error);
    buf_finish(&name);
    return result;
}

static int run_answer(const struct command *command, int argc, char **argv, bool yes)
{
    struct options options;
    const char *as = NULL;
    const struct option_spec own[] = {{"as", OPTION_VALUE, &as}};
    int code = options_read(&options, command, argc, argv, TAKES_STATE | STATE_IS_THERE, own, 1);
    if (code != -1) {
        return code;
    }
    struct slice request = options.argc == 1 ? slice_of(options.argv[0]) : SLICE("");
    if (!code_valid(request)) {
        code = usage_error(command, "name one code of five letters, as 'callgate pending' shows it");
    } else {
        code = answer_request(command, options.state_dir, request, as, yes);
    }
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

const struct command command_approve = {"approve", "approve a waiting request", approve_usage, run_approve};
const struct command command_refuse = {"refuse", "refuse a waiting request", refuse_usage, run_refuse};
