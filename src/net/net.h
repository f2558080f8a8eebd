/* The network of a confined program: a proxy outside that lets through what the policy's rules allow.
 *
 * The confined program has a network namespace of its own with nothing but a loopback. A socket that listens there is
 * handed out to this process, which serves it: each request becomes a call of the tool `network` at the one door, and
 * only after an allow is a name looked up and anything connected. Every failure is a refusal. SPEC.md section 15;
 * docs/confinement.md. */
#ifndef NET_NET_H
#define NET_NET_H

#include "gate/gate.h"

#define NET_SURFACE "network"

/* Without a rule that allows it nothing passes: a document for every gate that judges these calls. */
#define NET_BUILT_IN "{\"rules\":[],\"requireAuthoredPolicy\":[\"network\"]}"

/* At which descriptor the program that `command` starts finds the socket by which it hands out its listening one. It
 * sends that, and goes on once a byte has come back. */
#define NET_HANDED_AT 3

struct net_options {
    struct gate *gate; /* opened with tells_authored, its sources with NET_BUILT_IN */
    char *const *command;
    mode_t child_umask;
    struct call_defaults defaults; /* server and session of the calls */
    void (*say)(const char *line);
};

/* Starts the command and serves its requests until it ends: its exit code, or 128 and its signal. -1 after saying why it
 * could not be started. */
MUST_USE int net_run(const struct net_options *options);

#endif
