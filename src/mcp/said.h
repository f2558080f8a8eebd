/* One line of the server: what it is. Tolerant: what is a message passes, however it is spelled inside. */
#ifndef MCP_SAID_H
#define MCP_SAID_H

#include "mcp/scan.h"

enum said_kind {
    SAID_NONE = 0, /* no message of JSON-RPC */
    SAID_REQUEST,
    SAID_NOTIFICATION,
    SAID_RESPONSE,
    SAID_BROKEN, /* meant as the response to `id`, and not one that a client could read */
};

struct said {
    enum said_kind kind;
    struct id id;
    struct slice method;
    bool input_required; /* a result that asks the client for input */
    const struct json_value *params;
};

/* Parses a line, without its line end, into `doc`. Repeated keys and deep nesting are taken; halves of
 * surrogate pairs, which a text that was cut in JavaScript may hold, are read as U+FFFD in a copy
 * (`scratch`). False for what is no JSON, or has a carriage return that some clients take for the end of a
 * line. */
MUST_USE bool said_parse(struct json_doc *doc, struct buf *scratch, struct slice line);

/* Says what a value of `doc` is as a message. */
struct said said_read(const struct json_doc *doc, const struct json_value *value);

/* Of a line that cannot be parsed: SAID_BROKEN with its id when it looks like a response, else SAID_NONE.
 * The id is read into `doc`. */
struct said said_rescue(const struct scan *scan, struct json_doc *doc);

#endif
