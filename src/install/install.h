/* Hooks in the settings of their hosts: where they stand, putting them in, taking them out.
 *
 * Nothing else in the settings changes (settings.h). What was put in is recorded in the state directory,
 * beside a copy of the settings as they were, so that taking it out again gives the same bytes. Used by `hook
 * install` and `hook uninstall`. */
#ifndef INSTALL_INSTALL_H
#define INSTALL_INSTALL_H

#include "host/host.h"

enum install_scope {
    INSTALL_SCOPE_USER,
    INSTALL_SCOPE_PROJECT,
    INSTALL_SCOPE_MANAGED, /* everybody on this machine */
};

struct install_place {
    const struct host *host;
    enum install_scope scope;
    const char *settings;       /* another file than the host's own place; NULL: that */
    struct slice home, project; /* absolute */
};

/* Appends the path of the settings and a NUL. False when the host has no such place, or memory ran out. */
MUST_USE bool install_place_path(const struct install_place *place, struct buf *ret_path);

/* Appends the path of the rules that come along with a hook of this place, and a NUL. */
MUST_USE bool install_protect_path(const struct install_place *place, struct buf *ret_path);

/* A hook of ours as it is installed: what the host would run. Lives in the arena it was read into. */
struct installed_hook {
    const struct host_event *event;
    const char *line; /* what the host gives to a shell; NULL: it runs the words themselves */
    char **words;     /* the command line, NULL-terminated */
    size_t word_count;
    bool plain;         /* a shell reads the line as these words, and no more */
    int64_t timeout_ms; /* the host's, as set; 0: none is */
    bool fail_closed;   /* the host's switch is on */
    bool every_tool;    /* no matcher leaves tools out */
};

/* Finds our hooks in a place; none is a success. False, with a message, when the settings cannot be read. */
MUST_USE bool installed_hooks_find(const struct install_place *place, struct arena *arena,
                                   struct installed_hook **ret_list, size_t *ret_count,
                                   struct buf *ret_error);

struct install_options {
    struct install_place place;
    const char *state_dir;    /* absolute: where the record and the copy go */
    const char *const *words; /* the command line: program, "hook", the host's name, options */
    size_t word_count;
    uint32_t deadline_ms;        /* that the command line asks for: the host waits a little longer */
    const char *const *policies; /* files of the policy, absolute: protected from being written */
    size_t policy_count;
    bool protect; /* add the rules that deny writes to policy, settings and state */
    bool reword;  /* of a hook that is there only the command line changes: the rules that came along stay */
    bool dry_run; /* only say what would be done */
};

/* Puts the hook in, in the place of one that is there. Lines for people go to ret_report. False with a
 * message when that fails: the settings are as they were. */
MUST_USE bool install_hook(const struct install_options *options, struct buf *ret_report,
                           struct buf *ret_error);

enum uninstall_result {
    UNINSTALL_FAILED = 0,
    UNINSTALL_NONE, /* there was none */
    UNINSTALL_DONE,
};
MUST_USE enum uninstall_result uninstall_hook(const struct install_options *options, struct buf *ret_report,
                                              struct buf *ret_error);

/* A place that a state directory has a record of: what was put into these settings may still be there. */
struct recorded_place {
    const struct host *host;
    const char *settings; /* absolute */
    const char *protect;  /* the file of the rules that came along; NULL: none */
};

/* The places of all records; lives in the arena. False without memory, or with a message when the directory cannot be
 * read; a state directory without records has none. */
MUST_USE bool installed_places(const char *state_dir, struct arena *arena, struct recorded_place **ret_list,
                               size_t *ret_count, struct buf *ret_error);

/* Takes out the systemd user units that docs/broker.md has people put in, and what enables them; units of these names
 * that do not start callgate stay. A line for each file goes to ret_report, or what would be done; *ret_found: there was
 * something. False with a message. */
MUST_USE bool units_remove(struct slice home, bool dry_run, bool *ret_found, struct buf *ret_report,
                           struct buf *ret_error);

/* Appends a word so that a shell reads it as that word. */
void write_shell_word(struct buf *buf, const char *word);

/* Appends the absolute path of the program to install, and a NUL: the static one beside the one that runs, if
 * it is there. */
MUST_USE bool install_program_path(struct buf *ret_path);

#endif
