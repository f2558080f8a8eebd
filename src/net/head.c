/* Reading and writing of a request's head. */
#include "net/head.h"

#include <string.h>

#define METHOD_BYTES  32u
#define LENGTH_DIGITS 18u /* of a Content-Length: fits in 64 bits */

struct fields {
    bool has_host, has_length;
    struct slice host;
    uint64_t length;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* RFC 9110, section 5.6.2. */
static bool is_token_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(struct slice text, size_t most)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_token_char(text.ptr[i])) {
            return false;
        }
    }
    return text.len > 0 && text.len <= most;
}

/* Where the head ends, behind its empty line; 0: not yet. False where it can become none: a line end that is not both
 * characters, a control character. */
static bool find_end(struct slice bytes, size_t *ret_len)
{
    *ret_len = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        if (c == '\r' && i + 1 < bytes.len && bytes.ptr[i + 1] != '\n') {
            return false;
        }
        if (c == '\n' ? i == 0 || bytes.ptr[i - 1] != '\r'
                      : (c < ' ' && c != '\t' && c != '\r') || c == 0x7f) {
            return false;
        }
        if (c == '\n' && i >= 3 && bytes.ptr[i - 2] == '\n') {
            *ret_len = i + 1;
            return true;
        }
    }
    return true;
}

/* The next line of a head that is whole, without its end; the rest stays in *bytes. */
static struct slice next_line(struct slice *bytes)
{
    const char *end = memchr(bytes->ptr, '\r', bytes->len);
    struct slice line = {bytes->ptr, end == NULL ? bytes->len : (size_t)(end - bytes->ptr)};
    *bytes = slice_from(*bytes, end == NULL ? bytes->len : line.len + 2);
    return line;
}

/* HOST or HOST:PORT, which are all of the text. */
static bool read_authority(struct slice text, struct url_host *ret_host, bool *ret_has_port,
                           uint16_t *ret_port)
{
    size_t end = text.len;
    while (end > 0 && is_digit(text.ptr[end - 1])) {
        end--;
    }
    uint32_t port = 0;
    bool has_port = end > 0 && text.ptr[end - 1] == ':';
    if (has_port) {
        struct slice digits = slice_from(text, end);
        for (size_t i = 0; i < digits.len && i < 6; i++) {
            port = port * 10 + (uint32_t)(digits.ptr[i] - '0');
        }
        if (digits.len == 0 || digits.len > 5 || digits.ptr[0] == '0' || port > UINT16_MAX) {
            return false;
        }
        text.len = end - 1;
    }
    *ret_has_port = has_port;
    *ret_port = (uint16_t)port;
    return url_read_host(text, ret_host);
}

/* `http://HOST[:PORT][/PATH][?QUERY]`. */
static bool read_url(struct slice url, struct head *head)
{
    struct slice scheme = SLICE("http://");
    size_t end = 0;
    bool has_port = false;
    if (url.len < scheme.len || !slice_eq_ascii_case((struct slice){url.ptr, scheme.len}, scheme)) {
        return false;
    }
    url = slice_from(url, scheme.len);
    while (end < url.len && url.ptr[end] != '/' && url.ptr[end] != '?') {
        end++;
    }
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.ptr[i];
        if (c <= ' ' || c >= 0x7f || c == '#' || c == '\\') {
            return false;
        }
    }
    head->target = slice_from(url, end);
    bool ok = read_authority((struct slice){url.ptr, end}, &head->host, &has_port, &head->port);
    head->port = has_port ? head->port : 80;
    head->port_usual = head->port == 80;
    return ok;
}

static const char *read_first_line(struct slice line, struct head *head)
{
    const char *space = memchr(line.ptr, ' ', line.len);
    if (space == NULL) {
        return "no request line";
    }
    head->method = (struct slice){line.ptr, (size_t)(space - line.ptr)};
    struct slice rest = slice_from(line, head->method.len + 1);
    struct slice last = {rest.ptr + rest.len - (rest.len < 9 ? rest.len : 9), rest.len < 9 ? rest.len : 9};
    if (!is_token(head->method, METHOD_BYTES) ||
        (!slice_is(last, " HTTP/1.1") && !slice_is(last, " HTTP/1.0"))) {
        return "no request line of HTTP/1.1";
    }
    rest.len -= last.len;
    head->tunnel = slice_is(head->method, "CONNECT");
    if (!head->tunnel) {
        return read_url(rest, head) ? NULL : "the target is no http URL";
    }
    bool has_port = false;
    if (!read_authority(rest, &head->host, &has_port, &head->port) || !has_port) {
        return "the target is no HOST:PORT";
    }
    head->port_usual = head->port == 443;
    return NULL;
}

static const char *read_length(struct slice value, struct fields *fields)
{
    if (fields->has_length || value.len == 0 || value.len > LENGTH_DIGITS) {
        return "Content-Length is no one number";
    }
    fields->has_length = true;
    for (size_t i = 0; i < value.len; i++) {
        if (!is_digit(value.ptr[i])) {
            return "Content-Length is no one number";
        }
        fields->length = fields->length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    return NULL;
}

static struct slice without_blanks(struct slice text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text = slice_from(text, 1);
    }
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

/* Splits a field's line. False when its name is none: a folded line, a space before the colon. */
static bool split_field(struct slice line, struct slice *ret_name, struct slice *ret_value)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    if (colon == NULL) {
        return false;
    }
    *ret_name = (struct slice){line.ptr, (size_t)(colon - line.ptr)};
    *ret_value = without_blanks(slice_from(line, ret_name->len + 1));
    return is_token(*ret_name, HEAD_BYTES);
}

static const char *read_field(struct slice line, struct fields *fields)
{
    struct slice name, value;
    if (!split_field(line, &name, &value)) {
        return "a field has no name";
    }
    if (slice_eq_ascii_case(name, SLICE("host"))) {
        bool twice = fields->has_host;
        fields->has_host = true;
        fields->host = value;
        return twice ? "Host twice" : NULL;
    }
    if (slice_eq_ascii_case(name, SLICE("transfer-encoding"))) {
        return "a body without Content-Length"; /* whose end two programs could see at different places */
    }
    return slice_eq_ascii_case(name, SLICE("content-length")) ? read_length(value, fields) : NULL;
}

/* A Host that says another host than the target is read by one server and not by the other. */
static const char *compare_host(const struct fields *fields, const struct head *head)
{
    struct url_host host;
    bool has_port = false;
    uint16_t port = 0;
    if (!fields->has_host) {
        return NULL;
    }
    if (!read_authority(fields->host, &host, &has_port, &port) ||
        !slice_eq(url_host_text(&host), url_host_text(&head->host))) {
        return "Host is not the target's";
    }
    return has_port ? (port == head->port ? NULL : "Host is not the target's")
                    : (head->tunnel || head->port_usual ? NULL : "Host is not the target's");
}

static const char *read_whole(struct slice bytes, struct head *head)
{
    struct fields fields = {0};
    const char *why = read_first_line(next_line(&bytes), head);
    head->fields = (struct slice){bytes.ptr, bytes.len - 2};
    for (size_t lines = 0; why == NULL && bytes.len > 2; lines++) {
        why = lines == HEAD_LINES ? "too many fields" : read_field(next_line(&bytes), &fields);
    }
    if (why == NULL) {
        why = compare_host(&fields, head);
    }
    head->body = fields.length;
    return why != NULL ? why : head->tunnel && head->body > 0 ? "a tunnel has no body" : NULL;
}

enum head_result head_read(struct slice bytes, struct head *ret_head, const char **ret_why)
{
    struct head head = {0};
    size_t len = 0;
    struct slice seen = {bytes.ptr, bytes.len > HEAD_BYTES ? HEAD_BYTES : bytes.len};
    if (!find_end(seen, &len)) {
        *ret_why = "a control character in the head";
        return HEAD_BAD;
    }
    if (len == 0 && bytes.len >= HEAD_BYTES) {
        *ret_why = "the head is too long";
        return HEAD_BAD;
    }
    if (len == 0) {
        return HEAD_MORE;
    }
    *ret_why = read_whole((struct slice){bytes.ptr, len}, &head);
    if (*ret_why != NULL) {
        return HEAD_BAD;
    }
    head.len = len;
    *ret_head = head;
    return HEAD_OK;
}

void head_write_authority(struct buf *buf, const struct head *head, bool always)
{
    buf_slice(buf, url_host_text(&head->host));
    if (always || !head->port_usual) {
        buf_byte(buf, ':');
        buf_u64(buf, head->port);
    }
}

/* Fields that are between a client and its proxy, or that we write ourselves. */
static bool is_dropped(struct slice name)
{
    static const char *const dropped[] = {
        "host",    "connection", "proxy-connection", "keep-alive",          "te",
        "trailer", "upgrade",    "http2-settings",   "proxy-authorization", "proxy-authenticate"};
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (slice_eq_ascii_case(name, slice_of(dropped[i]))) {
            return true;
        }
    }
    return false;
}

void head_write(struct buf *buf, const struct head *head)
{
    struct slice rest = head->fields, name, value;
    buf_slice(buf, head->method);
    buf_byte(buf, ' ');
    if (head->target.len == 0 || head->target.ptr[0] != '/') {
        buf_byte(buf, '/');
    }
    buf_slice(buf, head->target);
    buf_text(buf, " HTTP/1.1\r\nHost: ");
    head_write_authority(buf, head, false);
    buf_text(buf, "\r\nConnection: close\r\n");
    while (rest.len > 0) {
        struct slice line = next_line(&rest);
        if (split_field(line, &name, &value) && !is_dropped(name)) {
            buf_slice(buf, line);
            buf_text(buf, "\r\n");
        }
    }
    buf_text(buf, "\r\n");
}
