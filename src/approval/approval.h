/* Requests that wait for people, votes, and grants. SPEC.md section 6.
 *
 * A store owns its connection until store_close; it must not be carried across a fork. What it returns lives
 * in the arena that the caller gives.
 *
 * The store is shared by every callgate process of the user; SQLite in WAL mode, under the state directory.
 * Every change is one transaction of the caller's: store_begin, changes, then journal, then store_commit, so
 * that nothing takes effect that was not journalled. `now` is always the caller's: wall clock and time since
 * boot. */
#ifndef APPROVAL_APPROVAL_H
#define APPROVAL_APPROVAL_H

#include "base/arena.h"
#include "base/buffer.h"

#define CODE_LENGTH   5
#define APPROVAL_HASH 32

struct times {
    int64_t wall_ms; /* since 1970 */
    int64_t boot_ms; /* since boot, suspend included */
};

/* ---- Codes and replies ---- */

/* Letters of a code: a to z without l. Case ignored when read. */
bool code_valid(struct slice text);

/* Whether a text has the form of a reply, `^\s*(y|yes|n|no)\s+([a-km-z]{5})\s*$`, case ignored. The surface
 * that reads such a text consumes it, whatever its code. */
bool reply_parse(struct slice text, bool *ret_yes, char ret_code[CODE_LENGTH + 1]);

/* ---- Requests ---- */

/* How far an approval reaches, from wide to narrow. The values are stored. */
enum approval_scope {
    APPROVAL_SESSION = 0, /* the rule's calls of the session */
    APPROVAL_CALL = 1,    /* this very call, again and again */
    APPROVAL_ONCE = 2,    /* this call one time: the first call that it lets run ends it */
};
const char *approval_scope_name(enum approval_scope scope); /* "session", "call", "once" */

enum request_state {
    REQUEST_WAITING = 0,
    REQUEST_APPROVED,
    REQUEST_REFUSED,
    REQUEST_TIMED_OUT,
    REQUEST_WITHDRAWN,
};
const char *request_state_name(enum request_state state);

/* Texts are borrowed on the way in, and live in the arena given on the way out. */
struct request {
    int64_t number; /* the store's own; never reused */
    char code[CODE_LENGTH + 1];
    enum request_state state;
    struct slice rule;
    uint8_t rule_digest[APPROVAL_HASH];
    struct slice tool, server; /* server.ptr NULL: none */
    struct slice channel, thread;
    struct slice actor;
    struct slice input; /* redacted JSON text, whole: what people are shown */
    struct slice paths; /* JSON array text of the canonical paths as judged */
    uint8_t call_hash[APPROVAL_HASH];
    uint8_t shown[APPROVAL_HASH]; /* hash of the paths, commands and hosts that people are shown */
    struct slice holder;       /* the gate that holds its call, by its name in the registry; may be empty */
    struct slice groups;       /* JSON array of the groups that approvers must be of; len 0: anybody */
    struct slice because;      /* of a refusal: its reason, if the person gave one */
    enum approval_scope scope; /* the most that an approval of it covers */
    enum approval_scope narrowed; /* the narrowest of the answers so far, never wider than `scope` */
    bool used;                    /* its call has run by an approval for one time */
    uint32_t ttl_ms;
    uint32_t needed, given;         /* approvers */
    int64_t created_ms, expires_ms; /* wall clock; expires_ms: when it times out without an end */
    int64_t
        client_ms; /* wall clock: when the client that called is answered, or answers itself, whether anybody has
                        * voted or not; 0: not known. An approval after it counts for the client's next try. */
};

/* One live grant. */
struct grant {
    int64_t id;
    int64_t request; /* the number of the request that it answered; 0: of a store of the first version */
    struct slice rule;
    uint8_t rule_digest[APPROVAL_HASH];
    struct slice channel, thread;
    int64_t granted, expires; /* wall clock, ms */
    enum approval_scope scope;
    uint8_t call_hash[APPROVAL_HASH];
    uint8_t shown[APPROVAL_HASH]; /* zeroes in a grant of the first version: it was bound to the call alone */
};

/* One person's answer. */
struct vote {
    struct slice code;
    struct slice identity; /* compared byte for byte; not empty */
    bool yes;
    enum approval_scope
        scope;            /* of a yes: how far it goes; wider than the rule allows is as wide as it does */
    struct slice because; /* of a no: why; may be empty */
};

/* ---- The store ---- */

struct store;

/* Opens or makes the store in the state directory, whose path must have been checked by the caller. NULL with
 * a message for people in ret_error. */
MUST_USE struct store *store_open(const char *state_dir, struct buf *ret_error);
void store_close(struct store *store);

/* What went wrong last, for people. Holds no text of a call. */
const char *store_error(const struct store *store);

MUST_USE bool store_begin(struct store *store); /* takes the write lock; waits up to 5 s for it */

/* False, and rolled back, also when a change of this transaction has failed: half a change is never
 * committed. */
MUST_USE bool store_commit(struct store *store);
void store_rollback(struct store *store); /* also after a failed change; harmless when nothing is open */

/* Whether another process or connection has changed the store since the last time this was asked. */
bool store_changed(struct store *store);

/* Copies what is committed to a new file, also while another connection is in the middle of a change. False with
 * store_error. */
MUST_USE bool store_copy(struct store *store, const char *path);
/* Whether a file that is a store's copy is whole, and of no newer version than this. False with a message. */
MUST_USE bool store_copy_check(const char *path, struct buf *ret_error);

enum store_result {
    STORE_FAILED = 0, /* deny; store_error says why */
    STORE_DONE,
    STORE_NONE,      /* no such request waits */
    STORE_TOO_MANY,  /* LIMIT_WAITING requests wait for the session already */
    STORE_TWICE,     /* this person has voted already */
    STORE_FORBIDDEN, /* of people_take_answer alone: this person may not answer */
};

/* Inside a transaction. Makes a request wait and gives it a code (`wanted`, if it is a valid code that no
 * waiting request has, else a random one) and a number. If a request of the same rule and digest, session,
 * call hash, paths, what is shown and holder waits already, that one is returned instead and ret_existing set; its client_ms becomes the
 * later one. */
MUST_USE enum store_result store_ask(struct store *store, const struct request *request, struct slice wanted,
                                     struct times now, struct arena *arena, struct request *ret_request,
                                     bool *ret_existing);

/* Inside a transaction. Counts a person's answer (each once). The last needed yes ends the request as approved,
 * makes the grant with the narrowest scope of all the answers, and ends as approved every other waiting request
 * of the session that the grant covers (of scope `once`: none). One no, also of a person who said yes before,
 * ends it as refused, with every other waiting request of the session for the same call, and keeps the call
 * refused for the session until ttl_ms has passed. STORE_DONE with the request after the vote; ended requests
 * (this one first) are listed in ret_ended. STORE_NONE also for a request that is over and not yet swept. */
MUST_USE enum store_result store_vote(struct store *store, const struct vote *vote, struct times now,
                                      struct arena *arena, struct request *ret_request,
                                      struct request **ret_ended, size_t *ret_ended_count);

/* Inside a transaction. The caller cancelled. STORE_NONE when it has ended already. */
MUST_USE enum store_result store_withdraw(struct store *store, int64_t number, struct arena *arena,
                                          struct request *ret_request);

/* Inside a transaction. A call runs by the approval that this request's answer was, for one time: whoever comes
 * first gets STORE_DONE, whoever is late STORE_NONE. */
MUST_USE enum store_result store_use_once(struct store *store, int64_t request);

/* Inside a transaction. Ends a live grant. STORE_NONE: there is none of this id. */
MUST_USE enum store_result store_revoke(struct store *store, int64_t id, struct times now,
                                        struct arena *arena, struct grant *ret_grant);

/* Inside a transaction. Ends as withdrawn what waits and is held by a gate that has ended, and lists it. */
MUST_USE enum store_result store_withdraw_held(struct store *store, struct slice holder, struct arena *arena,
                                               struct request **ret_ended, size_t *ret_count);

/* The gates that hold what waits, each once: a plain read. */
MUST_USE enum store_result store_holders(struct store *store, struct arena *arena, struct slice **ret_holders,
                                         size_t *ret_count);

/* Small things of others, by name, that are written with what they belong to (store_keep: inside a
 * transaction). store_kept: ret_value.ptr NULL when nothing is kept under the name. */
MUST_USE bool store_keep(struct store *store, const char *name, struct slice value);
MUST_USE bool store_kept(struct store *store, const char *name, struct arena *arena, struct slice *ret_value);

/* Inside a transaction. Ends every request that has waited LIMIT_REQUEST_MS (by either clock) or whose boot
 * is over, and lists them. */
MUST_USE enum store_result store_sweep(struct store *store, struct times now, struct arena *arena,
                                       struct request **ret_ended, size_t *ret_count);

/* Whether store_sweep would end something: a plain read. */
bool store_sweep_due(struct store *store, struct times now);

/* Plain reads. A request is kept for an hour after its end, and at most the last 1,000 ends: STORE_NONE for
 * one that was asked for means that it has ended and was not approved as far as anyone can tell. */
MUST_USE enum store_result store_find(struct store *store, int64_t number, struct arena *arena,
                                      struct request *ret_request);
MUST_USE enum store_result store_find_code(struct store *store, struct slice code, struct arena *arena,
                                           struct request *ret_request); /* among the waiting */
MUST_USE enum store_result store_last_of_code(struct store *store, struct slice code, struct arena *arena,
                                              struct request *ret_request); /* or the last that ended */
MUST_USE enum store_result store_waiting(struct store *store, struct arena *arena,
                                         struct request **ret_requests, size_t *ret_count); /* oldest first */
MUST_USE enum store_result store_grants(struct store *store, struct slice channel, struct slice thread,
                                        struct times now, struct arena *arena, struct grant **ret_grants,
                                        size_t *ret_count); /* live by both clocks and in this boot */
MUST_USE enum store_result store_all_grants(struct store *store, struct times now, struct arena *arena,
                                            struct grant **ret_grants, size_t *ret_count);
/* By the time since boot alone: a step of the wall clock does not end it early. In another boot than that of
 * the refusal it is over once that boot has lasted ttl_ms. True when the clocks cannot be read and anything
 * is kept. */
MUST_USE enum store_result store_refused(struct store *store, struct slice channel, struct slice thread,
                                         const uint8_t call_hash[APPROVAL_HASH], struct times now,
                                         bool *ret_refused);

#endif
