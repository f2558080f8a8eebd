/* URLs and hosts, read strictly (SPEC 4.3).
 *
 * A host has one canonical text, so that two spellings of one host are equal bytes: a name in lower case
 * without its trailing dot, an IPv4 address as four decimal numbers, an IPv6 address in brackets as RFC 5952
 * writes it (one of ::ffff:0:0/96 is the IPv4 address). What parsers understand in different ways is not
 * read. No name is looked up.
 *
 * Nothing here allocates: a host is a value that holds its text, and slices point into the text that was
 * given. */
#ifndef URL_URL_H
#define URL_URL_H

#include <stdint.h>

#include "base/slice.h"

#define URL_HOST_BYTES 253u /* of a name, without its trailing dot */

struct url_host {
    uint8_t len;
    char text[URL_HOST_BYTES];
};

static inline struct slice url_host_text(const struct url_host *host)
{
    return (struct slice){host->text, host->len};
}

/* What a text is as a URL. The zero value is the strictest. */
enum url_kind {
    URL_UNREADABLE, /* no strict URL: a rule with a host that would look at it denies the call */
    URL_NO_SCHEME,  /* begins with no scheme: unreadable as a URL argument, no host under `uri` */
    URL_NO_HOST,    /* begins with a scheme of which no host is read, such as mailto: */
    URL_HOST,       /* SCHEME://HOST of http, https, ws or wss */
};

/* Whether a text begins with `http:`, `https:`, `ws:` or `wss:` in any case; C0 controls and spaces before it
 * are passed over. Such a text is a URL wherever it stands. */
bool url_begins(struct slice text);

/* Reads a whole text as a URL; C0 controls and spaces before it are passed over. Writes *ret_host for URL_HOST
 * only. */
MUST_USE enum url_kind url_read(struct slice text, struct url_host *ret_host);

/* Reads a HOST, which is all of the text: a name, an IPv4 address or an IPv6 address in brackets. False when
 * it is none; *ret_host is then as it was. */
MUST_USE bool url_read_host(struct slice text, struct url_host *ret_host);

/* The same with or without a port behind it, for strings under names such as `host`, which are read aside. */
MUST_USE bool url_read_host_port(struct slice text, struct url_host *ret_host);

/* The host of a text that begins with `SCHEME://`, whatever the scheme, a user before `@` left out; for texts
 * that are read aside, and so more generous than url_read. False when the text begins otherwise or no HOST
 * stands there. */
MUST_USE bool url_read_loosely(struct slice text, struct url_host *ret_host);

/* ---- What a rule's `host` says ---- */

struct url_pattern {
    bool below; /* whatever lies below the name, and not the name itself: `*.NAME` */
    struct url_host host;
};

/* Reads a rule's `host`: a HOST, or `*.` and a name. NULL when it is one; otherwise what is wrong with it, as
 * the end of a sentence, and *ret_pattern is as it was. */
MUST_USE const char *url_pattern_read(struct slice text, struct url_pattern *ret_pattern);

/* Whether a host, in its canonical text, is one that the pattern stands for. */
bool url_pattern_match(const struct url_pattern *pattern, struct slice host);

/* The order in which a list of patterns is looked through, for qsort. */
int url_pattern_order(const void *a, const void *b);

/* Whether a host is one that some pattern of a list stands for, which must be in that order. */
bool url_patterns_match(const struct url_pattern *list, size_t count, struct slice host);

bool url_pattern_equal(const struct url_pattern *a, const struct url_pattern *b);

/* Whether every host that `part` stands for is one of `whole`. */
bool url_pattern_subset(const struct url_pattern *part, const struct url_pattern *whole);

/* Whether some host is one of both. Two patterns that have one in common are one below the other, or equal. */
bool url_pattern_meet(const struct url_pattern *a, const struct url_pattern *b);

/* The canonical text of a pattern, for digests and messages: `*.` where there is one, and the host's. */
#define URL_PATTERN_BYTES (URL_HOST_BYTES + 2)
size_t url_pattern_text(const struct url_pattern *pattern, char ret_text[URL_PATTERN_BYTES]);

#endif
