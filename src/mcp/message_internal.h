/* One line of the client: what it is, or exactly how it is refused. SPEC.md section 12.
 *
 * Strict: a line is one JSON-RPC message as the revisions of MCP spell it. Nothing passes that two readers
 * could take for two different messages. A message borrows from its document and its line. */
#ifndef MCP_MESSAGE_INTERNAL_H
#define MCP_MESSAGE_INTERNAL_H

#include "mcp/id_internal.h"

/* JSON-RPC error codes. */
enum {
    RPC_UNREADABLE = -32700, /* not JSON */
    RPC_INVALID = -32600,    /* JSON, and not a message that may pass */
    RPC_NO_METHOD = -32601,  /* no revision has this method */
    RPC_BAD_PARAMS = -32602, /* the params are no object, or those of a call say no call */
    RPC_INTERNAL = -32603,
};

enum message_kind {
    MESSAGE_REFUSED = 0,
    MESSAGE_REQUEST,
    MESSAGE_NOTIFICATION,
    MESSAGE_RESPONSE, /* answers a request of the other side */
};

/* Which part of a message is a call, by its method. */
enum call_form {
    CALL_FORM_NONE = 0, /* not a call */
    CALL_FORM_TOOL,     /* tools/call: the tool is params.name, the input params.arguments */
    CALL_FORM_METHOD,   /* the tool is the method's name, the input its params */
};

struct message {
    enum message_kind kind;
    struct id id;        /* ID_NONE when there is none; of a refused message, the id to answer */
    struct slice method; /* of requests and notifications; of a refused message, if it can be read */
    enum call_form form; /* by the method, whatever the kind */
    const struct json_value *params; /* an object, or NULL */

    /* Of a refused message. */
    int code;        /* for the client */
    bool over_limit; /* nested too deep */
    bool is_batch;   /* the document is an array, whose elements may be requests */
    const char *why; /* a constant phrase for the journal; echoes nothing */
};

/* Reads a line, without its line end, into `doc` and says what it is. */
struct message message_read(struct json_doc *doc, struct slice line);

enum call_form message_call_form(struct slice method);

#endif
