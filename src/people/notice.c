/* The text of a notice. */
#include "people/notice.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "json/json.h"

#define TITLE_BYTES ((size_t)64 << 10)
#define SHORT_BYTES ((size_t)200) /* of the input, in the text of a desktop notice */

void notice_write_request(struct buf *buf, const struct request *r)
{
    char expires[CLOCK_ISO_SIZE];
    clock_iso8601(r->expires_ms, expires);
    buf_printf(buf, "{\"code\":\"%s\",\"rule\":", r->code);
    json_write_bytes(buf, r->rule);
    buf_text(buf, ",\"tool\":");
    json_write_bytes(buf, r->tool);
    buf_text(buf, ",\"server\":");
    if (r->server.ptr != NULL) {
        json_write_bytes(buf, r->server);
    } else {
        buf_text(buf, "null");
    }
    buf_text(buf, ",\"input\":");
    buf_slice(buf, r->input);
    buf_text(buf, ",\"paths\":");
    buf_slice(buf, r->paths);
    buf_text(buf, ",\"channel\":");
    json_write_bytes(buf, r->channel);
    buf_text(buf, ",\"thread\":");
    json_write_bytes(buf, r->thread);
    if (r->groups.len > 0) {
        buf_text(buf, ",\"approversFrom\":");
        buf_slice(buf, r->groups);
    }
    if (r->client_ms != 0) {
        char waits[CLOCK_ISO_SIZE];
        clock_iso8601(r->client_ms, waits);
        buf_printf(buf, ",\"clientWaitsUntil\":\"%s\"", waits);
    }
    buf_printf(buf, ",\"scope\":\"%s\",\"needed\":%u,\"given\":%u,\"expires\":\"%s\"}",
               approval_scope_name(r->narrowed), r->needed, r->given, expires);
}

bool notice_write_client(struct buf *buf, const struct request *r, int64_t now_ms)
{
    if (r->client_ms == 0) {
        return false;
    }
    if (r->client_ms > now_ms) {
        buf_printf(buf, "waits %lld s more", (long long)((r->client_ms - now_ms + 999) / 1000));
    } else {
        buf_text(buf, "has given up; an approval counts for its next try");
    }
    return true;
}

static void write_name(struct buf *buf, const struct request *r)
{
    if (r->server.ptr != NULL) {
        utf8_append_printable(buf, r->server);
        buf_byte(buf, '/');
    }
    utf8_append_printable(buf, r->tool);
}

/* The beginning of an input, no character cut in two. */
static struct slice beginning(struct slice text)
{
    size_t len = text.len < SHORT_BYTES ? text.len : SHORT_BYTES;
    while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) {
        len--;
    }
    return (struct slice){text.ptr, len};
}

void notice_write(struct buf *buf, const struct request *r)
{
    struct buf text;
    const char *event = request_state_name(r->state);
    buf_init(&text, TITLE_BYTES);
    buf_printf(buf, "{\"event\":\"%s\",\"id\":\"request-%lld-%llx-%s\",\"request\":", event,
               (long long)r->number, (unsigned long long)r->created_ms,
               r->state == REQUEST_TIMED_OUT ? "timed-out" : event);
    notice_write_request(buf, r);
    buf_text(buf, ",\"text\":");
    utf8_append_printable(&text, beginning(r->input));
    if (r->state == REQUEST_WAITING) {
        buf_printf(&text, "  (callgate approve %s)", r->code);
    }
    json_write_bytes(buf, buf_slice_of(&text));
    buf_reset(&text);
    write_name(&text, r);
    if (r->state == REQUEST_WAITING) {
        buf_text(&text, " waits for approval");
    } else {
        buf_printf(&text, ": %s", event);
    }
    buf_text(buf, ",\"title\":");
    json_write_bytes(buf, buf_slice_of(&text));
    buf_byte(buf, '}');
    buf->failed = buf->failed || text.failed;
    buf_finish(&text);
}
