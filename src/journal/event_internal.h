/* An event on its way to a line, inside this room.
 *
 * Most of a line does not depend on its place in the chain. event_write makes those parts when the event is
 * staged, so that under the lock of a commit only copying and hashing are left. Members stand in RFC 8785's
 * order:
 *
 *   { actor callHash correlationId detail | hash | input kind outcome paths | prevHash | reason ruleId | seq
 * | server sessionKey toolName | ts v }
 */
#ifndef JOURNAL_EVENT_INTERNAL_H
#define JOURNAL_EVENT_INTERNAL_H

#include "journal/hash_internal.h"
#include "journal/journal.h"

#define EVENT_PARTS 4

/* The parts of one event between the members that the chain gives, one behind the other from `at`. */
struct event_parts {
    size_t at;
    size_t len[EVENT_PARTS];
};

/* Where a chain stands: its last event. seq 0: none yet, and `hash` is the SHA-256 of the anchor. */
struct chain {
    uint64_t seq;
    char hash[HASH_HEX + 1];
};

/* Appends the parts to buf. `doc` is only used for the detail and may be used again. On failure (memory,
 * ceiling, a detail that is not one JSON value) buf is as before. */
MUST_USE bool event_write(struct buf *buf, const struct event *event, struct json_doc *doc,
                          struct event_parts *ret_parts);

/* Appends the line of an event, with its line end, as the next of the chain, and moves the chain on.
 * `parts_bytes` is what event_write filled. On failure the chain has not moved. */
MUST_USE bool event_line(struct buf *buf, const char *parts_bytes, const struct event_parts *parts,
                         const char *ts, struct hasher *hasher, struct chain *chain);

#endif
