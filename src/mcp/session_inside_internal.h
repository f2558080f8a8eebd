/* What the files of a session share. */
#ifndef MCP_SESSION_INSIDE_INTERNAL_H
#define MCP_SESSION_INSIDE_INTERNAL_H

#include "mcp/server_message.h"
#include "mcp/session_internal.h"

/* Journals that something was dropped or passed that people may ask for later. `method` may be empty. */
void session_note(struct session *s, const char *kind, const char *what, struct slice method);

/* Tells the operator. */
void session_say(struct session *s, const char *line);

/* Hands a line on that is no call. */
void session_pass(struct session *s, struct slice raw);

/* A judged call goes on to the server: what its end will be told with is kept with its request. Does nothing
 * when outcomes are not recorded; without memory the end is not told. */
void session_note_sent(struct session *s, struct ids_entry *entry, struct slice tool,
                       const char correlation[GATE_CORRELATION_SIZE]);

/* The call has ended: an event `call.ended` with how, how long it took, and the size of its result. Nothing
 * for what is no judged call, or was never sent. */
void session_note_end(struct session *s, const struct ids_entry *entry, const char *outcome, size_t size);

/* ---- tool_list.c: what the server offers ---- */

/* Notes what kind of request of the client an entry is. */
void tool_list_note_request(struct session *s, const struct message *message, struct ids_entry *entry);

enum tool_standing {
    TOOL_MAY_BE_CALLED = 0,
    TOOL_WAITS, /* for the list of the server's tools, for which the gate has asked */
    TOOL_MAY_NOT,
};

/* Whether a call of a tool may go on to be judged, as far as pins are concerned. */
enum tool_standing tool_list_standing(struct session *s, const struct message *message, struct slice tool);

/* Whether people must be asked about a call of a tool, because it has arguments that the tool's schema does not
 * declare; that it has is journalled. */
bool tool_list_undeclared(struct session *s, const struct call *call);

/* call_make, with what is known of the tool's annotations: s->maker.call is the call. */
MUST_USE const char *tool_list_make_call(struct session *s, const struct message *message);

/* The server's answer to a request for a list. True when it is one that the gate asked for: the client sees
 * nothing of it. */
bool tool_list_take(struct session *s, const struct server_message *message, const struct ids_entry *entry);

/* Appends a list's result without the tools that nobody has accepted, or that no call of the session could use. False when all of it may go on. */
bool tool_list_filter(struct session *s, const struct json_value *result, struct buf *ret_result);

/* The server says that its list has changed. */
void tool_list_changed(struct session *s);

/* ---- client.c ---- */

/* The caller of a held call is gone or has cancelled: its request ends, unless a retry waits for it too. */
void session_withdraw(struct session *s, struct held_call *call);

/* The journal could not be written: what the gate allowed in this batch is denied. */
void session_deny_batch(struct session *s);

#endif
