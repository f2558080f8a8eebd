/* Reading URLs and hosts, and what a rule's `host` stands for. */
#include "url/url.h"

#include <string.h>

#include "url/internal.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static struct slice skip_blanks(struct slice text)
{
    size_t at = 0;
    while (at < text.len && (unsigned char)text.ptr[at] <= ' ') {
        at++;
    }
    return slice_from(text, at);
}

/* The length of the scheme that a text begins with, without its `:`; 0 when it begins with none. A digit behind
 * the `:` makes it a host with a port. */
static size_t scheme_len(struct slice text)
{
    size_t at = 0;
    if (text.len == 0 || !is_letter(text.ptr[0])) {
        return 0;
    }
    while (at < text.len && (is_letter(text.ptr[at]) || is_digit(text.ptr[at]) || text.ptr[at] == '+' ||
                             text.ptr[at] == '-')) {
        at++;
    }
    if (at == text.len || text.ptr[at] != ':' || (at + 1 < text.len && is_digit(text.ptr[at + 1]))) {
        return 0;
    }
    return at;
}

static bool begins_with(struct slice text, struct slice scheme)
{
    return text.len >= scheme.len && slice_eq_ascii_case((struct slice){text.ptr, scheme.len}, scheme);
}

/* The length of `http:`, `https:`, `ws:` or `wss:` at the beginning of a text; 0 when none stands there. */
static size_t known_scheme_len(struct slice text)
{
    static const struct slice schemes[] = {{"http:", 5}, {"https:", 6}, {"ws:", 3}, {"wss:", 4}};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (begins_with(text, schemes[i])) {
            return schemes[i].len;
        }
    }
    return 0;
}

bool url_begins(struct slice text)
{
    return known_scheme_len(skip_blanks(text)) != 0;
}

/* Whether the last label makes parsers take a name for an address: all digits, or a hexadecimal number. */
static bool ends_in_number(struct slice name)
{
    size_t begin = name.len;
    bool digits = true;
    while (begin > 0 && name.ptr[begin - 1] != '.') {
        begin--;
        digits = digits && is_digit(name.ptr[begin]);
    }
    struct slice label = slice_from(name, begin);
    return digits || (label.len >= 2 && label.ptr[0] == '0' && lower(label.ptr[1]) == 'x');
}

static bool read_name(struct slice text, struct url_host *ret_host)
{
    if (text.len > 0 && text.ptr[text.len - 1] == '.') {
        text.len--;
    }
    if (text.len == 0 || text.len > URL_HOST_BYTES || ends_in_number(text)) {
        return false;
    }
    struct url_host host = {.len = (uint8_t)text.len};
    bool empty = true; /* the label so far */
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '.' ? empty : !is_letter(c) && !is_digit(c) && c != '-' && c != '_') {
            return false;
        }
        empty = c == '.';
        host.text[i] = lower(c);
    }
    if (empty) {
        return false;
    }
    *ret_host = host;
    return true;
}

bool url_read_host(struct slice text, struct url_host *ret_host)
{
    uint8_t bytes[4];
    uint16_t groups[8];
    if (text.len >= 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']') {
        if (!url_read_ipv6((struct slice){text.ptr + 1, text.len - 2}, groups)) {
            return false;
        }
        url_write_ipv6(groups, ret_host);
        return true;
    }
    if (url_read_ipv4(text, bytes)) {
        url_write_ipv4(bytes, ret_host);
        return true;
    }
    return read_name(text, ret_host);
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Where a HOST that begins a text ends: behind its bracket, or before the first of `:/?#`. */
static size_t host_end(struct slice text)
{
    const char *bracket = text.len > 0 && text.ptr[0] == '[' ? memchr(text.ptr, ']', text.len) : NULL;
    size_t at = bracket == NULL ? 0 : (size_t)(bracket - text.ptr) + 1;
    while (at < text.len && !is_one_of(text.ptr[at], ":/?#")) {
        at++;
    }
    return at;
}

/* Where a port that begins a text ends: `:` and one to five digits; 0 when none stands there. */
static size_t port_end(struct slice text)
{
    size_t at = 1;
    if (text.len == 0 || text.ptr[0] != ':') {
        return 0;
    }
    while (at < text.len && at <= 5 && is_digit(text.ptr[at])) {
        at++;
    }
    return at == 1 ? 0 : at;
}

/* What stands behind SCHEME:// of a strict URL. */
static bool read_strictly(struct slice text, struct url_host *ret_host)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c <= ' ' || c == 0x7f || c == '\\') {
            return false;
        }
    }
    size_t end = host_end(text);
    struct slice rest = slice_from(text, end);
    rest = slice_from(rest, port_end(rest));
    return (rest.len == 0 || is_one_of(rest.ptr[0], "/?#")) &&
           url_read_host((struct slice){text.ptr, end}, ret_host);
}

enum url_kind url_read(struct slice text, struct url_host *ret_host)
{
    text = skip_blanks(text);
    size_t scheme = known_scheme_len(text);
    if (scheme == 0) {
        return scheme_len(text) == 0 ? URL_NO_SCHEME : URL_NO_HOST;
    }
    text = slice_from(text, scheme);
    if (!slice_starts_with(text, SLICE("//")) || !read_strictly(slice_from(text, 2), ret_host)) {
        return URL_UNREADABLE;
    }
    return URL_HOST;
}

bool url_read_host_port(struct slice text, struct url_host *ret_host)
{
    size_t end = host_end(text);
    struct slice rest = slice_from(text, end);
    return port_end(rest) == rest.len && url_read_host((struct slice){text.ptr, end}, ret_host);
}

bool url_read_loosely(struct slice text, struct url_host *ret_host)
{
    text = skip_blanks(text);
    size_t scheme = scheme_len(text);
    if (scheme == 0 || !slice_starts_with(slice_from(text, scheme), SLICE("://"))) {
        return false;
    }
    text = slice_from(text, scheme + 3);
    size_t user = 0, end = 0;
    while (end < text.len && (unsigned char)text.ptr[end] > ' ' && !is_one_of(text.ptr[end], "/?#\\")) {
        user = text.ptr[end] == '@' ? end + 1 : user;
        end++;
    }
    text = slice_from((struct slice){text.ptr, end}, user);
    return url_read_host((struct slice){text.ptr, host_end(text)}, ret_host);
}
