/* An explanation (policy_explain) as text for people. */
#ifndef CLI_EXPLAINED_H
#define CLI_EXPLAINED_H

#include "base/buffer.h"

/* `call` is the line it was read from; `json` what policy_explain wrote. */
void explained_write_text(struct buf *out, struct slice call, struct slice json);

#endif
