/* Asks the system for the time, and writes times as text. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool read_clock(clockid_t id, struct timespec *ret_time)
{
    return clock_gettime(id, ret_time) == 0;
}

static int64_t whole_ms(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

int64_t clock_wall_ms(void)
{
    struct timespec time;
    return read_clock(CLOCK_REALTIME, &time) ? whole_ms(&time) : INT64_MIN;
}

int64_t clock_boot_ms(void)
{
    struct timespec time;
    return read_clock(CLOCK_BOOTTIME, &time) ? whole_ms(&time) : -1;
}

static uint64_t whole_ns(clockid_t id)
{
    struct timespec time;
    if (!read_clock(id, &time)) {
        return 0;
    }
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
    return whole_ns(CLOCK_MONOTONIC);
}

uint64_t clock_thread_ns(void)
{
    return whole_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void put_digits(char *out, unsigned width, uint64_t n)
{
    while (width > 0) {
        out[--width] = (char)('0' + n % 10);
        n /= 10;
    }
}

void clock_iso8601(int64_t wall_ms, char out[CLOCK_ISO_SIZE])
{
    const int64_t first = -62167219200000; /* 0000-01-01T00:00:00.000Z */
    const int64_t last = 253402300799999;  /* 9999-12-31T23:59:59.999Z */
    int64_t clamped = wall_ms < first ? first : wall_ms > last ? last : wall_ms;
    /* Days since 0000-03-01: a year that begins in March has its leap day at its end. The added cycle of 400
     * years keeps January and February of the year 0 positive. */
    const uint64_t cycle = 146097;
    uint64_t ms = (uint64_t)(clamped - first);
    uint64_t day = ms / 86400000 + cycle - 60;
    uint64_t of_day = ms % 86400000;
    uint64_t of_cycle = day % cycle;
    uint64_t year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
    uint64_t of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    uint64_t from_march = (5 * of_year + 2) / 153;
    uint64_t month = from_march < 10 ? from_march + 3 : from_march - 9;
    uint64_t year = day / cycle * 400 + year_of_cycle + (month <= 2) - 400;

    memcpy(out, "0000-00-00T00:00:00.000Z", CLOCK_ISO_SIZE);
    put_digits(out, 4, year);
    put_digits(out + 5, 2, month);
    put_digits(out + 8, 2, of_year - (153 * from_march + 2) / 5 + 1);
    put_digits(out + 11, 2, of_day / 3600000);
    put_digits(out + 14, 2, of_day / 60000 % 60);
    put_digits(out + 17, 2, of_day / 1000 % 60);
    put_digits(out + 20, 3, of_day % 1000);
}
