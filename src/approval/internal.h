/* What the files of the store share. Inside this room; tests use it to choose the boot. */
#ifndef APPROVAL_INTERNAL_H
#define APPROVAL_INTERNAL_H

#include "approval/approval.h"
#include "approval/database_internal.h"

#define STORE_NAME   "approvals.db"
#define BOOT_ID_SIZE 64

struct store {
    struct database db;
    char boot_id[BOOT_ID_SIZE];
};

/* store_open with the identity of a boot. */
MUST_USE struct store *store_open_in_boot(const char *state_dir, const char *boot_id, struct buf *ret_error);

static inline struct slice store_boot(const struct store *store)
{
    return slice_of(store->boot_id);
}

static inline struct slice hash_slice(const uint8_t hash[APPROVAL_HASH])
{
    return (struct slice){(const char *)hash, APPROVAL_HASH};
}

/* Whether the caller may change anything: inside its transaction, when both clocks are known. False with the
 * reason in store_error. */
MUST_USE bool store_may_change(struct store *store, struct times now);

/* Whether both clocks could be read. Nothing is made, granted or ended without them. */
static inline bool times_known(struct times now)
{
    return now.wall_ms != INT64_MIN && now.boot_ms >= 0;
}

/* ---- Rows (request.c) ---- */

/* Binds the three parameters that say when it is. */
void query_times(struct query *query, const struct store *store, struct times now);

/* Requests as they are read: an array in an arena that grows by doubling. */
struct request_list {
    struct request *items;
    size_t count, cap;
};

/* Steps through a query of requests to its end and ends it. False (and the transaction spoilt) on failure,
 * also for memory. */
MUST_USE bool requests_read(struct query *query, struct arena *arena, struct request_list *list);

/* The same for at most one request. */
MUST_USE enum row request_read(struct query *query, struct arena *arena, struct request *ret_request);

/* A hash of what was shown, and a scope, as rows hold them. Whatever is no scope is the narrowest. */
bool copy_shown(struct query *query, int column, uint8_t hash[APPROVAL_HASH]);
enum approval_scope scope_of(int64_t value);

/* ---- Grants and refusals (grant.c) ---- */

/* Makes the grant of an approved request. */
MUST_USE bool grant_make(struct store *store, const struct request *request, struct times now);
MUST_USE bool refusal_make(struct store *store, const struct request *request, struct times now);
MUST_USE bool grants_prune(struct store *store, struct times now);

#endif
