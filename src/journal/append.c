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
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "journal/append_internal.h"

#define CHAIN_MEMBERS 512u /* more than the members that the chain adds to the parts of an event */
#define FIRST_STAGED  64u
#define KEPT_MEMORY   ((size_t)1 << 20) /* of a buffer between two commits */

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

/* ---- Committing ---- */

static bool add_line(struct journal *journal, const struct event_parts *parts, const char *ts,
                     struct chain *chain)
{
    return event_line(&journal->lines, journal->parts.ptr, parts, ts, &journal->hasher, chain);
}

/* Makes the lines of a commit. The first event of a file must be its boot, so there it comes before what was
 * recovered; everywhere else the torn line was there first. */
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
    if (ending->has_first) {
        done = add_line(journal, &ending->first, ts, chain);
    }
    if (done && ending->has_recovered) {
        done = add_line(journal, &ending->recovered, ts, chain);
    }
    for (size_t i = 0; done && i < journal->count; i++) {
        done = add_line(journal, &journal->staged[i], ts, chain);
    }
    return (done && buf_ok(&journal->lines)) || ending_no_memory(journal, error);
}

/* Writes the lines, and takes them back if they cannot be flushed. */
static bool write_lines(struct journal *journal, const struct ending *ending, bool flush, struct buf *error)
{
    uint64_t from = ending->complete ? ending->size : ending->whole;
    if (from < ending->size && !journal_file_cut(&journal->file, from, error)) {
        return false;
    }
    if (!journal_file_append(&journal->file, from, buf_slice_of(&journal->lines), &journal->broken, error)) {
        return false;
    }
    if (flush && !journal_file_flush(&journal->file, error)) {
        /* After a failed flush the kernel may call the next one good although the bytes are gone. */
        journal->broken = true;
        struct buf ignored;
        buf_init(&ignored, 512);
        (void)!journal_file_cut(&journal->file, from, &ignored);
        buf_finish(&ignored);
        return false;
    }
    journal->dirty = journal->mode == JOURNAL_FSYNC_BATCH && !flush;
    journal->end = from + journal->lines.len;
    return true;
}

static bool must_flush(const struct journal *journal, bool flush)
{
    return journal->mode == JOURNAL_FSYNC_ALWAYS || (flush && journal->mode != JOURNAL_FSYNC_NEVER);
}

static bool commit_locked(struct journal *journal, struct ending *ending, bool flush, struct buf *error)
{
    struct chain chain = ending->chain;
    if (!make_lines(journal, ending, &chain, error) || !write_lines(journal, ending, flush, error) ||
        (ending->has_first && flush && !journal_file_flush_dir(&journal->file, error))) {
        return false;
    }
    journal->chain = chain;
    return true;
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

/* Ends the part that is open. Nobody may find it in the state of before, so it is flushed first. */
static bool begin_part(struct journal *journal, const struct ending *ending, struct buf *error)
{
    if (journal->mode != JOURNAL_FSYNC_NEVER && !journal_file_flush(&journal->file, error)) {
        journal->broken = true;
        return false;
    }
    journal->dirty = false;
    return rotate_rename(journal, &ending->chain, error);
}

/* Begins a new part if the file would become longer than it may. A file with a torn line waits until that is told. */
static bool make_room(struct journal *journal, struct ending *ending, struct buf *error)
{
    const size_t line = CHAIN_MEMBERS * journal->count + journal->parts.len;
    bool is_full = journal->max_size > 0 && ending->size + line > journal->max_size && !ending->has_first &&
                   ending->whole == ending->size;
    return !is_full || (begin_part(journal, ending, error) && ending_find(journal, ending, error));
}

bool journal_rotate(struct journal *journal, struct buf *ret_error)
{
    struct ending ending;
    bool done = !is_broken(journal, ret_error) && journal_file_lock(&journal->file, ret_error);
    if (done) {
        /* An empty file, or one that was rotated just now, has nothing to give up. */
        done = ending_find(journal, &ending, ret_error) &&
               (ending.has_first || begin_part(journal, &ending, ret_error)) &&
               (ending.has_first || ending_find(journal, &ending, ret_error)) &&
               commit_locked(journal, &ending, must_flush(journal, true), ret_error);
        journal_file_unlock(&journal->file);
    }
    journal_unstage(journal);
    forget(&journal->lines);
    forget(&journal->tail);
    return done;
}

void journal_limit(struct journal *journal, uint64_t max_size)
{
    journal->max_size = max_size;
}

bool journal_commit(struct journal *journal, bool flush, struct buf *ret_error)
{
    struct ending ending;
    if (journal->count == 0) {
        return !is_broken(journal, ret_error) &&
               (!must_flush(journal, flush) || journal_flush(journal, ret_error));
    }
    bool done = !is_broken(journal, ret_error) && journal_file_lock(&journal->file, ret_error);
    if (done) {
        done = ending_find(journal, &ending, ret_error) && make_room(journal, &ending, ret_error) &&
               commit_locked(journal, &ending, must_flush(journal, flush || ending.has_first), ret_error);
        journal_file_unlock(&journal->file);
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
    if (!journal_file_flush(&journal->file, ret_error)) {
        journal->broken = true;
        return false;
    }
    journal->dirty = false;
    return true;
}

/* ---- Opening ---- */

static bool stage_boot(struct journal *journal, struct slice given, struct buf *error)
{
    struct event event = {.kind = "system.boot", .detail = given};
    if (!journal_stage(journal, &event)) {
        buf_printf(error, "journal '%s': cannot make its first event (memory or its detail)",
                   journal->file.name);
        return false;
    }
    return true;
}

static bool open_locked(struct journal *journal, struct slice detail, struct buf *error)
{
    struct ending ending;
    if (!ending_find(journal, &ending, error)) {
        return false;
    }
    if (!ending.has_first && detail.ptr == NULL) {
        return true; /* no boot is told; the first commit reads the tail anew */
    }
    /* A new file's anchor must not be lost; a later boot is an event like any other. */
    return (ending.has_first || stage_boot(journal, detail, error)) &&
           commit_locked(journal, &ending, must_flush(journal, ending.has_first), error);
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
    journal->file = (struct journal_file){.dir = -1, .fd = -1};
    json_init(&journal->detail);
    /* Staging keeps below JOURNAL_BATCH_MAX; an event of the journal's own may come on top. */
    buf_init(&journal->parts, (size_t)2 * JOURNAL_BATCH_MAX);
    buf_init(&journal->lines, (size_t)2 * JOURNAL_BATCH_MAX);
    buf_init(&journal->tail, (size_t)2 * JOURNAL_BATCH_MAX);
    line_reader_init(&journal->reader);
    bool done = journal_file_open(&journal->file, state_fd, name, ret_error) &&
                journal_file_lock(&journal->file, ret_error);
    if (done) {
        journal->boot_detail = detail;
        done = open_locked(journal, detail, ret_error);
        journal->boot_detail = (struct slice){0};
        journal_file_unlock(&journal->file);
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
    journal_file_close(&journal->file);
    line_reader_finish(&journal->reader);
    json_finish(&journal->detail);
    buf_finish(&journal->parts);
    buf_finish(&journal->lines);
    buf_finish(&journal->tail);
    free(journal->staged);
    free(journal);
}
