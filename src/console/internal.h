/* What the files of the page share. Nothing outside src/console includes this. */
#ifndef CONSOLE_INTERNAL_H
#define CONSOLE_INTERNAL_H

#include <microhttpd.h>
#include <uv.h>

#include "console/console.h"

#define CONSOLE_TICK_MS  100u
#define SESSIONS_MOST    64u
#define STREAMS_MOST     256u
#define STREAMS_SESSION  16u
#define STREAM_QUEUE     4096u /* bytes that wait for a slow reader; then it must come again */
#define CONNECTIONS_MOST 768u
#define BODY_MOST        (64u << 10)
#define POLICY_MOST      (8u << 20) /* a policy that is pasted */
#define ANSWER_MOST      ((size_t)512 << 20)
#define SESSION_IDLE_MS  ((int64_t)12 * 3600 * 1000)
#define SESSION_MS       ((int64_t)24 * 3600 * 1000)
#define FRESH_MS         ((int64_t)15 * 60 * 1000) /* how long after signing in credentials may be changed */
#define CHALLENGES_MOST  256u
#define CHALLENGE_MS     ((int64_t)5 * 60 * 1000)

/* ---- Sessions (sessions.c) ---- */

struct session {
    bool used;
    uint64_t number;               /* never given again */
    uint8_t cookie[32], token[32]; /* hashes */
    enum people_surface surface;
    char id[128];              /* the account, or the system's user */
    const char *way;           /* "link", "passkey", "password" */
    int64_t began_ms, seen_ms; /* boot clock */
    size_t streams;
};

struct challenge {
    uint8_t bytes[32];
    int64_t expires_ms; /* boot clock; 0: free */
    uint64_t session;   /* that adds a passkey; 0: of somebody who signs in */
};

/* Counts tries: a bucket that fills by one every `every_ms`. */
struct bucket {
    uint32_t left, most;
    int64_t every_ms, filled_ms;
};
bool bucket_take(struct bucket *bucket, int64_t now_ms);

struct stream;
struct server;

struct console {
    struct console_options options;
    uv_loop_t loop;
    uv_timer_t tick;
    uv_signal_t term, interrupt;
    int state;
    int lock; /* of the page that runs */
    struct people *people;
    struct server *server;
    char host[300];   /* NAME:PORT, as links have it */
    char origin[320]; /* with its scheme */
    uint16_t port;
    bool world; /* listens to more than this machine */

    struct session sessions[SESSIONS_MOST];
    uint64_t next_session;
    struct challenge challenges[CHALLENGES_MOST];
    struct bucket passwords, sign_ins, notes;
    uint64_t notes_dropped;

    struct stream *streams;
    size_t stream_count;
    uint64_t waiting_version, record_version;
    int64_t beat_ms;
    uint64_t journal_inode;
    int64_t journal_size;
};

/* Whether the person behind a session is still one whom people.json knows there. */
bool session_is_known(struct console *console, const struct session *session);

/* Begins a session and writes its two secrets. NULL when it cannot be. */
struct session *session_begin(struct console *console, enum people_surface surface, const char *id,
                              const char *way, char ret_cookie[SECRET_TEXT], char ret_token[SECRET_TEXT]);
void session_end(struct console *console, struct session *session);
/* The session of a cookie, or NULL: none, or one that is over. */
struct session *session_find(struct console *console, struct slice cookie);
bool session_has_token(const struct session *session, struct slice token);
void sessions_sweep(struct console *console); /* ends those that are over or whose person is gone */

/* The account that a session's passkeys and password belong to; empty: it has none. */
void session_account(struct console *console, const struct session *session, struct buf *ret_account);
/* The name of the person, as votes are counted by it; empty: people.json knows nobody there. */
void session_person(struct console *console, const struct session *session, struct buf *ret_name);

/* ---- Requests of HTTP (exchange.c, server.c) ---- */

struct route;

struct exchange {
    struct console *console;
    struct MHD_Connection *connection;
    const struct route *route;
    struct session *session; /* NULL: nobody has signed in */
    struct buf body, out;
    unsigned status;          /* of the answer */
    unsigned refused;         /* set before the body was read: nothing of it counts */
    const char *why;          /* a constant word that the page knows: {"error":why} */
    const char *type;         /* of the answer; NULL: JSON */
    char cookie[SECRET_TEXT]; /* to be set; empty: none */
    bool clears_cookie, is_static, queued;
    struct slice fixed; /* a static answer */
    const char *tag;    /* of it */
};

enum route_flags {
    ROUTE_OPEN = 1,   /* without a session */
    ROUTE_CHANGE = 2, /* POST */
    ROUTE_STREAM = 4,
    ROUTE_LONG = 8, /* takes a long body */
};

struct route {
    const char *path;
    unsigned flags;
    void (*answer)(struct exchange *x);
};

MUST_USE struct server *server_start(struct console *console, struct buf *ret_error);
void server_stop(struct console *console);
/* Lets the server look at its connections: after a stream was woken. */
void server_turn(struct console *console);

/* Ends connections that have taken too long to ask for something. */
void server_hurry(const struct console *console);

/* Says whether a connection still has to ask for something. */
void server_link_waits(struct MHD_Connection *connection, bool waits);

/* What the server calls with each request, with the page as context. */
enum MHD_Result exchange_take(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload, size_t *upload_len,
                              void **state);
void exchange_completed(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code);

/* A query's value; ptr NULL: none. */
struct slice exchange_query(const struct exchange *x, const char *name);
struct slice exchange_header(const struct exchange *x, const char *name);
/* The answer is an error. */
void exchange_fail(struct exchange *x, unsigned status, const char *why);

/* The body as JSON, into a document that the caller finishes in any case. False, with the answer set. */
MUST_USE bool exchange_json(struct exchange *x, struct json_doc *ret_doc);
struct slice member_text(const struct json_doc *doc, const char *name); /* empty: none */
int64_t member_number(const struct json_doc *doc, const char *name);    /* 0: none */

/* What is part of the program (assets.c): the file of a path, or NULL. */
struct asset {
    const char *path, *type, *tag;
    struct slice text;
};
const struct asset *asset_find(const char *path);
/* The texts for the languages that a browser asks for, best first (Accept-Language). */
const struct asset *asset_texts(struct slice wanted);

/* ---- Streams (stream.c) ---- */

/* Answers with a stream; false when there are too many. */
MUST_USE bool stream_open(struct exchange *x);
void streams_tell(struct console *console, const char *event, uint64_t version);
void streams_beat(struct console *console);
/* Ends those of a session, or all of them for 0. */
void streams_end(struct console *console, uint64_t session);

/* ---- What the page asks for ---- */

void answer_session(struct exchange *x);
void answer_sign_in_link(struct exchange *x);
void answer_sign_in_password(struct exchange *x);
void answer_sign_in_challenge(struct exchange *x);
void answer_sign_in_passkey(struct exchange *x);
void answer_sign_out(struct exchange *x);
void answer_credentials(struct exchange *x);
void answer_passkey_challenge(struct exchange *x);
void answer_passkey_add(struct exchange *x);
void answer_passkey_remove(struct exchange *x);
void answer_password_set(struct exchange *x);

void answer_waiting(struct exchange *x);
void answer_request(struct exchange *x);
void answer_answer(struct exchange *x);
void answer_grants(struct exchange *x);
void answer_revoke(struct exchange *x);

void answer_record(struct exchange *x);
void answer_event(struct exchange *x);
void answer_chart(struct exchange *x);
void answer_chain(struct exchange *x);
void chain_stop(void); /* waits for a verification that runs */

void answer_gates(struct exchange *x);
void answer_rules(struct exchange *x);
void answer_explain(struct exchange *x);
void answer_difference(struct exchange *x);

/* Journals what happened at the page's door: at most a few a second, and how many were left out. */
void console_note(struct console *console, const char *kind, const char *why, const struct session *session);

/* Appends ,"name":"text" with what nobody sees spelt out; null where ptr is NULL. */
void write_printable(struct buf *buf, struct slice text);
void write_named(struct buf *buf, const char *name, struct slice text);

/* A random challenge for an authenticator. */
MUST_USE bool challenge_make(struct console *console, uint64_t session, uint8_t ret_bytes[32]);
/* Whether a challenge was given and not yet used: it is used up now. */
MUST_USE bool challenge_take(struct console *console, uint64_t session, const uint8_t *bytes, size_t len);

/* ---- Passkeys (passkey.c) ---- */

struct passkey_proof {
    struct slice client_data; /* JSON text, as the browser signed it */
    struct slice authenticator_data, signature;
};

/* Reads a new passkey. False when it is none of this page's. The id lives in the arena. */
MUST_USE bool passkey_read(struct console *console, const struct session *session,
                           const struct passkey_proof *proof, struct arena *arena,
                           struct console_passkey *ret_key);
/* Whether a proof was made with a key now, for this page. *ret_count: its new counter. */
MUST_USE bool passkey_verify(struct console *console, const struct passkey_proof *proof,
                             const struct console_passkey *key, uint32_t *ret_count);

/* ---- Policies (policies.c): that of a gate, as it stands on the disk ---- */

struct gate_policy {
    struct policy *policy; /* NULL: none could be loaded */
    struct sources sources;
    struct source_texts texts;
    struct path_base base;
    char cwd[4096];
    int64_t pid;     /* of the gate; 0: none */
    bool is_current; /* what the gate runs has this digest */
};

/* Loads the policy of the gate with a process number (0: the first gate, or else the standard places). False with a line
 * for people. gate_policy_finish in any case. */
MUST_USE bool gate_policy_load(struct console *console, int64_t pid, struct gate_policy *ret_policy,
                               struct buf *ret_error);
void gate_policy_finish(struct gate_policy *policy);

/* Appends {"file","line","reason","tell","effect","tier"} of the rule that holds a request, or null: only when the rule
 * on the disk is the very rule that asked. */
void write_rule_of_request(struct console *console, struct buf *buf, const struct request *request);

#endif
