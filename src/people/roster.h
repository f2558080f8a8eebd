/* Who may approve: the people of people.json, and one identity for each over all surfaces. SPEC.md section 6.
 *
 * A roster owns its texts until roster_finish and never changes after roster_read. Without a file there is no
 * roster (`present` is false): then the user who runs the gate is the only person, known by the name that the
 * operating system gives.
 *
 * The file:
 *   {"people": [{"name": "ada", "user": "ada", "slack": "T012AB/U345CD", "rules": ["ask-mail"]}],
 *    "groups": {"security": ["ada"]}}
 *
 * What authenticates a person on a surface belongs to that person alone: a file in which two people share it
 * does not load, because one human could then meet a quorum of two. */
#ifndef PEOPLE_ROSTER_H
#define PEOPLE_ROSTER_H

#include <sys/types.h>

#include "json/json.h"

#define PEOPLE_MANAGED "/etc/callgate/people.json"

/* Where an answer comes from, and so what has authenticated its author. */
enum people_surface {
    PEOPLE_USER,   /* a command in a terminal: the operating system's name of the user who runs it */
    PEOPLE_PAGE,   /* an account of the page */
    PEOPLE_SLACK,  /* WORKSPACE/USER, ids as Slack gives them */
    PEOPLE_BRIDGE, /* a name that a bridge vouches for with `callgate reply --as` */
    PEOPLE_SURFACES,
};

/* The member of people.json that holds it: "user", "page", "slack", "bridge". */
const char *people_surface_name(enum people_surface surface);

struct slice_list {
    const struct slice *items;
    size_t count;
};

struct person {
    struct slice name;                 /* the identity that votes are counted by */
    struct slice ids[PEOPLE_SURFACES]; /* ptr NULL: this person has no way in there */
    struct slice_list rules;           /* ids of the rules that this person may answer; */
    struct slice_list channels;        /* and channels. Empty: all. */
};

struct people_group {
    struct slice name;
    struct slice_list members; /* names of people */
};

struct roster {
    bool present;
    struct person *people;
    size_t count;
    struct people_group *groups;
    size_t group_count;
    struct arena arena;
};

/* Reads the text of a people.json. False with one line for people in ret_error: FILE:LINE:COLUMN: what, and
 * the next step. */
MUST_USE bool roster_read(struct roster *ret_roster, struct slice file, struct slice text,
                          struct buf *ret_error);

/* Reads the roster that is in force: PEOPLE_MANAGED if it is there; else `named` if it is not NULL; else
 * people.json in .config/callgate under `home`, beside the user's standard policy. No file: a roster that is
 * not present. ret_path gets the file's name. False with a line in ret_error when a file is there and does
 * not load, or `named` is not there: nobody may answer then. */
MUST_USE bool roster_open(struct roster *ret_roster, struct slice home, const char *named,
                          struct buf *ret_path, struct buf *ret_error);
void roster_finish(struct roster *roster);

/* The person whom `id` authenticates on a surface, or NULL. */
const struct person *roster_find(const struct roster *roster, enum people_surface surface, struct slice id);

/* The person of this name, or NULL. */
const struct person *roster_named(const struct roster *roster, struct slice name);

/* Whether a person may answer requests of this rule in this channel. */
bool person_may_answer(const struct person *person, struct slice rule, struct slice channel);

/* Whether a person belongs to a group of this name. */
bool roster_in_group(const struct roster *roster, const struct person *person, struct slice group);

/* Whether a person belongs to one of the groups of a JSON array of their names. An empty text asks for none: true. What
 * cannot be read, or names no group that is there: false. */
MUST_USE bool roster_in_groups(const struct roster *roster, const struct person *person, struct slice groups);

/* Appends the text of a people.json that holds the roster, one person a line. */
void roster_write(struct buf *buf, const struct roster *roster);

/* Whether `name` can be a person's: not empty, no blank at its ends, and no character that nobody sees,
 * because a quorum counts people by their names. */
bool people_name_usable(struct slice name);

/* Who could change a file, as a line for people: nothing is appended when only its owner `owner` or root
 * could, by the modes of the file and of each directory above it. */
void people_tell_writers(struct buf *out, const char *path, uid_t owner);

#endif
