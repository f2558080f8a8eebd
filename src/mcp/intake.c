#include "mcp/intake.h"

#include <stdlib.h>

/* What one read may bring: as much as a pipe holds. */
#define READ_BYTES ((size_t)64 << 10)

/* A buffer that has grown beyond this is given back once its long line is gone. */
#define KEEP_BYTES ((size_t)1 << 20)

void intake_init(struct intake *intake, size_t ceiling)
{
    memset(intake, 0, sizeof(*intake));
    intake->ceiling = ceiling;
}

void intake_finish(struct intake *intake)
{
    free(intake->ptr);
    intake_init(intake, intake->ceiling);
}

static bool resize(struct intake *intake, size_t cap)
{
    char *ptr = realloc(intake->ptr, cap);
    if (ptr == NULL) {
        return false;
    }
    intake->ptr = ptr;
    intake->cap = cap;
    return true;
}

char *intake_space(struct intake *intake, size_t *ret_len)
{
    if (intake->start > 0) {
        intake->len -= intake->start;
        intake->scanned -= intake->start;
        memmove(intake->ptr, intake->ptr + intake->start, intake->len);
        intake->start = 0;
    }
    if (intake->cap > KEEP_BYTES && intake->len + READ_BYTES <= KEEP_BYTES) {
        (void)resize(intake, KEEP_BYTES); /* to shrink may fail; nothing is lost then */
    }
    if (intake->cap - intake->len < READ_BYTES) {
        size_t cap = intake->cap ? intake->cap * 2 : 2 * READ_BYTES;
        if (!resize(intake, cap)) {
            return NULL;
        }
    }
    *ret_len = intake->cap - intake->len;
    return intake->ptr + intake->len;
}

void intake_added(struct intake *intake, size_t len)
{
    intake->len += len;
}

/* Passes over everything up to `end`, which is part of a line beyond the ceiling. */
static void pass_over(struct intake *intake, size_t end)
{
    if (!intake->passing_over) {
        intake->passing_over = true;
        scan_start(&intake->scan);
    }
    scan_feed(&intake->scan, (struct slice){intake->ptr + intake->start, end - intake->start});
    intake->start = intake->scanned = end;
}

enum line_kind intake_next(struct intake *intake, struct slice *ret_text, struct slice *ret_raw)
{
    const char *from = intake->ptr + intake->scanned;
    const char *lf = intake->len > intake->scanned ? memchr(from, '\n', intake->len - intake->scanned) : NULL;
    if (lf == NULL) {
        intake->scanned = intake->len;
        if (intake->passing_over ||
            intake->len - intake->start > intake->ceiling + 1) { /* a CR may be the last */
            pass_over(intake, intake->len);
        }
        return LINE_NONE;
    }
    size_t end = (size_t)(lf - intake->ptr);
    struct slice text = {intake->ptr + intake->start, end - intake->start};
    struct slice raw = {text.ptr, text.len + 1};
    text.len -= text.len > 0 && text.ptr[text.len - 1] == '\r';
    if (intake->passing_over || text.len > intake->ceiling) {
        pass_over(intake, end);
        intake->start = intake->scanned = end + 1;
        intake->passing_over = false;
        return LINE_TOO_LONG;
    }
    *ret_text = text;
    *ret_raw = raw;
    intake->start = intake->scanned = end + 1;
    return LINE_WHOLE;
}

enum line_kind intake_last(struct intake *intake, struct slice *ret_text, struct slice *ret_raw)
{
    if (intake->passing_over) {
        pass_over(intake, intake->len);
        intake->passing_over = false;
        return LINE_TOO_LONG;
    }
    if (intake->len == intake->start) {
        return LINE_NONE;
    }
    *ret_text = *ret_raw = (struct slice){intake->ptr + intake->start, intake->len - intake->start};
    intake->start = intake->scanned = intake->len;
    return LINE_WHOLE;
}
