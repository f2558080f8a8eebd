/* One line of the server: what it is. Tolerant: what clients take arrives, however it is spelled inside. */
#ifndef MCP_SERVER_MESSAGE_H
#define MCP_SERVER_MESSAGE_H

#include "mcp/scan_internal.h"

/* No client reads deeper than this, and the reader must end somewhere. */
#define SERVER_MESSAGE_DEPTH 4096u

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
    const struct json_value *params;
    /* Of a response: the one of the two that counts; the other is NULL. */
    const struct json_value *result, *error;
    const char *repair; /* why a response must not go on as it stands, though it can be read; NULL: it may */
    const char *why;    /* of a broken one: what is wrong, a constant phrase */
};

enum server_text {
    SERVER_TEXT_BROKEN = 0, /* no JSON, not even with what follows mended */
    SERVER_TEXT_AS_IS,
    SERVER_TEXT_MENDED, /* the document is of a copy: the line itself must not go on */
};

/* Parses a line, without its line end, into `doc`. Repeated keys and deep nesting are taken; halves of
 * surrogate pairs, which a text that was cut in JavaScript may hold, are read as U+FFFD in a copy (`scratch`)
 * and may go on as they are. What some reader takes all the same is mended in the copy: bytes that are no
 * UTF-8, a byte order mark, control characters inside strings, carriage returns, and NaN and Infinity, which
 * become null. *ret_why says what was mended, or why the line is broken: a constant phrase. */
enum server_text server_message_parse(struct json_doc *doc, struct buf *scratch, struct slice line,
                                      const char **ret_why);

/* Says what a value of `doc` is as a message. */
struct server_message server_message_read(const struct json_doc *doc, const struct json_value *value);

/* Of a line that cannot be parsed: SERVER_MESSAGE_BROKEN with its id when it looks like a response, else
 * SERVER_MESSAGE_NONE. The id is read into `doc`. */
struct server_message server_message_rescue(const struct scan *scan, struct json_doc *doc, const char *why);

/* Appends a response as one line that every client reads: under this id, with what counts and nothing else. */
void server_message_write(struct buf *buf, const struct json_doc *doc, const struct server_message *message,
                          const struct id *id);

#endif
