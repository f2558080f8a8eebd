/* Addresses: IPv4 as four decimal numbers, IPv6 in brackets, and their canonical texts. */
#include <stdio.h>
#include <string.h>

#include "url/internal.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool url_read_ipv4(struct slice text, uint8_t ret_bytes[4])
{
    uint8_t bytes[4];
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (at == text.len || text.ptr[at++] != '.')) {
            return false;
        }
        size_t begin = at;
        unsigned value = 0;
        while (at < text.len && at - begin < 3 && is_digit(text.ptr[at])) {
            value = value * 10 + (unsigned)(text.ptr[at++] - '0');
        }
        size_t digits = at - begin;
        if (digits == 0 || value > 255 || (digits > 1 && text.ptr[begin] == '0')) {
            return false;
        }
        bytes[part] = (uint8_t)value;
    }
    if (at != text.len) {
        return false;
    }
    memcpy(ret_bytes, bytes, sizeof(bytes));
    return true;
}

static int hex_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One group of one to four hexadecimal digits at *at. */
static bool read_group(struct slice text, size_t *at, uint16_t *ret_group)
{
    unsigned value = 0;
    size_t begin = *at;
    while (*at < text.len && *at - begin < 4 && hex_value(text.ptr[*at]) >= 0) {
        value = value << 4 | (unsigned)hex_value(text.ptr[(*at)++]);
    }
    *ret_group = (uint16_t)value;
    return *at > begin;
}

#define NO_GAP 9u

/* The groups of an address, the last two as IPv4 where they are written so; *ret_gap is the number of groups
 * before `::`, or NO_GAP. Returns how many groups stand there; 9 when it is no address. */
static unsigned read_groups(struct slice text, uint16_t groups[8], unsigned *ret_gap)
{
    unsigned count = 0, gap = NO_GAP;
    size_t at = 0;
    uint8_t tail[4];
    if (text.len >= 2 && text.ptr[0] == ':' && text.ptr[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < text.len) {
        if (count == 8) {
            return 9;
        }
        if (count <= 6 && url_read_ipv4(slice_from(text, at), tail)) {
            groups[count++] = (uint16_t)(tail[0] << 8 | tail[1]);
            groups[count++] = (uint16_t)(tail[2] << 8 | tail[3]);
            break;
        }
        if (!read_group(text, &at, &groups[count++])) {
            return 9;
        }
        if (at == text.len) {
            break;
        }
        if (text.ptr[at++] != ':' || at == text.len) {
            return 9;
        }
        if (text.ptr[at] == ':') {
            if (gap != NO_GAP) {
                return 9;
            }
            gap = count;
            at++;
        }
    }
    *ret_gap = gap;
    return count;
}

bool url_read_ipv6(struct slice text, uint16_t ret_groups[8])
{
    uint16_t groups[8] = {0};
    unsigned gap;
    unsigned count = read_groups(text, groups, &gap);
    if (count > 8 || (gap == NO_GAP) != (count == 8)) {
        return false;
    }
    memset(ret_groups, 0, 8 * sizeof(*ret_groups));
    for (unsigned i = 0; i < count; i++) {
        ret_groups[i < gap ? i : 8 - count + i] = groups[i];
    }
    return true;
}

void url_write_ipv4(const uint8_t bytes[4], struct url_host *ret_host)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
    memcpy(ret_host->text, text, (size_t)len);
    ret_host->len = (uint8_t)len;
}

/* Where the first of the longest runs of two or more zero groups begins; 8 when there is none. */
static unsigned longest_zeros(const uint16_t groups[8], unsigned *ret_len)
{
    unsigned best = 8, best_len = 1;
    for (unsigned i = 0; i < 8; i++) {
        unsigned end = i;
        while (end < 8 && groups[end] == 0) {
            end++;
        }
        if (end - i > best_len) {
            best = i;
            best_len = end - i;
        }
    }
    *ret_len = best_len;
    return best;
}

void url_write_ipv6(const uint16_t groups[8], struct url_host *ret_host)
{
    static const uint16_t mapped[6] = {0, 0, 0, 0, 0, 0xffff};
    if (memcmp(groups, mapped, sizeof(mapped)) == 0) {
        const uint8_t bytes[4] = {(uint8_t)(groups[6] >> 8), (uint8_t)groups[6], (uint8_t)(groups[7] >> 8),
                                  (uint8_t)groups[7]};
        url_write_ipv4(bytes, ret_host);
        return;
    }
    unsigned zeros, begin = longest_zeros(groups, &zeros);
    char text[48] = "[";
    size_t len = 1;
    for (unsigned i = 0; i < 8; i++) {
        if (i == begin) {
            text[len++] = ':';
            text[len++] = ':';
            i += zeros - 1;
            continue;
        }
        const char *colon = i > 0 && text[len - 1] != ':' ? ":" : "";
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%x", colon, groups[i]);
    }
    text[len++] = ']';
    memcpy(ret_host->text, text, len);
    ret_host->len = (uint8_t)len;
}
