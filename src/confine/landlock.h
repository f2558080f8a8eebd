/* `--confine=landlock`: what a confinement without user namespaces needs of the kernel, and what it does not hold. */
#ifndef CONFINE_LANDLOCK_H
#define CONFINE_LANDLOCK_H

#include "confine/view.h"

/* Below this, files outside the writable directories can be emptied (truncate), so there is no such confinement. */
#define LANDLOCK_ABI_LEAST       3
#define LANDLOCK_ABI_WITH_IOCTLS 5
#define LANDLOCK_ABI_WITH_SCOPES 6

/* The kernel's version of Landlock; 0: it has none, or it is switched off. */
int landlock_abi(void);

/* Whether such a confinement of a view leaves a place to be written to. */
bool landlock_can_write(const struct view *view, struct slice path);

/* Appends what such a confinement of a view does not hold, a line for each: "not held  …". */
void landlock_write_gaps(struct buf *buf, const struct view *view, int abi);

#endif
