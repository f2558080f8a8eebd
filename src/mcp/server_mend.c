/* What servers write that is not quite JSON, made into JSON. */
#include "mcp/server_mend_internal.h"

#include <string.h>

#include "base/utf8.h"

/* ---- Halves of surrogate pairs ---- */

/* The unit of a \uXXXX escape at `at`; -1 when there is none. */
static int32_t unit_at(struct slice text, size_t at)
{
    if (text.len - at < 6 || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u') {
        return -1;
    }
    int32_t unit = 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = text.ptr[i];
        char lower = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(lower >= 'a' && lower <= 'f')) {
            return -1;
        }
        unit = unit * 16 + (c <= '9' ? c - '0' : lower - 'a' + 10);
    }
    return unit;
}

static const char replacement[6] = {'\\', 'u', 'F', 'F', 'F', 'D'};

/* Replaces halves of surrogate pairs by an escape of the same length. */
void mend_surrogates(char *ptr, size_t len)
{
    struct slice text = {ptr, len};
    size_t at = 0;
    while (at < len) {
        if (ptr[at] != '\\') {
            at++;
            continue;
        }
        int32_t unit = unit_at(text, at);
        if (unit < 0xD800 || unit > 0xDFFF) {
            at += unit < 0 ? 2 : 6;
            continue;
        }
        int32_t low = unit < 0xDC00 && len - at >= 12 ? unit_at(text, at + 6) : -1;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            at += 12;
            continue;
        }
        memcpy(ptr + at, replacement, sizeof(replacement));
        at += 6;
    }
}

/* ---- What JSON may not hold ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The length of a number that JSON does not have, at `at`; 0 when there is none. */
static size_t strange_number(struct slice line, size_t at)
{
    static const struct slice names[] = {{"NaN", 3}, {"Infinity", 8}, {"-Infinity", 9}, {"-NaN", 4}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct slice rest = slice_from(line, at);
        if (slice_starts_with(rest, names[i]) &&
            (rest.len == names[i].len || !is_word(rest.ptr[names[i].len]))) {
            return names[i].len;
        }
    }
    return 0;
}

/* Copies one character of a string, or what stands for it. Returns how many bytes of the line that took. */
static size_t mend_string(struct buf *buf, struct slice line, size_t at, const char **what)
{
    unsigned char c = (unsigned char)line.ptr[at];
    if (c == '\\' && line.len - at >= 2 && (unsigned char)line.ptr[at + 1] >= 0x20 &&
        (unsigned char)line.ptr[at + 1] < 0x80) {
        buf_slice(buf, (struct slice){line.ptr + at, 2});
        return 2;
    }
    if (c < 0x20) {
        buf_printf(buf, "\\u%04x", c);
        *what = "a control character inside a string";
        return 1;
    }
    size_t len = utf8_char_len(line.ptr + at, line.len - at);
    if (len == 0) {
        buf_text(buf, "\xEF\xBF\xBD");
        *what = "bytes that are not UTF-8";
        return 1;
    }
    buf_slice(buf, (struct slice){line.ptr + at, len});
    return len;
}

/* The same outside of strings. */
static size_t mend_mark(struct buf *buf, struct slice line, size_t at, const char **what)
{
    size_t len = strange_number(line, at);
    if (len > 0) {
        buf_text(buf, "null");
        *what = "a number that is NaN or infinite";
        return len;
    }
    char c = line.ptr[at];
    if (c == '\r') {
        *what = "a carriage return inside the line";
        c = ' ';
    }
    buf_byte(buf, c);
    return 1;
}

const char *mend_line(struct buf *buf, struct slice line)
{
    const char *what = NULL;
    bool inside = false;
    size_t at = 0;
    if (slice_starts_with(line, SLICE("\xEF\xBB\xBF"))) {
        what = "a byte order mark";
        at = 3;
    }
    while (at < line.len) {
        bool quote = line.ptr[at] == '"';
        if (quote) {
            buf_byte(buf, '"');
            inside = !inside;
            at++;
        } else {
            at += inside ? mend_string(buf, line, at, &what) : mend_mark(buf, line, at, &what);
        }
    }
    return what;
}
