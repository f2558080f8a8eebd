/* Reads the relay's messages and writes its answers. */
#include "relay/message_internal.h"

#include "approval/approval.h"

static bool read_text(const struct json_doc *doc, const struct json_value *params, const char *key,
                      struct slice *ret)
{
    const struct json_value *value = json_get(doc, params, key);
    if (!json_is(value, JSON_STRING)) {
        return false;
    }
    *ret = json_str(value);
    return true;
}

static void read_permission(const struct json_doc *doc, const struct json_value *params,
                            struct permission *ret)
{
    struct slice description;
    bool has_id = read_text(doc, params, "request_id", &ret->id);
    bool has_tool = read_text(doc, params, "tool_name", &ret->tool) && ret->tool.len > 0;
    bool has_text = read_text(doc, params, "description", &description);
    bool has_preview = read_text(doc, params, "input_preview", &ret->preview);
    ret->id_ok = has_id && code_valid(ret->id);
    ret->whole = has_tool && has_text && has_preview;
}

void relay_message_read(struct json_doc *doc, struct slice line, struct relay_message *ret_message)
{
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    *ret_message = (struct relay_message){0};
    if (!json_parse(doc, line, &options, &error)) {
        return;
    }
    const struct json_value *root = json_root(doc), *method = json_get(doc, root, "method");
    if (!json_is(root, JSON_OBJECT)) {
        return;
    }
    ret_message->kind = HOST_NOTHING;
    if (!json_is(method, JSON_STRING)) {
        return;
    }
    ret_message->method = json_str(method);
    ret_message->id = json_get(doc, root, "id");
    ret_message->params = json_get(doc, root, "params");
    if (json_is(ret_message->id, JSON_STRING) || json_is(ret_message->id, JSON_NUMBER)) {
        ret_message->kind = HOST_REQUEST;
    } else if (slice_is(ret_message->method, "notifications/claude/channel/permission_request")) {
        ret_message->kind = HOST_PERMISSION;
        read_permission(doc, ret_message->params, &ret_message->permission);
    }
}

static void write_initialize(struct buf *out, const struct json_doc *doc, const struct json_value *params)
{
    static const char *const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
    const char *version = "2025-11-25";
    const struct json_value *wanted = json_get(doc, params, "protocolVersion");
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        if (json_is(wanted, JSON_STRING) && slice_is(json_str(wanted), versions[i])) {
            version = versions[i];
        }
    }
    buf_printf(
        out,
        "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"experimental\":{\"claude/channel\":{},"
        "\"claude/channel/permission\":{}},\"tools\":{}},\"serverInfo\":{\"name\":\"callgate\","
        "\"version\":\"%s\"}}",
        version, CALLGATE_VERSION);
}

void relay_message_answer(struct buf *out, const struct json_doc *doc, const struct relay_message *message)
{
    buf_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_slice(out, json_text_of(doc, message->id));
    buf_byte(out, ',');
    if (slice_is(message->method, "initialize")) {
        write_initialize(out, doc, message->params);
    } else if (slice_is(message->method, "ping")) {
        buf_text(out, "\"result\":{}");
    } else if (slice_is(message->method, "tools/list")) {
        buf_text(out, "\"result\":{\"tools\":[]}");
    } else if (slice_is(message->method, "tools/call")) {
        buf_text(out, "\"error\":{\"code\":-32602,\"message\":\"there is no such tool\"}");
    } else {
        buf_text(out, "\"error\":{\"code\":-32601,\"message\":\"method not found\"}");
    }
    buf_text(out, "}\n");
}
