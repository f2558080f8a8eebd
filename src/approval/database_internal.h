/* SQLite, for the store alone: one connection, its prepared statements, its transaction. Inside this room;
 * database.c is the one place that knows SQLite, sql.c the one that holds SQL.
 *
 * A database owns its connection until database_close. A statement is begun, bound, stepped, read and ended;
 * what it returned is borrowed until the next step or its end. Everything that fails leaves a message in
 * `error`. */
#ifndef APPROVAL_DATABASE_INTERNAL_H
#define APPROVAL_DATABASE_INTERNAL_H

#include "approval/sql_internal.h"
#include "base/buffer.h"

struct sqlite3;
struct sqlite3_stmt;

#define DATABASE_WAIT_MS 5000 /* for a lock that another process holds */

struct database {
    struct sqlite3 *connection;
    int dir; /* its directory, whose lock is the turn of those that wait for the database's */
    struct sqlite3_stmt *statements[SQL_COUNT]; /* prepared when first used */
    bool open_transaction;
    bool spoilt; /* a change of this transaction failed: it cannot be committed */
    int64_t data_version;
    char error[256]; /* for people; holds no text of a call */
};

/* Opens or makes NAME in a directory. NULL with a message in ret_error. */
MUST_USE bool database_open(struct database *db, const char *dir, const char *name, struct buf *ret_error);
void database_close(struct database *db);

MUST_USE bool database_begin(struct database *db);
MUST_USE bool database_commit(struct database *db);
void database_rollback(struct database *db);

/* Copies what is committed into a new file (mode 0600), and proves a file's integrity. */
MUST_USE bool database_copy(struct database *db, const char *path);
MUST_USE bool database_check(const char *path, struct buf *ret_error);

/* Whether another connection has committed since this was last asked; true when that cannot be told. */
bool database_changed(struct database *db);

/* A failure of ours in the middle of a change, which then cannot be committed. Always false. */
bool database_fail(struct database *db, const char *message);

/* ---- Statements ---- */

enum row {
    ROW_FAILED = 0,
    ROW_NONE, /* the statement is done */
    ROW_FOUND,
};

/* A statement in use; st NULL: it failed, and every call below fails or does nothing. */
struct query {
    struct database *db;
    struct sqlite3_stmt *st;
    int bound; /* parameters so far */
    bool failed;
};

struct query query_begin(struct database *db, enum sql sql);
/* Bind the next parameter. Bytes are borrowed until query_end; no bytes are an empty blob, never NULL. */
void query_int(struct query *query, int64_t value);
void query_bytes(struct query *query, struct slice bytes);
void query_null(struct query *query);
MUST_USE enum row query_step(struct query *query);
int64_t query_column_int(struct query *query, int column);
struct slice query_column_bytes(struct query *query, int column); /* ptr NULL: NULL, or no memory */
bool query_column_is_null(struct query *query, int column);
void query_end(struct query *query);

/* For a change: one step, the end; false on failure. ret_changed, if not NULL, is how many rows it changed.
 */
MUST_USE bool query_run(struct query *query, int64_t *ret_changed);

int64_t database_last_number(struct database *db);

#endif
