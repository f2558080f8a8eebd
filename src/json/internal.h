/* What the files of this room share; no other room includes it. */
#ifndef JSON_INTERNAL_H
#define JSON_INTERNAL_H

#ifdef __SSE2__
#include <emmintrin.h>
#include <string.h>
#endif

#include "json/json.h"

/* Marks the keys of a finished object that repeat an earlier one, adds them to doc->duplicates and lowers
 * *first to the smallest offset of one. Compares decoded keys; linear in their bytes. False without memory.
 */
MUST_USE bool json_keys_check(struct json_doc *doc, uint32_t object, uint32_t *first);

/* A number's value without its spelling: digits x 10^(exponent + shift). The digits have no zero at either
 * end, but perhaps a '.' among them. A zero has no digits. */
struct json_decimal {
    bool negative;          /* never for a zero */
    bool exponent_negative; /* never for an exponent of zero */
    const char *digits;   /* from the first significant digit to the last, with the '.' that may be between */
    size_t span;          /* bytes of it */
    size_t count;         /* how many of them are digits */
    const char *exponent; /* its digits as written without leading zeros; there may be millions */
    size_t exponent_len;
    int64_t shift; /* no larger than the text is long */
};

struct json_decimal json_decimal_of(struct slice number);

/* exponent + shift. False when the exponent has more digits than a sum of 64 bits allows for: the number is
 * then beyond every double and, unless the exponent is negative, beyond every integer. */
MUST_USE bool json_decimal_power(const struct json_decimal *decimal, int64_t *ret_power);

/* digits x 10^power, of a double: at most 17 digits, the last of which is no zero. */
struct json_short {
    uint64_t digits;
    int power;
};

/* The double nearest to a short number; the locale plays no part. */
double json_double_read(struct json_short number);

/* What ECMAScript's Number::toString chooses for a finite d > 0: as few digits as read back as d, of those
 * the closest. */
struct json_short json_double_shortest(double d);

/* Appends a short number the way Number::toString lays it out. */
void json_write_short(struct buf *buf, bool negative, struct json_short number);

/* Appends a JSON number in the form asked for. */
void json_write_number(struct buf *buf, struct slice number, enum json_number_form form);

/* The first byte of a string's text that is not plain ASCII: a quote, a backslash, a control character, a
 * byte of UTF-8; `end` when all is plain. Sixteen bytes at a time where there are such registers, then eight
 * at a time: a mark above a true one may be false, so only the lowest is used. */
static inline const char *json_skip_plain(const char *at, const char *end)
{
#ifdef __SSE2__
    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        /* As signed numbers, control characters and bytes of UTF-8 are below a space. */
        __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                                   _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
        unsigned marks = (unsigned)_mm_movemask_epi8(odd);
        if (marks != 0) {
            return at + __builtin_ctz(marks);
        }
        at += 16;
    }
#endif
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        /* The subtractions also mark bytes of UTF-8, which are to be marked in any case. */
        uint64_t marks = ((quote - ones) | (backslash - ones) | (word - ones * 0x20) | word) & highs;
        if (marks != 0) {
            return at + __builtin_ctzll(marks) / 8;
        }
        at += 8;
    }
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') {
            break;
        }
        at++;
    }
    return at;
}

#endif
