/* The constant texts that the proxy says. */
#include "mcp/answer_internal.h"

static void begin(struct buf *buf, const struct id *id)
{
    buf_text(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    id_write(buf, id);
}

/* A text as a JSON string, and what a rule tells behind it. */
static void write_text(struct buf *buf, const char *text, struct slice tell)
{
    buf_byte(buf, '"');
    json_write_escaped(buf, slice_of(text));
    if (tell.len > 0) {
        buf_byte(buf, ' ');
        json_write_escaped(buf, tell);
    }
    buf_byte(buf, '"');
}

static void write_error(struct buf *buf, const struct id *id, int code, const char *text, struct slice tell)
{
    begin(buf, id);
    buf_text(buf, ",\"error\":{\"code\":");
    buf_i64(buf, code);
    buf_text(buf, ",\"message\":");
    write_text(buf, text, tell);
    buf_text(buf, "}}\n");
}

void answer_error(struct buf *buf, const struct id *id, int code, const char *text)
{
    write_error(buf, id, code, text, (struct slice){0});
}

void answer_denied(struct buf *buf, const struct id *id, enum answer_shape shape, enum denial denial,
                   struct slice tell)
{
    static const struct {
        int code;
        const char *text;
    } kinds[] = {
        [DENIAL_POLICY] = {ANSWER_CODE_DENIED, "The call was denied."},
        [DENIAL_REFUSED] = {ANSWER_CODE_DENIED, "The call was refused by a person."},
        [DENIAL_NOT_IN_TIME] = {ANSWER_CODE_NOT_IN_TIME, "The call was not approved in time."},
        [DENIAL_UNREADABLE] = {ANSWER_CODE_UNREADABLE, "The call could not be read."},
        [DENIAL_TOO_MANY] = {ANSWER_CODE_TOO_MANY, "Too many requests wait for approval."},
    };
    size_t kind = (size_t)denial < sizeof(kinds) / sizeof(kinds[0]) ? (size_t)denial : DENIAL_POLICY;
    if (shape == ANSWER_ERROR) {
        write_error(buf, id, kinds[kind].code, kinds[kind].text, tell);
        return;
    }
    begin(buf, id);
    buf_text(buf, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    write_text(buf, kinds[kind].text, tell);
    buf_text(buf, "}],\"isError\":true");
    buf_text(buf, shape == ANSWER_RESULT_MODERN ? ",\"resultType\":\"complete\"}}\n" : "}}\n");
}

const char *answer_text(int code)
{
    switch (code) {
    case -32700:
        return "Parse error";
    case -32600:
        return "Invalid request";
    case -32601:
        return "Method not found";
    case -32602:
        return "Invalid params";
    default:
        return "Internal error";
    }
}

void answer_progress(struct buf *buf, struct slice token, unsigned count)
{
    buf_text(buf,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":");
    buf_slice(buf, token);
    buf_printf(buf, ",\"progress\":%u.%03u,\"message\":\"Waiting for approval\"}}\n", count / 1000,
               count % 1000);
}
