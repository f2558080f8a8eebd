/* The standard places: which of their files a command without --policy uses, and why one is not used. */
#ifndef CLI_STANDARD_POLICIES_H
#define CLI_STANDARD_POLICIES_H

#include "gate/sources.h"

/* Appends a line for each, or as JSON [{"file","rules","state","tier","why"?}]. Loads them as any command
 * would. */
void standard_policies_write(struct buf *out, const struct path_base *base, bool json);

#endif
