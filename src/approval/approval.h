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
    struct slice input; /* redacted JSON text: what people are shown */
    struct slice paths; /* JSON array text of the canonical paths as judged */
    uint8_t call_hash[APPROVAL_HASH];
    bool for_call; /* scope: call */
    uint32_t ttl_ms;
    uint32_t needed, given;         /* approvers */
    int64_t created_ms, expires_ms; /* wall clock; expires_ms: when it times out without an end */
};

/* One live grant, for evaluation. */
struct grant {
    struct slice rule;
    uint8_t rule_digest[APPROVAL_HASH];
    int64_t granted, expires; /* wall clock, ms */
    bool for_call;
    uint8_t call_hash[APPROVAL_HASH];
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

/* False, and rolled back, also when a change of this transaction has failed: half a change is never
 * committed. */
MUST_USE bool store_commit(struct store *store);
void store_rollback(struct store *store); /* also after a failed change; harmless when nothing is open */

/* Whether another process or connection has changed the store since the last time this was asked. */
bool store_changed(struct store *store);

enum store_result {
    STORE_FAILED = 0, /* deny; store_error says why */
    STORE_DONE,
    STORE_NONE,     /* no such request waits */
    STORE_TOO_MANY, /* LIMIT_WAITING requests wait for the session already */
    STORE_TWICE,    /* this person has voted already */
};

/* Inside a transaction. Makes a request wait and gives it a code (`wanted`, if it is a valid code that no
 * waiting request has, else a random one) and a number. If a request of the same rule and digest, session,
 * call hash and paths waits already, that one is returned instead and ret_existing set. */
MUST_USE enum store_result store_ask(struct store *store, const struct request *request, struct slice wanted,
                                     struct times now, struct arena *arena, struct request *ret_request,
                                     bool *ret_existing);

/* Inside a transaction. Counts a vote of `identity` (each once, compared byte for byte; not empty). The last
 * needed yes ends the request as approved, makes the grant, and ends as approved every other waiting request
 * of the session that the grant covers; one no, also of a person who said yes before, ends it as refused,
 * with every other waiting request of the session for the same call, and keeps the call refused for the
 * session until ttl_ms has passed. STORE_DONE with the request after the vote; ended requests (this one
 * first) are listed in ret_ended. STORE_NONE also for a request that is over and not yet swept. */
MUST_USE enum store_result store_vote(struct store *store, struct slice code, struct slice identity, bool yes,
                                      struct times now, struct arena *arena, struct request *ret_request,
                                      struct request **ret_ended, size_t *ret_ended_count);

/* Inside a transaction. The caller cancelled. STORE_NONE when it has ended already. */
MUST_USE enum store_result store_withdraw(struct store *store, int64_t number, struct arena *arena,
                                          struct request *ret_request);

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
MUST_USE enum store_result store_waiting(struct store *store, struct arena *arena,
                                         struct request **ret_requests, size_t *ret_count); /* oldest first */
MUST_USE enum store_result store_grants(struct store *store, struct slice channel, struct slice thread,
                                        struct times now, struct arena *arena, struct grant **ret_grants,
                                        size_t *ret_count); /* live by both clocks and in this boot */
/* By the time since boot alone: a step of the wall clock does not end it early. In another boot than that of
 * the refusal it is over once that boot has lasted ttl_ms. True when the clocks cannot be read and anything
 * is kept. */
MUST_USE enum store_result store_refused(struct store *store, struct slice channel, struct slice thread,
                                         const uint8_t call_hash[APPROVAL_HASH], struct times now,
                                         bool *ret_refused);

#endif
