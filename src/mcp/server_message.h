/* One line of the server: what it is. Tolerant: what is a message passes, however it is spelled inside. */
#ifndef MCP_SERVER_MESSAGE_H
#define MCP_SERVER_MESSAGE_H

#include "mcp/scan.h"

enum server_message_kind {
    SERVER_MESSAGE_NONE = 0, /* no message of JSON-RPC */
    SERVER_MESSAGE_REQUEST,
    SERVER_MESSAGE_NOTIFICATION,
    SERVER_MESSAGE_RESPONSE,
    SERVER_MESSAGE_BROKEN, /* meant as the response to `id`, and not one that a client could read */
};

struct server_message {
    enum server_message_kind kind;
    struct id id;
    struct slice method;
    bool input_required; /* a result that asks the client for input */
    const struct json_value *params;
};

/* Parses a line, without its line end, into `doc`. Repeated keys and deep nesting are taken; halves of
 * surrogate pairs, which a text that was cut in JavaScript may hold, are read as U+FFFD in a copy
 * (`scratch`). False for what is no JSON, or has a carriage return that some clients take for the end of a
 * line. */
MUST_USE bool server_message_parse(struct json_doc *doc, struct buf *scratch, struct slice line);

/* Says what a value of `doc` is as a message. */
struct server_message server_message_read(const struct json_doc *doc, const struct json_value *value);

/* Of a line that cannot be parsed: SERVER_MESSAGE_BROKEN with its id when it looks like a response, else SERVER_MESSAGE_NONE.
 * The id is read into `doc`. */
struct server_message server_message_rescue(const struct scan *scan, struct json_doc *doc);

#endif
