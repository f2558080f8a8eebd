/* The files that steer a host: which of them there are, and the switches in them that take a hook out of use.
 *
 * Each host has one table (struct host, member `steering`). `hook install` protects what is in it, `doctor` looks
 * for its switches, and a hook that was installed with protection denies writing to these files in the project
 * that its call comes from. Nothing here is owned but what the arena of a caller holds. */
#ifndef HOST_STEERING_INTERNAL_H
#define HOST_STEERING_INTERNAL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"

struct host;

enum steering_root {
    STEERING_HOME,    /* below the home directory */
    STEERING_PROJECT, /* below a project's directory */
    STEERING_SYSTEM,  /* an absolute path */
};

/* How switches in a file are read. */
enum steering_form {
    STEERING_OTHER, /* nothing in it is a switch */
    STEERING_JSON,  /* comments and trailing commas allowed */
    STEERING_TOML,
};

/* A file, or a directory with everything in it. */
struct steering_file {
    enum steering_root root;
    const char *path;
    enum steering_form form; /* of a directory: of the files in it that end in .json or .toml */
};

/* A setting that takes hooks out of use. */
struct steering_switch {
    const char
        *key; /* "hooksConfig.enabled": members from the root on; of TOML also below a table of profiles */
    const char *off;     /* the value that does it, as JSON text; of a list: one of its elements */
    bool spares_managed; /* a hook in the settings for everybody on this machine runs all the same */
    const char *what;    /* what happens then: "no hook runs" */
};

/* Where a host lists the projects that its user trusts: members of an object, or tables of a TOML file. */
struct steering_projects {
    const char *file; /* below the home directory; NULL: it lists none */
    const char *key;  /* NULL: the document itself */
    enum steering_form form;
};

struct host_steering {
    const struct steering_file *files;
    size_t file_count;
    const struct steering_switch *switches;
    size_t switch_count; /* 32 at most */
    struct steering_projects projects;
    const char
        *anywhere; /* a file's name that steers it in whatever project it stands; NULL: none is so clear */
};

struct steering_path {
    const char *path; /* absolute, in the arena */
    const struct steering_file *file;
};

struct steering_paths {
    struct arena *arena; /* set by the caller */
    struct steering_path *list;
    size_t count, cap;
};

/* Appends the steering files of the user, of the system, of every project that the user trusts, and of `project`
 * (an absolute path; ptr NULL: none) and each directory above it, whether they exist or not. False only when memory
 * ran out. */
MUST_USE bool steering_add_all(struct steering_paths *paths, const struct host *host, struct slice home,
                               struct slice project);

/* Appends those of a project and of each directory above it. */
MUST_USE bool steering_add_project(struct steering_paths *paths, const struct host *host,
                                   struct slice project);

/* The host's switches that a file turns off, one bit each in the order of its table; 0 for a file that is not there.
 * *ret_unreadable: it is there and cannot be read as what it should be. */
uint32_t steering_switches_in(const struct host *host, const struct steering_path *path,
                              bool *ret_unreadable);

#endif
