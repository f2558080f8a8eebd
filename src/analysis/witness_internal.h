/* Concrete calls for boxes, tried on the real evaluator. For this room only.
 *
 * A box says which calls; this makes one as JSON text, with fresh names where the box is open and a path that
 * does not exist where it asks for one, reads it as the gate would, and evaluates it on every side.
 *
 * Some boxes have arguments that are paths themselves. What decides their calls cannot be read from the box:
 * it depends on the files, on lists, and, since such a call may need a second path as well, on what decides
 * the other one. For them calls are tried: without a further path and with a fresh one, for a tool like no
 * other and for each tool that lists treat apart, and then in the meetings of the box with each rule, and
 * with each two and three when two or three paths are forced, which is every way in which they can be
 * decided. With more forced paths, or too many rules, that is not the whole answer; then the readings are
 * asked one by one, which is on the safe side.
 *
 * Borrows the space; owns the rest until witness_finish. */
#ifndef ANALYSIS_WITNESS_INTERNAL_H
#define ANALYSIS_WITNESS_INTERNAL_H

#include "analysis/space_internal.h"

struct witness {
    struct space *space;
    const struct path_base *base;
    struct call_reader reader;
    struct readings readings; /* of the last side */
    struct readings before;   /* of the one before it: what files the prefixes are is kept with each */
    struct facts facts[SIDES];
    struct json_doc value;
    struct path_resolved *resolved;
    uint32_t *patterns;  /* workspace */
    uint8_t *pair_kinds; /* by symbol of a key or a value: see witness_reads_args */
    struct buf call;     /* the call being tried, as JSON */
    struct buf path, part;
    struct match_arg *args;  /* of meetings */
    size_t forced;           /* the most readings that a call without a further path had */
    struct buf forced_paths; /* of all those calls: each path once, behind each a NUL */
    bool forced_any;         /* one of these readings could not be resolved: it may stop anywhere */
    size_t reading;   /* WITNESS_READING: the place in readings.list of the one that accept is asked about */
    uint32_t profile; /* of the annotations of the call being tried: see hints_internal.h */
    uint8_t hints;    /* those that a rule of some side asks about */
    bool failed;      /* no memory */
    bool unmade;      /* witness_try: some calls were not tried, for want of a name that is like no other */
};

MUST_USE bool witness_init(struct witness *witness, struct space *space, const struct path_base *base);
void witness_finish(struct witness *witness);

/* Whether some argument of the box may be read as a path. */
bool witness_reads_args(struct witness *witness, const struct box *box);

/* Whether a decision of each side is that of a given rule of its flat policy; NOWHERE is content with any. */
struct wanted {
    const struct space *space;
    const uint32_t *rules; /* by side */
};
bool witness_is_wanted(void *wanted, const struct decision *decisions);

/* What is asked about: the calls that are tried, or each reading of each of them as if it were the only one.
 * Where a call must have several readings, what decides it depends on all of them, and so on rules that a box
 * does not know: then a decision of a reading says that a rule may decide calls, and its lack that it decides
 * none. */
enum witness_level { WITNESS_CALL, WITNESS_READING };

/* Tries the calls of a box for a point until `accept` is content; witness->call is that call then. */
typedef bool witness_accept(void *context, const struct decision *decisions);
bool witness_try(struct witness *witness, enum witness_level level, const struct box *box, uint32_t point,
                 witness_accept *accept, void *context);

/* For an accept that is asked about a call: asks another for each of its readings, as if it were the only
 * one. */
bool witness_any_reading(struct witness *witness, witness_accept *accept, void *context);

/* Whether a reading of the call that is tried has the path that a box asks for. */
bool witness_reading_in(struct witness *witness, size_t reading, const struct box *box);

/* The same for calls, and then for those of the meetings of the box with rules of each side, when it has
 * arguments that may be paths. *ret_whole: nothing was found, and no call of the box is otherwise. */
bool witness_search(struct witness *witness, const struct box *box, uint32_t point, witness_accept *accept,
                    void *context, bool *ret_whole);

/* One call of a box for a point, with an argument `key` that not every side reads as a path: a path of the
 * box, or a number, which is no path. False when none could be made or read. */
enum witness_value { WITNESS_PATH, WITNESS_NUMBER };
bool witness_with_key(struct witness *witness, const struct box *box, uint32_t point, struct slice key,
                      enum witness_value value, struct decision *ret_decisions);

/* Room for the pairs of one meeting with up to so many rules at once, for w->args. */
#define WITNESS_MEETINGS_DEEP 3u
size_t witness_meeting_args(const struct space *space);

/* Whether some component of a path has a pattern. */
bool witness_has_component(struct witness *witness, struct slice path, uint32_t pattern);

/* Takes the next path of w->forced_paths, or of a copy, off it; false at its end. */
bool witness_next_path(struct slice *list, struct slice *ret_path);

/* Whether a decision of a side is that of a rule of its flat policy. */
bool witness_is_by(const struct space *space, size_t side, uint32_t rule, const struct decision *decision);

#endif
