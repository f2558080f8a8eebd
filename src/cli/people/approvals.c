/* `approvals`: what people have approved and what still lets calls run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate approvals [list] [--format text|json] [--state DIR]\n"
    "       callgate approvals revoke ID... [--state DIR]\n\n"
    "Lists the approvals that are alive: which rule, which session, how far each goes, and until when.\n"
    "revoke ends some before their time: the next call is asked for again.\n\n"
    "Exit: 0 done, 1 no live approval has this id, 2 could not be done.\n";

#define LIST_BYTES ((size_t)64 << 20)

static void write_json(struct buf *out, const struct grant *grant)
{
    char granted[CLOCK_ISO_SIZE], expires[CLOCK_ISO_SIZE];
    clock_iso8601(grant->granted, granted);
    clock_iso8601(grant->expires, expires);
    buf_printf(out, "{\"id\":%lld,\"rule\":", (long long)grant->id);
    json_write_bytes(out, grant->rule);
    buf_text(out, ",\"channel\":");
    json_write_bytes(out, grant->channel);
    buf_text(out, ",\"thread\":");
    json_write_bytes(out, grant->thread);
    buf_printf(out, ",\"scope\":\"%s\",\"granted\":\"%s\",\"expires\":\"%s\"}",
               approval_scope_name(grant->scope), granted, expires);
}

static void write_text(struct buf *out, const struct grant *grant, int64_t now)
{
    static const char *const covers[] = {"every call of the rule in the session", "one call, again and again",
                                         "one call, one time"};
    buf_printf(out, "%lld  rule '", (long long)grant->id);
    utf8_append_printable(out, grant->rule);
    buf_text(out, "'  session ");
    utf8_append_printable(out, grant->channel);
    buf_byte(out, ' ');
    utf8_append_printable(out, grant->thread);
    buf_printf(out, "\n    covers %s; %lld s left\n", covers[grant->scope],
               (long long)((grant->expires - now) / 1000));
}

static int list(const struct options *options)
{
    struct buf out, error;
    struct grant *grants = NULL;
    size_t count = 0;
    int code = EXIT_UNABLE;
    buf_init(&out, LIST_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    bool absent = options_state_is_absent(options);
    struct people *people = absent ? NULL : people_open(options->state_dir, &error);
    if (absent || (people != NULL && people_grants(people, &grants, &count, &error))) {
        int64_t now = clock_wall_ms();
        for (size_t i = 0; i < count; i++) {
            if (options->json) {
                buf_byte(&out, i > 0 ? ',' : '[');
                write_json(&out, &grants[i]);
            } else {
                write_text(&out, &grants[i], now);
            }
        }
        buf_text(&out,
                 options->json ? (count > 0 ? "]\n" : "[]\n") : (count > 0 ? "" : "No approval is alive.\n"));
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    people_close(people);
    buf_finish(&out);
    buf_finish(&error);
    return code;
}

static int revoke_one(struct people *people, int64_t id, struct slice who)
{
    struct buf error;
    int code = EXIT_UNABLE;
    buf_init_message(&error, MESSAGE_BYTES);
    switch (people_revoke(people, id, who, &error)) {
    case STORE_DONE:
        printf("revoked %lld\n", (long long)id);
        code = EXIT_YES;
        break;
    case STORE_NONE:
        say("no approval with the id %lld is alive; 'callgate approvals' lists those that are",
            (long long)id);
        code = EXIT_NO;
        break;
    default:
        say("%lld is not revoked: %.*s", (long long)id, SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return code;
}

static int revoke_all(const struct options *options)
{
    struct buf error;
    int code = EXIT_YES;
    buf_init_message(&error, MESSAGE_BYTES);
    struct roster roster = {0};
    struct buf who;
    buf_init(&who, MESSAGE_BYTES);
    struct people *people =
        people_read_roster(&roster, NULL, &error) ? people_open(options->state_dir, &error) : NULL;
    people_name_of_user(&roster, &who);
    if (people == NULL || !buf_ok(&who)) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
        code = EXIT_UNABLE;
    }
    for (int i = 1; people != NULL && buf_ok(&who) && i < options->argc; i++) {
        int64_t id = 0;
        int one =
            option_number(options->argv[i], 1, INT64_MAX, &id)
                ? revoke_one(people, id, buf_slice_of(&who))
                : usage_error(&command_approvals, "an id is a number, as 'callgate approvals' shows it");
        code = one > code ? one : code;
    }
    buf_finish(&who);
    roster_finish(&roster);
    people_close(people);
    buf_finish(&error);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_approvals, argc, argv, TAKES_STATE | TAKES_FORMAT, NULL, 0);
    if (code != -1) {
        return code;
    }
    const char *word = options.argc > 0 ? options.argv[0] : "list";
    if (strcmp(word, "list") == 0 && options.argc <= 1) {
        code = list(&options);
    } else if (strcmp(word, "revoke") == 0 && options.argc > 1) {
        code = revoke_all(&options);
    } else {
        code = usage_error(&command_approvals, "list, or revoke with the ids of approvals");
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_approvals = {"approvals", "list what people have approved, or revoke it",
                                              usage, run};
