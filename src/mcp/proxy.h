/* What the files of the proxy share. Nothing outside src/mcp includes this. */
#ifndef MCP_PROXY_H
#define MCP_PROXY_H

#include "mcp/call.h"
#include "mcp/child.h"
#include "mcp/held.h"
#include "mcp/mcp.h"
#include "mcp/peer.h"
#include "mcp/roots.h"
#include "mcp/turn.h"

/* A side is not read while more than this waits to be written to the other, or to itself. */
#define QUEUE_CEILING ((size_t)1 << 20)

/* The longest line that is taken from a server. A response beyond it becomes an error for its id. */
#define SERVER_LINE_BYTES ((size_t)64 << 20)

struct proxy {
    const struct proxy_options *options;
    struct gate *gate;
    uv_loop_t loop;
    struct peer client, server;
    struct child child;
    uv_timer_t tick, drain;
    uv_signal_t signals[3];
    struct ids asked;  /* the client's requests without an answer */
    struct ids wanted; /* the server's */
    struct held_list held;
    struct held_call *released; /* taken from `held`, until the turn is over; linked by `next` */
    struct json_doc doc;        /* of the line being read */
    struct call_maker maker;
    struct roots roots; /* that the client told */
    struct turn turn;
    struct buf scratch;
    size_t left[2];    /* for the client and for the server, at the last tick */
    uint64_t moved_ms; /* when either last read some of it, or the server said something */
    unsigned drains_left;
    bool leaving;     /* the client has gone, or we were told to end */
    bool server_gone; /* no more comes from the server */
    bool ending;      /* only what waits for the client is still written */
    bool babble_told; /* that the server writes lines that are no messages */
};

/* ---- client.c: the client's lines ---- */

void client_turn(struct proxy *p);
/* What is left at the end of the client's input. */
void client_last(struct proxy *p);

/* Judges the held calls whose requests have ended; answers those that have waited long enough; sends
 * progress. */
void client_look_at_held(struct proxy *p);

/* The caller of a held call is gone or has cancelled: its request ends, unless a retry waits for it too. */
void client_withdraw(struct proxy *p, struct held_call *call);

/* The journal could not be written: what the gate allowed in this turn is denied. */
void client_deny_turn(struct proxy *p);

/* ---- server.c: the server's lines ---- */

void server_turn(struct proxy *p);
void server_last(struct proxy *p);

/* ---- proxy.c ---- */

/* Commits what the turn has staged, then hands its lines on to `to` and its answers to the client. */
void proxy_end_turn(struct proxy *p, struct peer *to);

/* Journals that something was dropped or passed that people may ask for later. `method` may be empty. */
void proxy_note(struct proxy *p, const char *kind, const char *what, struct slice method);
void proxy_say(struct proxy *p, const char *line);

/* Gives the document's memory back when one line has made it large. */
void proxy_trim(struct proxy *p);

/* Starts and stops reading so that no queue grows beyond its ceiling. */
void proxy_flow(struct proxy *p);

/* Memory ran out where nothing can be denied any more: ends the run. */
void proxy_fail(struct proxy *p, const char *why);

#endif
