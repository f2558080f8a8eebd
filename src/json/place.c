#include <stdlib.h>

#include "json/json.h"

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

void json_place(struct slice text, uint32_t offset, uint32_t *ret_line, uint32_t *ret_column)
{
    *ret_line = *ret_column = 1;
    advance(text, 0, offset < text.len ? offset : (uint32_t)text.len, ret_line, ret_column);
}
