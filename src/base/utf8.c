/* Checks UTF-8, and makes text safe to show on a terminal. */
#include "base/utf8.h"

#include <string.h>

/* The table of RFC 3629 section 4. */
size_t utf8_char_len(const char *ptr, size_t left)
{
    const unsigned char *at = (const unsigned char *)ptr;
    unsigned char lead = at[0];
    if (lead < 0x80) {
        return 1;
    }
    size_t len = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (len == 0 || left < len) {
        return 0;
    }
    /* Overlong forms, surrogates and what is above U+10FFFF show in the second byte. */
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return len;
}

size_t utf8_valid_upto(struct slice s)
{
    size_t pos = 0;
    while (pos < s.len) {
        uint64_t word;
        if (s.len - pos >= sizeof(word)) {
            memcpy(&word, s.ptr + pos, sizeof(word));
            if ((word & 0x8080808080808080u) == 0) {
                pos += sizeof(word);
                continue;
            }
        }
        size_t len = utf8_char_len(s.ptr + pos, s.len - pos);
        if (len == 0) {
            return pos;
        }
        pos += len;
    }
    return pos;
}

size_t utf8_count(struct slice s)
{
    const uint64_t ones = 0x0101010101010101u;
    size_t count = 0, i = 0;
    uint64_t word;
    for (; s.len - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, s.ptr + i, sizeof(word));
        /* A byte that continues a character is 10xxxxxx: a one for each of the others, and their sum on top.
         */
        count += ((~(word >> 7) | word >> 6) & ones) * ones >> 56;
    }
    for (; i < s.len; i++) {
        count += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    }
    return count;
}

void utf8_append(struct buf *buf, uint32_t code_point)
{
    char bytes[4];
    size_t len = 0;
    if (code_point < 0x80) {
        bytes[len++] = (char)code_point;
    } else if (code_point < 0x800) {
        bytes[len++] = (char)(0xC0 | code_point >> 6);
        bytes[len++] = (char)(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        bytes[len++] = (char)(0xE0 | code_point >> 12);
        bytes[len++] = (char)(0x80 | (code_point >> 6 & 0x3F));
        bytes[len++] = (char)(0x80 | (code_point & 0x3F));
    } else {
        bytes[len++] = (char)(0xF0 | code_point >> 18);
        bytes[len++] = (char)(0x80 | (code_point >> 12 & 0x3F));
        bytes[len++] = (char)(0x80 | (code_point >> 6 & 0x3F));
        bytes[len++] = (char)(0x80 | (code_point & 0x3F));
    }
    buf_bytes(buf, bytes, len);
}

uint32_t utf8_next(struct slice s, size_t *pos)
{
    const unsigned char *at = (const unsigned char *)s.ptr + *pos;
    if (at[0] < 0x80) {
        *pos += 1;
        return at[0];
    }
    if (at[0] < 0xE0) {
        *pos += 2;
        return (uint32_t)(at[0] & 0x1F) << 6 | (at[1] & 0x3F);
    }
    if (at[0] < 0xF0) {
        *pos += 3;
        return (uint32_t)(at[0] & 0x0F) << 12 | (uint32_t)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    }
    *pos += 4;
    return (uint32_t)(at[0] & 0x07) << 18 | (uint32_t)(at[1] & 0x3F) << 12 | (uint32_t)(at[2] & 0x3F) << 6 |
           (at[3] & 0x3F);
}

static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

bool utf8_unseen(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
        if (code_point <= unseen[i].last) {
            return code_point >= unseen[i].first;
        }
    }
    return false;
}

void utf8_append_printable(struct buf *buf, struct slice s)
{
    size_t pos = 0, plain = 0;
    while (pos < s.len) {
        size_t len = utf8_char_len(s.ptr + pos, s.len - pos);
        size_t behind = pos;
        uint32_t code_point = len == 0 ? 0 : utf8_next(s, &behind);
        if (len != 0 && !utf8_unseen(code_point)) {
            pos = behind;
            continue;
        }
        buf_bytes(buf, s.ptr + plain, pos - plain);
        if (len == 0) {
            buf_text(buf, "\xEF\xBF\xBD");
            behind = pos + 1;
        } else {
            buf_printf(buf, "\\u{%04X}", code_point);
        }
        pos = plain = behind;
    }
    buf_bytes(buf, s.ptr + plain, pos - plain);
}
