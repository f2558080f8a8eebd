/* What a rule's `host` stands for. */
#include "url/internal.h"

#include <string.h>

static bool is_address(const struct url_host *host)
{
    uint8_t bytes[4];
    return host->text[0] == '[' || url_read_ipv4(url_host_text(host), bytes);
}

const char *url_pattern_read(struct slice text, struct url_pattern *ret_pattern)
{
    struct url_pattern pattern = {.below = slice_starts_with(text, SLICE("*."))};
    if (!url_read_host(slice_from(text, pattern.below ? 2 : 0), &pattern.host)) {
        if (memchr(text.ptr, '/', text.len) != NULL || memchr(text.ptr, ':', text.len) != NULL) {
            return "must be a host alone, without a scheme, a port or a path";
        }
        if (memchr(text.ptr, '*', text.len) != NULL) {
            return "may have a '*' only as '*.' before a name, for whatever lies below that name";
        }
        return "must be a name such as 'example.com' or '*.example.com', four decimal numbers, or an IPv6 "
               "address in brackets";
    }
    if (pattern.below && is_address(&pattern.host)) {
        return "must be an address alone: nothing lies below an address";
    }
    *ret_pattern = pattern;
    return NULL;
}

static bool is_below(struct slice host, struct slice name)
{
    return host.len > name.len && host.ptr[host.len - name.len - 1] == '.' && slice_ends_with(host, name);
}

bool url_pattern_match(const struct url_pattern *pattern, struct slice host)
{
    struct slice name = url_host_text(&pattern->host);
    return pattern->below ? is_below(host, name) : slice_eq(host, name);
}

static int compare(const struct url_pattern *pattern, bool below, struct slice name)
{
    return pattern->below != below ? pattern->below - below : slice_cmp(url_host_text(&pattern->host), name);
}

int url_pattern_order(const void *a, const void *b)
{
    const struct url_pattern *left = a, *right = b;
    return compare(left, right->below, url_host_text(&right->host));
}

static bool list_has(const struct url_pattern *list, size_t count, bool below, struct slice name)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = compare(&list[middle], below, name);
        if (order == 0) {
            return true;
        }
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    return false;
}

bool url_patterns_match(const struct url_pattern *list, size_t count, struct slice host)
{
    bool found = list_has(list, count, false, host);
    for (size_t i = 0; i < host.len && !found; i++) { /* each name that the host lies below */
        found = host.ptr[i] == '.' && list_has(list, count, true, slice_from(host, i + 1));
    }
    return found;
}

bool url_pattern_equal(const struct url_pattern *a, const struct url_pattern *b)
{
    return a->below == b->below && slice_eq(url_host_text(&a->host), url_host_text(&b->host));
}

bool url_pattern_subset(const struct url_pattern *part, const struct url_pattern *whole)
{
    if (part->below && !whole->below) {
        return false;
    }
    return url_pattern_equal(part, whole) || url_pattern_match(whole, url_host_text(&part->host));
}

bool url_pattern_meet(const struct url_pattern *a, const struct url_pattern *b)
{
    return url_pattern_subset(a, b) || url_pattern_subset(b, a);
}

size_t url_pattern_text(const struct url_pattern *pattern, char ret_text[URL_PATTERN_BYTES])
{
    size_t len = pattern->below ? 2 : 0;
    memcpy(ret_text, "*.", len);
    memcpy(ret_text + len, pattern->host.text, pattern->host.len);
    return len + pattern->host.len;
}
