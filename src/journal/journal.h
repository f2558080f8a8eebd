/* The journal: an append-only file of events in which each holds the hash of the one before. SPEC.md
 * section 9.
 *
 * One line of RFC 8785 JSON for each event, mode 0600. Several processes may append to one file: a commit
 * locks it, reads the tail if another process moved it, chains its events to it, writes them in one write,
 * and unlocks. A journal owns its descriptor and its staged events until journal_close. Nothing here prints.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "base/random.h"
#include "json/json.h"

/* ---- Hashes (the one place that knows libcrypto) ---- */

#define HASH_SIZE 32
#define HASH_HEX  64

/* SHA-256. False only when libcrypto fails: deny then. */
MUST_USE bool hash_bytes(struct slice bytes, uint8_t ret_hash[HASH_SIZE]);

/* The same piece by piece, for what is too long to be kept. NULL without memory; hash_add and hash_end take
 * that, and hash_end then fails. hash_end gives the stream back. */
struct hash_stream *hash_begin(void);
void hash_add(struct hash_stream *stream, struct slice bytes);
MUST_USE bool hash_end(struct hash_stream *stream, uint8_t ret_hash[HASH_SIZE]);

void hash_to_hex(const uint8_t hash[HASH_SIZE], char ret_hex[HASH_HEX + 1]);
MUST_USE bool hash_from_hex(struct slice hex, uint8_t ret_hash[HASH_SIZE]); /* 64 lower-case digits */

/* ---- Redaction (journal and the surfaces for people show the same) ---- */

/* Limits of what is written of one value. What is cut says how long it was: a string ends in "…[truncated, N
 * bytes]", an array in an element "…[truncated, N elements]", an object has a member "…" with "[truncated, N
 * members]". */
#define REDACT_STRING_MAX 4096u  /* bytes of one string or name, the mark included */
#define REDACT_NUMBER_MAX 1024u  /* digits of one number */
#define REDACT_ITEMS_MAX  512u   /* elements of one array, members of one object, the mark included */
#define REDACT_VALUE_MAX  65536u /* bytes of one value as written; the marks may come on top */

/* Appends the canonical form of a value with secrets replaced and long strings cut: values under names that
 * hold secrets (password, token, authorization, api_key, …: case and separators do not matter) stand as
 * "[redacted]", and texts that look like known credentials (PEM keys, JWTs, cloud and forge tokens, `Bearer
 * …`, user:password@ in URLs, `SECRET=…`, `--password …`) as "[redacted KIND]" wherever they stand. Redacting
 * the result again changes nothing. Linear in the value's size, and quick beyond what is kept. Fails
 * (buf->failed) only for memory or the ceiling. */
void redact_write(struct buf *buf, const struct json_doc *doc, const struct json_value *value);

/* The same with secrets replaced and nothing cut: what a person is shown who answers for it. Linear in the value's
 * size. */
void redact_write_whole(struct buf *buf, const struct json_doc *doc, const struct json_value *value);

/* ---- Events ---- */

/* What applies is set, the rest is zero; an empty text is not written. All borrowed until journal_stage
 * returns. Texts are redacted and cut like the strings of a value; those of the operator or our own (server,
 * rule, actor, correlation id) only cut. */
struct event {
    const char *kind;    /* "policy.allow", "policy.deny", "approval.approved", "system.reload_refused", … */
    const char *outcome; /* "allow", "deny", "require"; NULL: none */
    struct slice tool, server;
    const struct json_doc *input_doc; /* NULL: no input */
    const struct json_value *input;   /* redacted and truncated on the way into the line */
    const struct slice *paths;        /* canonical, as judged; bytes that are not UTF-8 stand as U+FFFD */
    size_t path_count;
    struct slice reason, rule, actor, correlation_id;
    bool has_session; /* channel and thread may be empty strings */
    struct slice channel, thread;
    const uint8_t *call_hash; /* HASH_SIZE bytes */
    /* Texts of one JSON value each; redacted and made canonical on the way; empty: none. `annotations`: what was known of
     * the tool's, where a rule asks. */
    struct slice detail, annotations;
};

/* ---- The writer ---- */

#define JOURNAL_LINE_MAX  (1u << 18) /* bytes of one line: an event that would be longer cannot be staged */
#define JOURNAL_BATCH_MAX (1u << 24) /* bytes of all that is staged */
#define JOURNAL_WAIT_MS   5000       /* how long a commit waits for the lock */

enum journal_fsync {
    JOURNAL_FSYNC_BATCH,  /* written before anything goes on; flushed at least every 100 ms, by journal_flush
                           */
    JOURNAL_FSYNC_ALWAYS, /* flushed before anything goes on */
    JOURNAL_FSYNC_NEVER,
};

struct journal;

/* Opens or makes `name` in the state directory (an open descriptor, which stays the caller's), refuses a file
 * that is not a regular one of this user's with mode 0600, and adds system.boot: the first of a new file
 * carries a random anchor. With boot_detail.ptr NULL (a process that starts no gate) only a new file gets
 * one. A torn last line (a crash in the middle of a write) is cut off under the lock and told in an event
 * `system.recovered` with its length and hash. NULL with a message for people in ret_error.
 */
MUST_USE struct journal *journal_open(int state_fd, const char *name, enum journal_fsync mode,
                                      struct slice boot_detail, struct buf *ret_error);
void journal_close(struct journal *journal); /* flushes; what is staged is lost */

/* Makes an event ready; what was staged before stays staged either way. False when it cannot be (memory, a
 * detail that is not one JSON value, too much staged): the caller denies. */
MUST_USE bool journal_stage(struct journal *journal, const struct event *event);

/* Writes what is staged, in order, and flushes it if `flush` and the mode is not NEVER, or the mode is
 * ALWAYS. On failure nothing of it stays in the file, nothing stays staged, and ret_error says why. */
MUST_USE bool journal_commit(struct journal *journal, bool flush, struct buf *ret_error);

/* Forgets what is staged. */
void journal_unstage(struct journal *journal);

/* Begins a new part: the file gets the name of a part that is over (its own, a point, and the number of its last event),
 * and a new one opens with a boot whose detail names that event; what is staged stands behind it. Other writers go over to
 * the new part by themselves, also when something else (logrotate) has renamed the file. */
MUST_USE bool journal_rotate(struct journal *journal, struct buf *ret_error);

/* From now on a commit that would make the file longer than this begins a new part first; 0: no limit. */
void journal_limit(struct journal *journal, uint64_t max_size);

/* Flushes what was written and not yet flushed; cheap when nothing was. */
MUST_USE bool journal_flush(struct journal *journal, struct buf *ret_error);
bool journal_needs_flush(const struct journal *journal);

/* Where a journal stood: its last event, and the file and the size at which that ended. */
struct journal_place {
    uint64_t seq; /* 0: nowhere */
    char hash[HASH_HEX + 1];
    uint64_t inode, size;
};

/* The event that this process wrote last; seq 0 before it has written one. */
struct journal_place journal_last(const struct journal *journal);

/* Whether the journal `name` in a directory, or a part of it, holds the event of a place. False, with nothing said about
 * that, when it cannot be read. */
MUST_USE bool journal_holds(const char *dir, const char *name, const struct journal_place *place,
                            bool *ret_holds, struct buf *ret_error);

/* ---- The verifier ---- */

struct journal_fault {
    struct slice file; /* borrowed from the caller's names */
    uint64_t line;     /* from 1 */
    uint64_t seq;      /* as written, or 0 */
    const char *reason;
    char expected[160], actual[160];
};

struct journal_report {
    uint64_t events; /* verified, of all files */
    uint64_t last_seq;
    uint64_t
        continues; /* the first file is a part that follows the event of this number; 0: it begins the journal */
    char last_hash[HASH_HEX + 1];
    struct journal_fault fault; /* reason NULL: none */
};

/* Verifies files in order as one chain. `head`, if not empty, is the text of a head kept elsewhere
 * ({"hash":…,"seq":N}): the chain must hold that event. False when a file cannot be read (ret_error). */
MUST_USE bool journal_verify(const char *const *files, size_t count, struct slice head,
                             struct journal_report *ret_report, struct buf *ret_error);

/* Appends {"hash":…,"seq":N,"ts":…} of a journal's last event: what to keep elsewhere. */
MUST_USE bool journal_head(const char *file, struct buf *ret_head, struct buf *ret_error);

#endif
