/* A request as a message of Slack's: Block Kit, every text of the call as text. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "people/show.h"
#include "slack/slack.h"

#define TEXT_BYTES ((size_t)8 << 20)

bool slack_is_channel(struct slice channel)
{
    if (channel.len < 9 || channel.len > 20 ||
        (channel.ptr[0] != 'C' && channel.ptr[0] != 'G' && channel.ptr[0] != 'D')) {
        return false;
    }
    for (size_t i = 1; i < channel.len; i++) {
        char c = channel.ptr[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) {
            return false;
        }
    }
    return true;
}

/* ---- Texts ---- */

/* What Slack would read as mark-up stands as its name; backquotes, which would end a block of code, as an accent. */
static void escape(struct buf *buf, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '&':
            buf_text(buf, "&amp;");
            break;
        case '<':
            buf_text(buf, "&lt;");
            break;
        case '>':
            buf_text(buf, "&gt;");
            break;
        case '`':
            buf_text(buf, "\xcb\x8b");
            break;
        default:
            buf_byte(buf, text.ptr[i]);
        }
    }
}

void slack_append_text(struct buf *buf, struct slice text)
{
    struct buf plain;
    buf_init(&plain, TEXT_BYTES);
    utf8_append_printable(&plain, text);
    escape(buf, buf_slice_of(&plain));
    buf->failed = buf->failed || plain.failed;
    buf_finish(&plain);
}

/* ---- Sections ---- */

struct sections {
    struct buf *out; /* JSON; NULL: only counted */
    struct buf text; /* of the section that is being filled */
    size_t count;
};

static void end_section(struct sections *s)
{
    if (s->text.len == 0) {
        return;
    }
    s->count++;
    if (s->out != NULL) {
        struct buf block;
        buf_init(&block, TEXT_BYTES);
        buf_text(&block, "```");
        buf_slice(&block, buf_slice_of(&s->text));
        buf_text(&block, "```");
        buf_text(s->out, ",{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":");
        json_write_bytes(s->out, buf_slice_of(&block));
        buf_text(s->out, "}}");
        buf_finish(&block);
    }
    buf_reset(&s->text);
}

/* How much of a text fits into `room` bytes without cutting a character or one of the names that stand for
 * mark-up. */
static size_t fitting(struct slice text, size_t room)
{
    size_t end = text.len < room ? text.len : room;
    if (end == text.len) {
        return end;
    }
    while (end > 0 && ((unsigned char)text.ptr[end] & 0xc0) == 0x80) {
        end--;
    }
    for (size_t back = 1; back <= 5 && back <= end; back++) {
        if (text.ptr[end - back] == '&' && memchr(text.ptr + end - back, ';', back) == NULL) {
            return end - back;
        }
    }
    return end;
}

static void take_line(void *context, enum show_kind kind, struct slice line)
{
    struct sections *s = context;
    struct buf text;
    (void)kind;
    buf_init(&text, TEXT_BYTES);
    escape(&text, line);
    buf_byte(&text, '\n');
    struct slice rest = buf_slice_of(&text);
    s->text.failed = s->text.failed || text.failed;
    while (rest.len > 0 && buf_ok(&s->text) && s->count <= SLACK_SECTIONS) {
        size_t len = fitting(rest, SLACK_SECTION_MOST - s->text.len);
        if (len == 0) {
            end_section(s);
            continue;
        }
        buf_bytes(&s->text, rest.ptr, len);
        rest = slice_from(rest, len);
    }
    buf_finish(&text);
}

/* Writes the input's sections. False when it is too long for a message. */
static bool write_input(struct buf *out, struct slice input)
{
    struct sections s = {.out = out};
    const struct show_lines lines = {take_line, &s};
    buf_init(&s.text, TEXT_BYTES);
    bool ok = show_input(input, &lines) && buf_ok(&s.text);
    end_section(&s);
    buf_finish(&s.text);
    return ok && s.count <= SLACK_SECTIONS;
}

bool slack_can_show(struct slice input)
{
    return write_input(NULL, input);
}

/* ---- The message ---- */

static void write_name(struct buf *text, const struct request *r)
{
    if (r->server.ptr != NULL) {
        slack_append_text(text, r->server);
        buf_byte(text, '/');
    }
    slack_append_text(text, r->tool);
}

static void write_section(struct buf *out, struct slice mrkdwn)
{
    buf_text(out, "{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":");
    json_write_bytes(out, mrkdwn);
    buf_text(out, "}}");
}

static void write_head(struct buf *out, const struct request *r, const char *ended, struct slice by)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    buf_text(&text, "*");
    write_name(&text, r);
    buf_printf(&text, "* %s", ended != NULL ? ended : "waits for approval");
    if (by.len > 0) {
        buf_text(&text, " by ");
        slack_append_text(&text, by);
    }
    write_section(out,
                  text.len <= SLACK_SECTION_MOST ? buf_slice_of(&text) : SLICE("A call waits for approval."));
    buf_finish(&text);
}

static const char *covers(enum approval_scope scope)
{
    switch (scope) {
    case APPROVAL_SESSION:
        return "every call of the rule in the session";
    case APPROVAL_CALL:
        return "this call, also again";
    default:
        return "this call, one time";
    }
}

static void write_facts(struct buf *out, const struct request *r)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    buf_text(&text, "rule ");
    slack_append_text(&text, r->rule);
    if (r->groups.len > 0) {
        buf_text(&text, "  |  people of ");
        slack_append_text(&text, r->groups);
    }
    buf_printf(&text, "  |  %u of %u approvers  |  the rule's yes covers %s, for %u s  |  `%s`", r->given,
               r->needed, covers(r->scope), r->ttl_ms / 1000, r->code);
    buf_text(out, ",{\"type\":\"context\",\"elements\":[{\"type\":\"mrkdwn\",\"text\":");
    json_write_bytes(out, text.len <= SLACK_SECTION_MOST ? buf_slice_of(&text) : slice_of(r->code));
    buf_text(out, "}]}");
    if (r->paths.len > 2 && r->paths.len < SLACK_SECTION_MOST / 2) {
        buf_reset(&text);
        buf_text(&text, "paths as judged: ");
        slack_append_text(&text, r->paths);
        if (text.len <= SLACK_SECTION_MOST) {
            buf_text(out, ",");
            write_section(out, buf_slice_of(&text));
        }
    }
    buf_finish(&text);
}

static void write_button(struct buf *out, const char *what, const char *label, const char *style,
                         const struct request *r, bool first)
{
    buf_printf(out,
               "%s{\"type\":\"button\",\"action_id\":\"callgate:%s:%s\",\"value\":\"%s\",\"text\":{\"type\":"
               "\"plain_text\",\"text\":\"%s\"}%s%s%s}",
               first ? "" : ",", what, r->code, r->code, label, style != NULL ? ",\"style\":\"" : "",
               style != NULL ? style : "", style != NULL ? "\"" : "");
}

static void write_buttons(struct buf *out, const struct request *r)
{
    buf_text(out, ",{\"type\":\"actions\",\"block_id\":\"callgate\",\"elements\":[");
    write_button(out, "once", "Once", "primary", r, true);
    if (r->scope == APPROVAL_SESSION) {
        write_button(out, "rule", "For the rule in this session", NULL, r, false);
    } else if (r->scope == APPROVAL_CALL) {
        write_button(out, "rule", "This call, also again", NULL, r, false);
    }
    write_button(out, "refuse", "Refuse", "danger", r, false);
    buf_text(out, "]}");
}

/* What stands in place of an input that is too long for a message. */
static void write_too_long(struct buf *out, enum slack_whole whole, bool ended)
{
    buf_text(out, ",");
    if (whole == SLACK_IN_SNIPPET) {
        write_section(out, SLICE("The call is too long for a message: all of it is in the snippet in this "
                                 "thread, also what stands at its end."));
    } else if (whole == SLACK_NOT_TO_SEE || ended) {
        write_section(out, SLICE("The call is too long to be shown here whole, so it cannot be approved "
                                 "here. `callgate pending` shows it in a terminal."));
    } else {
        write_section(out, SLICE("The call is too long for a message. It is being uploaded as a snippet; it "
                                 "can be approved here when it is there. `callgate pending` shows it in a "
                                 "terminal."));
    }
}

void slack_write_message(struct buf *buf, const struct request *request, enum slack_whole whole,
                         const char *ended, struct slice by, const char *channel, const char *thread_ts,
                         const char *ts)
{
    buf_text(buf, "{\"channel\":");
    json_write_bytes(buf, slice_of(channel));
    if (thread_ts != NULL) {
        buf_text(buf, ",\"thread_ts\":");
        json_write_bytes(buf, slice_of(thread_ts));
    }
    if (ts != NULL) {
        buf_text(buf, ",\"ts\":");
        json_write_bytes(buf, slice_of(ts));
    }
    buf_printf(buf, ",\"unfurl_links\":false,\"unfurl_media\":false,\"text\":\"A call %s (%s)\",\"blocks\":[",
               ended != NULL ? ended : "waits for approval", request->code);
    write_head(buf, request, ended, by);
    write_facts(buf, request);
    if (whole == SLACK_IN_MESSAGE) {
        buf->failed = !write_input(buf, request->input) || buf->failed;
    } else {
        write_too_long(buf, whole, ended != NULL);
    }
    if (ended == NULL && (whole == SLACK_IN_MESSAGE || whole == SLACK_IN_SNIPPET)) {
        write_buttons(buf, request);
    }
    buf_text(buf, "]}");
}
