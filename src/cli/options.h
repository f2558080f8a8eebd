/* Options, the same way for every command.
 *
 * A command lists its own options in a table and says which common ones it takes; options_read fills both. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/command.h"
#include "gate/gate.h"

enum option_kind {
    OPTION_FLAG,  /* target: bool * */
    OPTION_MAYBE, /* target: const char **; "" where it is given without =VALUE */
    OPTION_VALUE, /* target: const char **; the last one given counts */
    OPTION_LIST,  /* target: struct option_list * */
};

struct option_list {
    const char **items;
    size_t count;
};

struct option_spec {
    const char *name;
    enum option_kind kind;
    void *target;
};

enum option_groups {
    TAKES_POLICY = 1, /* --policy [TIER=]FILE */
    TAKES_PATHS = 2,  /* --cwd DIR, --home DIR, --root DIR */
    TAKES_STATE = 4,  /* --state DIR */
    TAKES_FORMAT = 8, /* --format text|json, --json */
    /* With TAKES_STATE: the directory that --state names must be there. Opening makes it, and a misspelt name
     * would look like a machine at rest. */
    STATE_IS_THERE = 16,
    TAKES_NO_WORDS = 32, /* nothing stands beside the options */
};

struct options {
    struct sources sources;
    struct option_list roots;
    bool json, json_asked;
    struct path_base base; /* cwd, home and roots, made absolute */
    const char *state_dir;
    int argc; /* what follows the options */
    char **argv;
    struct arena arena; /* owns the texts of base and state_dir */
    struct option_list policies;
    const char *cwd, *home, *state, *format;
};

/* Reads a command's arguments. -1: go on, and options_finish at the end. Else the exit code: help was asked
 * for and printed, or something is wrong and was told. */
int options_read(struct options *ret_options, const struct cli_command *command, int argc, char **argv,
                 unsigned groups, const struct option_spec *own, size_t own_count);
void options_finish(struct options *options);

/* A whole number within a range, or false. */
bool option_number(const char *text, int64_t least, int64_t most, int64_t *ret_number);

/* A size in bytes, with K, M or G behind it for powers of 1,024, of `least` bytes at least; or false. */
bool option_size(const char *text, uint64_t least, uint64_t *ret_size);
#define JOURNAL_SIZE_LEAST 65536u

/* Without --policy, the standard places stand in. False after saying where, when no file is at any of them.
 */
MUST_USE bool options_standard_places(const struct cli_command *command, struct options *options);

/* For surfaces: the same, but a workspace file alone is no policy: an agent may have written it, and without
 * it every call would be denied. And /etc/callgate/policy.json comes in front of named files. */
MUST_USE bool options_surface_places(const struct cli_command *command, struct options *options);

/* For commands that only look, and may be asked before any gate has started: whether no state directory is
 * there, so that nothing waits or runs. Told when --state names it. Opening it would make it. */
bool options_state_is_absent(const struct options *options);

/* Loads --policy files, or those of the standard places; tells every error; NULL when there is no policy. */
struct policy *options_load_policy(const struct cli_command *command, struct options *options);

/* Writes whole lines for people to standard error. */
void say_lines(const struct buf *lines);

/* Writes whole lines to standard output: a report that goes on, whose end `print` or the caller's flush tells. */
void print_lines(const struct buf *lines);

/* Writes a buffer to standard output; EXIT_YES, or EXIT_UNABLE with a message when that fails. */
int print(const struct buf *buf);

#endif
