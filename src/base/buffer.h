/* A growable byte buffer with a ceiling and a sticky failure.
 *
 * The buffer owns its bytes until buf_finish. Appends never fail one by one: the first that cannot be done
 * (no memory, or beyond the ceiling) sets `failed`, later ones do nothing, and the caller tests buf_ok once
 * before it uses the result. A failed buffer's content must not be used. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdint.h>

#include "base/slice.h"

struct buf {
    char *ptr;
    size_t len, cap; /* there is a byte behind cap, for the NUL of printf */
    size_t ceiling;  /* never longer than this; cap is no larger */
    bool failed;
    bool cuts; /* a message: what is beyond the ceiling is cut off, and a mark says so */
    bool cut;
};

void buf_init(struct buf *buf, size_t ceiling);
void buf_finish(struct buf *buf);

/* A text for people: an error's, or a list of them. What does not fit is cut, with "…" in its place, and
 * nothing fails but for memory. MESSAGE_BYTES is enough for one message that names a file. */
#define MESSAGE_BYTES ((size_t)4096)
void buf_init_message(struct buf *buf, size_t ceiling);

/* The message, or "no memory" where there was none for it. Never empty. */
struct slice buf_message(const struct buf *buf);

/* Empties the buffer, keeps its memory, forgets a failure. */
void buf_reset(struct buf *buf);

/* Makes room for `len` more bytes and returns where they go, or NULL; buf_added says how many were written.
 */
MUST_USE char *buf_reserve(struct buf *buf, size_t len);
void buf_added(struct buf *buf, size_t len);

/* Where a read of unknown length may go: all the room that is left, or as much again when there is none. NULL
 * as above. */
MUST_USE char *buf_room(struct buf *buf, size_t *ret_len);

/* buf_bytes where there is no room yet. */
void buf_bytes_beyond(struct buf *buf, const void *bytes, size_t len);

static inline void buf_bytes(struct buf *buf, const void *bytes, size_t len)
{
    if (len == 0) {
        return;
    }
    if (len <= buf->cap - buf->len && !buf->failed) {
        memcpy(buf->ptr + buf->len, bytes, len);
        buf->len += len;
    } else {
        buf_bytes_beyond(buf, bytes, len);
    }
}

static inline void buf_byte(struct buf *buf, char c)
{
    buf_bytes(buf, &c, 1);
}

static inline void buf_slice(struct buf *buf, struct slice s)
{
    buf_bytes(buf, s.ptr, s.len);
}

static inline void buf_text(struct buf *buf, const char *cstr)
{
    buf_bytes(buf, cstr, strlen(cstr));
}

void buf_u64(struct buf *buf, uint64_t n); /* in decimal */
void buf_i64(struct buf *buf, int64_t n);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Removes the first n bytes. */
void buf_drop(struct buf *buf, size_t n);

static inline bool buf_ok(const struct buf *buf)
{
    return !buf->failed;
}

static inline struct slice buf_slice_of(const struct buf *buf)
{
    return (struct slice){buf->ptr, buf->len};
}

#endif
