/* The store: its life, and what becomes of requests. */
#include "approval/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "approval/code_internal.h"

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

bool store_copy(struct store *store, const char *path)
{
    return database_copy(&store->db, path);
}

bool store_copy_check(const char *path, struct buf *ret_error)
{
    return database_check(path, ret_error);
}

bool store_changed(struct store *store)
{
    return database_changed(&store->db);
}

bool store_may_change(struct store *store, struct times now)
{
    if (!store->db.open_transaction) {
        return database_fail(&store->db, "a change outside of a transaction");
    }
    return times_known(now) || database_fail(&store->db, "the clocks cannot be read");
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

static bool add_yes(struct store *store, const struct request *request, const struct vote *vote,
                    bool *ret_new)
{
    int64_t changed = 0;
    struct query query = query_begin(&store->db, SQL_INSERT_YES);
    query_int(&query, request->number);
    query_bytes(&query, vote->identity);
    query_int(&query, vote->scope);
    bool done = query_run(&query, &changed);
    *ret_new = changed == 1;
    return done;
}

/* Ends what the grant of an approved request covers: others too, unless it is for one time. */
static bool end_covered(struct store *store, struct request_list *list, struct times now, struct arena *arena)
{
    const struct request request = list->items[0];
    if (request.narrowed == APPROVAL_ONCE) {
        return end_all(store, list, 0, REQUEST_APPROVED, now);
    }
    struct query query = query_begin(&store->db, SQL_REQUESTS_COVERED);
    query_times(&query, store, now);
    query_bytes(&query, request.rule);
    query_bytes(&query, hash_slice(request.rule_digest));
    query_bytes(&query, request.channel);
    query_bytes(&query, request.thread);
    query_int(&query, request.narrowed == APPROVAL_CALL);
    query_bytes(&query, hash_slice(request.call_hash));
    query_int(&query, request.number);
    query_bytes(&query, hash_slice(request.shown));
    return requests_read(&query, arena, list) && end_all(store, list, 0, REQUEST_APPROVED, now);
}

/* Makes the grant and ends what it covers. `list` holds the request. */
static bool approve(struct store *store, struct request_list *list, struct times now, struct arena *arena)
{
    return end_covered(store, list, now, arena) && grant_make(store, &list->items[0], now);
}

static bool add_no(struct store *store, const struct request *request, const struct vote *vote)
{
    struct query no = query_begin(&store->db, SQL_INSERT_NO);
    query_int(&no, request->number);
    query_bytes(&no, vote->identity);
    if (!query_run(&no, NULL)) {
        return false;
    }
    if (vote->because.len == 0) {
        return true;
    }
    struct query why = query_begin(&store->db, SQL_SAY_WHY);
    query_int(&why, request->number);
    query_bytes(&why, vote->because);
    return query_run(&why, NULL);
}

/* Keeps the call refused, and ends every other request for the same call: whoever answers those would be
 * asked in vain. */
static bool refuse(struct store *store, const struct vote *vote, struct request_list *list, struct times now,
                   struct arena *arena)
{
    if (!add_no(store, &list->items[0], vote)) {
        return false;
    }
    list->items[0].because = vote->because;
    const struct request request = list->items[0];
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
static enum store_result vote_yes(struct store *store, const struct vote *vote, struct request_list *list,
                                  struct times now, struct arena *arena)
{
    bool counts = false;
    struct request *request = &list->items[0];
    if (!add_yes(store, request, vote, &counts)) {
        return STORE_FAILED;
    }
    if (!counts) {
        return STORE_TWICE;
    }
    request->given++;
    request->narrowed = vote->scope > request->narrowed ? vote->scope : request->narrowed;
    if (request->given < request->needed) {
        return STORE_DONE;
    }
    return approve(store, list, now, arena) ? STORE_DONE : STORE_FAILED;
}

/* The waiting request that a vote is for, alone in the list. */
static enum store_result find_voted(struct store *store, const struct vote *vote, struct times now,
                                    struct arena *arena, struct request_list *list)
{
    char plain[CODE_LENGTH + 1];
    if (!store_may_change(store, now)) {
        return STORE_FAILED;
    }
    if (vote->identity.len == 0 || vote->scope < APPROVAL_SESSION || vote->scope > APPROVAL_ONCE) {
        (void)database_fail(&store->db, "a vote needs the name of a person and a scope");
        return STORE_FAILED;
    }
    if (!code_valid(vote->code)) {
        return STORE_NONE;
    }
    code_copy(vote->code, plain);
    struct query query = query_begin(&store->db, SQL_REQUEST_TO_VOTE_ON);
    query_times(&query, store, now);
    query_bytes(&query, slice_of(plain));
    if (!requests_read(&query, arena, list)) {
        return STORE_FAILED;
    }
    return list->count == 0 ? STORE_NONE : STORE_DONE;
}

enum store_result store_vote(struct store *store, const struct vote *vote, struct times now,
                             struct arena *arena, struct request *ret_request, struct request **ret_ended,
                             size_t *ret_ended_count)
{
    struct request_list list = {0};
    enum store_result result = find_voted(store, vote, now, arena, &list);
    if (result == STORE_DONE && vote->yes) {
        result = vote_yes(store, vote, &list, now, arena);
    } else if (result == STORE_DONE) {
        result = refuse(store, vote, &list, now, arena) ? STORE_DONE : STORE_FAILED;
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

enum store_result store_withdraw_held(struct store *store, struct slice holder, struct arena *arena,
                                      struct request **ret_ended, size_t *ret_count)
{
    struct request_list list = {0};
    if (!store->db.open_transaction) {
        (void)database_fail(&store->db, "a change outside of a transaction");
        return STORE_FAILED;
    }
    struct query query = query_begin(&store->db, SQL_REQUESTS_HELD);
    query_bytes(&query, holder);
    if (!requests_read(&query, arena, &list)) {
        return STORE_FAILED;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (!end_request(store, &list.items[i], REQUEST_WITHDRAWN, -1)) {
            return STORE_FAILED;
        }
    }
    *ret_ended = list.items;
    *ret_count = list.count;
    return STORE_DONE;
}

enum store_result store_holders(struct store *store, struct arena *arena, struct slice **ret_holders,
                                size_t *ret_count)
{
    struct slice *holders = NULL;
    size_t count = 0, cap = 0;
    enum row row;
    struct query query = query_begin(&store->db, SQL_HOLDERS);
    while ((row = query_step(&query)) == ROW_FOUND) {
        if (count == cap) {
            cap = cap == 0 ? 8 : cap * 2;
            struct slice *larger = arena_array(arena, cap, sizeof(*larger));
            if (larger == NULL) {
                row = ROW_FAILED;
                break;
            }
            if (count > 0) {
                memcpy(larger, holders, count * sizeof(*larger));
            }
            holders = larger;
        }
        holders[count] = arena_copy(arena, query_column_bytes(&query, 0));
        count++;
    }
    query_end(&query);
    *ret_holders = holders;
    *ret_count = count;
    return row == ROW_NONE ? STORE_DONE : STORE_FAILED;
}

enum store_result store_sweep(struct store *store, struct times now, struct arena *arena,
                              struct request **ret_ended, size_t *ret_count)
{
    struct request_list list = {0};
    if (!store_may_change(store, now)) {
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

static enum store_result find_code(struct store *store, enum sql sql, struct slice code, struct arena *arena,
                                   struct request *ret_request)
{
    char plain[CODE_LENGTH + 1];
    if (!code_valid(code)) {
        return STORE_NONE;
    }
    code_copy(code, plain);
    struct query query = query_begin(&store->db, sql);
    query_bytes(&query, slice_of(plain));
    return one(request_read(&query, arena, ret_request));
}

enum store_result store_find_code(struct store *store, struct slice code, struct arena *arena,
                                  struct request *ret_request)
{
    return find_code(store, SQL_REQUEST_BY_CODE, code, arena, ret_request);
}

enum store_result store_last_of_code(struct store *store, struct slice code, struct arena *arena,
                                     struct request *ret_request)
{
    return find_code(store, SQL_LAST_BY_CODE, code, arena, ret_request);
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

/* ---- Kept for others ---- */

bool store_keep(struct store *store, const char *name, struct slice value)
{
    if (!store->db.open_transaction) {
        return database_fail(&store->db, "a change outside of a transaction");
    }
    struct query query = query_begin(&store->db, SQL_KEEP);
    query_bytes(&query, slice_of(name));
    query_bytes(&query, value);
    return query_run(&query, NULL);
}

bool store_kept(struct store *store, const char *name, struct arena *arena, struct slice *ret_value)
{
    struct query query = query_begin(&store->db, SQL_KEPT);
    query_bytes(&query, slice_of(name));
    enum row row = query_step(&query);
    *ret_value = (struct slice){0};
    if (row == ROW_FOUND) {
        *ret_value = arena_copy(arena, query_column_bytes(&query, 0));
    }
    query_end(&query);
    return row == ROW_NONE || (row == ROW_FOUND && ret_value->ptr != NULL);
}
