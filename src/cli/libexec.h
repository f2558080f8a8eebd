/* The programs that callgate starts and that are no part of it, because what they link would slow every hook. */
#ifndef CLI_LIBEXEC_H
#define CLI_LIBEXEC_H

#include "base/buffer.h"

/* Writes the absolute name of one of them (with its final NUL counted): beside this program, as in a build
 * folder, or in ../libexec/callgate from there. The buffer has failed when this program's own place cannot be
 * told. */
void libexec_path(const char *name, struct buf *ret_path);

/* Becomes that program. Returns only when that fails, after saying why: EXIT_UNABLE. */
int libexec_become(const char *name, char *const *argv);

#endif
