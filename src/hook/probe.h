/* Synthetic messages of hosts, with what an installed hook must answer to them byte for byte. For `doctor`.
 */
#ifndef HOOK_PROBE_H
#define HOOK_PROBE_H

#include "hook/hook.h"

enum hook_probe_kind {
    HOOK_PROBE_BROKEN, /* no message at all: denied whatever the policy */
    HOOK_PROBE_DENY,   /* a call that the policy denies */
    HOOK_PROBE_ALLOW,  /* a call that it lets through */
};

struct hook_probe_options {
    const struct hook_host *host;
    const struct hook_event *event;
    const struct policy *policy;  /* as the hook loads it, the host's own path arguments included */
    const struct path_base *base; /* what calls' paths start from; cwd is the message's */
    bool grant;                   /* the hook has --grant */
};

/* Owns its texts. */
struct hook_probe {
    struct buf message; /* for standard input */
    struct buf what;    /* the call, for people */
    const char *out;    /* what must come on standard output, nothing else */
    const char *errors; /* on standard error; NULL: it may say anything */
    int code;           /* the exit code */
};

/* Whether real calls of this event can be made up here; else only HOOK_PROBE_BROKEN. */
bool hook_probe_knows(const struct hook_host *host, const struct hook_event *event);

/* Finds a call that the policy decides so, without people, and that no server is named in. False when none is
 * found, or memory ran out; ret_probe must be finished all the same. */
MUST_USE bool hook_probe_make(const struct hook_probe_options *options, enum hook_probe_kind kind,
                              struct hook_probe *ret_probe);
void hook_probe_finish(struct hook_probe *probe);

#endif
