/* What a server is told by the words of its command and by its environment, and what paths of its calls may
 * therefore start from. SPEC.md section 4.1. */
#ifndef MCP_SERVER_WORDS_H
#define MCP_SERVER_WORDS_H

#include "path/path.h"

/* Makes *ret_base of `base` with more roots: the existing directories among the command's words, also behind
 * a `=`, as a `file:` URI, or below `~`. Relative words start at `cwd`, the server's own. `server_home` is set
 * when the server's HOME, of its environment or set by `env` in the command, is another than the base's. What
 * is added lives in the arena. `command` and `environment` end in NULL. False without memory. */
MUST_USE bool server_words_read(struct arena *arena, const struct path_base *base, struct slice cwd,
                                char *const *command, char *const *environment, struct path_base *ret_base);

#endif
