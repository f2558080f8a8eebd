/* The standard places: which of their files a command without --policy uses, and why one is not used. */
#ifndef CLI_PLACES_H
#define CLI_PLACES_H

#include "gate/sources.h"

/* Appends a line for each, or as JSON [{"file","rules","state","tier","why"?}]. Loads them as any command
 * would. */
void places_write(struct buf *out, const struct path_base *base, bool json);

#endif
