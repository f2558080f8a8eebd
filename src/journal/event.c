/* Writes events: the parts that do not depend on the chain, then the line. */
#include "journal/event_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "journal/redact_internal.h"

#define PATHS_MAX 65536u /* bytes of the list of paths as written; a mark says how many there were */

/* A member's name stands ready with its quotes and colon: SLICE("\"kind\":"). */
static void text_member(struct buf *buf, struct slice name, struct slice text)
{
    if (text.len != 0) {
        buf_slice(buf, name);
        redact_text(buf, text);
        buf_byte(buf, ',');
    }
}

/* Text of the operator's or our own: there are no secrets in it, but it may be long. */
static void short_member(struct buf *buf, struct slice name, struct slice text)
{
    if (text.len > REDACT_STRING_MAX) {
        text_member(buf, name, text);
    } else if (text.len != 0) {
        buf_slice(buf, name);
        json_write_bytes(buf, text);
        buf_byte(buf, ',');
    }
}

static void constant_member(struct buf *buf, struct slice name, const char *text)
{
    if (text != NULL) {
        buf_slice(buf, name);
        json_write_string(buf, slice_of(text));
        buf_byte(buf, ',');
    }
}

/* Text that needs no escapes, such as hex. */
static void plain_member(struct buf *buf, struct slice name, struct slice text)
{
    buf_slice(buf, name);
    buf_byte(buf, '"');
    buf_slice(buf, text);
    buf_bytes(buf, "\",", 2);
}

static void hash_member(struct buf *buf, struct slice name, const uint8_t *hash)
{
    if (hash != NULL) {
        char hex[HASH_HEX + 1];
        hash_to_hex(hash, hex);
        plain_member(buf, name, (struct slice){hex, HASH_HEX});
    }
}

static void paths_member(struct buf *buf, const struct event *event)
{
    if (event->path_count == 0) {
        return;
    }
    buf_slice(buf, SLICE("\"paths\":"));
    size_t begin = buf->len;
    buf_byte(buf, '[');
    for (size_t i = 0; i < event->path_count; i++) {
        if (i > 0) {
            buf_byte(buf, ',');
        }
        if (buf->len - begin > PATHS_MAX) {
            buf_printf(buf, "\"\xE2\x80\xA6[truncated, %zu elements]\"", event->path_count);
            break;
        }
        redact_text(buf, event->paths[i]);
    }
    buf_bytes(buf, "],", 2);
}

/* A member whose value comes as text. False when it is not exactly one JSON value. */
static bool value_member(struct buf *buf, struct slice name, struct slice value, struct json_doc *doc)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    if (value.len == 0) {
        return true;
    }
    if (!json_parse(doc, value, &options, &error)) {
        return false;
    }
    buf_slice(buf, name);
    redact_write(buf, doc, json_root(doc));
    buf_byte(buf, ',');
    return true;
}

static void session_member(struct buf *buf, const struct event *event)
{
    if (event->has_session) {
        buf_slice(buf, SLICE("\"sessionKey\":"));
        buf_slice(buf, SLICE("{\"channel\":"));
        redact_text(buf, event->channel);
        buf_slice(buf, SLICE(",\"thread\":"));
        redact_text(buf, event->thread);
        buf_bytes(buf, "},", 2);
    }
}

bool event_write(struct buf *buf, const struct event *event, struct json_doc *doc,
                 struct event_parts *ret_parts)
{
    size_t begin = buf->len, end[EVENT_PARTS];
    short_member(buf, SLICE("\"actor\":"), event->actor);
    bool done = value_member(buf, SLICE("\"annotations\":"), event->annotations, doc);
    hash_member(buf, SLICE("\"callHash\":"), event->call_hash);
    short_member(buf, SLICE("\"correlationId\":"), event->correlation_id);
    done = value_member(buf, SLICE("\"detail\":"), event->detail, doc) && done;
    end[0] = buf->len;
    if (event->input != NULL) {
        buf_slice(buf, SLICE("\"input\":"));
        redact_write(buf, event->input_doc, event->input);
        buf_byte(buf, ',');
    }
    constant_member(buf, SLICE("\"kind\":"), event->kind);
    constant_member(buf, SLICE("\"outcome\":"), event->outcome);
    paths_member(buf, event);
    end[1] = buf->len;
    text_member(buf, SLICE("\"reason\":"), event->reason);
    short_member(buf, SLICE("\"ruleId\":"), event->rule);
    end[2] = buf->len;
    short_member(buf, SLICE("\"server\":"), event->server);
    session_member(buf, event);
    text_member(buf, SLICE("\"toolName\":"), event->tool);
    end[3] = buf->len;
    if (!done || !buf_ok(buf) || event->kind == NULL) {
        /* A failed buffer still holds what was staged before this event. */
        buf->len = begin;
        buf->failed = false;
        return false;
    }
    ret_parts->at = begin;
    for (size_t i = 0, from = begin; i < EVENT_PARTS; from = end[i++]) {
        ret_parts->len[i] = end[i] - from;
    }
    return true;
}

bool event_line(struct buf *buf, const char *parts_bytes, const struct event_parts *parts, const char *ts,
                struct hasher *hasher, struct chain *chain)
{
    const char *part = parts_bytes + parts->at;
    size_t begin = buf->len;
    uint8_t hash[HASH_SIZE];
    buf_byte(buf, '{');
    buf_bytes(buf, part, parts->len[0]);
    part += parts->len[0];
    size_t gap = buf->len;
    size_t hex_at = gap + sizeof("\"hash\":\"") - 1;
    plain_member(buf, SLICE("\"hash\":"),
                 (struct slice){chain->hash, HASH_HEX}); /* room for the hash to come */
    size_t rest = buf->len;
    buf_bytes(buf, part, parts->len[1]);
    part += parts->len[1];
    plain_member(buf, SLICE("\"prevHash\":"), (struct slice){chain->hash, HASH_HEX});
    buf_bytes(buf, part, parts->len[2]);
    part += parts->len[2];
    buf_slice(buf, SLICE("\"seq\":"));
    buf_u64(buf, chain->seq + 1);
    buf_byte(buf, ',');
    buf_bytes(buf, part, parts->len[3]);
    plain_member(buf, SLICE("\"ts\":"), slice_of(ts));
    buf_slice(buf, SLICE("\"v\":1}"));
    if (!buf_ok(buf) || buf->len - begin > JOURNAL_LINE_MAX || !hasher_begin(hasher) ||
        !hasher_add(hasher, (struct slice){chain->hash, HASH_HEX}) ||
        !hasher_add(hasher, (struct slice){buf->ptr + begin, gap - begin}) ||
        !hasher_add(hasher, (struct slice){buf->ptr + rest, buf->len - rest}) || !hasher_end(hasher, hash)) {
        return false;
    }
    char text[HASH_HEX + 1];
    hash_to_hex(hash, text);
    memcpy(buf->ptr + hex_at, text, HASH_HEX);
    buf_byte(buf, '\n');
    if (!buf_ok(buf)) {
        return false;
    }
    memcpy(chain->hash, text, sizeof(text));
    chain->seq++;
    return true;
}
