/* file: URIs. Three forms are read, file:/PATH, file:///PATH and file://localhost/PATH; whatever else begins
 * with `file:` is unreadable rather than no path, since some program may well open it. So is one with what
 * the parsers of URLs take away, and others do not: tabs and line ends anywhere, white space at the end. */
#include "path/internal.h"

#include <string.h>

#define SCHEME "file:"

/* What a parser of URLs takes away wherever it stands. */
static bool is_passed_over(char c)
{
    return c == '\t' || c == '\n' || c == '\r';
}

/* What stands behind `file:`; ptr is NULL when the text does not begin so. *ret_exact: its letters stand
 * together.
 */
static struct slice after_scheme(struct slice text, bool *ret_exact)
{
    text = slice_from(text, path_space_before(text));
    size_t at = 0;
    for (const char *wanted = SCHEME; *wanted != '\0'; at++) {
        if (at == text.len) {
            return (struct slice){NULL, 0};
        }
        char c = text.ptr[at];
        if (c == *wanted || (c >= 'A' && c <= 'Z' && (c | 0x20) == *wanted)) {
            wanted++;
        } else if (!is_passed_over(c)) {
            return (struct slice){NULL, 0};
        }
    }
    *ret_exact = at == SLICE(SCHEME).len;
    return slice_from(text, at);
}

bool path_is_uri(struct slice text)
{
    /* Most strings can be told by their first byte. */
    unsigned char first = text.len == 0 ? 'x' : (unsigned char)text.ptr[0];
    if (first > ' ' && first < 0x7F && (first | 0x20) != 'f') {
        return false;
    }
    bool exact;
    return after_scheme(text, &exact).ptr != NULL;
}

bool path_is_uri_to_all(struct slice text)
{
    while (text.len > 0 && (unsigned char)text.ptr[0] <= ' ') {
        text = slice_from(text, 1);
    }
    return path_space_before(text) == 0 && path_is_uri(text);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

/* Decodes into `out`, which has room for as many bytes as the text. */
static bool decode(struct slice text, char *out, size_t *ret_len)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '?' || c == '#' || c == '\\' || is_passed_over(c)) {
            return false;
        }
        if (c == '%') {
            int high = text.len - i > 2 ? hex_digit(text.ptr[i + 1]) : -1;
            int low = text.len - i > 2 ? hex_digit(text.ptr[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0') {
            return false;
        }
        out[len++] = c;
    }
    *ret_len = len;
    return true;
}

enum path_uri path_decode_uri(struct slice text, struct buf *ret_path)
{
    bool exact;
    struct slice rest = after_scheme(text, &exact);
    if (rest.ptr == NULL) {
        return PATH_URI_NONE;
    }
    /* Before the scheme too: a NUL anywhere makes the argument unreadable. */
    if (memchr(text.ptr, '\0', text.len) != NULL || !exact || path_space_behind(text) > 0) {
        return PATH_URI_UNREADABLE;
    }
    if (slice_starts_with(rest, SLICE("//"))) {
        rest = slice_from(rest, 2);
        if (slice_starts_with(rest, SLICE("localhost/"))) {
            rest = slice_from(rest, SLICE("localhost").len);
        }
    }
    if (rest.len == 0 || rest.ptr[0] != '/') {
        return PATH_URI_UNREADABLE;
    }
    size_t len;
    char *out = buf_reserve(ret_path, rest.len);
    if (out == NULL || !decode(rest, out, &len)) {
        return PATH_URI_UNREADABLE;
    }
    buf_added(ret_path, len);
    return PATH_URI_OK;
}
