/* A confinement by Landlock alone: rules for what can be read, and for what can be written.
 *
 * Landlock can only allow, a whole tree at a time. So a directory above a hidden place is not allowed itself; what else
 * stands in it is, entry by entry. A file that is allowed by itself is allowed under each of its names, so one that has
 * several is left out: it may be a hidden one under another name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/enter_internal.h"

/* Of Landlock's interface; named here because older headers have only some of it. */
#define CAN_EXECUTE    ((uint64_t)1 << 0)
#define CAN_WRITE      ((uint64_t)1 << 1)
#define CAN_READ       ((uint64_t)1 << 2)
#define CAN_LIST       ((uint64_t)1 << 3)
#define CAN_TRUNCATE   ((uint64_t)1 << 14)
#define CAN_IOCTL      ((uint64_t)1 << 15)
#define ALL_OF_ABI_3   (((uint64_t)1 << 15) - 1)
#define READS          (CAN_EXECUTE | CAN_READ | CAN_LIST)
#define OF_FILES       (CAN_EXECUTE | CAN_WRITE | CAN_READ | CAN_TRUNCATE | CAN_IOCTL)
#define MAKES_DEVICES  (((uint64_t)1 << 6) | ((uint64_t)1 << 11))
#define WRITES         (ALL_OF_ABI_3 & ~MAKES_DEVICES)
#define DEPTH_MOST     128
#define RULE_OF_PATH   1
#define ABI_WITH_IOCTL 5

struct path_rule {
    uint64_t access;
    int32_t parent;
} __attribute__((packed));

struct rules {
    int set;
    uint64_t handled;
    const struct enter_options *options;
};

static bool is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return len == 1 || (strncmp(path, above, len) == 0 && path[len] == '/');
}

static bool is_at_or_below(const char *path, const char *above)
{
    return strcmp(path, above) == 0 || is_below(path, above);
}

static bool is_writable(const struct enter_options *options, const char *path)
{
    if (is_at_or_below(path, "/tmp") || is_at_or_below(path, "/dev/shm")) {
        return true;
    }
    for (size_t i = 0; i < options->writable.count; i++) {
        if (is_at_or_below(path, options->writable.list[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a hidden place is held here: not where it can be written to all the same, which is told, and not a socket,
 * because none can be reached. */
static bool is_held(const struct enter_options *options, const char *hidden)
{
    struct stat st;
    return !is_writable(options, hidden) && (stat(hidden, &st) != 0 || !S_ISSOCK(st.st_mode));
}

static bool is_hidden(const struct enter_options *options, const char *path)
{
    for (size_t i = 0; i < options->hidden.count; i++) {
        if (strcmp(path, options->hidden.list[i]) == 0) {
            return is_held(options, path);
        }
    }
    return false;
}

static bool hides_below(const struct enter_options *options, const char *path)
{
    for (size_t i = 0; i < options->hidden.count; i++) {
        if (strcmp(path, options->hidden.list[i]) != 0 && is_below(options->hidden.list[i], path) &&
            is_held(options, options->hidden.list[i])) {
            return true;
        }
    }
    return false;
}

/* Allows what of `access` there is for that kind of file. What is not there, or not ours to open, is passed over. */
static bool allow(const struct rules *rules, const char *path, uint64_t access)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR;
    }
    bool ok = fstat(fd, &st) == 0;
    access &= rules->handled & (ok && S_ISDIR(st.st_mode) ? ~(uint64_t)0 : OF_FILES);
    struct path_rule rule = {access, fd};
    ok = ok && syscall(SYS_landlock_add_rule, rules->set, RULE_OF_PATH, &rule, 0) == 0;
    if (!ok) {
        enter_complain("Landlock takes no rule for", path);
    }
    close(fd);
    return ok;
}

static bool allow_reading(const struct rules *rules, const char *path, unsigned depth);

static bool allow_kept(const struct rules *rules, const char *hidden, unsigned depth)
{
    const struct enter_places *kept = &rules->options->kept;
    bool ok = true;
    for (size_t i = 0; ok && i < kept->count; i++) {
        ok = !is_below(kept->list[i], hidden) || allow_reading(rules, kept->list[i], depth + 1);
    }
    return ok;
}

static bool allow_entry(const struct rules *rules, const char *path, unsigned depth)
{
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISLNK(st.st_mode) || strcmp(path, "/dev") == 0) {
        return true; /* a link is followed to where it leads; devices have rules of their own */
    }
    if (is_hidden(rules->options, path)) {
        return allow_kept(rules, path, depth);
    }
    return (!S_ISDIR(st.st_mode) && st.st_nlink > 1) || allow_reading(rules, path, depth + 1);
}

static bool allow_reading(const struct rules *rules, const char *path, unsigned depth)
{
    char below[4096];
    if (!hides_below(rules->options, path) && strcmp(path, "/") != 0) {
        return allow(rules, path, READS);
    }
    DIR *dir = depth < DEPTH_MOST ? opendir(path) : NULL;
    bool ok = true;
    if (dir == NULL) {
        return true; /* nothing in it is allowed */
    }
    for (struct dirent *entry; ok && (entry = readdir(dir)) != NULL;) {
        int len = snprintf(below, sizeof(below), "%s/%s", path[1] == '\0' ? "" : path, entry->d_name);
        if (len > 0 && (size_t)len < sizeof(below) && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            ok = allow_entry(rules, below, depth);
        }
    }
    closedir(dir);
    return ok;
}

/* The terminals that it is started with, and no other: a new one would have to be opened among all of the user's. */
static bool allow_devices(const struct rules *rules)
{
    static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    char name[256];
    bool ok = allow(rules, "/dev/shm", WRITES);
    for (size_t i = 0; ok && i < sizeof(devices) / sizeof(devices[0]); i++) {
        ok = allow(rules, devices[i], CAN_READ | CAN_WRITE | CAN_TRUNCATE | CAN_IOCTL);
    }
    for (int fd = 0; ok && fd < 3; fd++) {
        ok = ttyname_r(fd, name, sizeof(name)) != 0 ||
             allow(rules, name, CAN_READ | CAN_WRITE | CAN_TRUNCATE | CAN_IOCTL);
    }
    return ok;
}

static bool drop_what_can_be(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        (void)prctl(PR_CAPBSET_DROP, cap); /* refused to a user, who has none */
    }
    bool ok = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
              syscall(SYS_capset, &header, none) == 0;
    if (!ok) {
        enter_complain("privileges cannot be dropped", NULL);
    }
    return ok;
}

static bool allow_all(const struct rules *rules)
{
    bool ok = allow_reading(rules, "/", 0) && allow_devices(rules) && allow(rules, "/tmp", WRITES);
    for (size_t i = 0; ok && i < rules->options->writable.count; i++) {
        ok = allow(rules, rules->options->writable.list[i], WRITES);
    }
    return ok;
}

bool enter_landlock(const struct enter_options *options)
{
    long abi = enter_landlock_abi();
    if (abi < ENTER_LANDLOCK_LEAST) {
        fprintf(stderr,
                "callgate: confinement: Landlock of ABI %d is needed (Linux 6.2), this kernel has %s\n",
                ENTER_LANDLOCK_LEAST,
                abi <= 0   ? "none that is switched on ('lsm=' of its command line)"
                : abi == 1 ? "ABI 1"
                           : "ABI 2");
        return false;
    }
    struct rules rules = {.options = options,
                          .handled = ALL_OF_ABI_3 | (abi >= ABI_WITH_IOCTL ? CAN_IOCTL : 0)};
    rules.set = (int)syscall(SYS_landlock_create_ruleset, &rules.handled, sizeof(rules.handled), 0);
    if (rules.set < 0) {
        enter_complain("Landlock makes no rules", NULL);
        return false;
    }
    bool ok = allow_all(&rules) && drop_what_can_be();
    if (ok && syscall(SYS_landlock_restrict_self, rules.set, 0) != 0) {
        enter_complain("Landlock refuses", NULL);
        ok = false;
    }
    close(rules.set);
    return ok && enter_scopes() &&
           enter_filter(options->private_network ? FILTER_NO_SOCKETS : FILTER_NO_NAMED_SOCKETS);
}
