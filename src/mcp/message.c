/* Reading one line of the client, strictly. */
#include "mcp/message_internal.h"

#include <string.h>

#include "mcp/envelope.h"
#include "mcp/scan_internal.h"

/* A call's depth is counted from its input, which stands at most this many levels inside the message. */
#define INPUT_LEVELS 2u

/* How deep a line that is refused for its depth is read all the same, for nothing but its id. */
#define DEPTH_FOR_ID 4096u

enum call_form message_call_form(struct slice method)
{
    if (slice_is(method, "tools/call")) {
        return CALL_FORM_TOOL;
    }
    static const char *const others[] = {
        "resources/read",
        "resources/subscribe",
        "prompts/get",
        "completion/complete",
        /* Of extensions: skills, and directories of resources. What skills/list and tasks give is harmless. */
        "skills/get",
        "resources/directory/read",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (slice_is(method, others[i])) {
            return CALL_FORM_METHOD;
        }
    }
    return CALL_FORM_NONE;
}

/* ---- Depth ---- */

/* How deep the containers of `v` go, itself included, without those of `skip`. */
static uint32_t depth_without(const struct json_doc *doc, const struct json_value *v,
                              const struct json_value *skip)
{
    uint32_t ends[LIMIT_JSON_DEPTH + INPUT_LEVELS];
    uint32_t depth = 0, deepest = 0;
    uint32_t at = (uint32_t)(v - doc->values), end = v->next;
    while (at < end) {
        const struct json_value *value = &doc->values[at];
        if (value == skip) {
            at = value->next;
            continue;
        }
        while (depth > 0 && ends[depth - 1] <= at) {
            depth--;
        }
        if (value->type == JSON_ARRAY || value->type == JSON_OBJECT) {
            ends[depth++] = value->next;
            deepest = depth > deepest ? depth : deepest;
        }
        at++;
    }
    return deepest;
}

/* Whether a message that is deeper than the limit owes that to its input alone, which is not. */
static bool depth_is_of_input(const struct json_doc *doc)
{
    const struct json_value *root = json_root(doc);
    const struct json_value *method = json_get(doc, root, "method");
    if (!json_is(method, JSON_STRING)) {
        return false;
    }
    enum call_form form = message_call_form(json_str(method));
    const struct json_value *input = json_get(doc, root, "params");
    if (form == CALL_FORM_TOOL) {
        input = json_get(doc, input, "arguments");
    }
    return form != CALL_FORM_NONE && input != NULL && depth_without(doc, root, input) <= LIMIT_JSON_DEPTH &&
           depth_without(doc, input, NULL) <= LIMIT_JSON_DEPTH;
}

static bool parse(struct json_doc *doc, struct slice line, uint32_t depth, struct json_error *ret_error)
{
    struct json_options options = {
        .max_depth = depth,
        .max_bytes = LIMIT_MESSAGE_BYTES,
        .keep_duplicates = true, /* so that the refusal finds its id */
    };
    return json_parse(doc, line, &options, ret_error);
}

/* Parses a line. *ret_deep is set when it is nested too deep; the document is there then if it can be. */
static bool parse_line(struct json_doc *doc, struct slice line, bool *ret_deep, struct json_error *ret_error)
{
    *ret_deep = false;
    if (parse(doc, line, LIMIT_JSON_DEPTH, ret_error)) {
        return true;
    }
    if (ret_error->code != JSON_ERROR_DEPTH) {
        return false;
    }
    if (parse(doc, line, LIMIT_JSON_DEPTH + INPUT_LEVELS, ret_error)) {
        *ret_deep = !depth_is_of_input(doc);
        return true;
    }
    *ret_deep = true;
    return parse(doc, line, DEPTH_FOR_ID, ret_error);
}

/* ---- The envelope ---- */

static struct message refuse(struct message message, int code, const char *why)
{
    message.kind = MESSAGE_REFUSED;
    message.code = code;
    message.why = why;
    return message;
}

/* A member that is null where it may be absent is absent: every reader that takes it reads it so. */
static void drop_nulls(struct envelope *envelope)
{
    const struct json_value **members = envelope->members;
    if (json_is(members[MEMBER_PARAMS], JSON_NULL)) {
        members[MEMBER_PARAMS] = NULL;
    }
    if (members[MEMBER_RESULT] != NULL && json_is(members[MEMBER_ERROR], JSON_NULL)) {
        members[MEMBER_ERROR] = NULL;
    }
}

/* What makes an envelope none; NULL when all is well. */
static const char *fault_of(const struct envelope *envelope)
{
    const struct json_value *const *members = envelope->members;
    if (envelope->stranger) {
        return "a member that no message has";
    }
    if (!envelope_is_rpc(envelope)) {
        return "jsonrpc is not \"2.0\"";
    }
    int ways =
        (members[MEMBER_METHOD] != NULL) + (members[MEMBER_RESULT] != NULL) + (members[MEMBER_ERROR] != NULL);
    if (ways != 1) {
        return "not exactly one of method, result and error";
    }
    struct id id;
    if (members[MEMBER_ID] != NULL && !id_read(members[MEMBER_ID], &id)) {
        return "an id that is neither a string nor a whole number within 2^53";
    }
    if (members[MEMBER_METHOD] != NULL) {
        return json_is(members[MEMBER_METHOD], JSON_STRING) ? NULL : "a method that is no string";
    }
    if (members[MEMBER_ID] == NULL) {
        return "an answer without an id";
    }
    if (members[MEMBER_PARAMS] != NULL) {
        return "an answer with params";
    }
    if (members[MEMBER_ERROR] != NULL && members[MEMBER_ERROR]->type != JSON_OBJECT) {
        return "an error that is no object";
    }
    return NULL;
}

/* What a refusal needs to know, as far as it can be read: the id to answer and the method. An id beside a
 * result or an error names a request of the other side: to answer under it would answer some request of the
 * client's. */
static struct message begin(const struct json_doc *doc, const struct envelope *envelope)
{
    struct message message = {0};
    const struct json_value *const *members = envelope->members;
    bool answer = members[MEMBER_RESULT] != NULL || members[MEMBER_ERROR] != NULL;
    if (members[MEMBER_ID] != NULL && !answer && !envelope_differs(envelope, MEMBER_ID) &&
        !id_to_answer(doc, members[MEMBER_ID], &message.id)) {
        message.id = (struct id){0};
    }
    if (json_is(members[MEMBER_METHOD], JSON_STRING)) {
        message.method = json_str(members[MEMBER_METHOD]);
        message.form = message_call_form(message.method);
    }
    return message;
}

static struct message finish(struct message message, const struct envelope *envelope)
{
    const struct json_value *const *members = envelope->members;
    if (members[MEMBER_METHOD] == NULL) {
        message.kind = MESSAGE_RESPONSE;
        return id_read(members[MEMBER_ID], &message.id) ? message : refuse(message, RPC_INVALID, "no id");
    }
    message.params = members[MEMBER_PARAMS];
    if (message.params != NULL && message.params->type != JSON_OBJECT) {
        return refuse(message, RPC_BAD_PARAMS, "params that are no object");
    }
    message.kind = members[MEMBER_ID] != NULL ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
    return message;
}

struct message message_read(struct json_doc *doc, struct slice line)
{
    struct json_error error;
    bool deep;
    if (!parse_line(doc, line, &deep, &error)) {
        struct message unread = {.over_limit = deep || error.code == JSON_ERROR_SIZE};
        struct scan scan;
        scan_start(&scan);
        scan_feed(&scan, line);
        if (!scan_id_to_answer(&scan, line, doc, &unread.id)) {
            unread.id = (struct id){0};
        }
        int code = unread.over_limit                 ? RPC_INVALID
                   : error.code == JSON_ERROR_MEMORY ? RPC_INTERNAL
                                                     : RPC_UNREADABLE;
        return refuse(unread, code, error.detail);
    }
    const struct json_value *root = json_root(doc);
    if (root->type != JSON_OBJECT) {
        struct message other = {.is_batch = root->type == JSON_ARRAY};
        return refuse(other, RPC_INVALID, other.is_batch ? "a batch" : "a message that is no object");
    }
    struct envelope envelope = envelope_open(doc, root);
    drop_nulls(&envelope);
    struct message message = begin(doc, &envelope);
    if (deep) {
        message.over_limit = true;
        return refuse(message, RPC_INVALID, "nested too deep");
    }
    /* JSON takes a carriage return for white space, and some servers take it for the end of a line. */
    if (line.len > 0 && memchr(line.ptr, '\r', line.len) != NULL) {
        return refuse(message, RPC_INVALID, "a carriage return inside the line");
    }
    if (doc->duplicates > 0) {
        return refuse(message, RPC_INVALID, "a repeated key");
    }
    const char *fault = fault_of(&envelope);
    return fault != NULL ? refuse(message, RPC_INVALID, fault) : finish(message, &envelope);
}
