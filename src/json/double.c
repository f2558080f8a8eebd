/* Doubles in the form of ECMAScript's Number::toString (ECMA-262 section 6.1.6.1.20), which RFC 8785 takes
 * over.
 *
 * Text goes to and from the C library without a decimal point, so that no locale can change it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/internal.h"

double json_double_read(struct json_short number)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%llue%d", (unsigned long long)number.digits, number.power);
    return strtod(text, NULL);
}

/* d, correctly rounded to `count` digits. */
static struct json_short round_to(double d, int count)
{
    char text[40];
    (void)snprintf(text, sizeof(text), "%.*e", count - 1, d);
    struct json_short number = {0, 0};
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') { /* the decimal point is the locale's */
            number.digits = number.digits * 10 + (uint64_t)(*at - '0');
        }
    }
    number.power = (int)strtol(at + 1, NULL, 10) - (count - 1);
    return number;
}

static struct json_short strip_zeros(struct json_short number)
{
    while (number.digits != 0 && number.digits % 10 == 0) {
        number.digits /= 10;
        number.power++;
    }
    return number;
}

struct json_short json_double_shortest(double d)
{
    /* Above the subnormal doubles no two texts of 15 digits read as the same double. So if one does read as
     * d, it is also the shortest, once its zeros are gone. */
    int count = d < 1e-300 ? 1 : 15;
    for (; count < 17; count++) {
        struct json_short number = round_to(d, count);
        if (json_double_read(number) == d) {
            return strip_zeros(number);
        }
        /* Above a power of two the doubles are twice as far apart as below. So the closest of these texts may
         * read as the neighbour below, and yet the next one above it as d. */
        number.digits++;
        if (json_double_read(number) == d) {
            return strip_zeros(number);
        }
    }
    return strip_zeros(round_to(d, 17));
}

/* Writes digits, with a decimal point behind the first `point` of them when that is neither none nor all. */
static char *put_digits(char *to, const char *digits, int count, int point)
{
    for (int i = 0; i < count; i++) {
        if (i == point && i != 0) {
            *to++ = '.';
        }
        *to++ = digits[i];
    }
    return to;
}

static char *put_zeros(char *to, int count)
{
    for (int i = 0; i < count; i++) {
        *to++ = '0';
    }
    return to;
}

void json_write_short(struct buf *buf, bool negative, struct json_short number)
{
    char text[20], out[40];
    char *digits = text + sizeof(text), *to = out;
    for (uint64_t rest = number.digits; rest != 0; rest /= 10) {
        *--digits = (char)('0' + rest % 10);
    }
    int count = (int)(text + sizeof(text) - digits);
    int point = count + number.power; /* how many digits stand before the decimal point: n of ECMA-262 */
    if (negative) {
        *to++ = '-';
    }
    if (point >= count && point <= 21) {
        to = put_digits(to, digits, count, 0);
        to = put_zeros(to, point - count);
    } else if (point > 0 && point <= 21) {
        to = put_digits(to, digits, count, point);
    } else if (point > -6 && point <= 0) {
        *to++ = '0';
        *to++ = '.';
        to = put_zeros(to, -point);
        to = put_digits(to, digits, count, 0);
    } else {
        to = put_digits(to, digits, count, 1);
        to += snprintf(to, 8, "e%+d", point - 1);
    }
    buf_bytes(buf, out, (size_t)(to - out));
}

void json_write_double(struct buf *buf, double d)
{
    if (!isfinite(d)) {
        buf->failed = true; /* JSON has no such number */
    } else if (d == 0) {
        buf_byte(buf, '0');
    } else {
        json_write_short(buf, d < 0, json_double_shortest(fabs(d)));
    }
}
