/* Reading a host's message: what all hosts share. */
#include "host/internal.h"

#include <string.h>

/* The input counts its depth from itself, one level down. */
static const struct json_options message_options = {
    .max_depth = LIMIT_JSON_DEPTH + 1,
    .max_bytes = LIMIT_MESSAGE_BYTES,
};
static const struct json_options input_options = {
    .max_depth = LIMIT_JSON_DEPTH,
    .max_bytes = LIMIT_MESSAGE_BYTES,
};

/* Far more than a message and its names need; the message itself is not in here. */
#define MESSAGE_ARENA_CEILING ((size_t)64 << 20)

bool host_message_init(struct host_message *message)
{
    *message = (struct host_message){0};
    json_init(&message->doc);
    json_init(&message->inner);
    buf_init(&message->text, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    arena_init(&message->arena, MESSAGE_ARENA_CEILING);
    return true;
}

void host_message_finish(struct host_message *message)
{
    json_finish(&message->doc);
    json_finish(&message->inner);
    buf_finish(&message->text);
    arena_finish(&message->arena);
}

bool message_fault(struct host_message *message, const char *phrase)
{
    message->fault = phrase;
    return false;
}

static bool parse(struct host_message *message, struct json_doc *doc, struct slice text,
                  const struct json_options *options)
{
    struct json_error error = {.code = JSON_ERROR_SYNTAX};
    if (json_parse(doc, text, options, &error)) {
        return true;
    }
    switch (error.code) {
    case JSON_ERROR_MEMORY:
        return false;
    case JSON_ERROR_DEPTH:
    case JSON_ERROR_SIZE:
        message->over_limit = true;
        return false;
    case JSON_ERROR_UTF8:
        return message_fault(message, "not valid UTF-8");
    case JSON_ERROR_BOM:
        return message_fault(message, "begins with a byte order mark");
    case JSON_ERROR_SURROGATE:
        return message_fault(message, "a lone surrogate escape");
    case JSON_ERROR_DUPLICATE:
        return message_fault(message, "a repeated key");
    case JSON_ERROR_SYNTAX:
    case JSON_OK:
        break;
    }
    return message_fault(message, "not JSON");
}

/* The method of a server that a tool of the host's own stands for, or NULL. */
static const char *method_of(const struct host_message *message, const struct host *host)
{
    if (message->silent || message->name_count != 1 || message->names[0].has_server) {
        return NULL;
    }
    for (const struct host_resource_tool *one = host->resource_tools; one->tool != NULL; one++) {
        if (slice_is(message->names[0].tool, one->tool)) {
            return one->method;
        }
    }
    return NULL;
}

/* A resource that the host reads is also its server's resource, as a gate in front of the server sees it. The host's
 * tool stays a name of the call, so that a rule about it holds. */
static bool take_resource(struct host_message *message, const struct host *host)
{
    const char *method = method_of(message, host);
    if (method == NULL) {
        return true;
    }
    const struct json_value *server = json_get(message->input_doc, message->input, "server");
    struct call_name *names = arena_array(&message->arena, 2, sizeof(*names));
    if (names == NULL) {
        return false;
    }
    bool told = json_is(server, JSON_STRING) && server->str_len > 0;
    names[0] = (struct call_name){
        .tool = slice_of(method), .has_server = told, .server = told ? json_str(server) : (struct slice){0}};
    names[1] = message->names[0];
    message->names = names;
    message->name_count = 2;
    message->reads_resource = true;
    message->server_unknown = !told;
    return true;
}

bool host_message_read(struct host_message *message, const struct host *host,
                       const struct host_event *expected, struct slice text, const struct host_places *places)
{
    message->event = expected;
    if (!parse(message, &message->doc, text, &message_options)) {
        return false;
    }
    if (!json_is(json_root(&message->doc), JSON_OBJECT)) {
        return message_fault(message, "not an object");
    }
    return host->read(message, places) && take_resource(message, host);
}

/* ---- Parts ---- */

bool message_text(struct host_message *message, const char *key, const char *phrase, struct slice *ret_text)
{
    const struct json_value *value = json_get(&message->doc, json_root(&message->doc), key);
    if (!json_is(value, JSON_STRING) || value->str_len == 0) {
        return message_fault(message, phrase);
    }
    *ret_text = json_str(value);
    return true;
}

static bool has_word(struct slice name, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= name.len; at++) {
        if (slice_eq_ascii_case((struct slice){name.ptr + at, len}, (struct slice){word, len})) {
            return true;
        }
    }
    return false;
}

/* Whether the host waits for leave by an event that is not known here. */
static bool asks_for_leave(struct slice name)
{
    return has_word(name, "permission") || has_word(name, "approv") || has_word(name, "confirm");
}

/* Whether a message of an event that is not known is one before a call, by what it carries. */
static bool carries_call(const struct host_message *message, struct slice name)
{
    static const char *const members[] = {"tool_name", "tool_input"};
    const struct json_value *root = json_root(&message->doc);
    if (has_word(name, "post") || has_word(name, "after")) {
        return false;
    }
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        if (json_get(&message->doc, root, members[i]) != NULL) {
            return true;
        }
    }
    return has_word(name, "before") && json_get(&message->doc, root, "command") != NULL;
}

/* An event that is not known here: newer hosts have more. */
static bool take_unknown_event(struct host_message *message, const struct host *host, struct slice name)
{
    for (const char *const *silent = host->silent; *silent != NULL; silent++) {
        message->silent = message->silent || slice_is(name, *silent);
    }
    if (message->silent) {
        return true;
    }
    if (asks_for_leave(name)) {
        for (size_t i = 0; i < host->event_count; i++) {
            message->event = host->events[i].dialog ? &host->events[i] : message->event;
        }
        return message_fault(message, "a permission event that is not known");
    }
    message->silent = !carries_call(message, name);
    return true;
}

bool message_take_event(struct host_message *message, const struct host *host, const char *key)
{
    struct slice name;
    if (!message_text(message, key, "the event's name is not a non-empty string", &name)) {
        return false;
    }
    const struct host_event *event = host_event_find(host, name);
    if (event == NULL) {
        return take_unknown_event(message, host, name);
    }
    message->event = event;
    return true;
}

bool message_take_session(struct host_message *message, const char *key)
{
    return message_text(message, key, "the session's id is not a non-empty string", &message->session);
}

bool message_take_cwd(struct host_message *message, const char *key)
{
    static const char phrase[] = "the working directory is not an absolute path";
    if (!message_text(message, key, phrase, &message->cwd)) {
        return false;
    }
    return message->cwd.ptr[0] == '/' ? true : message_fault(message, phrase);
}

static bool take_object(struct host_message *message, const struct json_doc *doc,
                        const struct json_value *input)
{
    if (!json_is(input, JSON_OBJECT)) {
        return message_fault(message, "the tool's input is not an object");
    }
    if (!json_within_depth(doc, input, LIMIT_JSON_DEPTH)) {
        message->over_limit = true;
        return false;
    }
    if (call_names_clash(doc, input)) {
        return message_fault(message, "two argument names that differ only by case");
    }
    message->input_doc = doc;
    message->input = input;
    return true;
}

bool message_take_input(struct host_message *message, const struct json_value *input)
{
    return take_object(message, &message->doc, input);
}

bool message_take_input_text(struct host_message *message, struct slice text)
{
    if (!parse(message, &message->inner, text, &input_options)) {
        return false;
    }
    return take_object(message, &message->inner, json_root(&message->inner));
}

bool message_take_name(struct host_message *message, struct slice tool)
{
    message->names = arena_array(&message->arena, 1, sizeof(*message->names));
    if (message->names == NULL) {
        return false;
    }
    message->names[0] = (struct call_name){.tool = tool};
    message->name_count = 1;
    return true;
}
