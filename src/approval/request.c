/* Requests as rows. */
#include "approval/internal.h"

#include <string.h>

const char *request_state_name(enum request_state state)
{
    switch (state) {
    case REQUEST_WAITING:
        return "waiting";
    case REQUEST_APPROVED:
        return "approved";
    case REQUEST_REFUSED:
        return "refused";
    case REQUEST_TIMED_OUT:
        return "timed out";
    case REQUEST_WITHDRAWN:
        return "withdrawn";
    }
    return "unknown";
}

void query_times(struct query *query, const struct store *store, struct times now)
{
    query_int(query, now.wall_ms);
    query_int(query, now.boot_ms);
    query_bytes(query, store_boot(store));
}

static struct slice copy_column(struct query *query, int column, struct arena *arena)
{
    struct slice bytes = query_column_bytes(query, column);
    return bytes.ptr == NULL ? bytes : arena_copy(arena, bytes);
}

static bool copy_hash(struct query *query, int column, uint8_t hash[APPROVAL_HASH])
{
    struct slice bytes = query_column_bytes(query, column);
    if (bytes.len != APPROVAL_HASH) {
        return false;
    }
    memcpy(hash, bytes.ptr, APPROVAL_HASH);
    return true;
}

bool copy_shown(struct query *query, int column, uint8_t hash[APPROVAL_HASH])
{
    if (query_column_bytes(query, column).len == 0) {
        memset(hash, 0, APPROVAL_HASH); /* of the first version, which did not keep it */
        return true;
    }
    return copy_hash(query, column, hash);
}

enum approval_scope scope_of(int64_t value)
{
    return value <= APPROVAL_SESSION ? APPROVAL_SESSION
           : value == APPROVAL_CALL  ? APPROVAL_CALL
                                     : APPROVAL_ONCE;
}

const char *approval_scope_name(enum approval_scope scope)
{
    static const char *const names[] = {"session", "call", "once"};
    return names[scope_of(scope)];
}

/* The columns in the order of COLUMNS in sql.c. */
enum {
    NUMBER,
    CODE,
    STATE,
    RULE,
    DIGEST,
    TOOL,
    SERVER,
    CHANNEL,
    THREAD,
    ACTOR,
    INPUT,
    PATHS,
    CALL_HASH,
    SCOPE,
    TTL,
    NEEDED,
    GIVEN,
    CREATED,
    EXPIRES,
    SHOWN,
    HOLDER,
    BECAUSE,
    USED,
    GROUPS,
    NARROWED,
    CLIENT
};

/* False: no memory, or a row that the store did not
 * write. */
static bool read_row(struct query *query, struct arena *arena, struct request *request)
{
    struct slice code = query_column_bytes(query, CODE);
    int64_t state = query_column_int(query, STATE);
    if (!code_valid(code) || state < REQUEST_WAITING || state > REQUEST_WITHDRAWN) {
        return false;
    }
    *request = (struct request){
        .number = query_column_int(query, NUMBER),
        .state = (enum request_state)state,
        .rule = copy_column(query, RULE, arena),
        .tool = copy_column(query, TOOL, arena),
        .server = copy_column(query, SERVER, arena),
        .channel = copy_column(query, CHANNEL, arena),
        .thread = copy_column(query, THREAD, arena),
        .actor = copy_column(query, ACTOR, arena),
        .input = copy_column(query, INPUT, arena),
        .paths = copy_column(query, PATHS, arena),
        .scope = scope_of(query_column_int(query, SCOPE)),
        .narrowed = scope_of(query_column_int(query, NARROWED)),
        .holder = copy_column(query, HOLDER, arena),
        .because = copy_column(query, BECAUSE, arena),
        .groups = copy_column(query, GROUPS, arena),
        .used = query_column_int(query, USED) != 0,
        .ttl_ms = (uint32_t)query_column_int(query, TTL),
        .needed = (uint32_t)query_column_int(query, NEEDED),
        .given = (uint32_t)query_column_int(query, GIVEN),
        .created_ms = query_column_int(query, CREATED),
        .expires_ms = query_column_int(query, EXPIRES),
        .client_ms = query_column_int(query, CLIENT),
    };
    request->narrowed = request->narrowed > request->scope ? request->narrowed : request->scope;
    memcpy(request->code, code.ptr, CODE_LENGTH);
    bool copied = request->rule.ptr != NULL && request->tool.ptr != NULL && request->channel.ptr != NULL &&
                  request->thread.ptr != NULL && request->actor.ptr != NULL && request->input.ptr != NULL &&
                  request->paths.ptr != NULL && request->holder.ptr != NULL && request->groups.ptr != NULL &&
                  (request->because.ptr != NULL || query_column_is_null(query, BECAUSE)) &&
                  (request->server.ptr != NULL || query_column_is_null(query, SERVER));
    return copied && copy_hash(query, DIGEST, request->rule_digest) &&
           copy_hash(query, CALL_HASH, request->call_hash) && copy_shown(query, SHOWN, request->shown);
}

static bool list_add(struct request_list *list, struct arena *arena, const struct request *request)
{
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 8 : list->cap * 2;
        struct request *items = arena_array(arena, cap, sizeof(*items));
        if (items == NULL) {
            return false;
        }
        if (list->count > 0) {
            memcpy(items, list->items, list->count * sizeof(*items));
        }
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = *request;
    return true;
}

bool requests_read(struct query *query, struct arena *arena, struct request_list *list)
{
    enum row row;
    struct request request;
    while ((row = query_step(query)) == ROW_FOUND) {
        if (!read_row(query, arena, &request) || !list_add(list, arena, &request)) {
            row = ROW_FAILED;
            (void)database_fail(query->db, "out of memory, or one of its rows is damaged");
            break;
        }
    }
    query_end(query);
    return row == ROW_NONE;
}

enum row request_read(struct query *query, struct arena *arena, struct request *ret_request)
{
    struct request_list list = {0};
    if (!requests_read(query, arena, &list)) {
        return ROW_FAILED;
    }
    if (list.count == 0) {
        return ROW_NONE;
    }
    *ret_request = list.items[0];
    return ROW_FOUND;
}
