/* The constant texts that the proxy says. */
#include "mcp/answer.h"

static void begin(struct buf *buf, const struct id *id)
{
    buf_text(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    id_write(buf, id);
}

void answer_error(struct buf *buf, const struct id *id, int code, const char *text)
{
    begin(buf, id);
    buf_text(buf, ",\"error\":{\"code\":");
    buf_i64(buf, code);
    buf_text(buf, ",\"message\":\"");
    buf_text(buf, text);
    buf_text(buf, "\"}}\n");
}

static void answer_call(struct buf *buf, const struct id *id, enum answer_shape shape, int code,
                        const char *text)
{
    if (shape == ANSWER_ERROR) {
        answer_error(buf, id, code, text);
        return;
    }
    begin(buf, id);
    buf_text(buf, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
    buf_text(buf, text);
    buf_text(buf, "\"}],\"isError\":true");
    buf_text(buf, shape == ANSWER_RESULT_MODERN ? ",\"resultType\":\"complete\"}}\n" : "}}\n");
}

void answer_denied(struct buf *buf, const struct id *id, enum answer_shape shape)
{
    answer_call(buf, id, shape, ANSWER_CODE_DENIED, "The call was denied.");
}

void answer_not_in_time(struct buf *buf, const struct id *id, enum answer_shape shape)
{
    answer_call(buf, id, shape, ANSWER_CODE_NOT_IN_TIME, "The call was not approved in time.");
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
