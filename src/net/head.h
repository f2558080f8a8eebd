/* The head of a request to the proxy, read strictly: what two programs could read in different ways is refused.
 *
 * Two forms: `CONNECT HOST:PORT` for a tunnel, and a request with a whole URL, `GET http://HOST[:PORT]/PATH`. Nothing
 * here allocates; the slices of a head point into the bytes that were given. SPEC.md section 15. */
#ifndef NET_HEAD_H
#define NET_HEAD_H

#include "base/buffer.h"
#include "url/url.h"

#define HEAD_BYTES 16384u /* of a whole head, its empty line included */
#define HEAD_LINES 100u

enum head_result {
    HEAD_BAD = 0, /* refused; *ret_why says why, a constant phrase */
    HEAD_MORE,    /* good so far, and not whole */
    HEAD_OK,
};

struct head {
    bool tunnel;         /* CONNECT */
    struct slice method; /* a token */
    struct slice target; /* path and query, of a request that is no tunnel; empty: "/" is meant */
    struct slice fields; /* the lines behind the first one, each with its line end */
    struct url_host host;
    uint16_t port;
    bool port_usual; /* 443 of a tunnel, 80 of a request: what a rule by host speaks of */
    uint64_t body;   /* bytes that follow the head and belong to the request */
    size_t len;      /* bytes of the head */
};

MUST_USE enum head_result head_read(struct slice bytes, struct head *ret_head, const char **ret_why);

/* Appends HOST, or HOST:PORT where the port is not the usual one or `always`. */
void head_write_authority(struct buf *buf, const struct head *head, bool always);

/* Appends the head as the server gets it: the path alone, the Host of the URL, no fields that are between a client and
 * its proxy, and the wish that the connection ends with the answer. */
void head_write(struct buf *buf, const struct head *head);

#endif
