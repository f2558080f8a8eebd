/* What the files of the broker share. Inside this room. */
#ifndef BROKER_INTERNAL_H
#define BROKER_INTERNAL_H

#include <sys/types.h>
#include <uv.h>

#include "broker/broker.h"
#include "broker/protocol_internal.h"

#define BROKER_TICK_MS     100
#define CLIENTS_MOST       2048u              /* connections at once; one beyond is closed, which is a deny */
#define CLIENTS_OF_PROCESS 64u                /* of one process */
#define CLIENT_HELD_MOST   1024u              /* calls that wait for people, of one connection */
#define CLIENT_QUEUE_MOST  ((size_t)64 << 20) /* bytes that a client does not read */
#define HELLO_MS           10000 /* how long a client may take to say who it is, or to end a frame */
#define SERVER_SIGNALS     4u
#define POLICIES_MOST      64u /* compiled policies that nobody uses any more are dropped beyond this */

/* ---- address.c ---- */

/* A socket that is bound and does not listen yet, or one that is connected. -1 with errno. */
MUST_USE int address_listen(const char *path);
MUST_USE int address_connect(const char *path);

struct peer {
    pid_t pid; /* 0: of a pid namespace that is not seen from here */
    uid_t uid;
};
MUST_USE bool peer_read(int fd, struct peer *ret_peer);
/* Whether a peer lives in our own user, mount and pid namespaces. */
bool peer_is_unconfined(const struct peer *peer);

/* ---- policies.c: one compiled policy for all clients for whom it is the same ---- */

/* What a policy depends on. */
struct policy_key {
    struct slice surface; /* whose callers something may be known of */
    struct slice project; /* whose steering files are protected; ptr NULL: none */
    struct slice protect; /* the file of rules that came along with the client's hook; ptr NULL: none */
    struct slice cwd, home;
    bool unnamed; /* the client's server has no name */
    unsigned readings_flags;
};

struct shared_policy {
    struct shared_policy *next;
    char *texts; /* of key and base */
    struct policy_key key;
    struct path_base base;
    struct sources sources;
    struct arena arena; /* of the documents that are part of the program */
    struct gate *gate;
    struct buf lines;  /* what was told when it was loaded: of a workspace's file that was left out */
    bool of_workspace; /* a file of its working directory is, or could be, part of it */
    unsigned users;
    uint64_t used; /* when it was last taken: a count */
};

struct policies {
    const struct broker_options *options;
    struct ledger *ledger;
    void (*say)(const char *line);
    struct shared_policy *first;
    size_t count;
    uint64_t taken;
    int64_t started_ms; /* of the broker, wall clock: whether observing was ended since */
};

/* A gate with the policy for a key; loads it when there is none. NULL with lines for people; lines also on success,
 * when it was loaded just now. The key's texts are copied. */
MUST_USE struct shared_policy *policies_take(struct policies *policies, const struct policy_key *key,
                                             struct buf *ret_lines);
/* Whether a policy is loaded that has the rules of this file, which came along with a hook. */
bool policies_protect(const struct policies *policies, struct slice file);
void policies_give_back(struct policies *policies, struct shared_policy *policy);
void policies_reload(struct policies *policies);
void policies_finish(struct policies *policies);

/* ---- session.c: what one client says, and what it hears ---- */

struct server;

/* One request of a client. Several of its calls may wait for one, so it stays known once it has ended. */
struct waited {
    int64_t number;
    bool ended; /* the client knows */
};

struct client {
    struct client *prev, *next;
    struct server *server;
    uv_pipe_t pipe;
    struct peer peer;
    bool approves; /* at the approving socket */
    bool greeted, closing;
    bool tells_refusals; /* what people say of a refusal goes to its agent */
    bool staged;         /* events of its are staged that have no answer */
    bool unrecorded;     /* such events could not be written: its next commit hears of it */
    struct buf in, out;  /* what is not a whole frame yet; what is to be written */
    uint64_t since_ms;   /* since when it owes the rest of a frame, or its hello */
    struct shared_policy *policy;
    char *texts; /* of `base` */
    struct path_base base;
    struct arena arena;  /* for one frame */
    struct waited *held; /* the requests that its calls wait for, or have waited for lately */
    size_t held_count, held_cap;
};

/* Takes every whole frame that has come. False: the connection ends. */
MUST_USE bool session_take(struct client *client);
/* Tells it which of its requests have ended. */
void session_tell_ends(struct client *client);
/* Tells it that the policy may be another. */
void session_tell_reloaded(struct client *client);
/* vote.c: a frame of the approving socket. */
MUST_USE bool session_take_vote(struct client *client, struct fields *fields);
/* It is gone: its requests end as withdrawn, unless another client waits for them too. */
void session_end(struct client *client);

/* ---- server.c ---- */

struct server {
    const struct broker_options *options;
    struct ledger *ledger;
    struct people *people;
    struct policies policies;
    struct shared_policy *own; /* the broker's own: the first to load, and the last to go */
    uv_loop_t loop;
    uv_pipe_t listeners[2]; /* judging, approving */
    uv_timer_t tick;
    uv_signal_t signals[SERVER_SIGNALS];
    struct client *first;
    size_t client_count;
    uint64_t alone_ms; /* since when nobody is connected */
    bool ending;
    struct json_doc doc; /* of the call being judged */
    struct buf *lines;   /* while a client's frame is being taken: what is told of it; else NULL */
};

/* Tells every client that the policies were loaded anew. */
void server_tell_reloaded(struct server *server);

/* Whether another client than this waits for a request. */
bool server_other_waits(const struct server *server, const struct client *client, int64_t number);
/* Sends what is in client->out. */
void server_send(struct client *client);

/* ---- record.c: what the broker of a state directory was started with ---- */

#define SERVE_LOCK   "serve.lock" /* locked as long as it lives */
#define SERVE_RECORD "serve.json"

/* Owns its texts. */
struct serve_record {
    struct arena arena;
    bool there;
    const char *socket;
    const char **words;
    size_t count;
};
MUST_USE bool serve_record_write(int dir, const struct broker_options *options, struct buf *ret_error);
/* False when there is one that cannot be read. */
MUST_USE bool serve_record_read(struct serve_record *ret_record, const char *state_dir);
void serve_record_finish(struct serve_record *record);

/* ---- start.c ---- */

/* Starts a broker that outlives us. False with errno. */
MUST_USE bool broker_start(const char *socket, const char *state_dir);

#endif
