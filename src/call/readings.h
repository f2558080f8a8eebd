/* From a call to its readings: every way in which it can be understood. SPEC.md section 4.
 *
 * A reading names at most one path, one command and one host. Whoever judges a call judges each of its readings, and
 * the strictest decision stands, among equals the first. */
#ifndef CALL_READINGS_H
#define CALL_READINGS_H

#include "call/arguments_internal.h"
#include "call/call.h"
#include "path/path.h"

struct url_pattern;
struct command; /* command/command.h: its words, whether it is open, assigned, or unreadable and where */

/* What stands in a reading's place for a path. */
enum reading_kind {
    READING_UNREADABLE = 0,
    READING_NO_PATH = 1,
    READING_PATH = 2,
};

/* What stands in its place for a host. */
enum reading_host {
    READING_NO_HOST = 0,
    READING_HOST = 1,
    READING_HOST_UNREADABLE = 2,
};

/* Where a path came from, for explain and for the people who approve. */
enum reading_form {
    READING_FORM_NONE,
    READING_FORM_WRITTEN, /* as written */
    READING_FORM_HOME,    /* `~` as the home directory */
    READING_FORM_URI,     /* a file: URI decoded */
    READING_FORM_NFC,     /* in the Unicode normal forms, where they differ from what is written */
    READING_FORM_NFD,
    READING_FORM_USER_HOME, /* `~NAME` as that user's home directory */
    READING_FORM_BARE,      /* without white space at its ends, or a pair of quotes around it */
    READING_FORM_PATHSPEC,  /* what stands behind the magic of a pathspec of git */
    READING_FORM_EXPANDED,  /* `$HOME` or `$PWD` filled in */
    READING_FORM_GLOB,      /* what its wildcards stand for at this moment */
};
enum reading_via {
    READING_VIA_RESOLUTION,
    READING_VIA_SAME_FILE, /* a loaded prefix that is the same file under another spelling */
    READING_VIA_TREE,      /* a loaded prefix inside a tree */
    READING_VIA_ENTRY,     /* an entry of a tree whose name a loaded pathComponent matches */
    READING_VIA_LINK,      /* the name of a link itself, not what it leads to */
};

/* Places or hosts of a command, canonical, each once, in the order in which they are met. */
struct reading_texts {
    const struct slice *list;
    size_t count;
};

/* A command that a call names, with what it acts on. SPEC.md section 4.2. One object for each distinct command of a
 * call: all readings with that command point to it. */
struct reading_command {
    const struct command *command;
    struct reading_texts places; /* in every form and spelling */
    struct reading_texts hosts;
    bool place_unreadable; /* a place of a known word cannot be read, or places are not known (`cd -`) */
    bool host_unreadable;  /* a host of a known word cannot be read */
    bool span_known;       /* false: open, or a place is unreadable or not known, or the text is unreadable */
    struct slice
        span; /* the longest path that all its places and the call's own paths are equal to or below */
};

struct reading {
    uint8_t kind;      /* enum reading_kind: of the path */
    uint8_t form;      /* enum reading_form: of the path */
    uint8_t via;       /* enum reading_via: of the path */
    uint8_t mode;      /* enum path_mode: of the path */
    uint8_t host_kind; /* enum reading_host */
    bool
        aside; /* counts only when a deny or a require with a path field, a command field or a host decides it */
    bool
        known; /* aside, and from a known word of a command: where its path or host cannot be read, a deny or a
                  require without command fields that looks at it is noted, not passed over */
    uint16_t name; /* index in call->names */
    uint32_t
        value; /* index in call->doc->values of the string (or unreadable value) the path came from; 0: none */
    uint32_t host_value; /* the same for the host */
    struct slice start;  /* the directory a relative string started from; empty for an absolute one */
    struct slice path;   /* canonical; empty unless kind is READING_PATH */
    struct slice host;   /* canonical, as url/url.h writes it; empty unless host_kind is READING_HOST */
    const struct reading_command *command; /* NULL: none */
};

/* What the loaded rules can look at. A policy says it once, when the loading is over; what no rule could look at is
 * not read, and costs nothing. Borrowed. */
enum reading_fields {
    READING_FIELD_PATH = 1,    /* the rule has pathPrefix or pathComponent */
    READING_FIELD_COMMAND = 2, /* command, commandPrefix or commandWord */
    READING_FIELD_HOST = 4,
    READING_FIELD_STRICT = 8, /* it is a deny or a require */
    READING_FIELD_BARE = 16,  /* it is an auto_approve without tool (but `*`) and without toolPrefix */
    READING_FIELD_CLASSES = 32,
};
struct reading_interest {
    uint32_t classes; /* bit N: the READING_FIELD_ bits of some rule are exactly N */
    /* Each distinct pathComponent, as written, and each distinct `host` of the loaded rules, of every effect, in
     * url_pattern_order. */
    const struct slice *components;
    size_t component_count;
    const struct url_pattern *hosts;
    size_t host_count;
    /* Of the denies and requires: each distinct first word of a `command` or `commandPrefix`. NULL when one of
     * these rules has a command field and may meet any program. */
    const struct slice *programs;
    size_t program_count;
};

/* The readings of one call, in the order of SPEC.md section 4, equal ones once. Owns them until the next
 * readings_make or readings_finish. Reused for many calls it settles on no allocations. */
struct readings {
    struct reading *list;
    size_t count, cap;
    struct arena arena;
    size_t strings;          /* how many strings were read as paths */
    const char *limit;       /* after READINGS_OVER_LIMIT: what the call has more of, for people */
    struct scratch *scratch; /* the room's own */
};

enum readings_result {
    READINGS_NO_MEMORY = 0, /* deny */
    READINGS_OVER_LIMIT,    /* deny: a limit of SPEC.md section 12 */
    READINGS_OK,
};

enum readings_flags {
    READINGS_REMOTE = 1,     /* the server's paths are not this machine's: no path argument is read */
    READINGS_NO_RESOLVE = 2, /* no rule can depend on a path: count the strings, look at no file, give one
                                reading without a path for each name */
    READINGS_STILL = 4, /* no call can have run since these readings were made last, or the policy was loaded:
                                what files the prefixes are is not looked up again */
};

MUST_USE bool readings_init(struct readings *readings);
void readings_finish(struct readings *readings);

/* Makes the readings of a call. Without an interest (NULL) only paths are read, and none aside. Looks at files, so two runs may differ: the caller keeps what was judged. */
MUST_USE enum readings_result readings_make(struct readings *readings, const struct call *call,
                                            const struct path_base *base,
                                            const struct argument_lists *arguments,
                                            const struct path_prefixes *prefixes,
                                            const struct reading_interest *interest, unsigned flags);

#endif
