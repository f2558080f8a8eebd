/* `pending`: the requests that wait for a person, in short, or some of them whole. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/people/answer.h"
#include "people/notice.h"
#include "people/show.h"

static const char usage[] =
    "usage: callgate pending [CODE...] [--format text|json] [--state DIR]\n\n"
    "Lists the requests that wait for a person, the oldest first; with codes, those, each shown whole.\n"
    "Answer with 'callgate approve CODE' or 'callgate refuse CODE'.\n\n"
    "Exit: 0 done, 1 a request that was named does not wait, 2 could not be done.\n";

#define PENDING_BYTES ((size_t)1 << 30)
#define SHORT_BYTES   ((size_t)400) /* of an input in the list: 'pending CODE' shows all of it */

static void write_line(struct buf *out, const char *name, struct slice value)
{
    buf_printf(out, "    %-9s", name);
    utf8_append_printable(out, value);
    buf_byte(out, '\n');
}

/* Its beginning, no character cut in two. */
static struct slice shortened(struct slice text)
{
    size_t len = SHORT_BYTES;
    while (len > 0 && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) {
        len--;
    }
    return (struct slice){text.ptr, len};
}

static void write_input(struct buf *out, const struct request *r, bool whole)
{
    if (whole) {
        buf_text(out, "    input\n");
        if (!show_input_text(out, r->input, 6)) {
            out->failed = true;
        }
    } else if (r->input.len <= SHORT_BYTES) {
        write_line(out, "input", r->input);
    } else {
        buf_text(out, "    input    ");
        utf8_append_printable(out, shortened(r->input));
        buf_printf(out, "\xE2\x80\xA6 (%zu bytes: 'callgate pending %s' shows all)\n", r->input.len, r->code);
    }
}

static void write_others(struct buf *out, const struct request *r, const struct request *all, size_t count)
{
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        others += all[i].number != r->number && people_covers(r, r->narrowed, &all[i]);
    }
    if (others > 0) {
        buf_printf(out, "    releases %zu more request(s) that wait:", others);
        for (size_t i = 0; i < count; i++) {
            if (all[i].number != r->number && people_covers(r, r->narrowed, &all[i])) {
                buf_printf(out, " %s", all[i].code);
            }
        }
        buf_byte(out, '\n');
    }
}

static void write_text(struct buf *out, const struct request *r, int64_t now, bool whole)
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
    if (r->groups.len > 0) {
        write_line(out, "groups", r->groups);
    }
    write_input(out, r, whole);
    if (r->paths.len > 2) {
        write_line(out, "paths", r->paths);
    }
    if (r->client_ms != 0) {
        buf_text(out, "    client   ");
        (void)notice_write_client(out, r, now);
        buf_byte(out, '\n');
    }
    write_line(out, "channel", r->channel);
    write_line(out, "thread", r->thread);
    buf_text(out, "    covers   ");
    answer_write_covers(out, r, r->narrowed);
    buf_byte(out, '\n');
}

static bool is_named(const struct options *options, const struct request *r)
{
    bool named = options->argc == 0;
    for (int i = 0; i < options->argc; i++) {
        named = named || strcasecmp(options->argv[i], r->code) == 0;
    }
    return named;
}

static size_t write_all(struct buf *out, const struct options *options, const struct request *requests,
                        size_t count)
{
    int64_t now = clock_wall_ms();
    size_t written = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_named(options, &requests[i])) {
            continue;
        }
        if (options->json) {
            buf_byte(out, written > 0 ? ',' : '[');
            notice_write_request(out, &requests[i]);
        } else {
            write_text(out, &requests[i], now, options->argc > 0);
            write_others(out, &requests[i], requests, count);
        }
        written++;
    }
    if (options->json) {
        buf_text(out, written > 0 ? "]\n" : "[]\n");
    } else if (count == 0 && options->argc == 0) {
        buf_text(out, "Nothing waits.\n");
    }
    return written;
}

static int pending(const struct options *options)
{
    struct request *requests = NULL;
    size_t count = 0;
    struct buf out, error;
    int code = EXIT_UNABLE;
    buf_init(&out, PENDING_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    bool absent = options_state_is_absent(options);
    struct people *people = absent ? NULL : people_open(options->state_dir, &error);
    if (absent || (people != NULL && people_waiting(people, &requests, &count, &error))) {
        size_t written = write_all(&out, options, requests, count);
        code = print(&out);
        if (code == EXIT_YES && written < (size_t)options->argc) {
            say("%zu of the requests named wait; 'callgate pending' lists all that do", written);
            code = EXIT_NO;
        }
    } else {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    people_close(people);
    buf_finish(&out);
    buf_finish(&error);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_pending, argc, argv, TAKES_STATE | TAKES_FORMAT, NULL, 0);
    if (code != -1) {
        return code;
    }
    for (int i = 0; i < options.argc && code == -1; i++) {
        if (!code_valid(slice_of(options.argv[i]))) {
            code = usage_error(&command_pending, "name codes of five letters, or none to list all that wait");
        }
    }
    if (code == -1) {
        code = pending(&options);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_pending = {"pending", "list the requests that wait for a person", usage,
                                            run};
