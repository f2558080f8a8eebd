/* The locks of whole files that processes take from each other, with an end to the waiting. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdint.h>

/* Takes flock(2)'s lock of fd: LOCK_EX or LOCK_SH. Tries again every millisecond for at most wait_ms, because a
 * process that was stopped with the lock must not hang this one. 0; EWOULDBLOCK: others hold it still; or the
 * error of flock(2). */
int lock_within(int fd, int operation, int64_t wait_ms);

#endif
