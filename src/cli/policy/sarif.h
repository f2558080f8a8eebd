/* Findings as SARIF 2.1.0, the format of code scanning. */
#ifndef CLI_SARIF_H
#define CLI_SARIF_H

#include "document/finding.h"

void sarif_write(struct buf *out, const struct findings *errors, const struct findings *warnings);

#endif
