/* The id of a line that cannot be read: too long to keep, or not JSON throughout.
 *
 * A scan is fed the line's bytes piece by piece and follows strings and brackets, nothing else. What it finds
 * is good for one purpose: to tell the sender of a request that there is no answer to come. Plain value; owns
 * nothing. */
#ifndef MCP_SCAN_INTERNAL_H
#define MCP_SCAN_INTERNAL_H

#include "mcp/id_internal.h"

#define SCAN_ID_MOST 256 /* a longer id is not told */

enum scan_at {
    SCAN_START, /* before the object */
    SCAN_KEY,   /* a top-level key is next, or being read */
    SCAN_COLON,
    SCAN_VALUE, /* a top-level value is being read */
    SCAN_END,
    SCAN_LOST, /* not an object */
};

struct scan {
    enum scan_at at;
    uint32_t depth;
    bool in_string, escaped;
    bool is_id;                  /* the value being read is the id's */
    bool has_method, has_answer; /* `method`; `result` or `error` */
    unsigned ids;                /* how many members were called `id` */
    bool ids_differ;             /* two of them are not the same text */
    size_t fed;                  /* bytes */
    size_t key_len;
    size_t id_len; /* of the first, without white space around it */
    size_t id_at;  /* its offset among the bytes that were fed */
    size_t same;   /* how much of a later one is the same */
    char key[16];
    char id[SCAN_ID_MOST];
};

void scan_start(struct scan *scan);
void scan_feed(struct scan *scan, struct slice bytes);

/* The id of the object that was fed, read into `doc`; false when there is no one id. The same id may stand
 * there several times. */
MUST_USE bool scan_id(const struct scan *scan, struct json_doc *doc, struct id *ret_id);

/* The same for an answer to whoever sent it: also an id that is none, such as 13.5, as ID_RAW. It borrows
 * from `text`, in which the id stands as it was fed: the bytes that were fed, or scan->id. */
MUST_USE bool scan_id_to_answer(const struct scan *scan, struct slice text, struct json_doc *doc,
                                struct id *ret_id);

#endif
