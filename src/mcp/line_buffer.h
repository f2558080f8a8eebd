/* Bytes in, lines out, with a ceiling for a line.
 *
 * Owns its buffer. A line is borrowed until line_buffer_space is called again: so all lines of one read stand side
 * by side in the buffer until they have been handed on. A line beyond the ceiling is not kept: its bytes are
 * passed over up to its end, and told as LINE_TOO_LONG with what a scan found of its id. */
#ifndef MCP_LINE_BUFFER_H
#define MCP_LINE_BUFFER_H

#include "journal/journal.h"
#include "mcp/scan_internal.h"

/* What is left of a line beyond the ceiling. */
struct long_line {
    struct scan scan;
    struct hash_stream *hashing; /* NULL: no memory */
    uint64_t length;             /* bytes, without the line end */
    bool hashed;                 /* false: it could not be */
    uint8_t hash[HASH_SIZE];     /* SHA-256 of these, once the line's end has come */
};

struct line_buffer {
    char *ptr;
    size_t len, cap;
    size_t start;   /* of the first line that was not given out */
    size_t scanned; /* no line end between start and here */
    size_t ceiling;
    bool passing_over;          /* in the middle of a line beyond the ceiling */
    struct long_line long_line; /* of that line */
};

void line_buffer_init(struct line_buffer *lines, size_t ceiling);
void line_buffer_finish(struct line_buffer *lines);

/* Room for the next bytes; NULL when there is no memory. */
MUST_USE char *line_buffer_space(struct line_buffer *lines, size_t *ret_len);

/* `len` bytes were written there. */
void line_buffer_added(struct line_buffer *lines, size_t len);

enum line_kind {
    LINE_NONE, /* no whole line is left */
    LINE_WHOLE,
    LINE_TOO_LONG, /* its end has come; lines->long_line tells what was found in it */
};

/* The next line: `ret_raw` with its line end, `ret_text` without (LF or CR LF). */
enum line_kind line_buffer_next(struct line_buffer *lines, struct slice *ret_text, struct slice *ret_raw);

/* At the end of the input: what is left without a line end. Like line_buffer_next. */
enum line_kind line_buffer_last(struct line_buffer *lines, struct slice *ret_text, struct slice *ret_raw);

#endif
