/* An explanation (policy_explain) as text for people. */
#ifndef CLI_EXPLAIN_TEXT_H
#define CLI_EXPLAIN_TEXT_H

#include "base/buffer.h"

/* `call` is the line it was read from; `json` what policy_explain wrote. Rules for other tools and servers are
 * counted, and written only with `all`. */
void explain_text_write(struct buf *out, struct slice call, struct slice json, bool all);

#endif
