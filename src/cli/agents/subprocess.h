/* A program run once with a text for its standard input, and what came of it. */
#ifndef CLI_SUBPROCESS_H
#define CLI_SUBPROCESS_H

#include "base/buffer.h"

/* Owns its texts. */
struct subprocess {
    struct buf out, errors; /* cut at a megabyte */
    int code;               /* the exit code, or 128 and the signal */
    bool in_time;           /* false: it was killed */
};

/* Runs `words` without a shell, or `line` with one where it is not NULL, in a directory. False when it cannot
 * be started, with errno set. */
MUST_USE bool subprocess_run(char *const *words, const char *line, const char *dir, struct slice input,
                             uint32_t limit_ms, struct subprocess *ret_ran);
void subprocess_finish(struct subprocess *ran);

#endif
