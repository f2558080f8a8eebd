/* Cutting bytes into lines. */
#include "mcp/line_buffer.h"

#include <stdlib.h>
#include <string.h>

/* What one read may bring: as much as a pipe holds. */
#define READ_BYTES ((size_t)64 << 10)

/* A buffer that has grown beyond this is given back once its long line is gone. */
#define KEEP_BYTES ((size_t)1 << 20)

void line_buffer_init(struct line_buffer *lines, size_t ceiling)
{
    memset(lines, 0, sizeof(*lines));
    lines->ceiling = ceiling;
}

void line_buffer_finish(struct line_buffer *lines)
{
    uint8_t unused[HASH_SIZE];
    (void)!hash_end(lines->long_line.hashing, unused);
    free(lines->ptr);
    line_buffer_init(lines, lines->ceiling);
}

static bool resize(struct line_buffer *lines, size_t cap)
{
    char *ptr = realloc(lines->ptr, cap);
    if (ptr == NULL) {
        return false;
    }
    lines->ptr = ptr;
    lines->cap = cap;
    return true;
}

char *line_buffer_space(struct line_buffer *lines, size_t *ret_len)
{
    if (lines->start > 0) {
        lines->len -= lines->start;
        lines->scanned -= lines->start;
        memmove(lines->ptr, lines->ptr + lines->start, lines->len);
        lines->start = 0;
    }
    if (lines->cap > KEEP_BYTES && lines->len + READ_BYTES <= KEEP_BYTES) {
        (void)resize(lines, KEEP_BYTES); /* to shrink may fail; nothing is lost then */
    }
    if (lines->cap - lines->len < READ_BYTES) {
        size_t cap = lines->cap ? lines->cap * 2 : 2 * READ_BYTES;
        if (!resize(lines, cap)) {
            return NULL;
        }
    }
    *ret_len = lines->cap - lines->len;
    return lines->ptr + lines->len;
}

void line_buffer_added(struct line_buffer *lines, size_t len)
{
    lines->len += len;
}

/* Passes over everything up to `end`, which is part of a line beyond the ceiling. */
static void pass_over(struct line_buffer *lines, size_t end)
{
    struct long_line *line = &lines->long_line;
    if (!lines->passing_over) {
        lines->passing_over = true;
        scan_start(&line->scan);
        line->length = 0;
        line->hashing = hash_begin();
    }
    struct slice bytes = {lines->ptr + lines->start, end - lines->start};
    scan_feed(&line->scan, bytes);
    hash_add(line->hashing, bytes);
    line->length += bytes.len;
    lines->start = lines->scanned = end;
}

static enum line_kind end_long_line(struct line_buffer *lines)
{
    struct long_line *line = &lines->long_line;
    lines->passing_over = false;
    line->hashed = hash_end(line->hashing, line->hash);
    line->hashing = NULL;
    return LINE_TOO_LONG;
}

enum line_kind line_buffer_next(struct line_buffer *lines, struct slice *ret_text, struct slice *ret_raw)
{
    const char *from = lines->ptr + lines->scanned;
    const char *lf = lines->len > lines->scanned ? memchr(from, '\n', lines->len - lines->scanned) : NULL;
    if (lf == NULL) {
        lines->scanned = lines->len;
        if (lines->passing_over ||
            lines->len - lines->start > lines->ceiling + 1) { /* a CR may be the last */
            pass_over(lines, lines->len);
        }
        return LINE_NONE;
    }
    size_t end = (size_t)(lf - lines->ptr);
    struct slice text = {lines->ptr + lines->start, end - lines->start};
    struct slice raw = {text.ptr, text.len + 1};
    text.len -= text.len > 0 && text.ptr[text.len - 1] == '\r';
    if (lines->passing_over || text.len > lines->ceiling) {
        pass_over(lines, end);
        lines->start = lines->scanned = end + 1;
        return end_long_line(lines);
    }
    *ret_text = text;
    *ret_raw = raw;
    lines->start = lines->scanned = end + 1;
    return LINE_WHOLE;
}

enum line_kind line_buffer_last(struct line_buffer *lines, struct slice *ret_text, struct slice *ret_raw)
{
    if (lines->passing_over) {
        pass_over(lines, lines->len);
        return end_long_line(lines);
    }
    if (lines->len == lines->start) {
        return LINE_NONE;
    }
    *ret_text = *ret_raw = (struct slice){lines->ptr + lines->start, lines->len - lines->start};
    lines->start = lines->scanned = lines->len;
    return LINE_WHOLE;
}
