/* Reading one line of the server, tolerantly. */
#include "mcp/server_message.h"

#include "mcp/envelope.h"

/* No client reads deeper than this, and the reader must end somewhere. */
#define SERVER_MESSAGE_DEPTH 4096u

static bool parse(struct json_doc *doc, struct slice line, struct json_error *ret_error)
{
    struct json_options options = {
        .max_depth = SERVER_MESSAGE_DEPTH,
        .max_bytes = UINT32_MAX,
        .keep_duplicates = true,
    };
    return json_parse(doc, line, &options, ret_error);
}

/* The unit of a \uXXXX escape at `at`; -1 when there is none. */
static int32_t unit_at(struct slice text, size_t at)
{
    if (text.len - at < 6 || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u') {
        return -1;
    }
    int32_t unit = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = text.ptr[i];
        char lower = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f')) {
            return -1;
        }
        unit = unit * 16 + (c <= '9' ? c - '0' : lower - 'a' + 10);
    }
    return unit;
}

static const char replacement[6] = {'\\', 'u', 'F', 'F', 'F', 'D'};

/* Replaces halves of surrogate pairs by an escape of the same length. */
static void mend_surrogates(char *ptr, size_t len)
{
    struct slice text = {ptr, len};
    size_t at = 0;
    while (at < len) {
        if (ptr[at] != '\\') {
            at++;
            continue;
        }
        int32_t unit = unit_at(text, at);
        if (unit < 0xD800 || unit > 0xDFFF) {
            at += unit < 0 ? 2 : 6;
            continue;
        }
        int32_t low = unit < 0xDC00 && len - at >= 12 ? unit_at(text, at + 6) : -1;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            at += 12;
            continue;
        }
        memcpy(ptr + at, replacement, sizeof(replacement));
        at += 6;
    }
}

bool server_message_parse(struct json_doc *doc, struct buf *scratch, struct slice line)
{
    if (line.len > 0 && memchr(line.ptr, '\r', line.len) != NULL) {
        return false;
    }
    struct json_error error;
    if (parse(doc, line, &error)) {
        return true;
    }
    if (error.code != JSON_ERROR_SURROGATE) {
        return false;
    }
    buf_reset(scratch);
    buf_slice(scratch, line);
    if (!buf_ok(scratch)) {
        return false;
    }
    mend_surrogates(scratch->ptr, scratch->len);
    return parse(doc, buf_slice_of(scratch), &error);
}

/* ---- What it is ---- */

static struct server_message response_of(const struct json_doc *doc, const struct envelope *envelope,
                                         bool sound)
{
    struct server_message message = {.kind = sound ? SERVER_MESSAGE_RESPONSE : SERVER_MESSAGE_BROKEN};
    if (!id_read(envelope->members[MEMBER_ID], &message.id)) {
        message.id = (struct id){0}; /* answers nothing */
    }
    const struct json_value *type = json_get(doc, envelope->members[MEMBER_RESULT], "resultType");
    message.input_required = json_is(type, JSON_STRING) && slice_is(json_str(type), "input_required");
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
    bool sound = rpc && envelope.repeated == 0 && !envelope.mimic;
    bool result = members[MEMBER_RESULT] != NULL, error = members[MEMBER_ERROR] != NULL;
    bool hollow =
        rpc && members[MEMBER_METHOD] == NULL && members[MEMBER_ID] != NULL; /* neither of the two */
    if (result || error || hollow) {
        return response_of(doc, &envelope, sound && result != error && members[MEMBER_METHOD] == NULL);
    }
    struct server_message message = {.kind = SERVER_MESSAGE_NOTIFICATION, .params = members[MEMBER_PARAMS]};
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

struct server_message server_message_rescue(const struct scan *scan, struct json_doc *doc)
{
    struct server_message message = {.kind = SERVER_MESSAGE_BROKEN};
    if (scan->has_answer && !scan->has_method && scan_id(scan, doc, &message.id)) {
        return message;
    }
    return (struct server_message){0};
}
