/* slow_disk.c: put before a process with LD_PRELOAD, it makes every flush to the disk last SLOW_DISK_MS longer. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void rest(void)
{
    const char *text = getenv("SLOW_DISK_MS");
    (void)usleep(text == NULL ? 0 : (useconds_t)atoi(text) * 1000);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    rest();
    return (int)syscall(SYS_fsync, fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    rest();
    return (int)syscall(SYS_fdatasync, fd);
}
