/* Request ids, and the table of requests that wait for an answer.
 *
 * Ids are compared by value: 1, 1.0 and 1e0 are one id, "1" is another. A table owns copies of its ids. */
#ifndef MCP_ID_INTERNAL_H
#define MCP_ID_INTERNAL_H

#include "json/json.h"

enum id_kind {
    ID_NONE = 0, /* absent, or not readable as an id: written as null */
    ID_NUMBER,
    ID_STRING,
    ID_RAW, /* no id, but what stood in its place: good for an answer to whoever sent it, and nothing else */
};

#define ID_NUMBER_MAX ((int64_t)1 << 53)

struct id {
    enum id_kind kind;
    int64_t number;
    struct slice text; /* decoded, or as it stood; borrowed */
};

/* The id that a JSON value is: a string, or a whole number within ±2^53. False for anything else. */
MUST_USE bool id_read(const struct json_value *value, struct id *ret_id);

/* A text in the place of an id is no longer than this, or is not told. */
#define ID_RAW_MOST 256u

/* Takes a string in the place of an id as it is written, quotes included, for ID_RAW, though no reader takes
 * it. False for what is no string. */
MUST_USE bool id_take_raw(struct slice text, struct id *ret_id);

/* The id of a value, or what stands in its place, for an answer: a number that is none (13.5) is ID_RAW. False
 * for a value that no client can take for an id. */
MUST_USE bool id_to_answer(const struct json_doc *doc, const struct json_value *value, struct id *ret_id);

/* Appends an id as JSON; null for ID_NONE. What no JSON text may hold is made visible. */
void id_write(struct buf *buf, const struct id *id);

/* Whether a string is the text of a number that is an id, as it is written without exponent, fraction and
 * leading zeros: what a server makes of a number that it keeps as a string. */
MUST_USE bool id_text_is_number(struct slice text, int64_t *ret_number);

#define ID_NUMBER_TEXT 24 /* bytes of such a text, with a NUL */

/* ---- Requests without an answer ---- */

enum ids_state {
    IDS_SENT,      /* handed on; an answer is due */
    IDS_CANCELLED, /* handed on, then cancelled: an answer may come or not */
    IDS_HELD,      /* waits for people; the other side has not seen it */
};

/* What a request of the client is, beyond a request. */
enum request_use {
    USE_NONE = 0,
    USE_LIST_FIRST, /* asks for the first page of the server's tools */
    USE_LIST_MORE,  /* for a later one */
    USE_OWN_LIST,   /* the gate asks by itself: the client sees nothing of it */
};

struct ids_entry {
    struct ids_entry *next; /* of its slot */
    uint32_t hash;
    enum ids_state state;
    struct id id; /* text is behind the entry */
    void *held;   /* what waits, for IDS_HELD; the caller's */
    uint8_t use;  /* enum request_use, of the client's */
    void *sent;   /* malloc'd: what is to be said when the answer comes; the entry's own. May be NULL */
};

/* More requests, or longer ids, than any real client has open. */
#define IDS_MOST  65536u
#define IDS_BYTES ((size_t)16 << 20)

struct ids {
    struct ids_entry **slots;
    uint32_t count, slot_count; /* slot_count is a power of two */
    uint32_t first;             /* no slot before this one is used */
    size_t bytes;               /* of the texts */
};

void ids_init(struct ids *ids);
void ids_finish(struct ids *ids);

/* The entry of an id, or NULL. */
struct ids_entry *ids_find(const struct ids *ids, const struct id *id);

/* Adds an id that is not in the table. At a ceiling, cancelled ones make room. NULL when there is no room or
 * no memory. */
MUST_USE struct ids_entry *ids_add(struct ids *ids, const struct id *id, enum ids_state state);

void ids_remove(struct ids *ids, struct ids_entry *entry);

/* Some entry, or NULL when there is none: for ending all. */
struct ids_entry *ids_any(struct ids *ids);

#endif
