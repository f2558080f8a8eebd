/* What the files of this room share; no other room includes it. */
#ifndef PATH_INTERNAL_H
#define PATH_INTERNAL_H

#include "path/path.h"

/* Resolves `text` and then `then`, which have no NUL, the kernel's way from a step of the path that `place`
 * holds, and replaces that. */
void path_resolve_again(struct path_resolved *place, size_t step, struct slice text, struct slice then);

/* Room for `count` elements and one more; false without memory or beyond `most`. */
MUST_USE bool path_room(void **array, size_t count, size_t *cap, size_t size, size_t most);

/* Whether a component has `*`, `?` or `[…]`. */
bool path_has_wildcard(struct slice name);

/* White space, Unicode's included: how many bytes of it begin a text, and how many end it. */
size_t path_space_before(struct slice text);
size_t path_space_behind(struct slice text);

#endif
