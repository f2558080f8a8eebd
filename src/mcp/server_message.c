/* Reading one line of the server, tolerantly. */
#include "mcp/server_message.h"

#include <string.h>

#include "mcp/envelope.h"
#include "mcp/server_mend_internal.h"

static bool parse(struct json_doc *doc, struct slice line, struct json_error *ret_error)
{
    struct json_options options = {
        .max_depth = SERVER_MESSAGE_DEPTH,
        .max_bytes = UINT32_MAX,
        .keep_duplicates = true,
    };
    return json_parse(doc, line, &options, ret_error);
}

/* Parses a text, if need be with the halves of surrogate pairs in a copy mended. `text` may be that copy. */
static bool parse_halves(struct json_doc *doc, struct buf *scratch, struct slice text,
                         struct json_error *ret_error)
{
    if (parse(doc, text, ret_error)) {
        return true;
    }
    if (ret_error->code != JSON_ERROR_SURROGATE) {
        return false;
    }
    if (text.ptr != scratch->ptr) {
        buf_reset(scratch);
        buf_slice(scratch, text);
    }
    if (!buf_ok(scratch)) {
        ret_error->code = JSON_ERROR_MEMORY;
        ret_error->detail = "no memory";
        return false;
    }
    mend_surrogates(scratch->ptr, scratch->len);
    return parse(doc, buf_slice_of(scratch), ret_error);
}

enum server_text server_message_parse(struct json_doc *doc, struct buf *scratch, struct slice line,
                                      const char **ret_why)
{
    struct json_error error = {0};
    bool returns = line.len > 0 && memchr(line.ptr, '\r', line.len) != NULL; /* some end a line there */
    if (!returns && parse_halves(doc, scratch, line, &error)) {
        return SERVER_TEXT_AS_IS;
    }
    *ret_why = error.code == JSON_ERROR_DEPTH ? "it is nested deeper than 4096" : error.detail;
    if (error.code == JSON_ERROR_DEPTH || error.code == JSON_ERROR_MEMORY) {
        return SERVER_TEXT_BROKEN;
    }
    buf_reset(scratch);
    const char *what = mend_line(scratch, line);
    if (what == NULL || !buf_ok(scratch) || !parse_halves(doc, scratch, buf_slice_of(scratch), &error)) {
        *ret_why = *ret_why != NULL ? *ret_why : error.detail;
        return SERVER_TEXT_BROKEN;
    }
    *ret_why = what;
    return SERVER_TEXT_MENDED;
}

/* ---- What it is ---- */

/* Of a message without a method: which of result and error counts. A null beside the other is none. */
static void choose(const struct envelope *envelope, struct server_message *message)
{
    const struct json_value *result = envelope->members[MEMBER_RESULT];
    const struct json_value *error = envelope->members[MEMBER_ERROR];
    if (result != NULL && json_is(error, JSON_NULL)) {
        error = NULL;
        message->repair = "an error that is null beside a result";
    } else if (error != NULL && json_is(result, JSON_NULL)) {
        result = NULL;
        message->repair = "a result that is null beside an error";
    }
    message->result = result;
    message->error = error;
}

static struct server_message response_of(const struct envelope *envelope, bool rpc)
{
    struct server_message message = {.kind = SERVER_MESSAGE_RESPONSE};
    if (!id_read(envelope->members[MEMBER_ID],
                 &message.id)) {     /* the last of several, as every reader has it */
        message.id = (struct id){0}; /* answers nothing */
    }
    choose(envelope, &message);
    if (envelope->repeated != 0) {
        message.repair = "a member that stands there twice";
    } else if (envelope->mimic) {
        message.repair = "a member whose name only looks like a known one";
    }
    if (!rpc) {
        message.why = "jsonrpc is not \"2.0\"";
    } else if (envelope->members[MEMBER_METHOD] != NULL) {
        message.why = "it has a method beside a result or an error";
    } else if (message.result != NULL && message.error != NULL) {
        message.why = "it has a result and an error";
    } else if (message.result == NULL && message.error == NULL) {
        message.why = "it has neither a result nor an error";
    }
    message.kind = message.why != NULL ? SERVER_MESSAGE_BROKEN : SERVER_MESSAGE_RESPONSE;
    return message;
}

struct server_message server_message_read(const struct json_doc *doc, const struct json_value *value)
{
    if (value->type != JSON_OBJECT) {
        return (struct server_message){0};
    }
    struct envelope envelope = envelope_open(doc, value);
    const struct json_value *const *members = envelope.members;
    bool rpc = envelope_is_rpc(&envelope);
    bool hollow =
        rpc && members[MEMBER_METHOD] == NULL && members[MEMBER_ID] != NULL; /* neither of the two */
    if (members[MEMBER_RESULT] != NULL || members[MEMBER_ERROR] != NULL || hollow) {
        return response_of(&envelope, rpc);
    }
    struct server_message message = {.kind = SERVER_MESSAGE_NOTIFICATION, .params = members[MEMBER_PARAMS]};
    bool sound = rpc && envelope.repeated == 0 && !envelope.mimic;
    if (!sound || !json_is(members[MEMBER_METHOD], JSON_STRING)) {
        return (struct server_message){0};
    }
    message.method = json_str(members[MEMBER_METHOD]);
    if (members[MEMBER_ID] != NULL) {
        message.kind =
            id_read(members[MEMBER_ID], &message.id) ? SERVER_MESSAGE_REQUEST : SERVER_MESSAGE_NONE;
    }
    return message;
}

struct server_message server_message_rescue(const struct scan *scan, struct json_doc *doc, const char *why)
{
    struct server_message message = {.kind = SERVER_MESSAGE_BROKEN, .why = why};
    if (scan->has_answer && !scan->has_method && scan_id(scan, doc, &message.id)) {
        return message;
    }
    return (struct server_message){0};
}

void server_message_write(struct buf *buf, const struct json_doc *doc, const struct server_message *message,
                          const struct id *id)
{
    const struct json_value *value = message->result != NULL ? message->result : message->error;
    buf_text(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    id_write(buf, id);
    buf_text(buf, message->result != NULL ? ",\"result\":" : ",\"error\":");
    buf_slice(buf, json_text_of(doc, value));
    buf_text(buf, "}\n");
}
