/* Denials and refused reloads, for a channel of the operator's: what the journal says of them, and no more. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "journal/journal.h"
#include "journal/reader.h"
#include "slack/internal.h"

#define MESSAGE_EVERY_MS 2000
#define LINES_MOST       20u
#define LINE_BYTES       ((size_t)1800) /* twenty of them are less than the 40,000 characters that Slack takes */

struct slack_denials {
    struct journal_reader *reader; /* NULL: there is no journal yet */
    const char *file[1];
    struct buf name;
    char since
        [CLOCK_ISO_SIZE]; /* what is older was told by an earlier run, or by nobody; the journal has it */
    struct buf lines;     /* that wait to be posted */
    size_t count;         /* how many events they stand for, those that found no room included */
    int64_t posted_ms;    /* boot clock */
};

struct slack_denials *slack_denials_create(const char *state_dir)
{
    struct slack_denials *denials = calloc(1, sizeof(*denials));
    if (denials == NULL) {
        return NULL;
    }
    buf_init(&denials->name, 8192);
    buf_init(&denials->lines, LINES_MOST * LINE_BYTES);
    buf_printf(&denials->name, "%s/journal.jsonl", state_dir);
    buf_byte(&denials->name, '\0');
    clock_iso8601(clock_wall_ms(), denials->since);
    if (!buf_ok(&denials->name)) {
        slack_denials_destroy(denials);
        return NULL;
    }
    denials->file[0] = denials->name.ptr;
    return denials;
}

void slack_denials_destroy(struct slack_denials *denials)
{
    if (denials != NULL) {
        journal_reader_close(denials->reader);
        buf_finish(&denials->name);
        buf_finish(&denials->lines);
        free(denials);
    }
}

static void append_named(struct buf *line, const char *before, struct slice text, const char *after)
{
    if (text.len > 0) {
        buf_text(line, before);
        slack_append_text(line, text);
        buf_text(line, after);
    }
}

static void write_line(struct buf *line, const struct journal_event *event)
{
    if (slice_is(event->kind, "policy.reload_refused")) {
        buf_text(line, "reload refused: the running policy stays; `callgate status` says why");
    } else {
        buf_text(line, "denied ");
        append_named(line, "", event->server, "/");
        slack_append_text(line, event->tool);
        append_named(line, " by rule ", event->rule, "");
        append_named(line, ": ", event->reason, "");
        append_named(line, "  (", event->channel, "");
        append_named(line, "/", event->thread, "");
        buf_text(line, event->channel.len > 0 ? ")" : "");
    }
    buf_printf(line, "  event %llu\n", (unsigned long long)event->seq);
}

/* A line that is longer than its room is not shortened but left to the journal. */
static void take_event(struct slack_denials *denials, const struct journal_event *event)
{
    struct buf line;
    bool refused = slice_is(event->kind, "policy.reload_refused");
    if (!refused && !slice_is(event->kind, "policy.deny")) {
        return;
    }
    denials->count++;
    if (denials->count > LINES_MOST) {
        return;
    }
    buf_init(&line, LINE_BYTES);
    write_line(&line, event);
    if (buf_ok(&line)) {
        buf_slice(&denials->lines, buf_slice_of(&line));
    } else {
        buf_printf(&denials->lines, "event %llu is too long for a message\n", (unsigned long long)event->seq);
    }
    buf_finish(&line);
}

/* The journal may not be there yet, and what cannot be read now may be next time: the file ends with half a line while
 * another process writes. */
static void read_on(struct slack_denials *denials)
{
    struct buf error;
    const struct journal_event *event;
    const struct journal_filter filter = {.since = denials->since, .no_probes = true};
    enum journal_read result = JOURNAL_READ_END;
    buf_init_message(&error, 4096);
    if (denials->reader == NULL) {
        denials->reader = journal_reader_open(denials->file, 1, &filter, &error);
    } else if (!journal_reader_follow(denials->reader, &error)) {
        result = JOURNAL_READ_FAILED;
    }
    while (denials->reader != NULL && result != JOURNAL_READ_FAILED &&
           (result = journal_reader_next(denials->reader, &event, &error)) == JOURNAL_READ_EVENT) {
        take_event(denials, event);
    }
    if (result == JOURNAL_READ_FAILED) {
        slack_say("denials cannot be told any more: %.*s", SLICE_FMT(buf_message(&error)));
        journal_reader_close(denials->reader);
        denials->reader = NULL;
        clock_iso8601(clock_wall_ms(), denials->since);
    }
    buf_finish(&error);
}

static void told(void *context, const struct web_answer *answer)
{
    (void)context;
    if (answer->error != NULL) {
        slack_say("denials cannot be posted: %s", answer->error);
    }
}

static void post(struct slack *slack, struct slack_denials *denials)
{
    struct buf json, text;
    buf_init(&text, (LINES_MOST + 1) * LINE_BYTES);
    buf_init(&json, 8 * (LINES_MOST + 1) * LINE_BYTES);
    buf_slice(&text, buf_slice_of(&denials->lines));
    if (denials->count > LINES_MOST) {
        buf_printf(&text, "and %zu more: callgate journal show --denied\n", denials->count - LINES_MOST);
    }
    buf_text(&json, "{\"channel\":");
    json_write_bytes(&json, slice_of(slack->settings.denials));
    buf_text(&json, ",\"mrkdwn\":false,\"unfurl_links\":false,\"text\":");
    json_write_bytes(&json, buf_slice_of(&text));
    buf_byte(&json, '}');
    if (buf_ok(&json) && web_post(slack->web, "chat.postMessage", slack->settings.bot_token,
                                  buf_slice_of(&json), told, NULL)) {
        buf_reset(&denials->lines);
        denials->count = 0;
        denials->posted_ms = clock_boot_ms();
    }
    buf_finish(&text);
    buf_finish(&json);
}

void slack_denials_look(struct slack *slack)
{
    struct slack_denials *denials = slack->denials;
    if (denials == NULL) {
        return;
    }
    read_on(denials);
    if (denials->count > 0 && clock_boot_ms() - denials->posted_ms >= MESSAGE_EVERY_MS) {
        post(slack, denials);
    }
}
