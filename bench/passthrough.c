/* passthrough COMMAND...: a process between client and server that copies bytes and does nothing else: the
 * least that any gate of this shape costs. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static int copy(int from, int to)
{
    static char bytes[1 << 16];
    ssize_t n = read(from, bytes, sizeof(bytes));
    if (n <= 0) {
        return 0;
    }
    for (ssize_t done = 0; done < n;) {
        ssize_t written = write(to, bytes + done, (size_t)(n - done));
        if (written <= 0) {
            return 0;
        }
        done += written;
    }
    return 1;
}

int main(int argc, char **argv)
{
    int down[2], up[2];
    if (argc < 2 || pipe(down) != 0 || pipe(up) != 0) {
        return 2;
    }
    if (fork() == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[0]);
        close(down[1]);
        close(up[0]);
        close(up[1]);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    struct pollfd fds[2] = {{0, POLLIN, 0}, {up[0], POLLIN, 0}};
    for (;;) {
        if (poll(fds, 2, -1) < 0) {
            return 1;
        }
        if (fds[0].revents && !copy(0, down[1])) {
            close(down[1]);
            fds[0].fd = -1;
        }
        if (fds[1].revents && !copy(up[0], 1)) {
            return 0;
        }
    }
}
