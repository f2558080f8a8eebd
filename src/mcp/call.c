/* Making calls out of messages. */
#include "mcp/call.h"

#include "mcp/envelope.h"
#include "mcp/revision_internal.h"

/* The members that the params of some call have. A member that only looks like one of them is refused in any
 * call: which of them a server reads is not for us to guess. */
static const char *const param_names[] = {
    "name",         "arguments", "_meta",    "task", "inputResponses",
    "requestState", "uri",       "argument", "ref",  "context",
};

bool call_maker_init(struct call_maker *maker, const struct call_defaults *defaults)
{
    *maker = (struct call_maker){.defaults = defaults};
    json_init(&maker->empty);
    json_init(&maker->bare);
    buf_init(&maker->bare_text, LIMIT_MESSAGE_BYTES);
    struct json_options options = {.max_depth = 1, .max_bytes = 2};
    struct json_error error;
    return json_parse(&maker->empty, SLICE("{}"), &options, &error);
}

void call_maker_finish(struct call_maker *maker)
{
    json_finish(&maker->empty);
    json_finish(&maker->bare);
    buf_finish(&maker->bare_text);
}

static bool params_mimic(const struct json_doc *doc, const struct json_value *params)
{
    if (params == NULL) {
        return false;
    }
    for (const struct json_value *key = json_first(doc, params); key != NULL;
         key = json_right(doc, params, key)) {
        for (size_t i = 0; i < sizeof(param_names) / sizeof(param_names[0]); i++) {
            if (name_mimics(json_str(key), param_names[i])) {
                return true;
            }
        }
    }
    return false;
}

struct slice call_tool_of(const struct json_doc *doc, const struct message *message)
{
    if (message->form != CALL_FORM_TOOL) {
        return message->form == CALL_FORM_METHOD ? message->method : (struct slice){0};
    }
    const struct json_value *name = json_get(doc, message->params, "name");
    return json_is(name, JSON_STRING) ? json_str(name) : (struct slice){0};
}

/* The members of `params` but `_meta`, as a document of the maker's. False without memory. */
static bool take_meta_away(struct call_maker *maker, const struct json_doc *doc,
                           const struct json_value *params)
{
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    char before = '{';
    buf_reset(&maker->bare_text);
    for (const struct json_value *key = json_first(doc, params); key != NULL;
         key = json_right(doc, params, key)) {
        if (slice_is(json_str(key), "_meta")) {
            continue;
        }
        buf_byte(&maker->bare_text, before);
        buf_slice(&maker->bare_text, json_text_of(doc, key));
        buf_byte(&maker->bare_text, ':');
        buf_slice(&maker->bare_text, json_text_of(doc, json_member_value(key)));
        before = ',';
    }
    buf_text(&maker->bare_text, before == '{' ? "{}" : "}");
    return buf_ok(&maker->bare_text) &&
           json_parse(&maker->bare, buf_slice_of(&maker->bare_text), &options, &error);
}

/* The input of a call, an object of *ret_doc. NULL, or a constant phrase that says why there is none. */
static const char *take_input(struct call_maker *maker, const struct json_doc *doc,
                              const struct message *message, const struct json_doc **ret_doc,
                              const struct json_value **ret_input)
{
    const struct json_value *input = message->params;
    if (message->form == CALL_FORM_TOOL) {
        input = json_get(doc, message->params, "arguments");
    }
    if (input == NULL || input->type == JSON_NULL) {
        doc = &maker->empty;
        input = json_root(doc);
    }
    if (input->type != JSON_OBJECT) {
        return "arguments that are no object";
    }
    if (message->form != CALL_FORM_TOOL && json_get(doc, input, "_meta") != NULL) {
        if (!take_meta_away(maker, doc, input)) {
            return "no memory";
        }
        doc = &maker->bare;
        input = json_root(doc);
    }
    *ret_doc = doc;
    *ret_input = input;
    return call_names_clash(doc, input) ? "two arguments whose names differ only by case" : NULL;
}

const char *call_make(struct call_maker *maker, const struct json_doc *doc, const struct message *message)
{
    const struct json_doc *input_doc;
    const struct json_value *input;
    if (params_mimic(doc, message->params)) {
        return "a parameter whose name only looks like a known one";
    }
    struct slice tool = call_tool_of(doc, message);
    if (tool.len == 0) {
        return "no tool";
    }
    const char *why = take_input(maker, doc, message, &input_doc, &input);
    if (why != NULL) {
        return why;
    }
    const struct call_defaults *defaults = maker->defaults;
    maker->name = (struct call_name){
        .server = defaults->server,
        .has_server = defaults->server.ptr != NULL,
        .tool = tool,
    };
    maker->call = (struct call){
        .names = &maker->name,
        .name_count = 1,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .actor = defaults->actor,
        .doc = input_doc,
        .input = input,
    };
    return NULL;
}

static const struct json_value *meta_of(const struct json_doc *doc, const struct message *message,
                                        const char *name)
{
    return json_get(doc, json_get(doc, message->params, "_meta"), name);
}

enum answer_shape call_answer_shape(const struct json_doc *doc, const struct message *message)
{
    const struct json_value *version = meta_of(doc, message, "io.modelcontextprotocol/protocolVersion");
    bool modern = json_is(version, JSON_STRING) && revision_is_modern(json_str(version));
    if (message->form != CALL_FORM_TOOL) {
        return ANSWER_ERROR;
    }
    if (modern) {
        return ANSWER_RESULT_MODERN; /* servers make tasks of their own accord; params.task says nothing */
    }
    return json_get(doc, message->params, "task") != NULL ? ANSWER_ERROR : ANSWER_RESULT;
}

struct slice call_progress_token(const struct json_doc *doc, const struct message *message)
{
    const struct json_value *token = meta_of(doc, message, "progressToken");
    if (json_is(token, JSON_STRING) || json_is(token, JSON_NUMBER)) {
        return json_text_of(doc, token);
    }
    return (struct slice){0};
}
