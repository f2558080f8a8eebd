#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SMALLEST ((size_t)256)
#define ROOM     ((size_t)4096)

void buf_init(struct buf *buf, size_t ceiling)
{
    *buf = (struct buf){.ceiling = ceiling};
}

void buf_finish(struct buf *buf)
{
    free(buf->ptr);
    *buf = (struct buf){.ceiling = buf->ceiling};
}

void buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

char *buf_reserve(struct buf *buf, size_t len)
{
    if (buf->failed || len > buf->ceiling || buf->len > buf->ceiling - len) {
        buf->failed = true;
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
    size_t left = buf->cap - buf->len;
    char *room = buf_reserve(buf, left != 0 ? left : ROOM);
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
    char *to = len < 0 ? NULL : buf_reserve(buf, (size_t)len);
    if (to != NULL) {
        (void)vsnprintf(to, (size_t)len + 1, format, again); /* its NUL goes behind cap at most */
        buf->len += (size_t)len;
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
