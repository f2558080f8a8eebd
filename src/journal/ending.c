/* Where a commit begins: the tail of the file is read if another process moved it, and a file that was rotated is left
 * for the one that follows it. The opening comment of append.c says why a tail is refused, cut off or completed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "journal/append_internal.h"

#define TORN_TEXT    2048u /* of a torn line, kept in the event that tells of it */
#define ROTATED_MOST 64    /* parts that are gone over at once */

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
    enum line_result result = tail_read_line(&journal->file, journal->end, tail->whole, &journal->tail,
                                             &journal->reader, &line, &fault);
    if (result != LINE_OK) {
        return tail_problem(journal, result, &fault, error);
    }
    return line_follows(&line, &journal->chain, &fault) || refuse_tail(journal, &fault, error);
}

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

bool ending_no_memory(const struct journal *journal, struct buf *error)
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
        return ending_no_memory(journal, error);
    }
    if (result == LINE_OK && tail->chain.seq > 0 && line_follows(&line, &tail->chain, &fault)) {
        ending->complete = true;
        line_advance(&line, &ending->chain);
        return true;
    }
    return ending->has_recovered || stage_recovered(journal, tail->torn, ending) ||
           ending_no_memory(journal, error);
}

/* Brings `ending` up to the open file of `size` bytes. What was recovered from a part before stays in it. */
static bool look_at_end(struct journal *journal, uint64_t size, struct ending *ending, struct buf *error)
{
    struct tail tail;
    struct journal_fault fault = {0};
    ending->whole = size;
    ending->size = size;
    ending->chain = journal->chain;
    ending->complete = false;
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
        tail_read(&journal->file, size, &journal->tail, &journal->reader, &tail, &fault);
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

/* Leaves a part that is over as it should stay: with a line end at its end. */
static bool finish_part(struct journal *journal, const struct ending *ending, struct buf *error)
{
    if (ending->complete) {
        return journal_file_append(&journal->file, ending->size, SLICE("\n"), &journal->broken, error);
    }
    return ending->whole == ending->size || journal_file_cut(&journal->file, ending->whole, error);
}

/* Makes the boot of a file that has no event yet. */
static bool begin_file(struct journal *journal, struct chain *previous, struct ending *ending,
                       struct buf *error)
{
    return (previous->seq > 0 || rotate_newest_part(journal, previous, error)) &&
           rotate_begin(journal, previous, journal->boot_detail, ending, error);
}

bool ending_find(struct journal *journal, struct ending *ret_ending, struct buf *error)
{
    struct ending ending = {0};
    struct chain previous = {0};
    for (int moves = 0; moves < ROTATED_MOST; moves++) {
        uint64_t size = 0;
        enum journal_file_state state = journal_file_end(&journal->file, &size, error);
        if (state == JOURNAL_FILE_FAILED || !look_at_end(journal, size, &ending, error)) {
            return false;
        }
        if (state == JOURNAL_FILE_SAME) {
            bool begun = ending.chain.seq > 0 || begin_file(journal, &previous, &ending, error);
            if (begun) {
                *ret_ending = ending;
            }
            return begun;
        }
        previous = ending.chain.seq > 0 ? ending.chain : previous;
        if (!finish_part(journal, &ending, error) ||
            !rotate_follow(journal, &previous, state == JOURNAL_FILE_RENAMED, error)) {
            return false;
        }
    }
    buf_printf(error, "journal '%s': is renamed again and again; see what renames it", journal->file.name);
    return false;
}
