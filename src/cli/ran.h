/* A program run once with a text for its standard input, and what came of it. */
#ifndef CLI_RAN_H
#define CLI_RAN_H

#include "base/buffer.h"

/* Owns its texts. */
struct ran {
    struct buf out, errors; /* cut at a megabyte */
    int code;               /* the exit code, or 128 and the signal */
    bool in_time;           /* false: it was killed */
};

/* Runs `words` without a shell, or `line` with one where it is not NULL, in a directory. False when it cannot
 * be started, with errno set. */
MUST_USE bool run_once(char *const *words, const char *line, const char *dir, struct slice input,
                       uint32_t limit_ms, struct ran *ret_ran);
void ran_finish(struct ran *ran);

#endif
