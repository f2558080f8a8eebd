/* What people's answers leave behind: grants, and calls that stay refused.
 *
 * A grant is alive only where the wall clock, the time since boot and the boot agree. A refusal is over only
 * by the time since boot: a step of the wall clock must not end it early, and after a reboot it takes the
 * whole time anew, since nobody knows how long the machine was off. */
#include "approval/internal.h"

#include <string.h>

static bool too_late(struct store *store)
{
    return database_fail(&store->db, "the clock is out of range");
}

bool grant_make(struct store *store, const struct request *request, struct times now)
{
    int64_t expires_ms, expires_boot;
    if (__builtin_add_overflow(now.wall_ms, (int64_t)request->ttl_ms, &expires_ms) ||
        __builtin_add_overflow(now.boot_ms, (int64_t)request->ttl_ms, &expires_boot)) {
        return too_late(store);
    }
    struct query query = query_begin(&store->db, SQL_INSERT_GRANT);
    query_bytes(&query, request->rule);
    query_bytes(&query, (struct slice){(const char *)request->rule_digest, APPROVAL_HASH});
    query_bytes(&query, request->channel);
    query_bytes(&query, request->thread);
    query_int(&query, request->narrowed);
    query_bytes(&query, (struct slice){(const char *)request->call_hash, APPROVAL_HASH});
    query_bytes(&query, (struct slice){(const char *)request->shown, APPROVAL_HASH});
    query_int(&query, request->number);
    query_int(&query, now.wall_ms);
    query_int(&query, expires_ms);
    query_int(&query, now.boot_ms);
    query_int(&query, expires_boot);
    query_bytes(&query, store_boot(store));
    return query_run(&query, NULL);
}

bool refusal_make(struct store *store, const struct request *request, struct times now)
{
    struct query query = query_begin(&store->db, SQL_INSERT_REFUSAL);
    query_bytes(&query, request->channel);
    query_bytes(&query, request->thread);
    query_bytes(&query, (struct slice){(const char *)request->call_hash, APPROVAL_HASH});
    query_int(&query, request->ttl_ms);
    query_int(&query, now.boot_ms);
    query_bytes(&query, store_boot(store));
    return query_run(&query, NULL);
}

bool grants_prune(struct store *store, struct times now)
{
    static const enum sql prunes[] = {SQL_PRUNE_GRANTS, SQL_PRUNE_REFUSALS, SQL_PRUNE_REQUESTS};
    for (size_t i = 0; i < sizeof(prunes) / sizeof(*prunes); i++) {
        struct query query = query_begin(&store->db, prunes[i]);
        query_int(&query, now.boot_ms);
        query_bytes(&query, store_boot(store));
        if (!query_run(&query, NULL)) {
            return false;
        }
    }
    struct query query = query_begin(&store->db, SQL_PRUNE_VOTES);
    return query_run(&query, NULL);
}

/* The columns stand in the order of GRANT in sql.c. */
static bool read_grant(struct query *query, struct arena *arena, struct grant *grant)
{
    enum { ID, RULE, DIGEST, SCOPE, CALL_HASH, SHOWN, REQUEST, GRANTED, EXPIRES, CHANNEL, THREAD };
    struct slice rule = query_column_bytes(query, RULE), digest = query_column_bytes(query, DIGEST);
    struct slice call_hash = query_column_bytes(query, CALL_HASH);
    struct slice channel = query_column_bytes(query, CHANNEL), thread = query_column_bytes(query, THREAD);
    if (rule.ptr == NULL || channel.ptr == NULL || thread.ptr == NULL || digest.len != APPROVAL_HASH ||
        call_hash.len != APPROVAL_HASH) {
        return false;
    }
    *grant = (struct grant){
        .id = query_column_int(query, ID),
        .request = query_column_int(query, REQUEST),
        .rule = arena_copy(arena, rule),
        .channel = arena_copy(arena, channel),
        .thread = arena_copy(arena, thread),
        .scope = scope_of(query_column_int(query, SCOPE)),
        .granted = query_column_int(query, GRANTED),
        .expires = query_column_int(query, EXPIRES),
    };
    memcpy(grant->rule_digest, digest.ptr, APPROVAL_HASH);
    memcpy(grant->call_hash, call_hash.ptr, APPROVAL_HASH);
    return grant->rule.ptr != NULL && grant->channel.ptr != NULL && grant->thread.ptr != NULL &&
           copy_shown(query, SHOWN, grant->shown);
}

static bool add_grant(struct query *query, struct arena *arena, struct grant **grants, size_t *count,
                      size_t *cap)
{
    if (*count == *cap) {
        *cap = *cap == 0 ? 8 : *cap * 2;
        struct grant *larger = arena_array(arena, *cap, sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        if (*count > 0) {
            memcpy(larger, *grants, *count * sizeof(*larger));
        }
        *grants = larger;
    }
    return read_grant(query, arena, &(*grants)[(*count)++]);
}

static enum store_result read_grants(struct store *store, struct query *query, struct arena *arena,
                                     struct grant **ret_grants, size_t *ret_count)
{
    struct grant *grants = NULL;
    size_t count = 0, cap = 0;
    enum row row;
    while ((row = query_step(query)) == ROW_FOUND) {
        if (!add_grant(query, arena, &grants, &count, &cap)) {
            row = ROW_FAILED;
            (void)database_fail(&store->db, "out of memory, or one of its rows is damaged");
            break;
        }
    }
    query_end(query);
    if (row == ROW_FAILED) {
        return STORE_FAILED;
    }
    *ret_grants = grants;
    *ret_count = count;
    return STORE_DONE;
}

enum store_result store_grants(struct store *store, struct slice channel, struct slice thread,
                               struct times now, struct arena *arena, struct grant **ret_grants,
                               size_t *ret_count)
{
    if (!times_known(now)) {
        *ret_grants = NULL; /* nothing is known to be alive */
        *ret_count = 0;
        return STORE_DONE;
    }
    struct query query = query_begin(&store->db, SQL_GRANTS);
    query_times(&query, store, now);
    query_bytes(&query, channel);
    query_bytes(&query, thread);
    return read_grants(store, &query, arena, ret_grants, ret_count);
}

enum store_result store_all_grants(struct store *store, struct times now, struct arena *arena,
                                   struct grant **ret_grants, size_t *ret_count)
{
    struct query query = query_begin(&store->db, SQL_ALL_GRANTS);
    query_times(&query, store, now);
    return read_grants(store, &query, arena, ret_grants, ret_count);
}

/* The request's own row says that it was used even when its grant is over; a grant says it when the row is gone. */
enum store_result store_use_once(struct store *store, int64_t request)
{
    int64_t of_request = 0, of_grant = 0;
    struct query use = query_begin(&store->db, SQL_USE_REQUEST);
    query_int(&use, request);
    if (!query_run(&use, &of_request)) {
        return STORE_FAILED;
    }
    struct query grant = query_begin(&store->db, SQL_USE_GRANT);
    query_int(&grant, request);
    if (!query_run(&grant, &of_grant)) {
        return STORE_FAILED;
    }
    return of_request > 0 || of_grant > 0 ? STORE_DONE : STORE_NONE;
}

enum store_result store_revoke(struct store *store, int64_t id, struct times now, struct arena *arena,
                               struct grant *ret_grant)
{
    struct grant *grants = NULL;
    size_t count = 0;
    struct query query = query_begin(&store->db, SQL_GRANT_BY_ID);
    query_times(&query, store, now);
    query_int(&query, id);
    enum store_result result = read_grants(store, &query, arena, &grants, &count);
    if (result != STORE_DONE || count == 0) {
        return result == STORE_DONE ? STORE_NONE : result;
    }
    struct query end = query_begin(&store->db, SQL_DELETE_GRANT);
    query_int(&end, id);
    if (!query_run(&end, NULL)) {
        return STORE_FAILED;
    }
    *ret_grant = grants[0];
    return STORE_DONE;
}

enum store_result store_refused(struct store *store, struct slice channel, struct slice thread,
                                const uint8_t call_hash[APPROVAL_HASH], struct times now, bool *ret_refused)
{
    struct query query = query_begin(&store->db, SQL_REFUSED);
    /* A clock that cannot be read is negative here: then nothing has passed. */
    query_int(&query, now.boot_ms);
    query_bytes(&query, store_boot(store));
    query_bytes(&query, (struct slice){(const char *)call_hash, APPROVAL_HASH});
    query_bytes(&query, channel);
    query_bytes(&query, thread);
    enum row row = query_step(&query);
    query_end(&query);
    if (row == ROW_FAILED) {
        return STORE_FAILED;
    }
    *ret_refused = row == ROW_FOUND;
    return STORE_DONE;
}
