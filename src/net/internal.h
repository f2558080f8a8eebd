/* What the files of the proxy share. Nothing outside src/net includes this. */
#ifndef NET_INTERNAL_H
#define NET_INTERNAL_H

#include <netinet/in.h>
#include <uv.h>

#include "net/head.h"
#include "net/net.h"

#define CONNECTIONS_MOST 256u
#define ADDRESSES_MOST   8u
#define HELD_MS                                                                                              \
    55000u /* how long a request is held for people; what they say later counts for the next try */
#define HEAD_MS     10000u /* how long a head may take to come */
#define CONNECT_MS  30000u /* for looking up a name and connecting */
#define DRAIN_MS    2000u  /* how long a client that still sends is heard, so that it gets its answer */
#define RELAY_BYTES 32768u

/* ---- judge.c ---- */

struct judge {
    struct gate *gate;
    struct call_defaults defaults;
    struct call_reader reader;
    struct buf text;
};

MUST_USE bool net_judge_init(struct judge *judge, struct gate *gate, const struct call_defaults *defaults);
void net_judge_finish(struct judge *judge);

enum verdict { VERDICT_DENY = 0, VERDICT_HELD, VERDICT_ALLOW };

/* Judges a request, or, with an address, what the request's name leads to. Its events are written when this returns.
 * `held`: of the request that was held, if number is not 0; and of the one that is now. A denial's words are appended
 * to ret_words. */
enum verdict net_judge_request(struct judge *judge, const struct head *head, const struct url_host *address,
                               struct held *held, struct buf *ret_words);
void net_judge_unreadable(struct judge *judge, const char *why);

/* ---- address.c ---- */

struct address {
    struct sockaddr_storage to;
    struct url_host host; /* as a rule would name it */
    bool is_public;
};

/* Takes an address that a name leads to. False for one that is of no family that is known, or has a scope. */
MUST_USE bool net_address_read(const struct sockaddr *from, uint16_t port, struct address *ret_address);

/* Whether an address is one that everybody reaches alike: not this machine's, a private network's, a link's. */
bool net_address_is_public_v4(const uint8_t bytes[4]);
bool net_address_is_public_v6(const uint8_t bytes[16]);

/* ---- connection.c, relay.c ---- */

struct proxy;

enum stage {
    STAGE_HEAD,
    STAGE_HELD,
    STAGE_LOOK_UP,
    STAGE_CONNECT,
    STAGE_RELAY,
    STAGE_DRAIN, /* answered; what the client still sends is thrown away */
    STAGE_CLOSING,
};

/* One direction of a connection that is through. */
struct flow {
    struct connection *connection;
    uv_stream_t *from, *to;
    char *bytes; /* RELAY_BYTES */
    uv_write_t write;
    uv_shutdown_t shutdown;
    uint64_t left; /* of what may still pass; UINT64_MAX: no limit */
    bool ended;
};

struct connection {
    struct connection *next, *prev;
    struct proxy *proxy;
    uv_tcp_t client, server;
    uv_getaddrinfo_t lookup;
    uv_connect_t connect;
    uv_write_t write;
    uv_shutdown_t shutdown; /* of the client's side, when all is answered */
    enum stage stage;
    uint64_t deadline_ms; /* of the loop's clock; 0: none */
    struct buf in, out;   /* the head and what came behind it; an answer of ours */
    struct head head;
    struct address *addresses;
    size_t address_count, asked; /* addresses that are allowed so far; `asked` is judged now */
    size_t tried;
    bool server_open, looking;
    unsigned open_handles; /* freed with the last */
    struct held held;
    struct flow up, down;
};

/* Takes a connection that waits at the listener. */
void net_connection_accept(struct proxy *proxy, uv_stream_t *listener);

/* Every tick: what has come in time, and what people have said. */
void net_connection_tick(struct connection *connection, bool people_moved);
void net_connection_close(struct connection *connection);
void net_connection_server_closed(uv_handle_t *handle); /* for uv_close of its server's side */

/* Answers by ourselves, and ends the connection. `words`: for whoever asks; may be empty. */
void net_connection_answer(struct connection *connection, const char *status, struct slice words);

/* Starts to pass bytes on, in both directions. */
void net_relay_start(struct connection *connection);

/* Throws away what a client still sends, until it ends or its time is over. */
void net_relay_drain(struct connection *connection);

/* ---- proxy.c ---- */

struct proxy {
    const struct net_options *options;
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_timer_t tick;
    uv_signal_t signals[3];
    uv_process_t child;
    struct judge judge;
    struct connection *first;
    size_t count, lookups;
    bool ending;
    int code;
};

void net_proxy_gone(struct proxy *proxy, struct connection *connection);

#endif
