#include "cli/journal/journal_show.h"

#include "base/utf8.h"
#include "cli/journal/decided.h"
#include "cli/options.h"

/* Of an input, a path list or a detail. */
#define SHOWN_BYTES 160u

static bool is_session(const struct decided *event, const char *wanted)
{
    struct slice text = slice_of(wanted);
    if (event->channel.ptr == NULL || !slice_starts_with(text, event->channel)) {
        return false;
    }
    struct slice rest = slice_from(text, event->channel.len);
    return rest.len == 0 || (rest.ptr[0] == '/' && slice_eq(slice_from(rest, 1), event->thread));
}

static bool is_shown(const struct decided *event, const struct shown *shown)
{
    return (!shown->denied || slice_is(event->kind, "policy.deny")) &&
           (!(shown->decisions || shown->calls) || event->is_decision) &&
           (shown->session == NULL || is_session(event, shown->session));
}

static void write_part(struct buf *out, const char *before, struct slice text, const char *behind)
{
    if (!text.len) {
        return;
    }
    buf_text(out, before);
    utf8_append_printable(out, text);
    buf_text(out, behind);
}

static void write_value(struct buf *out, const struct decided *event, const char *key)
{
    const struct json_value *value = json_get(&event->doc, json_root(&event->doc), key);
    if (value == NULL) {
        return;
    }
    struct slice text = json_text_of(&event->doc, value);
    size_t len = text.len;
    if (len > SHOWN_BYTES) {
        for (len = SHOWN_BYTES; len > 0 && (text.ptr[len] & 0xc0) == 0x80; len--)
            ;
    }
    buf_printf(out, "  %s ", key);
    utf8_append_printable(out, (struct slice){text.ptr, len});
    buf_text(out, len < text.len ? "\xe2\x80\xa6" : "");
}

/* `2026-11-29T20:00:00.000Z 12 policy.deny fs/read_file by 'no-etc' (system files)  C1/1.1 claude_process  …`
 */
static void write_event(struct buf *out, const struct decided *event)
{
    utf8_append_printable(out, event->ts);
    buf_printf(out, "  %llu  ", (unsigned long long)event->seq);
    utf8_append_printable(out, event->kind);
    write_part(out, "  ", event->server, "/");
    write_part(out, event->server.len ? "" : "  ", event->tool, "");
    write_part(out, "  by '", event->rule, "'");
    write_part(out, "  (", event->reason, ")");
    write_part(out, "  ", event->channel, "/");
    write_part(out, "", event->thread, "");
    write_part(out, " ", event->actor, "");
    write_value(out, event, "input");
    write_value(out, event, "paths");
    write_value(out, event, "detail");
    buf_byte(out, '\n');
}

int journal_show(const char *const *files, size_t count, const struct shown *shown)
{
    struct decided_reader reader;
    struct buf out;
    int code = EXIT_YES;
    buf_init(&out, (size_t)1 << 30);
    for (size_t i = 0; i < count && code == EXIT_YES; i++) {
        enum decided_result result;
        if (!decided_open(&reader, files[i])) {
            code = EXIT_UNABLE;
            break;
        }
        while ((result = decided_next_event(&reader)) == DECIDED_ONE && code == EXIT_YES) {
            if (!is_shown(&reader.event, shown)) {
                continue;
            }
            buf_reset(&out);
            if (shown->calls) {
                decided_write_call(&out, &reader.event);
                buf_byte(&out, '\n');
            } else {
                write_event(&out, &reader.event);
            }
            code = print(&out);
        }
        decided_close(&reader);
        if (result == DECIDED_FAILED) {
            code = EXIT_UNABLE;
        }
    }
    buf_finish(&out);
    return code;
}
