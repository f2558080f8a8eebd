/* One line of a journal, checked by itself, inside this room. Used for the tail before something is appended
 * to it, and for every line by the verifier. */
#ifndef JOURNAL_LINE_INTERNAL_H
#define JOURNAL_LINE_INTERNAL_H

#include "journal/event_internal.h"

/* Owns its document and its buffer until line_reader_finish. */
struct line_reader {
    struct json_doc doc;
    struct buf canonical;
    struct hasher hasher;
};

/* What an event says of itself. The slices live until the next line is read. */
struct line {
    uint64_t seq;
    struct slice hash, prev_hash, ts, kind;
    struct slice anchor; /* of a file's first event; ptr NULL: none */
    /* Of the first event of a part that follows another one: the last event of that. Seq 0: none. */
    uint64_t previous_seq;
    struct slice previous_hash;
};

void line_reader_init(struct line_reader *reader);
void line_reader_finish(struct line_reader *reader);

enum line_result {
    LINE_UNREAD = 0, /* no memory, or libcrypto failed: nothing is known about the line */
    LINE_FAULT,      /* ret_fault has reason, expected, actual, and seq if it could be read */
    LINE_OK,
};

/* Reads a line without its line end: its form, its members, and that its hash is that of its content. Whether
 * it is the right one in its place is for the caller to say. */
MUST_USE enum line_result line_read(struct line_reader *reader, struct slice text, struct line *ret_line,
                                    struct journal_fault *ret_fault);

/* Fills in a fault. expected and actual are formats' results, cut to their room. */
void fault_set(struct journal_fault *fault, const char *reason, const char *expected, const char *actual);

/* A hash from a line, for people: itself, or what is wrong with it; no other text of a line is ever shown. */
const char *hash_for_people(struct slice hash, char out[HASH_HEX + 1]);

/* Whether a line may follow a chain: its seq and prevHash are right. Fills in the fault if not. */
MUST_USE bool line_follows(const struct line *line, const struct chain *chain,
                           struct journal_fault *ret_fault);

/* Moves a chain on to a line. */
void line_advance(const struct line *line, struct chain *chain);

#endif
