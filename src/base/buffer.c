/* The buffer: growing, cutting, numbers. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST ((size_t)256)
#define ROOM     ((size_t)4096)
#define MARK     "\xE2\x80\xA6" /* stands for what was cut off a message: U+2026 */
#define MARK_LEN (sizeof(MARK) - 1)

void buf_init(struct buf *buf, size_t ceiling)
{
    *buf = (struct buf){.ceiling = ceiling};
}

void buf_finish(struct buf *buf)
{
    free(buf->ptr);
    *buf = (struct buf){.ceiling = buf->ceiling, .cuts = buf->cuts};
}

void buf_init_message(struct buf *buf, size_t ceiling)
{
    *buf = (struct buf){.ceiling = ceiling, .cuts = true};
}

struct slice buf_message(const struct buf *buf)
{
    return buf->len == 0 || buf->failed ? SLICE("no memory") : buf_slice_of(buf);
}

void buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    buf->cut = false;
}

/* Puts the mark in place of what did not fit. */
static void cut(struct buf *buf)
{
    size_t len = buf->len < buf->ceiling - MARK_LEN ? buf->len : buf->ceiling - MARK_LEN;
    while (len < buf->len && len > 0 && ((unsigned char)buf->ptr[len] & 0xC0) == 0x80) {
        len--;
    }
    buf->len = len;
    buf_bytes(buf, MARK, MARK_LEN);
    buf->cut = true;
    buf->cap = buf->len; /* nothing more gets in on the quick way */
}

void buf_bytes_beyond(struct buf *buf, const void *bytes, size_t len)
{
    size_t most = buf->ceiling - buf->len;
    if (buf->cut) {
        return;
    }
    bool fits = !buf->cuts || len <= most;
    size_t part = fits ? len : most;
    char *to = buf_reserve(buf, part);
    if (to != NULL) {
        memcpy(to, bytes, part);
        buf->len += part;
    }
    if (!fits && !buf->failed) {
        cut(buf);
    }
}

char *buf_reserve(struct buf *buf, size_t len)
{
    if (buf->cut) {
        return NULL;
    }
    if (buf->failed || len > buf->ceiling || buf->len > buf->ceiling - len) {
        if (buf->cuts && !buf->failed) {
            cut(buf);
        } else {
            buf->failed = true;
        }
        return NULL;
    }
    size_t need = buf->len + len;
    if (need > buf->cap || buf->ptr == NULL) {
        size_t cap = buf->cap > SIZE_MAX / 2 ? need : buf->cap * 2;
        cap = cap < SMALLEST ? SMALLEST : cap;
        cap = cap < need ? need : cap;
        cap = cap > buf->ceiling ? buf->ceiling : cap;
        char *ptr = cap == SIZE_MAX ? NULL : realloc(buf->ptr, cap + 1);
        if (ptr == NULL) {
            buf->failed = true;
            return NULL;
        }
        buf->ptr = ptr;
        buf->cap = cap;
    }
    return buf->ptr + buf->len;
}

char *buf_room(struct buf *buf, size_t *ret_len)
{
    size_t left = buf->cap - buf->len, most = buf->ceiling - buf->len;
    size_t more = most != 0 && most < ROOM ? most : ROOM;
    char *room = buf_reserve(buf, left != 0 ? left : more);
    *ret_len = room == NULL ? 0 : buf->cap - buf->len;
    return room;
}

void buf_added(struct buf *buf, size_t len)
{
    buf->len += len;
}

void buf_u64(struct buf *buf, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    buf_bytes(buf, digits + at, sizeof(digits) - at);
}

void buf_i64(struct buf *buf, int64_t n)
{
    if (n < 0) {
        buf_byte(buf, '-');
        buf_u64(buf, -(uint64_t)n);
    } else {
        buf_u64(buf, (uint64_t)n);
    }
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        buf->failed = true;
    }
    bool beyond = len > 0 && buf->cuts && (size_t)len > buf->ceiling - buf->len;
    char *to = len < 0 ? NULL : beyond ? malloc((size_t)len + 1) : buf_reserve(buf, (size_t)len);
    if (to != NULL) {
        (void)vsnprintf(to, (size_t)len + 1, format, again); /* its NUL goes behind cap at most */
    }
    if (to != NULL && beyond) {
        buf_bytes_beyond(buf, to, (size_t)len);
        free(to);
    } else if (to != NULL) {
        buf->len += (size_t)len;
    } else {
        buf->failed = buf->failed || !buf->cut;
    }
    va_end(again);
}

void buf_drop(struct buf *buf, size_t n)
{
    if (n >= buf->len) {
        buf->len = 0;
        return;
    }
    if (n != 0) {
        memmove(buf->ptr, buf->ptr + n, buf->len - n);
        buf->len -= n;
    }
}
