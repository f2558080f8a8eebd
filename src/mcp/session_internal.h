/* One MCP session as the gate sees it: which requests wait for an answer on either side, which calls are
 * held, which roots the client told, and what was decided and has not left yet.
 *
 * A session knows no descriptor, no process and no loop. Lines come in, with the time in `now_ms`; what they
 * lead to is gathered in the batch. The owner then commits, writes the batch's pieces to the side that the
 * lines were meant for and the batch's answers to the client, and says session_sent. So a session serves any
 * link. One thread uses it. */
#ifndef MCP_SESSION_INTERNAL_H
#define MCP_SESSION_INTERNAL_H

#include "mcp/batch_internal.h"
#include "mcp/call.h"
#include "mcp/held_internal.h"
#include "mcp/line_buffer.h"
#include "mcp/mcp.h"
#include "mcp/roots_internal.h"

/* The longest line that is taken from a server. A response beyond it becomes an error for its id. */
#define SERVER_LINE_BYTES ((size_t)64 << 20)

/* What is known of the server's tools in this session. */
enum list_state {
    LIST_UNKNOWN = 0, /* never listed, or the server said that the list has changed */
    LIST_ASKED,       /* the gate has asked for it */
    LIST_KNOWN,
};

struct session {
    const struct session_options *options;
    struct gate *gate;
    struct ids client_ids; /* the client's requests without an answer */
    struct ids server_ids; /* the server's */
    struct held_list held;
    struct held_call *released; /* taken from `held`, until the batch is sent; linked by `next` */
    struct json_doc doc;        /* of the line being read */
    struct call_maker maker;
    struct roots roots; /* that the client told */
    struct batch batch;
    struct buf scratch;
    enum list_state tools_state;
    uint64_t asked_lists; /* requests of the gate's own, for their ids */
    bool listed;          /* the client has had a list of tools */
    bool own_list;        /* the list being read is one that the gate asked for */
    bool list_failed;     /* the list could not be had: the calls that wait for it are denied */
    unsigned own_pages;   /* of the list being read */
    bool parked_ready;    /* calls that waited for the list can be judged */
    struct buf own_meta;  /* `_meta` of the gate's own requests, from the client's last call; empty: none */
    uint64_t now_ms;      /* the owner's clock; set by the owner */
    bool client_full;     /* the client does not read: it gets no more progress; set by the owner */
    const char *fault;    /* not NULL: the session cannot go on, and why */
    bool repair_told;     /* that the server's messages are repaired */
    bool babble_told;     /* that the server writes lines that are no messages */
};

/* The options must outlive the session. False without memory. */
MUST_USE bool session_init(struct session *session, const struct session_options *options);
void session_finish(struct session *session);

/* Commits what the batch has staged. When the journal cannot be written, the calls among the lines become
 * denials. The batch's pieces are then ready; returns how many. */
size_t session_commit(struct session *session);

/* The batch has been written: forgets it. */
void session_sent(struct session *session);

/* ---- client.c: the client's lines ---- */

/* A line, without and with its line end. It must live until session_sent. */
void session_client_line(struct session *session, struct slice text, struct slice raw);

/* A line beyond LIMIT_MESSAGE_BYTES, of which only this is left. */
void session_client_long_line(struct session *session, const struct long_line *long_line);

/* Judges the held calls whose requests have ended, answers those that have waited long enough, and makes
 * progress for the others. True when the batch has got something. */
MUST_USE bool session_look_at_held(struct session *session);

/* Whether a call waits until the server's tools are known. */
bool session_waits_for_list(const struct session *session);

/* The gate has another policy: the client is told when what it is shown of the server's tools changes by that. */
void tool_list_policy_changed(struct session *session);

/* The client has gone: held calls have nobody who waits. */
void session_leave(struct session *session);

/* ---- server.c: the server's lines ---- */

/* `raw` may lack its line end, at the end of the input. */
void session_server_line(struct session *session, struct slice text, struct slice raw);
void session_server_long_line(struct session *session, const struct scan *scan);

/* No more comes from the server: whoever waits for it is told. */
void session_lose_server(struct session *session);

#endif
