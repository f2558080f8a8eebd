/* What the confined program can never get back: privileges, signals to others, other terminals' input. */
#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/enter_internal.h"

/* Landlock as of ABI 6; named here because older headers have none of it. */
struct landlock_attributes {
    uint64_t handled_access_fs, handled_access_net, scoped;
};
#define SCOPE_ABSTRACT_SOCKETS ((uint64_t)1 << 0)
#define SCOPE_SIGNALS          ((uint64_t)1 << 1)
#define ABI_WITH_SCOPES        6
#define ASK_VERSION            1u

long enter_landlock_abi(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
}

/* Only scopes: a file rule of Landlock forbids mounting, and the sandboxes that agents bring themselves would die.
 * An older kernel has the pid namespace against signals; abstract sockets are then reachable, and `confine --print`
 * says so. */
bool enter_scopes(void)
{
    if (enter_landlock_abi() < ABI_WITH_SCOPES) {
        return true;
    }
    const struct landlock_attributes attributes = {.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    bool ok = ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    if (!ok) {
        enter_complain("Landlock refuses", NULL);
    }
    if (ruleset >= 0) {
        close(ruleset);
    }
    return ok;
}

static bool refuse_sockets(scmp_filter_ctx filter, enum enter_filter_also also)
{
    const uint32_t refuse = SCMP_ACT_ERRNO(EACCES);
    bool ok = true;
    if (also == FILTER_NO_SOCKETS) {
        ok = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 0) == 0;
    } else if (also == FILTER_NO_NAMED_SOCKETS) {
        ok = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, AF_UNIX)) == 0;
    }
    /* A ring makes sockets without a call that a filter sees. */
    return ok && (also == FILTER_NOTHING_ELSE ||
                  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0) == 0);
}

/* Calls that act through what is inherited: typing into the terminal outside, and the user's kernel keyrings. */
bool enter_filter(enum enter_filter_also also)
{
    static const int keyrings[] = {SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl)};
    static const unsigned typing[] = {TIOCSTI, 0x541c /* TIOCLINUX */};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool ok = filter != NULL;
    for (size_t i = 0; ok && i < sizeof(typing) / sizeof(typing[0]); i++) {
        /* Of the number only 32 bits count, so only they are compared. */
        ok = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, typing[i])) == 0;
    }
    for (size_t i = 0; ok && i < sizeof(keyrings) / sizeof(keyrings[0]); i++) {
        ok = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), keyrings[i], 0) == 0;
    }
    ok = ok && refuse_sockets(filter, also) && seccomp_load(filter) == 0;
    if (!ok) {
        enter_complain("the filter of system calls cannot be loaded", NULL);
    }
    seccomp_release(filter);
    return ok;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap) != 0) {
            enter_complain("capabilities cannot be dropped", NULL);
            return false;
        }
    }
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, none) != 0) {
        enter_complain("capabilities cannot be dropped", NULL);
        return false;
    }
    return true;
}

bool enter_restrictions(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        enter_complain("new privileges cannot be refused", NULL);
        return false;
    }
    return drop_capabilities() && enter_scopes() && enter_filter(FILTER_NOTHING_ELSE);
}
