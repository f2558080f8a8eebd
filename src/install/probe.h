/* Synthetic messages of hosts, with what an installed hook must answer to them byte for byte. For `doctor`.
 */
#ifndef INSTALL_PROBE_H
#define INSTALL_PROBE_H

#include "host/host.h"

enum probe_kind {
    PROBE_BROKEN, /* no message at all: denied whatever the policy */
    PROBE_DENY,   /* a call that the policy denies */
    PROBE_ALLOW,  /* a call that it lets through */
};

struct probe_options {
    const struct host *host;
    const struct host_event *event;
    const struct policy *policy;  /* as the hook loads it, the host's own path arguments included */
    const struct path_base *base; /* what calls' paths start from; cwd is the message's */
    bool grant;                   /* the hook has --grant */
};

/* Owns its texts. */
struct probe {
    struct buf message; /* for standard input */
    struct buf what;    /* the call, for people */
    struct buf out;     /* what must come on standard output, nothing else */
    struct buf errors;  /* on standard error */
    bool says_why;      /* standard error may say anything */
    int code;           /* the exit code */
};

/* Whether real calls of this event can be made up here; else only PROBE_BROKEN. */
bool probe_knows(const struct host *host, const struct host_event *event);

/* Finds a call that the policy decides so, without people, and that no server is named in. False when none is
 * found, or memory ran out; ret_probe must be finished all the same. */
MUST_USE bool probe_make(const struct probe_options *options, enum probe_kind kind, struct probe *ret_probe);
/* Whether the policy, with what the hook adds to it for the working directory, denies the first of the host's own
 * tools that write to write a file. */
bool probe_denies_writing(const struct probe_options *options, const char *path);

void probe_finish(struct probe *probe);

#endif
