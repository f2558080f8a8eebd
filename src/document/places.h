/* Places that tools want to write to, by name: "@cache" in `confine` of a document and behind --write. SPEC.md section 16.
 *
 * None is writable by itself, because programs that run outside later take from there what they find. */
#ifndef DOCUMENT_PLACES_H
#define DOCUMENT_PLACES_H

#include <stddef.h>

#include "base/buffer.h"

struct named_place {
    const char *name; /* "@cache"; one name may stand for several directories */
    const char *path; /* below the home directory */
    const char *why;  /* for people */
};

extern const struct named_place named_places[];
extern const size_t named_place_count;

/* Whether a name, with its @, is one of them. */
bool named_place_is(struct slice name);

/* Appends "'@cache', … and '@opencode'", each name once. */
void named_places_write(struct buf *buf);

#endif
