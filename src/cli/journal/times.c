/* Local times from and to the UTC texts of a journal. */
#include "cli/journal/times.h"

#include <string.h>
#include <time.h>

#include "base/utf8.h"

/* How long ago: digits and one of s, m, h, d. */
static bool read_ago(const char *text, int64_t *ret_ms)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    int64_t number = 0;
    size_t digits = 0;
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 9; digits++) {
        number = number * 10 + (text[digits] - '0');
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (digits > 0 && text[digits] == units[i].unit && text[digits + 1] == '\0') {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

static bool read_date(const char *text, int64_t *ret_ms)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                          "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &tm);
        if (end == NULL) {
            continue;
        }
        bool fraction = end[0] == '.' && strspn(end + 1, "0123456789") == 3;
        int64_t ms = fraction ? (end[1] - '0') * 100 + (end[2] - '0') * 10 + (end[3] - '0') : 0;
        end += fraction ? 4 : 0;
        bool utc = strcmp(end, "Z") == 0;
        if (end[0] == '\0' || utc) {
            *ret_ms = (int64_t)(utc ? timegm(&tm) : mktime(&tm)) * 1000 + ms;
            return true;
        }
    }
    return false;
}

bool times_read(const char *text, int64_t now_ms, char ret_ts[CLOCK_ISO_SIZE])
{
    int64_t ms;
    if (read_ago(text, &ms)) {
        ms = now_ms - ms;
    } else if (!read_date(text, &ms)) {
        return false;
    }
    clock_iso8601(ms, ret_ts);
    return true;
}

void times_write_local(struct buf *out, struct slice ts)
{
    char text[CLOCK_ISO_SIZE], local[32];
    struct tm tm = {0};
    bool fits = ts.len == sizeof(text) - 1;
    if (fits) {
        memcpy(text, ts.ptr, ts.len);
        text[ts.len] = '\0';
        const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
        fits = end != NULL && end[0] == '.';
    }
    time_t time = fits ? timegm(&tm) : 0;
    if (fits && localtime_r(&time, &tm) != NULL &&
        strftime(local, sizeof(local), "%Y-%m-%d %H:%M:%S", &tm) > 0) {
        buf_text(out, local);
    } else {
        utf8_append_printable(out, ts);
    }
}
