/* The three standard descriptors: each is there, and standard error never holds anybody up. */
#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool standard_hold(void)
{
    /* An answer that goes nowhere must be seen to fail; a complaint may be lost. */
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd] | O_NOCTTY) != fd) {
            return false;
        }
    }
    return true;
}

/* A second opening of what standard error is, which does not wait; the first is shared with the server and with
 * whoever started this program, so its flags are not ours to change. -1: writing to 2 itself does not wait. */
static int open_again(void)
{
    struct stat st;
    if (fstat(2, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))) {
        return -1;
    }
    return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static ssize_t offer(int again, struct slice text)
{
    struct pollfd room = {.fd = 2, .events = POLLOUT};
    if (again >= 0) {
        return write(again, text.ptr, text.len);
    }
    ssize_t n = send(2, text.ptr, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0 || errno != ENOTSOCK) {
        return n;
    }
    /* A pipe or a terminal that could not be opened again may still wait for the rest of a long text. */
    return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) ? write(2, text.ptr, text.len) : -1;
}

bool standard_error_offer(struct slice text)
{
    int again = open_again();
    ssize_t n = 1;
    while (text.len > 0 && n > 0) {
        n = offer(again, text);
        if (n < 0 && errno == EINTR) {
            n = 1;
        } else if (n > 0) {
            text = slice_from(text, (size_t)n);
        }
    }
    if (again >= 0) {
        close(again);
    }
    return text.len == 0;
}
