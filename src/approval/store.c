/* The store: its life, and what becomes of requests. */
#include "approval/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "approval/code_internal.h"
#include "base/limits.h"

#define CODE_TRIES 64 /* of 9.7 million codes; a store in which they are all taken is not ours */

/* ---- Opening ---- */

/* The kernel's name for this boot. */
static bool read_boot_id(char ret_id[BOOT_ID_SIZE])
{
    char id[BOOT_ID_SIZE] = {0};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t len = read(fd, id, sizeof(id) - 1);
    (void)close(fd);
    if (len < 32) {
        return false;
    }
    id[strcspn(id, "\n")] = '\0';
    memcpy(ret_id, id, sizeof(id));
    return true;
}

struct store *store_open_in_boot(const char *state_dir, const char *boot_id, struct buf *ret_error)
{
    size_t id_len = strlen(boot_id);
    struct store *store = id_len < BOOT_ID_SIZE ? calloc(1, sizeof(*store)) : NULL;
    if (store == NULL) {
        buf_text(ret_error, "the store of approvals: out of memory");
        return NULL;
    }
    memcpy(store->boot_id, boot_id, id_len + 1);
    if (!database_open(&store->db, state_dir, STORE_NAME, ret_error)) {
        free(store);
        return NULL;
    }
    return store;
}

struct store *store_open(const char *state_dir, struct buf *ret_error)
{
    char boot_id[BOOT_ID_SIZE];
    if (!read_boot_id(boot_id)) {
        /* Grants end with the boot, so without knowing it none can be kept. */
        buf_text(ret_error,
                 "the store of approvals: /proc/sys/kernel/random/boot_id cannot be read: mount /proc");
        return NULL;
    }
    return store_open_in_boot(state_dir, boot_id, ret_error);
}

void store_close(struct store *store)
{
    if (store != NULL) {
        database_rollback(&store->db);
        database_close(&store->db);
        free(store);
    }
}

const char *store_error(const struct store *store)
{
    return store->db.error;
}

bool store_begin(struct store *store)
{
    return database_begin(&store->db);
}

bool store_commit(struct store *store)
{
    return database_commit(&store->db);
}

void store_rollback(struct store *store)
{
    database_rollback(&store->db);
}

bool store_changed(struct store *store)
{
    return database_changed(&store->db);
}

/* Every change needs the caller's transaction. */
static bool may_change(struct store *store, struct times now)
{
    if (!store->db.open_transaction) {
        return database_fail(&store->db, "a change outside of a transaction");
    }
    return times_known(now) || database_fail(&store->db, "the clocks cannot be read");
}

static struct slice hash_slice(const uint8_t hash[APPROVAL_HASH])
{
    return (struct slice){(const char *)hash, APPROVAL_HASH};
}

/* ---- Asking ---- */

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
    query_int(&query, request->for_call);
    query_int(&query, request->ttl_ms);
    query_int(&query, request->needed);
    query_int(&query, now.wall_ms);
    query_int(&query, expires_ms);
    query_int(&query, now.boot_ms);
    query_int(&query, expires_boot);
    query_bytes(&query, store_boot(store));
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
    if (!may_change(store, now) || !well_formed(store, request) || !grants_prune(store, now)) {
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
    if (row != ROW_FOUND) {
        return STORE_FAILED;
    }
    *ret_request = found;
    *ret_existing = existing;
    return STORE_DONE;
}

/* ---- Ending ---- */

/* Ends a request that waits. The row's state decides; that it was not waiting any more is a failure here,
 * since the transaction has seen it wait. `boot_ms` negative: the clock is not known. */
static bool end_request(struct store *store, struct request *request, enum request_state state,
                        int64_t boot_ms)
{
    int64_t changed = 0;
    struct query query = query_begin(&store->db, SQL_END_REQUEST);
    query_int(&query, request->number);
    query_int(&query, state);
    if (boot_ms < 0) {
        query_null(&query);
    } else {
        query_int(&query, boot_ms);
    }
    if (!query_run(&query, &changed)) {
        return false;
    }
    if (changed != 1) {
        return database_fail(&store->db, "a request had ended already");
    }
    request->state = state;
    return true;
}

static bool end_all(struct store *store, struct request_list *list, size_t from, enum request_state state,
                    struct times now)
{
    for (size_t i = from; i < list->count; i++) {
        if (!end_request(store, &list->items[i], state, now.boot_ms)) {
            return false;
        }
    }
    return true;
}

/* ---- Voting ---- */

static bool add_yes(struct store *store, const struct request *request, struct slice identity, bool *ret_new)
{
    int64_t changed = 0;
    struct query query = query_begin(&store->db, SQL_INSERT_YES);
    query_int(&query, request->number);
    query_bytes(&query, identity);
    bool done = query_run(&query, &changed);
    *ret_new = changed == 1;
    return done;
}

/* Makes the grant and ends what it covers. `list` holds the request. */
static bool approve(struct store *store, struct request_list *list, struct times now, struct arena *arena)
{
    const struct request request = list->items[0];
    struct query query = query_begin(&store->db, SQL_REQUESTS_COVERED);
    query_times(&query, store, now);
    query_bytes(&query, request.rule);
    query_bytes(&query, hash_slice(request.rule_digest));
    query_bytes(&query, request.channel);
    query_bytes(&query, request.thread);
    query_int(&query, request.for_call);
    query_bytes(&query, hash_slice(request.call_hash));
    query_int(&query, request.number);
    return requests_read(&query, arena, list) && end_all(store, list, 0, REQUEST_APPROVED, now) &&
           grant_make(store, &request, now);
}

/* Keeps the call refused, and ends every other request for the same call: whoever answers those would be
 * asked in vain. */
static bool refuse(struct store *store, struct slice identity, struct request_list *list, struct times now,
                   struct arena *arena)
{
    const struct request request = list->items[0];
    struct query vote = query_begin(&store->db, SQL_INSERT_NO);
    query_int(&vote, request.number);
    query_bytes(&vote, identity);
    if (!query_run(&vote, NULL)) {
        return false;
    }
    struct query query = query_begin(&store->db, SQL_REQUESTS_OF_CALL);
    query_times(&query, store, now);
    query_bytes(&query, request.channel);
    query_bytes(&query, request.thread);
    query_bytes(&query, hash_slice(request.call_hash));
    query_int(&query, request.number);
    if (!requests_read(&query, arena, list) || !end_all(store, list, 0, REQUEST_REFUSED, now)) {
        return false;
    }
    /* Each by its own rule's time; the longest holds. */
    for (size_t i = 0; i < list->count; i++) {
        if (!refusal_make(store, &list->items[i], now)) {
            return false;
        }
    }
    return true;
}

/* A yes for a request that is in `list`. */
static enum store_result vote_yes(struct store *store, struct slice identity, struct request_list *list,
                                  struct times now, struct arena *arena)
{
    bool counts = false;
    struct request *request = &list->items[0];
    if (!add_yes(store, request, identity, &counts)) {
        return STORE_FAILED;
    }
    if (!counts) {
        return STORE_TWICE;
    }
    request->given++;
    if (request->given < request->needed) {
        return STORE_DONE;
    }
    return approve(store, list, now, arena) ? STORE_DONE : STORE_FAILED;
}

enum store_result store_vote(struct store *store, struct slice code, struct slice identity, bool yes,
                             struct times now, struct arena *arena, struct request *ret_request,
                             struct request **ret_ended, size_t *ret_ended_count)
{
    struct request_list list = {0};
    char plain[CODE_LENGTH + 1];
    if (!may_change(store, now)) {
        return STORE_FAILED;
    }
    if (identity.len == 0) {
        (void)database_fail(&store->db, "a vote needs the name of a person");
        return STORE_FAILED;
    }
    if (!code_valid(code)) {
        return STORE_NONE;
    }
    code_copy(code, plain);
    struct query query = query_begin(&store->db, SQL_REQUEST_TO_VOTE_ON);
    query_times(&query, store, now);
    query_bytes(&query, slice_of(plain));
    if (!requests_read(&query, arena, &list)) {
        return STORE_FAILED;
    }
    if (list.count == 0) {
        return STORE_NONE;
    }
    enum store_result result = STORE_FAILED;
    if (yes) {
        result = vote_yes(store, identity, &list, now, arena);
    } else if (refuse(store, identity, &list, now, arena)) {
        result = STORE_DONE;
    }
    if (result == STORE_DONE) {
        *ret_request = list.items[0];
        *ret_ended = list.items;
        *ret_ended_count = list.items[0].state == REQUEST_WAITING ? 0 : list.count;
    }
    return result;
}

/* ---- Other ends ---- */

enum store_result store_withdraw(struct store *store, int64_t number, struct arena *arena,
                                 struct request *ret_request)
{
    struct request request;
    if (!store->db.open_transaction) {
        (void)database_fail(&store->db, "a change outside of a transaction");
        return STORE_FAILED;
    }
    enum store_result found = store_find(store, number, arena, &request);
    if (found != STORE_DONE) {
        return found;
    }
    if (request.state != REQUEST_WAITING) {
        return STORE_NONE;
    }
    if (!end_request(store, &request, REQUEST_WITHDRAWN, -1)) {
        return STORE_FAILED;
    }
    *ret_request = request;
    return STORE_DONE;
}

enum store_result store_sweep(struct store *store, struct times now, struct arena *arena,
                              struct request **ret_ended, size_t *ret_count)
{
    struct request_list list = {0};
    if (!may_change(store, now)) {
        return STORE_FAILED;
    }
    struct query query = query_begin(&store->db, SQL_REQUESTS_OVER);
    query_times(&query, store, now);
    if (!requests_read(&query, arena, &list) || !end_all(store, &list, 0, REQUEST_TIMED_OUT, now) ||
        !grants_prune(store, now)) {
        return STORE_FAILED;
    }
    *ret_ended = list.items;
    *ret_count = list.count;
    return STORE_DONE;
}

bool store_sweep_due(struct store *store, struct times now)
{
    if (!times_known(now)) {
        return false; /* nothing is known to be over */
    }
    struct query query = query_begin(&store->db, SQL_ANY_OVER);
    query_times(&query, store, now);
    enum row row = query_step(&query);
    query_end(&query);
    return row != ROW_NONE; /* a failure shows itself in the sweep */
}

/* ---- Reading ---- */

static enum store_result one(enum row row)
{
    return row == ROW_FOUND ? STORE_DONE : row == ROW_NONE ? STORE_NONE : STORE_FAILED;
}

enum store_result store_find(struct store *store, int64_t number, struct arena *arena,
                             struct request *ret_request)
{
    struct query query = query_begin(&store->db, SQL_REQUEST_BY_NUMBER);
    query_int(&query, number);
    return one(request_read(&query, arena, ret_request));
}

enum store_result store_find_code(struct store *store, struct slice code, struct arena *arena,
                                  struct request *ret_request)
{
    char plain[CODE_LENGTH + 1];
    if (!code_valid(code)) {
        return STORE_NONE;
    }
    code_copy(code, plain);
    struct query query = query_begin(&store->db, SQL_REQUEST_BY_CODE);
    query_bytes(&query, slice_of(plain));
    return one(request_read(&query, arena, ret_request));
}

enum store_result store_waiting(struct store *store, struct arena *arena, struct request **ret_requests,
                                size_t *ret_count)
{
    struct request_list list = {0};
    struct query query = query_begin(&store->db, SQL_REQUESTS_WAITING);
    if (!requests_read(&query, arena, &list)) {
        return STORE_FAILED;
    }
    *ret_requests = list.items;
    *ret_count = list.count;
    return STORE_DONE;
}
