/* The messages of hosts. The first byte says whose: `c` Claude Code, `g` Gemini CLI, `x` Codex, `u` Cursor,
 * `o` opencode. Whatever is read, it is a call with nothing left out, or a fault. */
#include "fuzz.h"

#include "host/host.h"

static const struct host *host_of(uint8_t c)
{
    switch (c) {
    case 'c':
        return &host_claude_code;
    case 'g':
        return &host_gemini;
    case 'x':
        return &host_codex;
    case 'u':
        return &host_cursor;
    case 'o':
        return &host_opencode;
    default:
        return NULL;
    }
}

static void check_call(const struct host_message *message)
{
    FUZZ_CHECK(message->session.len > 0);
    FUZZ_CHECK(message->cwd.len > 0 && message->cwd.ptr[0] == '/');
    FUZZ_CHECK(message->name_count > 0);
    for (size_t i = 0; i < message->name_count; i++) {
        FUZZ_CHECK(message->names[i].tool.len > 0);
        FUZZ_CHECK(!message->names[i].has_server || message->names[i].server.len > 0);
    }
    for (size_t i = 0; i < message->root_count; i++) {
        FUZZ_CHECK(message->roots[i].len > 0 && message->roots[i].ptr[0] == '/');
    }
    FUZZ_CHECK(json_is(message->input, JSON_OBJECT));
    FUZZ_CHECK(message->input >= message->input_doc->values &&
               message->input < message->input_doc->values + message->input_doc->count);
    FUZZ_CHECK(!call_names_clash(message->input_doc, message->input));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct host_places places = {.home = {"/nowhere", 8}};
    struct host_message message;
    const struct host *host = size > 0 ? host_of(data[0]) : NULL;
    if (host == NULL) {
        return 0;
    }
    struct slice text = {(const char *)data + 1, size - 1};
    FUZZ_CHECK(host_message_init(&message));
    bool readable = host_message_read(&message, host, &host->events[0], text, &places);
    FUZZ_CHECK(message.event != NULL);
    if (!readable) {
        FUZZ_CHECK(message.fault != NULL || message.over_limit);
    } else if (!message.silent) {
        check_call(&message);
    }
    host_message_finish(&message);
    return 0;
}
