/* Asking: a request is made, with a code of its own. */
#include "approval/code_internal.h"
#include "approval/internal.h"
#include "base/limits.h"

#define CODE_TRIES 64 /* of 9.7 million codes; a store in which they are all taken is not ours */

static enum row find_alike(struct store *store, const struct request *request, struct times now,
                           struct arena *arena, struct request *ret_request)
{
    struct query query = query_begin(&store->db, SQL_REQUEST_LIKE);
    query_times(&query, store, now);
    query_bytes(&query, request->rule);
    query_bytes(&query, hash_slice(request->rule_digest));
    query_bytes(&query, request->channel);
    query_bytes(&query, request->thread);
    query_bytes(&query, hash_slice(request->call_hash));
    query_bytes(&query, request->paths);
    query_bytes(&query, hash_slice(request->shown));
    query_bytes(&query, request->holder);
    return request_read(&query, arena, ret_request);
}

/* How many wait for a session; negative: failed. */
static int64_t count_waiting(struct store *store, const struct request *request, struct times now)
{
    struct query query = query_begin(&store->db, SQL_COUNT_WAITING);
    query_times(&query, store, now);
    query_bytes(&query, request->channel);
    query_bytes(&query, request->thread);
    int64_t count = query_step(&query) == ROW_FOUND ? query_column_int(&query, 0) : -1;
    query_end(&query);
    return count;
}

/* ROW_NONE: it is free. */
static enum row find_code(struct store *store, const char code[CODE_LENGTH + 1])
{
    struct query query = query_begin(&store->db, SQL_CODE_TAKEN);
    query_bytes(&query, slice_of(code));
    enum row row = query_step(&query);
    query_end(&query);
    return row;
}

static bool choose_code(struct store *store, struct slice wanted, char ret_code[CODE_LENGTH + 1])
{
    enum row taken = ROW_FOUND;
    if (code_valid(wanted)) {
        code_copy(wanted, ret_code);
        taken = find_code(store, ret_code);
    }
    for (int i = 0; i < CODE_TRIES && taken == ROW_FOUND; i++) {
        if (!code_random(ret_code)) {
            return database_fail(&store->db, "there are no random bytes for a code");
        }
        taken = find_code(store, ret_code);
    }
    if (taken == ROW_FOUND) {
        return database_fail(&store->db, "no code is free");
    }
    return taken == ROW_NONE;
}

static bool insert(struct store *store, const struct request *request, const char *code, struct times now)
{
    int64_t expires_ms, expires_boot;
    if (__builtin_add_overflow(now.wall_ms, (int64_t)LIMIT_REQUEST_MS, &expires_ms) ||
        __builtin_add_overflow(now.boot_ms, (int64_t)LIMIT_REQUEST_MS, &expires_boot)) {
        return database_fail(&store->db, "the clock is out of range");
    }
    struct query query = query_begin(&store->db, SQL_INSERT_REQUEST);
    query_bytes(&query, slice_of(code));
    query_bytes(&query, request->rule);
    query_bytes(&query, hash_slice(request->rule_digest));
    query_bytes(&query, request->tool);
    if (request->server.ptr == NULL) {
        query_null(&query);
    } else {
        query_bytes(&query, request->server);
    }
    query_bytes(&query, request->channel);
    query_bytes(&query, request->thread);
    query_bytes(&query, request->actor);
    query_bytes(&query, request->input);
    query_bytes(&query, request->paths);
    query_bytes(&query, hash_slice(request->call_hash));
    query_bytes(&query, hash_slice(request->shown));
    query_bytes(&query, request->holder);
    query_int(&query, request->scope);
    query_int(&query, request->ttl_ms);
    query_int(&query, request->needed);
    query_int(&query, now.wall_ms);
    query_int(&query, expires_ms);
    query_int(&query, now.boot_ms);
    query_int(&query, expires_boot);
    query_bytes(&query, store_boot(store));
    query_bytes(&query, request->groups);
    query_int(&query, request->client_ms);
    return query_run(&query, NULL);
}

/* Another call waits on a request that waits already, maybe for longer. */
static bool wait_longer(struct store *store, struct request *found, int64_t client_ms)
{
    if (client_ms <= found->client_ms) {
        return true;
    }
    found->client_ms = client_ms;
    struct query query = query_begin(&store->db, SQL_CLIENT_WAITS);
    query_int(&query, found->number);
    query_int(&query, client_ms);
    return query_run(&query, NULL);
}

static bool well_formed(struct store *store, const struct request *request)
{
    return (request->needed >= 1 && request->needed <= LIMIT_APPROVERS && request->ttl_ms >= 1 &&
            request->ttl_ms <= LIMIT_TTL_MS) ||
           database_fail(&store->db, "a request with an impossible quorum or time to live");
}

enum store_result store_ask(struct store *store, const struct request *request, struct slice wanted,
                            struct times now, struct arena *arena, struct request *ret_request,
                            bool *ret_existing)
{
    struct request found;
    char code[CODE_LENGTH + 1];
    if (!store_may_change(store, now) || !well_formed(store, request) || !grants_prune(store, now)) {
        return STORE_FAILED;
    }
    enum row row = find_alike(store, request, now, arena, &found);
    bool existing = row == ROW_FOUND;
    if (row == ROW_NONE) {
        int64_t waiting = count_waiting(store, request, now);
        if (waiting >= (int64_t)LIMIT_WAITING) {
            return STORE_TOO_MANY;
        }
        if (waiting < 0 || !choose_code(store, wanted, code) || !insert(store, request, code, now)) {
            return STORE_FAILED;
        }
        struct query query = query_begin(&store->db, SQL_REQUEST_BY_NUMBER);
        query_int(&query, database_last_number(&store->db));
        row = request_read(&query, arena, &found);
    }
    if (row != ROW_FOUND || (existing && !wait_longer(store, &found, request->client_ms))) {
        return STORE_FAILED;
    }
    *ret_request = found;
    *ret_existing = existing;
    return STORE_DONE;
}
