/* A WebSocket to Slack: libcurl makes the connection (names, TLS), libwslay the frames.
 *
 * One text message at a time goes to `message`. Pings are answered, and one is sent when nothing came for
 * SOCKET_QUIET_MS; a server that stays silent after that is gone. */
#ifndef SLACK_SOCKET_INTERNAL_H
#define SLACK_SOCKET_INTERNAL_H

#include "base/buffer.h"

#define SOCKET_MESSAGE_BYTES ((size_t)16 << 20)
#define SOCKET_QUIET_MS      20000

struct socket_link;

/* Connects to a wss: URL (ws: on this machine, for tests) and shakes hands; takes up to ten seconds. NULL with a
 * line in ret_error, which never holds the URL: it carries a ticket. */
MUST_USE struct socket_link *socket_open(const char *url, void (*message)(void *context, struct slice text),
                                         void *context, struct buf *ret_error);
void socket_close(struct socket_link *link);

int socket_fd(const struct socket_link *link);
bool socket_wants_write(const struct socket_link *link);

/* Reads and writes what can be. False when the connection is over. */
MUST_USE bool socket_turn(struct socket_link *link);

/* Queues a text message. */
MUST_USE bool socket_send(struct socket_link *link, struct slice text);

#endif
