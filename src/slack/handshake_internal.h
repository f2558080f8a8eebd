/* What tests of the handshake need. Nothing outside src/slack and its tests includes this. */
#ifndef SLACK_HANDSHAKE_INTERNAL_H
#define SLACK_HANDSHAKE_INTERNAL_H

#include "slack/socket_internal.h"

#define SOCKET_ACCEPT_SIZE 64

MUST_USE bool socket_accept_key(const char *key, char ret_accept[SOCKET_ACCEPT_SIZE]);
bool socket_head_accepts(struct slice head, const char *accept);

#endif
