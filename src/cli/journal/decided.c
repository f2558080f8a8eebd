#include "cli/journal/decided.h"

#include <unistd.h>

#include "cli/calls/calls.h"
#include "cli/command.h"

bool decided_open(struct decided_reader *reader, const char *file)
{
    *reader = (struct decided_reader){.file = file, .fd = calls_open(file)};
    if (reader->fd < 0) {
        return false;
    }
    input_lines_init(&reader->lines, reader->fd, LIMIT_MESSAGE_BYTES);
    json_init(&reader->event.doc);
    return true;
}

void decided_close(struct decided_reader *reader)
{
    input_lines_finish(&reader->lines);
    json_finish(&reader->event.doc);
    close(reader->fd);
}

static struct slice text_of(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    return json_is(value, JSON_STRING) ? json_str(value) : (struct slice){0};
}

static void read_event(struct decided *event)
{
    const struct json_doc *doc = &event->doc;
    const struct json_value *root = json_root(doc), *session = json_get(doc, root, "sessionKey"),
                            *seq = json_get(doc, root, "seq");
    int64_t number = 0;
    event->kind = text_of(doc, root, "kind");
    event->reason = text_of(doc, root, "reason");
    event->seq = 0;
    event->outcome = text_of(doc, root, "outcome");
    event->rule = text_of(doc, root, "ruleId");
    event->ts = text_of(doc, root, "ts");
    event->tool = text_of(doc, root, "toolName");
    event->server = text_of(doc, root, "server");
    event->actor = text_of(doc, root, "actor");
    event->call_hash = text_of(doc, root, "callHash");
    event->channel = text_of(doc, session, "channel");
    event->thread = text_of(doc, session, "thread");
    event->input = json_get(doc, root, "input");
    if (json_is(seq, JSON_NUMBER) && json_number_int(json_str(seq), &number) == JSON_INT_OK && number > 0) {
        event->seq = (uint64_t)number;
    }
    event->is_decision = slice_is(event->kind, "policy.allow") || slice_is(event->kind, "policy.deny") ||
                         slice_is(event->kind, "policy.require");
}

enum decided_result decided_next_event(struct decided_reader *reader)
{
    struct slice line = {0};
    struct json_error error;
    /* An event's input may be as deep as a call's, inside the event. */
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 4, .max_bytes = LIMIT_MESSAGE_BYTES};
    enum line_result result;
    if ((result = input_lines_next(&reader->lines, &line)) == LINE_READ) {
        reader->line++;
        if (!json_parse(&reader->event.doc, line, &options, &error)) {
            say("%s:%llu: no event: %s; see `callgate journal verify`", reader->file,
                (unsigned long long)reader->line, error.detail != NULL ? error.detail : "not JSON");
            return DECIDED_FAILED;
        }
        read_event(&reader->event);
        return DECIDED_ONE;
    }
    if (result == LINE_END) {
        return DECIDED_END;
    }
    say("%s:%llu: cannot be read", reader->file, (unsigned long long)reader->line + 1);
    return DECIDED_FAILED;
}

enum decided_result decided_next(struct decided_reader *reader)
{
    enum decided_result result;
    while ((result = decided_next_event(reader)) == DECIDED_ONE && !reader->event.is_decision)
        ;
    return result;
}

void decided_write_call(struct buf *buf, const struct decided *event)
{
    buf_text(buf, "{\"tool\":");
    json_write_string(buf, event->tool);
    if (event->server.ptr != NULL) {
        buf_text(buf, ",\"server\":");
        json_write_string(buf, event->server);
    }
    buf_text(buf, ",\"sessionKey\":{\"channel\":");
    json_write_string(buf, event->channel);
    buf_text(buf, ",\"thread\":");
    json_write_string(buf, event->thread);
    buf_text(buf, "},\"actor\":");
    json_write_string(buf, event->actor);
    buf_text(buf, ",\"input\":");
    if (event->input != NULL) {
        buf_slice(buf, json_text_of(&event->doc, event->input));
    } else {
        buf_text(buf, "{}");
    }
    buf_byte(buf, '}');
}
