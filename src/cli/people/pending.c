#include <stdio.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] = "usage: callgate pending [--format text|json] [--state DIR]\n\n"
                            "Lists the requests that wait for a person, the oldest first.\n"
                            "Answer with 'callgate approve CODE' or 'callgate refuse CODE'.\n";

static void write_json(struct buf *out, const struct request *r)
{
    char expires[CLOCK_ISO_SIZE];
    clock_iso8601(r->expires_ms, expires);
    buf_printf(out, "{\"code\":\"%s\",\"rule\":", r->code);
    json_write_bytes(out, r->rule);
    buf_text(out, ",\"tool\":");
    json_write_bytes(out, r->tool);
    buf_text(out, ",\"server\":");
    if (r->server.ptr != NULL) {
        json_write_bytes(out, r->server);
    } else {
        buf_text(out, "null");
    }
    buf_text(out, ",\"input\":");
    buf_slice(out, r->input);
    buf_text(out, ",\"paths\":");
    buf_slice(out, r->paths);
    buf_text(out, ",\"channel\":");
    json_write_bytes(out, r->channel);
    buf_text(out, ",\"thread\":");
    json_write_bytes(out, r->thread);
    buf_printf(out, ",\"scope\":\"%s\",\"needed\":%u,\"given\":%u,\"expires\":\"%s\"}",
               scope_name(r->for_call ? SCOPE_CALL : SCOPE_SESSION), r->needed, r->given, expires);
}

static void write_line(struct buf *out, const char *name, struct slice value)
{
    buf_printf(out, "    %-9s", name);
    utf8_append_printable(out, value);
    buf_byte(out, '\n');
}

static void write_text(struct buf *out, const struct request *r, int64_t now)
{
    int64_t left = (r->expires_ms - now) / 1000;
    buf_printf(out, "%s  ", r->code);
    if (r->server.ptr != NULL) {
        utf8_append_printable(out, r->server);
        buf_byte(out, '/');
    }
    utf8_append_printable(out, r->tool);
    buf_printf(out, "  (%u of %u approvers; %lld s left)\n", r->given, r->needed,
               (long long)(left > 0 ? left : 0));
    write_line(out, "rule", r->rule);
    write_line(out, "input", r->input);
    if (r->paths.len > 2) {
        write_line(out, "paths", r->paths);
    }
    write_line(out, "channel", r->channel);
    write_line(out, "thread", r->thread);
    buf_printf(out, "    covers   %s\n",
               r->for_call ? "this call only" : "every call of this rule in the session");
}

static int pending(const struct options *options)
{
    struct request *requests = NULL;
    size_t count = 0;
    struct buf out, error;
    int code = EXIT_UNABLE;
    buf_init(&out, (size_t)1 << 30);
    buf_init_message(&error, MESSAGE_BYTES);
    bool absent = options_state_is_absent(options);
    struct people *people = absent ? NULL : people_open(options->state_dir, &error);
    if (absent || (people != NULL && people_waiting(people, &requests, &count, &error))) {
        int64_t now = clock_wall_ms();
        if (options->json) {
            buf_byte(&out, '[');
        }
        for (size_t i = 0; i < count; i++) {
            if (options->json && i) {
                buf_byte(&out, ',');
            }
            if (options->json) {
                write_json(&out, &requests[i]);
            } else {
                write_text(&out, &requests[i], now);
            }
        }
        if (options->json) {
            buf_text(&out, "]\n");
        } else if (count == 0) {
            buf_text(&out, "Nothing waits.\n");
        }
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    people_close(people);
    buf_finish(&out);
    buf_finish(&error);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_pending, argc, argv,
                            TAKES_STATE | TAKES_FORMAT | TAKES_NO_WORDS, NULL, 0);
    if (code != -1) {
        return code;
    }
    code = pending(&options);
    options_finish(&options);
    return code;
}

const struct command command_pending = {"pending", "list the requests that wait for a person", usage, run};
