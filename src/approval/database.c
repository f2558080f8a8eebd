/* The one place that knows SQLite: a connection, its statements, its transaction. */
#include "approval/database_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"

#define PATH_ROOM     (PATH_MAX + 64)
#define BUSY_PAUSE_MS 2
#define SUFFIX_ROOM   16 /* for the names of SQLite's own files beside it */

/* What went wrong, and what to do. Never sqlite3_errmsg: it may quote what it was given. */
static void explain(struct database *db, const char *what, int code)
{
    const char *next_step = "";
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        next_step = "; another process has held its lock for too long";
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        next_step = "; it is damaged: move it away, a new one is made at the next start";
        break;
    case SQLITE_FULL:
        next_step = "; make room on its disk";
        break;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        next_step = "; it must be writable for this user";
        break;
    default:
        break;
    }
    (void)snprintf(db->error, sizeof(db->error), "the store of approvals: cannot %s: %s%s", what,
                   sqlite3_errstr(code), next_step);
}

bool database_fail(struct database *db, const char *message)
{
    (void)snprintf(db->error, sizeof(db->error), "the store of approvals: %s", message);
    db->spoilt = true;
    return false;
}

/* ---- Files ---- */

/* A file that is not there is as good as one that is ours. */
static bool check_file(struct database *db, const char *path, bool *ret_exists)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        *ret_exists = false;
        return errno == ENOENT || database_fail(db, "one of its files cannot be looked at");
    }
    *ret_exists = true;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 07777) != 0600) {
        return database_fail(
            db, "one of its files (approvals.db, -wal, -shm) is not a regular file of this user's "
                "with mode 0600: look at who changed it, then 'chmod 600' it or move it away");
    }
    return true;
}

/* SQLite would make the file with the umask's mode, and gives -wal and -shm the mode of the file. It must not
 * be opened here once it exists: closing a descriptor drops the locks of every connection of this process. */
static bool prepare_files(struct database *db, const char *path)
{
    static const char *const others[] = {"-wal", "-shm", "-journal"};
    char other[PATH_ROOM];
    bool exists;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        (void)snprintf(other, sizeof(other), "%s%s", path, others[i]);
        if (!check_file(db, other, &exists)) {
            return false;
        }
    }
    if (!check_file(db, path, &exists)) {
        return false;
    }
    if (exists) {
        return true;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        /* Another process was quicker: then it is to be checked like any other. */
        return errno == EEXIST ? check_file(db, path, &exists)
                               : database_fail(db, "cannot make its file in the state directory");
    }
    bool done = fchmod(fd, 0600) == 0;
    (void)close(fd);
    return done || database_fail(db, "cannot set the mode of its file");
}

/* ---- Opening ---- */

static bool exec(struct database *db, const char *sql, const char *what)
{
    int code = sqlite3_exec(db->connection, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK) {
        explain(db, what, code);
    }
    return code == SQLITE_OK;
}

/* Switching a new file to WAL asks for a lock that no busy handler waits for. */
static bool use_wal(struct database *db)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int code = SQLITE_BUSY;
    for (int i = 0; i < DATABASE_WAIT_MS / 5 && (code & 0xFF) == SQLITE_BUSY; i++) {
        if (i > 0) {
            (void)nanosleep(&pause, NULL);
        }
        sqlite3_stmt *st = NULL;
        code = sqlite3_prepare_v2(db->connection, "PRAGMA journal_mode = WAL", -1, &st, NULL);
        if (code == SQLITE_OK) {
            code = sqlite3_step(st);
        }
        const unsigned char *mode = code == SQLITE_ROW ? sqlite3_column_text(st, 0) : NULL;
        bool wal = mode != NULL && strcmp((const char *)mode, "wal") == 0;
        (void)sqlite3_finalize(st);
        if (wal) {
            return true;
        }
        code = code == SQLITE_ROW ? SQLITE_PROTOCOL : code;
    }
    explain(db, "use it together with other processes", code);
    return false;
}

static bool read_version(struct database *db, int64_t *ret_version)
{
    sqlite3_stmt *st = NULL;
    int code = sqlite3_prepare_v2(db->connection, "PRAGMA user_version", -1, &st, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(st);
    }
    if (code == SQLITE_ROW) {
        *ret_version = sqlite3_column_int64(st, 0);
    } else {
        explain(db, "read it", code);
    }
    (void)sqlite3_finalize(st);
    return code == SQLITE_ROW;
}

static bool set_version(struct database *db)
{
    char text[48];
    (void)snprintf(text, sizeof(text), "PRAGMA user_version = %d", SQL_SCHEMA_VERSION);
    return exec(db, text, "make its tables");
}

/* Makes the tables of a new store, or of an older one those of this version, step by step. */
static bool make_tables(struct database *db, int64_t version)
{
    if (version == 0) {
        return exec(db, sql_schema, "make its tables") && set_version(db);
    }
    for (int64_t from = version; from < SQL_SCHEMA_VERSION; from++) {
        if (!exec(db, sql_upgrades[from], "bring its tables to this version")) {
            return false;
        }
    }
    return set_version(db);
}

static bool is_ours(struct database *db, int64_t version)
{
    if (version > SQL_SCHEMA_VERSION) {
        return database_fail(db, "was made by a newer version of callgate: use that one here (see `callgate "
                                 "--version`), or give this one another --state");
    }
    return version >= 0 ||
           database_fail(db, "is damaged, it says a version that none has: move it away, a new one "
                             "is made at the next start");
}

/* Makes the tables, or brings them to this version, once, whoever comes first: all of it or nothing. */
static bool use_schema(struct database *db)
{
    int64_t version = -1;
    if (!read_version(db, &version) || !is_ours(db, version)) {
        return false;
    }
    if (version == SQL_SCHEMA_VERSION) {
        return true;
    }
    if (!database_begin(db)) {
        return false;
    }
    bool made = read_version(db, &version) && is_ours(db, version) &&
                (version == SQL_SCHEMA_VERSION || make_tables(db, version));
    if (made && database_commit(db)) {
        return true;
    }
    database_rollback(db);
    return false;
}

/* synchronous = FULL: a commit is on the disk when it is told. People answer at their own pace, so its price
 * does not matter; a refusal that a power cut takes back would. */
static const char settings[] = "PRAGMA synchronous = FULL;"
                               "PRAGMA temp_store = MEMORY;" /* no variable names a directory for its files */
                               "PRAGMA journal_size_limit = 4194304;"
                               "PRAGMA cell_size_check = ON;";

/* SQLite's own handler sleeps for up to 100 ms, in which others take the lock a hundred times. */
static int wait_for_lock(void *context, int count)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_MS * 1000000};
    (void)context;
    (void)nanosleep(&pause, NULL);
    return count < DATABASE_WAIT_MS / BUSY_PAUSE_MS;
}

static bool open_connection(struct database *db, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW;
    int code = sqlite3_open_v2(path, &db->connection, flags, NULL);
    if (code != SQLITE_OK) {
        explain(db, "open it", code);
        return false;
    }
    (void)sqlite3_extended_result_codes(db->connection, 1);
    (void)sqlite3_busy_handler(db->connection, wait_for_lock, NULL);
    int was;
    if (sqlite3_db_config(db->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, &was) != SQLITE_OK ||
        sqlite3_db_config(db->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &was) != SQLITE_OK) {
        return database_fail(db, "SQLite is too old for it");
    }
    return exec(db, settings, "set it up") && use_wal(db) && use_schema(db);
}

bool database_open(struct database *db, const char *dir, const char *name, struct buf *ret_error)
{
    char path[PATH_ROOM];
    *db = (struct database){.dir = -1};
    /* NOFOLLOW refuses a link anywhere in the path; those above the state directory are the caller's. */
    char *real = realpath(dir, NULL);
    int length = real == NULL ? -1 : snprintf(path, sizeof(path), "%s/%s", real, name);
    bool done = length >= 0 && (size_t)length + SUFFIX_ROOM < sizeof(path);
    if (!done) {
        (void)database_fail(db, "its directory cannot be found");
    } else {
        db->dir = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        done = prepare_files(db, path) && open_connection(db, path);
    }
    free(real);
    /* What ends a change must not need memory then. */
    done = done && query_begin(db, SQL_COMMIT).st != NULL && query_begin(db, SQL_ROLLBACK).st != NULL;
    if (done) {
        db->data_version = -1;
        (void)database_changed(db);
        db->error[0] = '\0';
        db->spoilt = false;
    } else {
        buf_text(ret_error, db->error);
        database_close(db);
    }
    return done;
}

void database_close(struct database *db)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        (void)sqlite3_finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
    (void)sqlite3_close(db->connection);
    db->connection = NULL;
    if (db->dir >= 0) {
        (void)close(db->dir);
        db->dir = -1;
    }
}

/* ---- Copies ---- */

/* The source is read as it is committed, also while a transaction of another connection is open. */
bool database_copy(struct database *db, const char *path)
{
    sqlite3 *copy = NULL;
    int code = SQLITE_CANTOPEN;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
        code = sqlite3_open_v2(path, &copy,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    }
    sqlite3_backup *backup =
        code == SQLITE_OK ? sqlite3_backup_init(copy, "main", db->connection, "main") : NULL;
    if (backup != NULL) {
        code = sqlite3_backup_step(backup, -1);
        int ended = sqlite3_backup_finish(backup);
        code = code == SQLITE_DONE ? ended : code;
    } else if (code == SQLITE_OK) {
        code = sqlite3_errcode(copy);
    }
    int closed = sqlite3_close(copy);
    code = code == SQLITE_OK ? closed : code;
    if (code != SQLITE_OK) {
        explain(db, "copy it", code);
    }
    return code == SQLITE_OK;
}

static int note_row(void *context, int count, char **values, char **names)
{
    bool *whole = context;
    (void)names;
    *whole = count == 1 && values[0] != NULL && strcmp(values[0], "ok") == 0;
    return 0;
}

bool database_check(const char *path, struct buf *ret_error)
{
    struct database db = {.connection = NULL};
    int64_t version = -1;
    bool whole = false;
    int code = sqlite3_open_v2(path, &db.connection,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_exec(db.connection, "PRAGMA integrity_check", note_row, &whole, NULL);
    }
    bool ok = code == SQLITE_OK && read_version(&db, &version) && is_ours(&db, version);
    if (code != SQLITE_OK) {
        explain(&db, "check it", code);
    } else if (ok && !whole) {
        ok = database_fail(&db, "is damaged: SQLite's integrity check fails");
    }
    (void)sqlite3_close(db.connection);
    if (!ok) {
        buf_text(ret_error, db.error);
    }
    return ok;
}

/* ---- Statements ---- */

static void note_failure(struct query *query, int code)
{
    query->failed = true;
    explain(query->db, "read or change it", code);
    query->db->spoilt = true;
}

/* After some failures SQLite rolls back by itself; a later change of the same transaction would then stand
 * alone. */
static bool may_use(struct database *db, enum sql sql)
{
    return !db->open_transaction || sql == SQL_ROLLBACK ||
           (!db->spoilt && sqlite3_get_autocommit(db->connection) == 0);
}

struct query query_begin(struct database *db, enum sql sql)
{
    struct query query = {.db = db};
    if (!may_use(db, sql)) {
        query.failed = db->spoilt = true; /* the message is that of the first failure */
        return query;
    }
    if (db->statements[sql] == NULL) {
        int code = sqlite3_prepare_v3(db->connection, sql_texts[sql], -1, SQLITE_PREPARE_PERSISTENT,
                                      &db->statements[sql], NULL);
        if (code != SQLITE_OK) {
            note_failure(&query, code);
        }
    }
    query.st = db->statements[sql];
    return query;
}

static void note_bound(struct query *query, int code)
{
    if (code != SQLITE_OK) {
        note_failure(query, code);
    }
}

void query_int(struct query *query, int64_t value)
{
    if (!query->failed) {
        note_bound(query, sqlite3_bind_int64(query->st, ++query->bound, value));
    }
}

void query_bytes(struct query *query, struct slice bytes)
{
    if (query->failed) {
        return;
    }
    note_bound(query, sqlite3_bind_blob64(query->st, ++query->bound, bytes.len == 0 ? "" : bytes.ptr,
                                          bytes.len, SQLITE_STATIC));
}

void query_null(struct query *query)
{
    if (!query->failed) {
        note_bound(query, sqlite3_bind_null(query->st, ++query->bound));
    }
}

enum row query_step(struct query *query)
{
    if (query->failed) {
        return ROW_FAILED;
    }
    int code = sqlite3_step(query->st);
    if (code == SQLITE_ROW) {
        return ROW_FOUND;
    }
    if (code == SQLITE_DONE) {
        return ROW_NONE;
    }
    note_failure(query, code);
    return ROW_FAILED;
}

int64_t query_column_int(struct query *query, int column)
{
    return sqlite3_column_int64(query->st, column);
}

struct slice query_column_bytes(struct query *query, int column)
{
    const void *bytes = sqlite3_column_blob(query->st, column);
    int len = sqlite3_column_bytes(query->st, column);
    if (bytes == NULL && len == 0 && sqlite3_column_type(query->st, column) == SQLITE_BLOB) {
        return (struct slice){"", 0}; /* SQLite gives NULL for a blob without bytes */
    }
    return (struct slice){bytes, bytes == NULL ? 0 : (size_t)len};
}

bool query_column_is_null(struct query *query, int column)
{
    return sqlite3_column_type(query->st, column) == SQLITE_NULL;
}

void query_end(struct query *query)
{
    if (query->st != NULL) {
        (void)sqlite3_reset(query->st);
        (void)sqlite3_clear_bindings(query->st);
    }
}

bool query_run(struct query *query, int64_t *ret_changed)
{
    bool done = query_step(query) == ROW_NONE;
    if (done && ret_changed != NULL) {
        *ret_changed = sqlite3_changes64(query->db->connection);
    }
    query_end(query);
    return done;
}

int64_t database_last_number(struct database *db)
{
    return sqlite3_last_insert_rowid(db->connection);
}

/* ---- Transactions ---- */

static bool run(struct database *db, enum sql sql)
{
    struct query query = query_begin(db, sql);
    return query_run(&query, NULL);
}

bool database_begin(struct database *db)
{
    if (db->open_transaction) {
        return database_fail(db, "a change is begun twice");
    }
    db->spoilt = false;
    /* Who waits for the lock waits with the turn in hand. Without it a process that commits again and again
     * takes the lock back before a sleeper looks, and on a slow disk the sleeper's call is denied after
     * seconds. A turn that cannot be had costs time and nothing else. */
    bool turn = db->dir >= 0 && lock_within(db->dir, LOCK_EX, DATABASE_WAIT_MS) == 0;
    db->open_transaction = run(db, SQL_BEGIN);
    if (turn) {
        (void)flock(db->dir, LOCK_UN);
    }
    return db->open_transaction;
}

bool database_commit(struct database *db)
{
    if (!db->open_transaction) {
        return database_fail(db, "there is no change to commit");
    }
    if (db->spoilt || !run(db, SQL_COMMIT)) {
        database_rollback(db);
        return false;
    }
    db->open_transaction = false;
    return true;
}

void database_rollback(struct database *db)
{
    if (!db->open_transaction) {
        return;
    }
    /* SQLite may have rolled back by itself; what it says here would hide the cause. */
    if (sqlite3_get_autocommit(db->connection) == 0) {
        char cause[sizeof(db->error)];
        memcpy(cause, db->error, sizeof(cause));
        (void)!run(db, SQL_ROLLBACK);
        memcpy(db->error, cause, sizeof(cause));
    }
    db->open_transaction = false;
    db->spoilt = false;
}

bool database_changed(struct database *db)
{
    struct query query = query_begin(db, SQL_DATA_VERSION);
    int64_t version = query_step(&query) == ROW_FOUND ? query_column_int(&query, 0) : -1;
    query_end(&query);
    bool changed = version < 0 || version != db->data_version;
    db->data_version = version;
    return changed;
}
