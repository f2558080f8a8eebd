/* Reads the end of a journal, from the back. */
#include "journal/tail_internal.h"

#include <errno.h>
#include <string.h>

#include "journal/file_internal.h"

#define FIRST_LOOK 16384u

/* Reads [from, to) into the empty buffer. False with errno. */
static bool read_range(const struct journal_file *file, uint64_t from, uint64_t to, struct buf *bytes)
{
    buf_reset(bytes);
    while (from < to) {
        size_t want = (size_t)(to - from);
        char *room = buf_reserve(bytes, want);
        ptrdiff_t got = room == NULL ? 0 : journal_file_read(file, from, room, want);
        if (room == NULL || got <= 0) {
            errno = room == NULL ? ENOMEM : got == 0 ? EIO : errno;
            return false;
        }
        buf_added(bytes, (size_t)got);
        from += (uint64_t)got;
    }
    return true;
}

static enum line_result too_long(struct journal_fault *fault)
{
    fault_set(fault, "the line is too long", "at most 262144 bytes", "more");
    return LINE_FAULT;
}

/* Finds the last two line ends in the bytes that end the file. Sets ret_begin to where the last line begins
 * and ret_end to behind its line end, both in `bytes`; both 0 for no line. False: more of the file is needed.
 */
static bool find_last_line(struct slice bytes, bool whole_file, size_t *ret_begin, size_t *ret_end)
{
    const char *last = bytes.len == 0 ? NULL : memrchr(bytes.ptr, '\n', bytes.len);
    size_t end = last == NULL ? 0 : (size_t)(last - bytes.ptr);
    const char *before = end == 0 ? NULL : memrchr(bytes.ptr, '\n', end);
    if (before == NULL && !whole_file) {
        return false;
    }
    *ret_begin = before == NULL ? 0 : (size_t)(before - bytes.ptr) + 1;
    *ret_end = last == NULL ? 0 : end + 1;
    return true;
}

enum line_result tail_read(const struct journal_file *file, uint64_t size, struct buf *bytes,
                           struct line_reader *reader, struct tail *ret_tail, struct journal_fault *ret_fault)
{
    const uint64_t most = (uint64_t)TORN_MAX + JOURNAL_LINE_MAX + 2;
    uint64_t look = FIRST_LOOK, from;
    size_t begin, end;
    if (size == 0) {
        *ret_tail = (struct tail){0};
        return LINE_OK;
    }
    for (;; look *= 4) {
        look = look > most ? most : look;
        from = size > look ? size - look : 0;
        if (!read_range(file, from, size, bytes)) {
            return LINE_UNREAD;
        }
        if (find_last_line(buf_slice_of(bytes), from == 0, &begin, &end)) {
            break;
        }
        if (look == most) {
            return too_long(ret_fault);
        }
    }
    struct tail tail = {.whole = from + end, .torn = {bytes->ptr + end, bytes->len - end}};
    if (tail.torn.len > TORN_MAX || end - begin > JOURNAL_LINE_MAX + 1) {
        return too_long(ret_fault);
    }
    if (end != 0) {
        struct line line;
        enum line_result result =
            line_read(reader, (struct slice){bytes->ptr + begin, end - 1 - begin}, &line, ret_fault);
        if (result != LINE_OK) {
            errno = ENOMEM;
            return result;
        }
        line_advance(&line, &tail.chain);
        size_t len = line.ts.len < sizeof(tail.ts) ? line.ts.len : sizeof(tail.ts) - 1;
        memcpy(tail.ts, line.ts.ptr, len);
    }
    *ret_tail = tail;
    return LINE_OK;
}

enum line_result tail_read_line(const struct journal_file *file, uint64_t at, uint64_t size,
                                struct buf *bytes, struct line_reader *reader, struct line *ret_line,
                                struct journal_fault *ret_fault)
{
    const char *end = NULL;
    for (uint64_t look = FIRST_LOOK; end == NULL; look *= 4) {
        uint64_t to = size - at > look ? at + look : size;
        if (!read_range(file, at, to, bytes)) {
            return LINE_UNREAD;
        }
        end = bytes->len == 0 ? NULL : memchr(bytes->ptr, '\n', bytes->len);
        if (end == NULL && (to == size || bytes->len > JOURNAL_LINE_MAX + 1)) {
            return too_long(ret_fault);
        }
    }
    struct slice text = {bytes->ptr, (size_t)(end - bytes->ptr)};
    enum line_result result =
        text.len > JOURNAL_LINE_MAX ? too_long(ret_fault) : line_read(reader, text, ret_line, ret_fault);
    errno = result == LINE_UNREAD ? ENOMEM : errno;
    return result;
}
