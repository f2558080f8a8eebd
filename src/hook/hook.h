/* `callgate hook HOST`: the adapters between coding agents' hooks and the one door. One file a host.
 *
 * Every host lets a call go on when its hook crashes, is slow, or prints the wrong shape. So: the whole
 * answer is printed with one write, a deny stands ready before anything can fail, and a deadline of our own,
 * a fatal signal, no memory, a message that cannot be read, and every failure of the door print that deny. */
#ifndef HOOK_HOOK_H
#define HOOK_HOOK_H

#include "gate/gate.h"

/* How a host is to be answered. */
enum hook_answer {
    HOOK_DENY = 0,
    HOOK_ASK,   /* the host's own question to its user */
    HOOK_NONE,  /* no opinion: the host's own rules decide */
    HOOK_ALLOW, /* the host's allow; only with --grant */
};

/* What a host's message says. Slices point into the message's document or the arena. */
struct hook_message {
    struct call_name *names; /* every way to split a flattened MCP name; one for a built-in tool */
    size_t name_count;
    const struct json_value *input; /* an object of doc */
    struct slice session, cwd;
    bool host_asks;   /* the message shows a mode in which this host is known to ask its user */
    bool no_decision; /* an event that decides nothing (SessionStart, …): HOOK_NONE whatever the policy */
    struct json_doc doc;
    struct json_doc inner; /* of hosts that send the input as text */
    struct arena arena;
};

/* A host: how its message is read and how it is answered. */
struct hook_host {
    const char *name; /* "claude-code" */
    const char *summary;
    uint32_t deadline_ms; /* ours by default: shorter than the host's */
    bool can_ask;         /* the host has a question of its own */
    bool can_allow;

    /* Reads a message. False: deny (ret_message is not used). */
    bool (*read)(struct hook_message *ret_message, struct slice text, const struct call_name *servers,
                 size_t server_count);

    /* Appends what goes to standard output, and to standard error; returns the exit code. Must not fail for
     * HOOK_DENY with message NULL: that is the deny that stands ready. */
    int (*answer)(struct buf *out, struct buf *err, enum hook_answer answer,
                  const struct hook_message *message);
};

extern const struct hook_host *const hook_hosts[];
extern const size_t hook_host_count;

#endif
