/* What the files of this room share; no other room includes it. */
#ifndef PATH_INTERNAL_H
#define PATH_INTERNAL_H

#include "path/path.h"

/* Resolves `text` and then `then`, which have no NUL, the kernel's way from a step of the path that `place`
 * holds, and replaces that. */
void path_resolve_again(struct path_resolved *place, size_t step, struct slice text, struct slice then);

#endif
