/* What the host says to the relay, and what the relay answers as a server of MCP. */
#ifndef RELAY_MESSAGE_INTERNAL_H
#define RELAY_MESSAGE_INTERNAL_H

#include "json/json.h"

enum relay_message_kind {
    HOST_UNREADABLE = 0,
    HOST_NOTHING, /* a notification of no interest, or a response */
    HOST_REQUEST,
    HOST_PERMISSION,
};

/* The slices live as long as the document. */
struct permission {
    struct slice id;
    bool id_ok; /* five letters, a to z without l */
    bool whole; /* every member is there and of its type */
    struct slice tool;
    struct slice preview; /* for people: never judged */
};

struct relay_message {
    enum relay_message_kind kind;
    struct slice method;
    const struct json_value *id, *params;
    struct permission permission;
};

void relay_message_read(struct json_doc *doc, struct slice line, struct relay_message *ret_message);

/* Appends the answer to a request. The relay is a server of the era that begins with `initialize`: a server
 * of the later one is not registered as a channel. */
void relay_message_answer(struct buf *out, const struct json_doc *doc, const struct relay_message *message);

#endif
