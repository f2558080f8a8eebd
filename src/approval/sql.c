/* Texts are blobs: a NUL is a byte like any other, and SQLite must not compare them in any other way than by
 * bytes.
 *
 * Every row that time ends carries three things: the wall clock, the time since boot, and which boot. What
 * people gave (a grant) is alive only where all three agree; what must not end early (a refusal) is over only
 * by the time since boot. A step of the wall clock can make a grant shorter and never longer, and a refusal
 * neither. */
#include "approval/sql_internal.h"

#define GRANTS_TABLE(name)                                                                                   \
    "CREATE TABLE " name "("                                                                                 \
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"                                                                 \
    " rule BLOB NOT NULL, digest BLOB NOT NULL, channel BLOB NOT NULL, thread BLOB NOT NULL,"                \
    " scope INTEGER NOT NULL, call_hash BLOB NOT NULL, shown BLOB NOT NULL, request INTEGER NOT NULL,"       \
    " granted_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"                                             \
    " granted_boot INTEGER NOT NULL, expires_boot INTEGER NOT NULL, boot_id BLOB NOT NULL"                   \
    ") STRICT;"

/* Small things that others keep here, so that they are written with what they belong to. */
#define KEPT_TABLE                                                                                           \
    "CREATE TABLE kept(name BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;"

const char sql_schema[] =
    "CREATE TABLE request("
    " number INTEGER PRIMARY KEY AUTOINCREMENT," /* never reused: a caller may hold it for long */
    " code BLOB NOT NULL,"
    " state INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " created_boot INTEGER NOT NULL, expires_boot INTEGER NOT NULL, boot_id BLOB NOT NULL,"
    " ended_boot INTEGER,"
    " scope INTEGER NOT NULL, ttl_ms INTEGER NOT NULL, needed INTEGER NOT NULL,"
    " used INTEGER NOT NULL DEFAULT 0," /* its call has run: of an approval for one time */
    " digest BLOB NOT NULL, call_hash BLOB NOT NULL, shown BLOB NOT NULL, holder BLOB NOT NULL, because BLOB,"
    " groups BLOB NOT NULL, client_ms INTEGER NOT NULL DEFAULT 0,"
    " rule BLOB NOT NULL, channel BLOB NOT NULL, thread BLOB NOT NULL,"
    " tool BLOB NOT NULL, server BLOB, actor BLOB NOT NULL,"
    " paths BLOB NOT NULL, input BLOB NOT NULL" /* last: what is before them is read without them */
    ") STRICT;"
    /* The last word on two things, whatever the code above does: a code waits once. */
    "CREATE UNIQUE INDEX request_code ON request(code) WHERE state = 0;"
    "CREATE INDEX request_session ON request(channel, thread) WHERE state = 0;"
    "CREATE INDEX request_ended ON request(number) WHERE state <> 0;"
    /* A person has one vote. */
    "CREATE TABLE vote("
    " number INTEGER NOT NULL, identity BLOB NOT NULL, yes INTEGER NOT NULL, scope INTEGER NOT NULL,"
    " PRIMARY KEY(number, identity)"
    ") STRICT, WITHOUT ROWID;" GRANTS_TABLE(
        "grants") "CREATE INDEX grants_session ON grants(channel, thread);"
                  "CREATE TABLE refusal("
                  " channel BLOB NOT NULL, thread BLOB NOT NULL, call_hash BLOB NOT NULL,"
                  " ttl_ms INTEGER NOT NULL, refused_boot INTEGER NOT NULL, boot_id BLOB NOT NULL"
                  ") STRICT;"
                  "CREATE INDEX refusal_call ON refusal(call_hash);" KEPT_TABLE;

/* The columns that a rule's approval had in the first version are those of every later one; what has come is
 * empty in the rows of before: no holder whose end could withdraw them, no hash of what was shown. */
static const char upgrade_from_1[] =
    "ALTER TABLE request ADD COLUMN scope INTEGER NOT NULL DEFAULT 0;"
    "UPDATE request SET scope = for_call;"
    "ALTER TABLE request DROP COLUMN for_call;"
    "ALTER TABLE request ADD COLUMN used INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE request ADD COLUMN shown BLOB NOT NULL DEFAULT x'';"
    "ALTER TABLE request ADD COLUMN holder BLOB NOT NULL DEFAULT x'';"
    "ALTER TABLE request ADD COLUMN because BLOB;"
    "ALTER TABLE request ADD COLUMN groups BLOB NOT NULL DEFAULT x'';"
    "ALTER TABLE vote ADD COLUMN scope INTEGER NOT NULL DEFAULT 0;" GRANTS_TABLE(
        "grants_new") "INSERT INTO grants_new(rule, digest, channel, thread, scope, call_hash, shown, "
                      "request, granted_ms, expires_ms,"
                      " granted_boot, expires_boot, boot_id)"
                      " SELECT rule, digest, channel, thread, for_call, call_hash, x'', 0, granted_ms, "
                      "expires_ms, granted_boot,"
                      " expires_boot, boot_id FROM grants;"
                      "DROP TABLE grants;"
                      "ALTER TABLE grants_new RENAME TO grants;"
                      "CREATE INDEX grants_session ON grants(channel, thread);" KEPT_TABLE;

/* Until when a client waits is not known of the requests of before. */
static const char upgrade_from_2[] = "ALTER TABLE request ADD COLUMN client_ms INTEGER NOT NULL DEFAULT 0;";

const char *const sql_upgrades[SQL_SCHEMA_VERSION] = {[1] = upgrade_from_1, [2] = upgrade_from_2};

#define COLUMNS                                                                                              \
    "SELECT number, code, state, rule, digest, tool, server, channel, thread, actor, input, paths,"          \
    " call_hash, scope, ttl_ms, needed,"                                                                     \
    " (SELECT count(*) FROM vote WHERE vote.number = request.number AND yes), created_ms, expires_ms, "      \
    "shown,"                                                                                                 \
    " holder, because, used, groups,"                                                                        \
    " (SELECT coalesce(max(vote.scope), 0) FROM vote WHERE vote.number = request.number AND yes),"           \
    " client_ms FROM request "

/* Parameters 1, 2, 3 of what asks for the time: wall clock, time since boot, boot. A request is over by
 * either clock; one that the wall clock says is yet to be made waits on, since time since boot ends it. */
#define WAITS "state = 0 AND ?1 < expires_ms AND ?2 >= created_boot AND ?2 < expires_boot AND boot_id = ?3"
#define OVER                                                                                                 \
    "state = 0 AND NOT (?1 < expires_ms AND ?2 >= created_boot AND ?2 < expires_boot AND boot_id = ?3)"

/* Parameters 1, 2: time since boot, boot. In another boot at least the time since its start has passed. */
#define PASSED "CASE WHEN boot_id = ?2 THEN ?1 - refused_boot >= ttl_ms ELSE ?1 >= ttl_ms END"

#define GRANT                                                                                                \
    "SELECT id, rule, digest, scope, call_hash, shown, request, granted_ms, expires_ms, channel, thread "    \
    "FROM grants "
#define LIVES                                                                                                \
    "?1 >= granted_ms AND ?1 < expires_ms AND ?2 >= granted_boot AND ?2 < expires_boot AND boot_id = ?3"

#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number

const char *const sql_texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_DATA_VERSION] = "PRAGMA data_version",

    [SQL_INSERT_REQUEST] =
        "INSERT INTO request(code, state, rule, digest, tool, server, channel, thread, actor, input, paths,"
        " call_hash, shown, holder, scope, ttl_ms, needed, created_ms, expires_ms, created_boot, "
        "expires_boot,"
        " boot_id, groups, client_ms) VALUES(?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
        "?15, ?16, "
        "?17, ?18,"
        " ?19, ?20, ?21, ?22, ?23)",
    [SQL_REQUEST_BY_NUMBER] = COLUMNS "WHERE number = ?1",
    [SQL_REQUEST_BY_CODE] = COLUMNS "WHERE state = 0 AND code = ?1",
    [SQL_LAST_BY_CODE] = COLUMNS "WHERE code = ?1 ORDER BY state = 0 DESC, number DESC LIMIT 1",
    [SQL_REQUEST_TO_VOTE_ON] = COLUMNS "WHERE " WAITS " AND code = ?4",
    [SQL_REQUEST_LIKE] =
        COLUMNS "WHERE " WAITS " AND rule = ?4 AND digest = ?5 AND channel = ?6 AND thread = ?7"
                " AND call_hash = ?8 AND paths = ?9 AND shown = ?10 AND holder = ?11 ORDER BY number LIMIT 1",
    [SQL_REQUESTS_WAITING] = COLUMNS "WHERE state = 0 ORDER BY number",
    [SQL_REQUESTS_OVER] = COLUMNS "WHERE " OVER " ORDER BY number",
    /* Those that a grant covers, but for calls that were refused: ?8 is whether the grant is for one call, which
     * is told by its hash and by what was shown of it. */
    [SQL_REQUESTS_COVERED] =
        COLUMNS "WHERE " WAITS " AND rule = ?4 AND digest = ?5 AND channel = ?6 AND thread = ?7"
                " AND (NOT ?8 OR (call_hash = ?9 AND shown = ?11)) AND number <> ?10"
                " AND NOT EXISTS(SELECT 1 FROM refusal WHERE refusal.call_hash = request.call_hash"
                " AND refusal.channel = request.channel AND refusal.thread = request.thread"
                " AND NOT CASE WHEN refusal.boot_id = ?3 THEN ?2 - refused_boot >= refusal.ttl_ms"
                " ELSE ?2 >= refusal.ttl_ms END)"
                " ORDER BY number",
    [SQL_REQUESTS_OF_CALL] = COLUMNS "WHERE " WAITS " AND channel = ?4 AND thread = ?5 AND call_hash = ?6"
                                     " AND number <> ?7 ORDER BY number",
    [SQL_REQUESTS_HELD] = COLUMNS "WHERE state = 0 AND holder = ?1 ORDER BY number",
    [SQL_HOLDERS] = "SELECT DISTINCT holder FROM request WHERE state = 0 AND holder <> x''",
    [SQL_COUNT_WAITING] = "SELECT count(*) FROM request WHERE " WAITS " AND channel = ?4 AND thread = ?5",
    [SQL_CODE_TAKEN] = "SELECT 1 FROM request WHERE state = 0 AND code = ?1",
    [SQL_ANY_OVER] = "SELECT 1 FROM request WHERE " OVER " LIMIT 1",
    /* The condition on the state is what makes an end the only one. */
    [SQL_END_REQUEST] = "UPDATE request SET state = ?2, ended_boot = coalesce(?3, created_boot)"
                        " WHERE number = ?1 AND state = 0",
    [SQL_CLIENT_WAITS] = "UPDATE request SET client_ms = ?2 WHERE number = ?1",
    [SQL_SAY_WHY] = "UPDATE request SET because = ?2 WHERE number = ?1",
    [SQL_USE_REQUEST] = "UPDATE request SET used = 1 WHERE number = ?1 AND state = 1 AND used = 0",
    [SQL_PRUNE_REQUESTS] =
        "DELETE FROM request WHERE state <> 0 AND (boot_id <> ?2 OR ?1 - ended_boot >= " TEXT(
            KEPT_ENDS_MS) " OR number <= (SELECT number FROM request WHERE state <> 0 ORDER BY number DESC "
                          "LIMIT 1"
                          " OFFSET " TEXT(KEPT_ENDS) "))",
    [SQL_PRUNE_VOTES] = "DELETE FROM vote WHERE number NOT IN (SELECT number FROM request)",

    [SQL_INSERT_YES] = "INSERT OR IGNORE INTO vote(number, identity, yes, scope) VALUES(?1, ?2, 1, ?3)",
    [SQL_INSERT_NO] = "INSERT OR REPLACE INTO vote(number, identity, yes, scope) VALUES(?1, ?2, 0, 0)",

    [SQL_INSERT_GRANT] =
        "INSERT INTO grants(rule, digest, channel, thread, scope, call_hash, shown, request, granted_ms,"
        " expires_ms, granted_boot, expires_boot, boot_id)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [SQL_GRANTS] = GRANT "WHERE " LIVES " AND channel = ?4 AND thread = ?5 ORDER BY id",
    [SQL_ALL_GRANTS] = GRANT "WHERE " LIVES " ORDER BY id",
    [SQL_GRANT_BY_ID] = GRANT "WHERE " LIVES " AND id = ?4",
    [SQL_DELETE_GRANT] = "DELETE FROM grants WHERE id = ?1",
    [SQL_USE_GRANT] = "DELETE FROM grants WHERE request = ?1 AND scope = 2",
    [SQL_PRUNE_GRANTS] = "DELETE FROM grants WHERE boot_id <> ?2 OR ?1 >= expires_boot",

    [SQL_INSERT_REFUSAL] = "INSERT INTO refusal(channel, thread, call_hash, ttl_ms, refused_boot, boot_id)"
                           " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_REFUSED] = "SELECT 1 FROM refusal WHERE call_hash = ?3 AND channel = ?4 AND thread = ?5"
                    " AND NOT " PASSED " LIMIT 1",
    [SQL_PRUNE_REFUSALS] = "DELETE FROM refusal WHERE " PASSED,

    [SQL_KEEP] = "INSERT OR REPLACE INTO kept(name, value) VALUES(?1, ?2)",
    [SQL_KEPT] = "SELECT value FROM kept WHERE name = ?1",
};
