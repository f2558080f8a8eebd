/* A module that a test puts in front of libc: one call to flush fails, or one lock comes late.
 *
 * CALLGATE_TEST_FLUSH=N: the N-th fdatasync or fsync of the process fails with EIO. CALLGATE_TEST_LATE_LOCK=N: before
 * the N-th flock the process sleeps half a second. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int left(const char *name, int *count)
{
    const char *text = getenv(name);
    return text != NULL && ++*count == atoi(text);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    static int count;
    if (left("CALLGATE_TEST_FLUSH", &count)) {
        errno = EIO;
        return -1;
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return real(fd);
}

__attribute__((visibility("default"))) int flock(int fd, int operation)
{
    static int count;
    if (left("CALLGATE_TEST_LATE_LOCK", &count)) {
        usleep(500000);
    }
    int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    return real(fd, operation);
}
