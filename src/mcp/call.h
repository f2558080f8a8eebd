/* Which message is which call. SPEC.md section 1; the "what is a call". */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "call/call.h"
#include "mcp/answer_internal.h"
#include "mcp/message_internal.h"

/* Makes calls out of messages, one at a time. Owns its name and the inputs that are not a part of the
 * message; a call borrows from the maker, the message's document and the defaults. `_meta` is the protocol's
 * and no part of any input. */
struct call_maker {
    const struct call_defaults *defaults;
    struct json_doc empty; /* `{}`: the input of a call that has none */
    struct json_doc bare;  /* the params of a method without their `_meta` */
    struct buf bare_text;
    struct call_name name;
    struct call call;
};

MUST_USE bool call_maker_init(struct call_maker *maker, const struct call_defaults *defaults);
void call_maker_finish(struct call_maker *maker);

/* Makes maker->call of a message whose form is a call's. NULL, or a constant phrase that says why the message
 * says no call: the client is told RPC_BAD_PARAMS. */
MUST_USE const char *call_make(struct call_maker *maker, const struct json_doc *doc,
                               const struct message *message);

/* The tool of such a message, as far as it can be told; may be empty. */
struct slice call_tool_of(const struct json_doc *doc, const struct message *message);

/* How a call that does not run is answered. */
enum answer_shape call_answer_shape(const struct json_doc *doc, const struct message *message);

/* The progress token that a request carries, as JSON text of the document; ptr NULL when it has none. */
struct slice call_progress_token(const struct json_doc *doc, const struct message *message);

#endif
