/* Every statement of the store, by name. Inside this room. */
#ifndef APPROVAL_SQL_INTERNAL_H
#define APPROVAL_SQL_INTERNAL_H

/* How many old ends are kept, for those who still ask how a request ended. The record is the journal. */
#define KEPT_ENDS    1000
#define KEPT_ENDS_MS 3600000

enum sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_DATA_VERSION,

    SQL_INSERT_REQUEST,
    SQL_REQUEST_BY_NUMBER,
    SQL_REQUEST_BY_CODE,
    SQL_LAST_BY_CODE,
    SQL_REQUEST_TO_VOTE_ON,
    SQL_REQUEST_LIKE,
    SQL_REQUESTS_WAITING,
    SQL_REQUESTS_OVER,
    SQL_REQUESTS_COVERED,
    SQL_REQUESTS_OF_CALL,
    SQL_REQUESTS_HELD,
    SQL_HOLDERS,
    SQL_COUNT_WAITING,
    SQL_CODE_TAKEN,
    SQL_ANY_OVER,
    SQL_END_REQUEST,
    SQL_CLIENT_WAITS,
    SQL_SAY_WHY,
    SQL_USE_REQUEST,
    SQL_PRUNE_REQUESTS,
    SQL_PRUNE_VOTES,

    SQL_INSERT_YES,
    SQL_INSERT_NO,

    SQL_INSERT_GRANT,
    SQL_GRANTS,
    SQL_ALL_GRANTS,
    SQL_GRANT_BY_ID,
    SQL_DELETE_GRANT,
    SQL_USE_GRANT,
    SQL_PRUNE_GRANTS,

    SQL_INSERT_REFUSAL,
    SQL_REFUSED,
    SQL_PRUNE_REFUSALS,

    SQL_KEEP,
    SQL_KEPT,

    SQL_COUNT, /* not a statement */
};

extern const char *const sql_texts[SQL_COUNT];

/* Makes the tables of a new store. */
extern const char sql_schema[];
#define SQL_SCHEMA_VERSION 3

/* sql_upgrades[N] makes of a store of version N one of version N + 1. */
extern const char *const sql_upgrades[SQL_SCHEMA_VERSION];

#endif
