/* Numbers as text: their value is digits and a power of ten, both of any length; nothing is ever rounded. */
#include "json/internal.h"

#include <string.h>

/* More digits of an exponent than this are not added up in 64 bits. 10^18 is far beyond every shift. */
#define POWER_DIGITS 18u
#define POWER_LIMIT  1000000000000000000

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct json_decimal json_decimal_of(struct slice number)
{
    const char *at = number.ptr, *end = at + number.len;
    bool negative = at < end && *at == '-';
    at += negative;
    const char *first = NULL, *last = NULL, *point = NULL;
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            point = at;
        } else if (*at != '0') {
            first = first == NULL ? at : first;
            last = at;
        }
    }
    if (first == NULL) {
        return (struct json_decimal){.digits = "", .exponent = ""};
    }
    point = point == NULL ? at : point;
    struct json_decimal d = {
        .negative = negative,
        .digits = first,
        .span = (size_t)(last - first) + 1,
        .shift = last < point ? point - last - 1 : point - last,
    };
    d.count = d.span - (first < point && point < last);
    if (at < end) {
        at++; /* the e */
        d.exponent_negative = *at == '-';
        at += !is_digit(*at);
        while (at < end && *at == '0') {
            at++;
        }
    }
    d.exponent = at;
    d.exponent_len = (size_t)(end - at);
    d.exponent_negative &= d.exponent_len != 0;
    return d;
}

/* The value of at most 18 digits. */
static int64_t small_value(const char *digits, size_t len)
{
    int64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        value = value * 10 + (digits[i] - '0');
    }
    return value;
}

bool json_decimal_power(const struct json_decimal *decimal, int64_t *ret_power)
{
    if (decimal->exponent_len > POWER_DIGITS) {
        return false;
    }
    int64_t exponent = small_value(decimal->exponent, decimal->exponent_len);
    *ret_power = (decimal->exponent_negative ? -exponent : exponent) + decimal->shift;
    return true;
}

/* An exponent's magnitude in two parts: high x 10^18 + low. */
struct parts {
    const char *high;
    size_t high_len; /* no leading zeros */
    int64_t low;
};

static struct parts split_exponent(const struct json_decimal *d)
{
    size_t high_len = d->exponent_len > POWER_DIGITS ? d->exponent_len - POWER_DIGITS : 0;
    return (struct parts){d->exponent, high_len,
                          small_value(d->exponent + high_len, d->exponent_len - high_len)};
}

/* Whether the digits of a are those of b, plus one. */
static bool is_successor(struct slice a, struct slice b)
{
    size_t i = a.len, j = b.len;
    while (j > 0 && b.ptr[j - 1] == '9') {
        if (i == 0 || a.ptr[i - 1] != '0') {
            return false;
        }
        i--;
        j--;
    }
    if (j == 0) { /* b is nines or nothing: a is one digit longer, or 1 */
        return i == 1 && a.ptr[0] == '1';
    }
    return i == j && a.ptr[i - 1] == b.ptr[j - 1] + 1 && memcmp(a.ptr, b.ptr, i - 1) == 0;
}

/* Whether both powers of ten, exponent + shift, are the same. */
static bool equal_powers(const struct json_decimal *a, const struct json_decimal *b)
{
    int64_t power_a, power_b;
    bool small_a = json_decimal_power(a, &power_a), small_b = json_decimal_power(b, &power_b);
    if (small_a && small_b) {
        return power_a == power_b;
    }
    if (a->exponent_negative != b->exponent_negative) {
        return false; /* at least one is 10^18 or more, and a shift is small beside that */
    }
    /* exponent a - exponent b must be shift b - shift a: (high a - high b) x 10^18 + low a - low b. */
    int64_t want = a->exponent_negative ? a->shift - b->shift : b->shift - a->shift;
    struct parts pa = split_exponent(a), pb = split_exponent(b);
    struct slice high_a = {pa.high, pa.high_len}, high_b = {pb.high, pb.high_len};
    int64_t low = pa.low - pb.low;
    if (slice_eq(high_a, high_b)) {
        return low == want;
    }
    if (is_successor(high_a, high_b)) {
        return low + POWER_LIMIT == want;
    }
    return is_successor(high_b, high_a) && low - POWER_LIMIT == want;
}

static bool equal_digits(const struct json_decimal *a, const struct json_decimal *b)
{
    if (a->count != b->count) {
        return false;
    }
    const char *pa = a->digits, *pb = b->digits;
    for (size_t i = 0; i < a->count; i++, pa++, pb++) {
        pa += *pa == '.';
        pb += *pb == '.';
        if (*pa != *pb) {
            return false;
        }
    }
    return true;
}

bool json_number_equal(struct slice a, struct slice b)
{
    if (slice_eq(a, b)) {
        return true;
    }
    struct json_decimal da = json_decimal_of(a), db = json_decimal_of(b);
    return da.negative == db.negative && equal_digits(&da, &db) && (da.count == 0 || equal_powers(&da, &db));
}

enum json_int_result json_number_int(struct slice number, int64_t *ret_value)
{
    struct json_decimal d = json_decimal_of(number);
    if (d.count == 0) {
        *ret_value = 0;
        return JSON_INT_OK;
    }
    int64_t power;
    if (!json_decimal_power(&d, &power)) {
        power = d.exponent_negative ? -1 : POWER_LIMIT;
    }
    if (power < 0) {
        return JSON_INT_FRACTION; /* the last digit is no zero */
    }
    if (power > 18 || d.count > 19) {
        return JSON_INT_RANGE;
    }
    /* Counted downwards, since the smallest integer has no counterpart. */
    int64_t value = 0;
    const char *at = d.digits;
    for (int64_t i = 0; i < (int64_t)d.count + power; i++) {
        int digit = 0;
        if (i < (int64_t)d.count) {
            at += *at == '.';
            digit = *at++ - '0';
        }
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, digit, &value)) {
            return JSON_INT_RANGE;
        }
    }
    if (!d.negative && value == INT64_MIN) {
        return JSON_INT_RANGE;
    }
    *ret_value = d.negative ? value : -value;
    return JSON_INT_OK;
}

static void write_digits(struct buf *buf, const struct json_decimal *d)
{
    const char *point = d->count < d->span ? memchr(d->digits, '.', d->span) : NULL;
    if (point == NULL) {
        buf_bytes(buf, d->digits, d->span);
    } else {
        buf_bytes(buf, d->digits, (size_t)(point - d->digits));
        buf_bytes(buf, point + 1, (size_t)(d->digits + d->span - point - 1));
    }
}

/* Appends digits plus one. */
static void write_successor(struct buf *buf, struct slice digits)
{
    size_t nines = 0;
    while (nines < digits.len && digits.ptr[digits.len - nines - 1] == '9') {
        nines++;
    }
    size_t kept = digits.len - nines;
    if (kept == 0) {
        buf_byte(buf, '1');
    } else {
        buf_bytes(buf, digits.ptr, kept - 1);
        buf_byte(buf, (char)(digits.ptr[kept - 1] + 1));
    }
    for (; nines > 0; nines--) {
        buf_byte(buf, '0');
    }
}

/* Appends digits, which are no zero, minus one; nothing when that is zero. */
static void write_predecessor(struct buf *buf, struct slice digits)
{
    size_t zeros = 0;
    while (digits.ptr[digits.len - zeros - 1] == '0') {
        zeros++;
    }
    size_t kept = digits.len - zeros;
    char digit = (char)(digits.ptr[kept - 1] - 1);
    buf_bytes(buf, digits.ptr, kept - 1);
    if (kept > 1 || digit != '0') {
        buf_byte(buf, digit);
    }
    for (; zeros > 0; zeros--) {
        buf_byte(buf, '9');
    }
}

/* Appends exponent + shift in decimal. */
static void write_power(struct buf *buf, const struct json_decimal *d)
{
    int64_t power;
    if (json_decimal_power(d, &power)) {
        buf_i64(buf, power);
        return;
    }
    struct parts parts = split_exponent(d);
    struct slice high = {parts.high, parts.high_len};
    int64_t low = parts.low + (d->exponent_negative ? -d->shift : d->shift);
    if (d->exponent_negative) {
        buf_byte(buf, '-');
    }
    size_t before = buf->len;
    if (low < 0) {
        low += POWER_LIMIT;
        write_predecessor(buf, high);
    } else if (low >= POWER_LIMIT) {
        low -= POWER_LIMIT;
        write_successor(buf, high);
    } else {
        buf_slice(buf, high);
    }
    buf_printf(buf, "%0*lld", buf->len == before ? 1 : (int)POWER_DIGITS, (long long)low);
}

static void write_exact(struct buf *buf, const struct json_decimal *d)
{
    if (d->negative) {
        buf_byte(buf, '-');
    }
    if (d->count == 0) {
        buf_byte(buf, '0');
    }
    write_digits(buf, d);
    buf_byte(buf, 'e');
    write_power(buf, d);
}

/* The number as a short one, when RFC 8785 writes it without changing its value. */
static bool find_short(const struct json_decimal *d, struct json_short *ret_number)
{
    int64_t power;
    if (d->count > 17 || !json_decimal_power(d, &power) || power > 400 || power < -400) {
        return false;
    }
    struct json_short number = {0, (int)power};
    const char *at = d->digits;
    for (size_t i = 0; i < d->count; i++, at++) {
        at += *at == '.';
        number.digits = number.digits * 10 + (uint64_t)(*at - '0');
    }
    /* Within the range of normal doubles, 15 digits always survive, so they are the shortest already. */
    int64_t magnitude = power + (int64_t)d->count;
    if (d->count > 15 || magnitude > 300 || magnitude < -300) {
        double nearest = json_double_read(number);
        if (nearest == 0 || nearest > 1.7976931348623157e308) {
            return false;
        }
        struct json_short shortest = json_double_shortest(nearest);
        if (shortest.digits != number.digits || shortest.power != number.power) {
            return false;
        }
    }
    *ret_number = number;
    return true;
}

void json_write_number(struct buf *buf, struct slice number, enum json_number_form form)
{
    struct json_decimal d = json_decimal_of(number);
    if (form == JSON_NUMBER_EXACT) {
        write_exact(buf, &d);
        return;
    }
    struct json_short rounded;
    if (d.count == 0) {
        buf_byte(buf, '0');
    } else if (find_short(&d, &rounded)) {
        json_write_short(buf, d.negative, rounded);
    } else if (form == JSON_NUMBER_CALL) {
        write_exact(buf, &d);
    } else {
        buf_byte(buf, '"');
        write_exact(buf, &d);
        buf_byte(buf, '"');
    }
}
