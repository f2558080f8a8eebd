/* Making calls out of messages. */
#include "mcp/call.h"

#include "mcp/envelope.h"
#include "mcp/revision.h"

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
    struct json_options options = {.max_depth = 1, .max_bytes = 2};
    struct json_error error;
    return json_parse(&maker->empty, SLICE("{}"), &options, &error);
}

void call_maker_finish(struct call_maker *maker)
{
    json_finish(&maker->empty);
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

const char *call_make(struct call_maker *maker, const struct json_doc *doc, const struct message *message)
{
    const struct json_value *params = message->params, *input = params;
    if (params_mimic(doc, params)) {
        return "a parameter whose name only looks like a known one";
    }
    struct slice tool = call_tool_of(doc, message);
    if (message->form == CALL_FORM_TOOL) {
        input = json_get(doc, params, "arguments");
        if (tool.len == 0) {
            return "no tool";
        }
    }
    if (input != NULL && input->type != JSON_OBJECT) {
        return "arguments that are no object";
    }
    if (input != NULL && call_names_clash(doc, input)) {
        return "two arguments whose names differ only by case";
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
        .doc = input != NULL ? doc : &maker->empty,
        .input = input != NULL ? input : json_root(&maker->empty),
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
