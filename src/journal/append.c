/* The writer.
 *
 * A commit takes the lock, looks whether the file still is the one of that name and how long it is, reads the
 * tail if another process has moved it, chains what is staged to it, writes it all with one call, flushes if
 * asked, unlocks. The flush is inside the lock: when it fails, what was written can still be taken back,
 * since nobody has chained anything to it.
 *
 * A tail that is not a valid last event is refused, and nothing is changed: neither cut off, since it is
 * evidence, nor continued, since valid events behind it would make it look like an accident of long ago. The
 * calls that could not be journalled are denied until a person has moved the file away. A tail without a line
 * end is a different thing: it is what a crash in the middle of a write leaves, and nothing that it was about
 * has happened. It is cut off and told; if only the line end is missing, that is put in its place. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "journal/event.h"
#include "journal/file.h"
#include "journal/journal.h"
#include "journal/tail.h"

#define TORN_TEXT     2048u /* of a torn line, kept in the event that tells of it */
#define CHAIN_MEMBERS 512u  /* more than the members that the chain adds to the parts of an event */
#define FIRST_STAGED  64u
#define KEPT_MEMORY   ((size_t)1 << 20) /* of a buffer between two commits */

struct journal {
    struct file file;
    enum journal_fsync mode;
    struct line_reader reader;
    struct hasher hasher;
    struct json_doc detail; /* of the event being staged */

    struct buf parts; /* bytes of the staged events */
    struct event_parts *staged;
    size_t count, cap;

    struct buf lines; /* what a commit writes */
    struct buf tail;  /* working room */

    uint64_t end;       /* size of the file after what this process last wrote or read */
    struct chain chain; /* the event that ends there */
    bool dirty;         /* written and not flushed */
    bool broken;        /* the file may hold what should not be there: nothing more is written */
};

/* ---- Staging ---- */

static bool grow_staged(struct journal *journal)
{
    if (journal->count < journal->cap) {
        return true;
    }
    size_t cap = journal->cap == 0 ? FIRST_STAGED : journal->cap * 2;
    struct event_parts *staged = reallocarray(journal->staged, cap, sizeof(*staged));
    if (staged == NULL) {
        return false;
    }
    journal->staged = staged;
    journal->cap = cap;
    return true;
}

bool journal_stage(struct journal *journal, const struct event *event)
{
    struct event_parts parts;
    size_t begin = journal->parts.len;
    if (begin + (journal->count + 2) * CHAIN_MEMBERS > JOURNAL_BATCH_MAX - JOURNAL_LINE_MAX ||
        !grow_staged(journal) || !event_write(&journal->parts, event, &journal->detail, &parts)) {
        return false;
    }
    if (journal->parts.len - begin > JOURNAL_LINE_MAX - CHAIN_MEMBERS) {
        journal->parts.len = begin;
        return false;
    }
    journal->staged[journal->count++] = parts;
    return true;
}

static void forget(struct buf *buf)
{
    buf_reset(buf);
    if (buf->cap > KEPT_MEMORY) {
        buf_finish(buf);
    }
}

void journal_unstage(struct journal *journal)
{
    journal->count = 0;
    forget(&journal->parts);
}

/* ---- The tail ---- */

static bool refuse_tail(const struct journal *journal, const struct journal_fault *fault, struct buf *error)
{
    buf_printf(error,
               "journal '%s': %s (expected %s, found %s): it was changed by something else than callgate, so "
               "nothing is added to it; look at it with 'callgate journal verify', then move it away",
               journal->file.name, fault->reason, fault->expected, fault->actual);
    return false;
}

static bool tail_problem(const struct journal *journal, enum line_result result,
                         const struct journal_fault *fault, struct buf *error)
{
    if (result == LINE_FAULT) {
        return refuse_tail(journal, fault, error);
    }
    buf_printf(error, "journal '%s': cannot read its end: %s", journal->file.name, strerror(errno));
    return false;
}

/* Whether what others appended continues what this process knows. */
static bool check_continuation(struct journal *journal, const struct tail *tail, struct buf *error)
{
    struct journal_fault fault = {0};
    struct line line;
    if (tail->whole < journal->end) {
        fault_set(&fault, "what was written to it has been overwritten", "a line end where one was", "none");
        return refuse_tail(journal, &fault, error);
    }
    if (tail->whole == journal->end) {
        return true; /* nothing but a torn line is new */
    }
    enum line_result result = tail_read_line(journal->file.fd, journal->end, tail->whole, &journal->tail,
                                             &journal->reader, &line, &fault);
    if (result != LINE_OK) {
        return tail_problem(journal, result, &fault, error);
    }
    return line_follows(&line, &journal->chain, &fault) || refuse_tail(journal, &fault, error);
}

/* What a commit found at the end of the file. */
struct ending {
    uint64_t whole, size;         /* a torn line stands between them */
    bool complete;                /* the torn line is a whole event that only lacks its line end */
    struct chain chain;           /* at `whole`, or at the completed line */
    struct event_parts recovered; /* the event that tells of a torn line that is cut off */
    bool has_recovered;
};

/* Stages (in the journal's parts, but not in its list) the event that tells of a torn line. */
static bool stage_recovered(struct journal *journal, struct slice torn, struct ending *ending)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    if (!hash_bytes(torn, hash)) {
        return false;
    }
    hash_to_hex(hash, hex);
    struct buf detail;
    buf_init(&detail, (size_t)8 * TORN_TEXT);
    buf_printf(&detail, "{\"bytes\":%zu,\"sha256\":\"%s\",\"text\":", torn.len, hex);
    json_write_bytes(&detail, (struct slice){torn.ptr, torn.len < TORN_TEXT ? torn.len : TORN_TEXT});
    buf_byte(&detail, '}');
    struct event event = {.kind = "system.recovered", .detail = buf_slice_of(&detail)};
    bool done = buf_ok(&detail) && event_write(&journal->parts, &event, &journal->detail, &ending->recovered);
    buf_finish(&detail);
    ending->has_recovered = done;
    return done;
}

static bool no_memory(const struct journal *journal, struct buf *error)
{
    buf_printf(error, "journal '%s': out of memory", journal->file.name);
    return false;
}

/* Judges what stands behind the last line end. */
static bool look_at_torn(struct journal *journal, const struct tail *tail, struct ending *ending,
                         struct buf *error)
{
    struct journal_fault fault = {0};
    struct line line;
    enum line_result result = tail->torn.len > JOURNAL_LINE_MAX
                                  ? LINE_FAULT
                                  : line_read(&journal->reader, tail->torn, &line, &fault);
    if (result == LINE_UNREAD) {
        return no_memory(journal, error);
    }
    if (result == LINE_OK && tail->chain.seq > 0 && line_follows(&line, &tail->chain, &fault)) {
        ending->complete = true;
        line_advance(&line, &ending->chain);
        return true;
    }
    return stage_recovered(journal, tail->torn, ending) || no_memory(journal, error);
}

/* Brings `ending` up to the file. Under the lock. */
static bool find_ending(struct journal *journal, struct ending *ending, struct buf *error)
{
    uint64_t size;
    struct tail tail;
    struct journal_fault fault = {0};
    if (!file_size(&journal->file, &size, error)) {
        return false;
    }
    *ending = (struct ending){.whole = size, .size = size, .chain = journal->chain};
    if (size < journal->end) {
        buf_printf(error,
                   "journal '%s': is shorter than what was written to it (%" PRIu64
                   " bytes instead of %" PRIu64
                   "), so nothing is added to it; move it away and restart callgate",
                   journal->file.name, size, journal->end);
        return false;
    }
    if (size == journal->end) {
        return true;
    }
    enum line_result result =
        tail_read(journal->file.fd, size, &journal->tail, &journal->reader, &tail, &fault);
    if (result != LINE_OK) {
        return tail_problem(journal, result, &fault, error);
    }
    ending->whole = tail.whole;
    ending->chain = tail.chain;
    if (tail.torn.len > 0 && !look_at_torn(journal, &tail, ending, error)) {
        return false;
    }
    return journal->end == 0 || check_continuation(journal, &tail, error);
}

/* ---- Committing ---- */

static bool add_line(struct journal *journal, const struct event_parts *parts, const char *ts,
                     struct chain *chain)
{
    return event_line(&journal->lines, journal->parts.ptr, parts, ts, &journal->hasher, chain);
}

/* Makes the lines of a commit. The first event of a new file must be its boot, so there it comes before what
 * was recovered; everywhere else the torn line was there first. */
static bool make_lines(struct journal *journal, const struct ending *ending, struct chain *chain,
                       struct buf *error)
{
    int64_t now = clock_wall_ms();
    char ts[CLOCK_ISO_SIZE];
    if (now == INT64_MIN) {
        buf_printf(error, "journal '%s': the clock cannot be read", journal->file.name);
        return false;
    }
    clock_iso8601(now, ts);
    buf_reset(&journal->lines);
    if (ending->complete) {
        buf_byte(&journal->lines, '\n');
    }
    bool done = true;
    size_t next = 0;
    if (chain->seq == 0 && journal->count > 0) {
        done = add_line(journal, &journal->staged[next++], ts, chain);
    }
    if (done && ending->has_recovered) {
        done = add_line(journal, &ending->recovered, ts, chain);
    }
    while (done && next < journal->count) {
        done = add_line(journal, &journal->staged[next++], ts, chain);
    }
    return (done && buf_ok(&journal->lines)) || no_memory(journal, error);
}

/* Writes the lines, and takes them back if they cannot be flushed. */
static bool write_lines(struct journal *journal, const struct ending *ending, bool flush, struct buf *error)
{
    uint64_t from = ending->complete ? ending->size : ending->whole;
    if (from < ending->size && !file_cut(&journal->file, from, error)) {
        return false;
    }
    if (!file_append(&journal->file, from, buf_slice_of(&journal->lines), &journal->broken, error)) {
        return false;
    }
    if (flush && !file_flush(&journal->file, error)) {
        /* After a failed flush the kernel may call the next one good although the bytes are gone. */
        journal->broken = true;
        struct buf ignored;
        buf_init(&ignored, 512);
        (void)!file_cut(&journal->file, from, &ignored);
        buf_finish(&ignored);
        return false;
    }
    journal->dirty = journal->mode == JOURNAL_FSYNC_BATCH && !flush;
    journal->end = from + journal->lines.len;
    return true;
}

static bool commit_locked(struct journal *journal, struct ending *ending, bool flush, struct buf *error)
{
    struct chain chain = ending->chain;
    if (!make_lines(journal, ending, &chain, error) || !write_lines(journal, ending, flush, error)) {
        return false;
    }
    journal->chain = chain;
    return true;
}

static bool must_flush(const struct journal *journal, bool flush)
{
    return journal->mode == JOURNAL_FSYNC_ALWAYS || (flush && journal->mode != JOURNAL_FSYNC_NEVER);
}

static bool is_broken(const struct journal *journal, struct buf *error)
{
    if (journal->broken) {
        buf_printf(error,
                   "journal '%s': an earlier write failed and its end is not certain; restart callgate",
                   journal->file.name);
    }
    return journal->broken;
}

bool journal_commit(struct journal *journal, bool flush, struct buf *ret_error)
{
    struct ending ending;
    if (journal->count == 0) {
        return !is_broken(journal, ret_error) &&
               (!must_flush(journal, flush) || journal_flush(journal, ret_error));
    }
    bool done = !is_broken(journal, ret_error) && file_lock(&journal->file, ret_error);
    if (done) {
        done = find_ending(journal, &ending, ret_error) &&
               commit_locked(journal, &ending, must_flush(journal, flush), ret_error);
        file_unlock(&journal->file);
    }
    journal_unstage(journal);
    forget(&journal->lines);
    forget(&journal->tail);
    return done;
}

bool journal_needs_flush(const struct journal *journal)
{
    return journal->dirty;
}

bool journal_flush(struct journal *journal, struct buf *ret_error)
{
    if (!journal->dirty) {
        return true;
    }
    if (!file_flush(&journal->file, ret_error)) {
        journal->broken = true;
        return false;
    }
    journal->dirty = false;
    return true;
}

/* ---- Opening ---- */

/* The detail of system.boot; with an anchor in a new file, whose text's hash the chain begins with. */
static bool boot_detail(struct buf *detail, struct slice given, bool first, struct chain *chain)
{
    uint8_t random[HASH_SIZE], hash[HASH_SIZE];
    char anchor[HASH_HEX + 1];
    if (!first) {
        buf_slice(detail, given);
        return true;
    }
    if (!random_bytes(random, sizeof(random))) {
        return false;
    }
    hash_to_hex(random, anchor);
    if (!hash_bytes(slice_of(anchor), hash)) {
        return false;
    }
    hash_to_hex(hash, chain->hash);
    buf_printf(detail, "{\"anchor\":\"%s\"", anchor);
    if (given.len > 2) {
        buf_byte(detail, ',');
        buf_slice(detail, slice_from(given, 1));
    } else {
        buf_byte(detail, '}');
    }
    return true;
}

static bool stage_boot(struct journal *journal, struct slice given, struct ending *ending, struct buf *error)
{
    struct buf detail;
    buf_init(&detail, LIMIT_MESSAGE_BYTES);
    bool made = boot_detail(&detail, given, ending->chain.seq == 0, &ending->chain);
    struct event event = {.kind = "system.boot", .detail = buf_slice_of(&detail)};
    bool staged = made && buf_ok(&detail) && journal_stage(journal, &event);
    buf_finish(&detail);
    if (!staged) {
        buf_printf(error, "journal '%s': cannot make its first event (memory, random bytes or its detail)",
                   journal->file.name);
    }
    return staged;
}

static bool open_locked(struct journal *journal, struct slice detail, struct buf *error)
{
    struct ending ending;
    if (!find_ending(journal, &ending, error)) {
        return false;
    }
    bool first = ending.chain.seq == 0;
    /* A new file's anchor must not be lost; a later boot is an event like any other. */
    bool flush = must_flush(journal, first);
    if (!first && detail.ptr == NULL) {
        return true; /* no boot is told; the first commit reads the tail anew */
    }
    if (!stage_boot(journal, detail, &ending, error) || !commit_locked(journal, &ending, flush, error)) {
        return false;
    }
    return !first || !flush || file_flush_dir(&journal->file, error);
}

struct journal *journal_open(int state_fd, const char *name, enum journal_fsync mode, struct slice detail,
                             struct buf *ret_error)
{
    struct journal *journal = calloc(1, sizeof(*journal));
    if (journal == NULL) {
        buf_text(ret_error, "journal: out of memory");
        return NULL;
    }
    journal->mode = mode;
    journal->file = (struct file){.dir = -1, .fd = -1};
    json_init(&journal->detail);
    /* Staging keeps below JOURNAL_BATCH_MAX; an event of the journal's own may come on top. */
    buf_init(&journal->parts, (size_t)2 * JOURNAL_BATCH_MAX);
    buf_init(&journal->lines, (size_t)2 * JOURNAL_BATCH_MAX);
    buf_init(&journal->tail, (size_t)2 * JOURNAL_BATCH_MAX);
    line_reader_init(&journal->reader);
    bool done = file_open(&journal->file, state_fd, name, ret_error) && file_lock(&journal->file, ret_error);
    if (done) {
        done = open_locked(journal, detail, ret_error);
        file_unlock(&journal->file);
    }
    if (!done) {
        journal->dirty = false;
        journal_close(journal);
        return NULL;
    }
    journal_unstage(journal);
    return journal;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL) {
        return;
    }
    struct buf ignored;
    buf_init(&ignored, 1024);
    (void)!journal_flush(journal, &ignored);
    buf_finish(&ignored);
    file_close(&journal->file);
    line_reader_finish(&journal->reader);
    json_finish(&journal->detail);
    buf_finish(&journal->parts);
    buf_finish(&journal->lines);
    buf_finish(&journal->tail);
    free(journal->staged);
    free(journal);
}
