/* The network inside: a loopback of its own, and, where a proxy outside serves it, a socket there that this process makes
 * and hands out. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confine/enter_internal.h"

#define PORT    3128 /* where proxies are looked for; nothing else is there */
#define BACKLOG 511

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (!ok) {
        enter_complain("no loopback", NULL);
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

static int listen_inside(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, BACKLOG) != 0) {
        enter_complain("no socket for the proxy", NULL);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

/* Hands the listening socket out, and waits until it is served. When whoever serves it ends, so does this process. */
static bool hand_out(int to, int listener)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &listener, sizeof(listener));
    ssize_t got = -1;
    bool ok = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && sendmsg(to, &message, MSG_NOSIGNAL) == 1;
    while (ok && (got = recv(to, &byte, 1, 0)) < 0 && errno == EINTR) {
    }
    if (got != 1) {
        enter_complain("no proxy serves the network", NULL);
    }
    return got == 1;
}

/* What programs look at to find a proxy. What listens on the loopback is inside itself and is asked directly. */
static bool tell_programs(void)
{
    static const char *const proxied[] = {"http_proxy", "https_proxy", "all_proxy",
                                          "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
    static const char *const others[][2] = {
        {"no_proxy", "localhost,127.0.0.1,::1"},
        {"NO_PROXY", "localhost,127.0.0.1,::1"},
        {"NODE_USE_ENV_PROXY", "1"}, /* Node's own fetch looks at the proxy only then, from Node 24 on */
    };
    char where[64];
    bool ok = true;
    snprintf(where, sizeof(where), "http://127.0.0.1:%d", PORT);
    for (size_t i = 0; ok && i < sizeof(proxied) / sizeof(proxied[0]); i++) {
        ok = setenv(proxied[i], where, 1) == 0;
    }
    for (size_t i = 0; ok && i < sizeof(others) / sizeof(others[0]); i++) {
        ok = setenv(others[i][0], others[i][1], 1) == 0;
    }
    if (!ok) {
        enter_complain("no memory for the environment", NULL);
    }
    return ok;
}

bool enter_network(const struct enter_options *options)
{
    if (!options->private_network) {
        return true;
    }
    if (!raise_loopback()) {
        return false;
    }
    if (options->proxy_socket < 0) {
        return true;
    }
    int listener = listen_inside();
    bool ok = listener >= 0 && hand_out(options->proxy_socket, listener) && tell_programs();
    if (listener >= 0) {
        close(listener);
    }
    close(options->proxy_socket);
    return ok;
}
