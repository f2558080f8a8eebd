#include "mcp/turn.h"

#include <stdlib.h>

/* Far more than a turn can say: one read brings 64 KB, an answer to an empty message takes 80 bytes, and ids
 * come back no longer than they came. */
#define ANSWERS_CEILING ((size_t)256 << 20)

/* Answers beyond this are an exception; their memory is given back. */
#define ANSWERS_KEEP ((size_t)1 << 20)

void turn_init(struct turn *turn)
{
    *turn = (struct turn){0};
    buf_init(&turn->answers, ANSWERS_CEILING);
}

void turn_finish(struct turn *turn)
{
    free(turn->lines);
    free(turn->pieces);
    buf_finish(&turn->answers);
    *turn = (struct turn){0};
}

void turn_reset(struct turn *turn)
{
    turn->count = 0;
    turn->staged = false;
    if (turn->answers.cap > ANSWERS_KEEP) {
        buf_finish(&turn->answers);
        buf_init(&turn->answers, ANSWERS_CEILING);
    }
    buf_reset(&turn->answers);
}

bool turn_add(struct turn *turn, struct slice raw, bool is_call)
{
    if (turn->count == turn->cap) {
        size_t cap = turn->cap ? turn->cap * 2 : 64;
        struct turn_line *lines = realloc(turn->lines, cap * sizeof(*lines));
        if (lines == NULL) {
            return false;
        }
        turn->lines = lines;
        uv_buf_t *pieces = realloc(turn->pieces, cap * sizeof(*pieces));
        if (pieces == NULL) {
            return false;
        }
        turn->pieces = pieces;
        turn->cap = cap;
    }
    turn->lines[turn->count++] = (struct turn_line){raw, is_call};
    return true;
}

size_t turn_pieces(struct turn *turn)
{
    size_t count = 0;
    const char *end = NULL; /* of the last piece */
    for (size_t i = 0; i < turn->count; i++) {
        struct slice raw = turn->lines[i].raw;
        if (raw.len == 0) {
            continue;
        }
        if (count > 0 && raw.ptr == end) {
            turn->pieces[count - 1].len += raw.len;
        } else {
            turn->pieces[count++] = (uv_buf_t){.base = (char *)raw.ptr, .len = raw.len};
        }
        end = raw.ptr + raw.len;
    }
    return count;
}
