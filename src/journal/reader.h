/* Reading a journal: its events one after the other, over all of its parts, narrowed by a filter, and on while it grows.
 *
 * Reads what stands there and verifies nothing: that is journal_verify. SPEC.md section 9. */
#ifndef JOURNAL_READER_H
#define JOURNAL_READER_H

#include "base/buffer.h"
#include "json/json.h"

/* ---- Parts ---- */

/* The files of a journal, oldest first, and last the one that is written to. Owns its texts until journal_parts_finish. */
struct journal_parts {
    const char **files;
    uint64_t *last_seq; /* the number of the last event of each */
    size_t count;
    uint64_t missing; /* the last event of a part that is not there; 0: none is missing */
};

/* Finds the parts of the journal `name` in a directory by what they say of one another, whatever they are called. With
 * none there is one file, `name` itself, there or not. */
MUST_USE bool journal_parts_find(const char *dir, const char *name, struct journal_parts *ret_parts,
                                 struct buf *ret_error);
void journal_parts_finish(struct journal_parts *parts);

/* ---- Events ---- */

/* One event as it stands in the journal. Everything lives until the next one is read. */
struct journal_event {
    struct slice text; /* the line */
    struct json_doc doc;
    bool
        is_decision; /* policy.allow, policy.deny or policy.require, or what an observing gate made of the last
                         two */
    struct slice kind, outcome, rule, reason, ts, tool, server, channel, thread, actor, call_hash;
    const struct json_value *input;       /* NULL: none */
    const struct json_value *annotations; /* of the tool, as judged; NULL: not known, or no rule asked */
    uint64_t seq;                         /* 0: none that could be read */
};

/* The thread of the calls with which `callgate doctor` tries a hook. */
#define JOURNAL_PROBE_THREAD "callgate-doctor"

/* Which events; zero: all. The texts are borrowed. */
struct journal_filter {
    bool decisions, denied;
    bool no_probes;      /* leaves out what `callgate doctor` tried */
    const char *session; /* CHANNEL or CHANNEL/THREAD; NULL: every one */
    const char *since;   /* a time as events have it: those from then on; NULL: all */
    const char *until;   /* those before then; NULL: all */
    uint64_t after_seq;  /* those with a greater number */
};

struct journal_reader;

/* Opens files that are read as one, in this order ("-": standard input). The names are borrowed. NULL with a message. */
MUST_USE struct journal_reader *journal_reader_open(const char *const *files, size_t count,
                                                    const struct journal_filter *filter,
                                                    struct buf *ret_error);
void journal_reader_close(struct journal_reader *reader); /* also of NULL */

/* How many events were left out because they were probes, and nothing else left them out. */
uint64_t journal_reader_probes(const struct journal_reader *reader);

enum journal_read {
    JOURNAL_READ_FAILED = 0, /* with a message that names file and line */
    JOURNAL_READ_END,
    JOURNAL_READ_EVENT,
};

/* The next event that the filter lets through. What other processes write after a file was opened is not read. */
enum journal_read journal_reader_next(struct journal_reader *reader, const struct journal_event **ret_event,
                                      struct buf *ret_error);

/* After the end: looks whether the last file has grown, or another one has its name because it was rotated, so that
 * journal_reader_next may find more. */
MUST_USE bool journal_reader_follow(struct journal_reader *reader, struct buf *ret_error);

/* Passes over the beginning of the file that is open: for a reader that knows where it was. */
void journal_reader_skip(struct journal_reader *reader, uint64_t offset);

/* The same, to the first whole line behind the offset. */
void journal_reader_skip_to_line(struct journal_reader *reader, uint64_t offset);

/* Where in its file the reader stands, and which file that is. */
uint64_t journal_reader_offset(const struct journal_reader *reader);
uint64_t journal_reader_inode(const struct journal_reader *reader);

/* Appends the call of a decision, as `eval` and `explain` read it: what the journal kept of it. */
void journal_event_call(struct buf *buf, const struct journal_event *event);

#endif
