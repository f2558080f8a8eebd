/* clock.so, for LD_PRELOAD: the wall clock and the time since boot of a process go ahead of the machine's by
 * as many milliseconds as the file that CALLGATE_TEST_CLOCK names holds (8 bytes), at any moment. Its other
 * clocks do not. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_ms;

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("CALLGATE_TEST_CLOCK");
    int fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *bytes = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*ahead_ms), PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        _exit(111);
    }
    ahead_ms = bytes;
    close(fd);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    int result = (int)syscall(SYS_clock_gettime, id, ret_time);
    if (result == 0 && ahead_ms != NULL && (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME)) {
        ret_time->tv_sec += *ahead_ms / 1000;
    }
    return result;
}
