/* Bytes in, lines out, with a ceiling for a line.
 *
 * Owns its buffer. A line is borrowed until intake_space is called again: so all lines of one read stand side
 * by side in the buffer until they have been handed on. A line beyond the ceiling is not kept: its bytes are
 * passed over up to its end, and told as LINE_TOO_LONG with what a scan found of its id. */
#ifndef MCP_INTAKE_H
#define MCP_INTAKE_H

#include "mcp/scan.h"

struct intake {
    char *ptr;
    size_t len, cap;
    size_t start;   /* of the first line that was not given out */
    size_t scanned; /* no line end between start and here */
    size_t ceiling;
    bool passing_over; /* in the middle of a line beyond the ceiling */
    struct scan scan;  /* of that line */
};

void intake_init(struct intake *intake, size_t ceiling);
void intake_finish(struct intake *intake);

/* Room for the next bytes; NULL when there is no memory. */
MUST_USE char *intake_space(struct intake *intake, size_t *ret_len);

/* `len` bytes were written there. */
void intake_added(struct intake *intake, size_t len);

enum line_kind {
    LINE_NONE, /* no whole line is left */
    LINE_WHOLE,
    LINE_TOO_LONG, /* its end has come; intake->scan tells what was found in it */
};

/* The next line: `ret_raw` with its line end, `ret_text` without (LF or CR LF). */
enum line_kind intake_next(struct intake *intake, struct slice *ret_text, struct slice *ret_raw);

/* At the end of the input: what is left without a line end. Like intake_next. */
enum line_kind intake_last(struct intake *intake, struct slice *ret_text, struct slice *ret_raw);

#endif
