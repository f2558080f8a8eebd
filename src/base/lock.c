/* Locks of whole files: asks for one again and again, with growing pauses, for a while only. */
#include "base/lock.h"

#include <errno.h>
#include <sys/file.h>
#include <time.h>

#include "base/clock.h"

int lock_within(int fd, int operation, int64_t wait_ms)
{
    const uint64_t until = clock_mono_ns() + (uint64_t)wait_ms * 1000000u;
    struct timespec pause = {.tv_nsec = 20000};
    for (;;) {
        if (flock(fd, operation | LOCK_NB) == 0) {
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return errno;
        }
        if (clock_mono_ns() >= until) {
            return EWOULDBLOCK;
        }
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000) {
            pause.tv_nsec *= 2;
        }
    }
}
