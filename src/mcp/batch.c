/* Lines and answers that wait for a commit. */
#include "mcp/batch_internal.h"

#include <stdlib.h>

/* Far more than a batch can say: one read brings 64 KB, an answer to an empty message takes 80 bytes, and ids
 * come back no longer than they came. */
#define ANSWERS_CEILING ((size_t)256 << 20)

/* Answers beyond this are an exception; their memory is given back. */
#define ANSWERS_KEEP ((size_t)1 << 20)

void batch_init(struct batch *batch)
{
    *batch = (struct batch){0};
    buf_init(&batch->answers, ANSWERS_CEILING);
    arena_init(&batch->texts, 0);
    buf_init(&batch->requests, ANSWERS_CEILING);
}

void batch_finish(struct batch *batch)
{
    free(batch->lines);
    free(batch->pieces);
    buf_finish(&batch->answers);
    arena_finish(&batch->texts);
    buf_finish(&batch->requests);
    *batch = (struct batch){0};
}

void batch_reset(struct batch *batch)
{
    batch->count = 0;
    batch->staged = false;
    arena_reset(&batch->texts);
    buf_reset(&batch->requests);
    if (batch->answers.cap > ANSWERS_KEEP) {
        buf_finish(&batch->answers);
        buf_init(&batch->answers, ANSWERS_CEILING);
    }
    buf_reset(&batch->answers);
}

bool batch_reserve(struct batch *batch)
{
    if (batch->count < batch->cap) {
        return true;
    }
    size_t cap = batch->cap != 0 ? batch->cap * 2 : 64;
    struct batch_line *lines = realloc(batch->lines, cap * sizeof(*lines));
    if (lines == NULL) {
        return false;
    }
    batch->lines = lines;
    uv_buf_t *pieces = realloc(batch->pieces, cap * sizeof(*pieces));
    if (pieces == NULL) {
        return false;
    }
    batch->pieces = pieces;
    batch->cap = cap;
    return true;
}

void batch_add_reserved(struct batch *batch, struct slice raw, bool is_call)
{
    batch->lines[batch->count++] = (struct batch_line){raw, is_call};
}

bool batch_add(struct batch *batch, struct slice raw, bool is_call)
{
    if (!batch_reserve(batch)) {
        return false;
    }
    batch_add_reserved(batch, raw, is_call);
    return true;
}

struct slice batch_keep(struct batch *batch, struct slice text)
{
    return arena_copy(&batch->texts, text);
}

bool batch_add_copy(struct batch *batch, struct slice line)
{
    struct slice copy = batch_keep(batch, line);
    return copy.ptr != NULL && batch_add(batch, copy, false);
}

char batch_last(const struct batch *batch)
{
    struct slice raw = batch->lines[batch->count - 1].raw;
    return raw.len > 0 ? raw.ptr[raw.len - 1] : '\0';
}

size_t batch_pieces(struct batch *batch)
{
    size_t count = 0;
    const char *end = NULL; /* of the last piece */
    for (size_t i = 0; i < batch->count; i++) {
        struct slice raw = batch->lines[i].raw;
        if (raw.len == 0) {
            continue;
        }
        if (count > 0 && raw.ptr == end) {
            batch->pieces[count - 1].len += raw.len;
        } else {
            batch->pieces[count++] = (uv_buf_t){.base = (char *)raw.ptr, .len = raw.len};
        }
        end = raw.ptr + raw.len;
    }
    return count;
}
