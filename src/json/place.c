/* Finds the line and the column of a byte. */
#include <stdlib.h>

#include "json/json.h"

/* Bytes from one mark to the next. */
#define STRIDE 4096u

struct json_mark {
    uint32_t line, column;
};

/* Moves a place from the byte offset `from` to `to`. */
static void advance(struct slice text, uint32_t from, uint32_t to, uint32_t *line, uint32_t *column)
{
    for (uint32_t i = from; i < to; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\n') {
            ++*line;
            *column = 1;
        } else {
            *column += (c & 0xC0) != 0x80; /* a character counts at its first byte */
        }
    }
}

static uint32_t clamp(struct slice text, uint32_t offset)
{
    return offset < text.len ? offset : (uint32_t)text.len;
}

void json_place(struct slice text, uint32_t offset, uint32_t *ret_line, uint32_t *ret_column)
{
    *ret_line = *ret_column = 1;
    advance(text, 0, clamp(text, offset), ret_line, ret_column);
}

bool json_lines_init(struct json_lines *lines, struct slice text)
{
    *lines = (struct json_lines){.text = text};
    uint32_t count = (uint32_t)(text.len / STRIDE) + 1;
    struct json_mark *marks = malloc(count * sizeof(*marks));
    if (marks == NULL) {
        return false;
    }
    struct json_mark mark = {1, 1};
    marks[0] = mark;
    for (uint32_t i = 1; i < count; i++) {
        advance(text, (i - 1) * STRIDE, i * STRIDE, &mark.line, &mark.column);
        marks[i] = mark;
    }
    lines->marks = marks;
    lines->count = count;
    return true;
}

void json_lines_finish(struct json_lines *lines)
{
    free(lines->marks);
    lines->marks = NULL;
    lines->count = 0;
}

void json_lines_place(const struct json_lines *lines, uint32_t offset, uint32_t *ret_line,
                      uint32_t *ret_column)
{
    if (lines->count == 0) {
        json_place(lines->text, offset, ret_line, ret_column);
        return;
    }
    uint32_t to = clamp(lines->text, offset);
    struct json_mark mark = lines->marks[to / STRIDE];
    advance(lines->text, to / STRIDE * STRIDE, to, &mark.line, &mark.column);
    *ret_line = mark.line;
    *ret_column = mark.column;
}
