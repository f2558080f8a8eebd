/* Between the files of `check --upgrade`. */
#ifndef CLI_UPGRADE_INTERNAL_H
#define CLI_UPGRADE_INTERNAL_H

#include "analysis/analysis.h"

/* Appends calls, one a line, as `eval` reads them. False without memory. */
MUST_USE bool upgrade_make_calls(struct buf *calls, const struct policy *policy, struct analysis *analysis);

#endif
