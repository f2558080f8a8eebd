/* What is a secret: names that hold one, and texts that look like one. Inside this room.
 *
 * Everything is borrowed. Nothing allocates. Time is linear in the text. */
#ifndef JOURNAL_SECRETS_INTERNAL_H
#define JOURNAL_SECRETS_INTERNAL_H

#include "base/slice.h"

/* What a member of this name holds. */
enum secret_name {
    SECRET_NAME_NO = 0,
    SECRET_NAME_TEXT, /* its strings are secret, at any depth; numbers and booleans are not (`max_tokens`) */
    SECRET_NAME_ALL,  /* whatever it holds is secret */
};

/* Case and everything but letters and digits is ignored: api-key, apiKey and API_KEY are one name. `in_text`:
 * the name stands in a text, as in `NAME=value`, where fewer names are telling. */
enum secret_name secret_name(struct slice name, bool in_text);

/* One credential in a text: the bytes from start to end (excluded) are the secret part. */
struct secret {
    size_t start, end;
    const char *label; /* what it looks like: a constant */
};

/* A walk through the credentials of a text, from left to right; they do not overlap. Begin with {.text = …,
 * .stop = …}: none that starts at `stop` or later is looked for, and `stop` may be moved between calls. */
struct secret_scan {
    struct slice text;
    size_t stop;
    size_t at;              /* the walk's own: everything before is done */
    size_t floor;           /* the walk's own: the end of the last one found; nothing looks back beyond it */
    size_t jwt_until;       /* the walk's own: no JWT starts before this */
    size_t url_at, url_end; /* the walk's own: a URL's password that lies ahead; url_end 0: none */
};

MUST_USE bool secret_next(struct secret_scan *scan, struct secret *ret_secret);

#endif
