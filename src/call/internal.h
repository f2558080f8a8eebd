/* What the files of this room share; no other room includes it.
 *
 * A call is read in three steps. The walk (walk.c) finds what its strings are. Each string becomes places or hosts in
 * a sink (places.c, hosts.c, aside.c, commands.c). Then the sinks are put together to readings (readings.c). */
#ifndef CALL_INTERNAL_H
#define CALL_INTERNAL_H

#include "call/arguments_inside_internal.h"
#include "call/readings.h"
#include "command/command.h"
#include "url/url.h"

/* ---- set.c: texts, each once ---- */

struct text_slot {
    uint32_t generation; /* another one than the set's: free */
    uint32_t index;      /* the owner's */
    uint64_t hash;
    struct slice text; /* in the arena of the call */
    bool spelt;        /* of a place: its same-file spellings were added */
    bool prefixes;     /* and the prefixes below it */
    bool entries;      /* and the entries */
    bool aside_tree;   /* and both, aside */
};

#define SET_KEPT 4096u
struct text_set {
    struct text_slot *slots;
    size_t mask, used;
    uint32_t generation;
};
void set_finish(struct text_set *set);
void set_clear(struct text_set *set);

/* The slot of a text, or NULL; and the same, added when new: NULL only without memory. It stands until the next one is
 * added. */
struct text_slot *set_find(struct text_set *set, uint64_t seed, struct slice text);
struct text_slot *set_add(struct text_set *set, uint64_t seed, struct arena *arena, struct slice text,
                          bool *ret_new);

/* ---- Sinks: where the places or the hosts of something go, each once ---- */

struct sink {
    struct text_set set;
    struct reading *list; /* of which only the fields of a path, or of a host, are set */
    size_t count, cap;
    bool unreadable; /* it has an unreadable one: all are judged alike, so the first stands for them */
    bool aside;      /* what cannot be read is passed over */
};

void sink_finish(struct sink *sink);
void sink_clear(struct sink *sink);
struct scratch;
MUST_USE bool sink_append(struct scratch *scratch, struct sink *sink, struct reading reading);

/* What below a place counts besides. */
struct tree_ask {
    bool entries; /* entries below it whose name a loaded pathComponent meets, not only prefixes */
    bool hidden;
    bool absent; /* what is no directory now is a tree all the same */
    bool
        noted; /* of a command: more entries than may be looked at are a place that cannot be read, aside too */
    const struct slice *filters; /* globs, one of which a name must meet, too */
    size_t filter_count;
};

/* What one string is read for. */
struct origin {
    uint32_t value;                    /* index in the call's document */
    enum reading_form form;            /* NONE: as written */
    struct sink *to;                   /* where its paths go */
    struct sink *aside;                /* where what is read aside besides goes; NULL: nowhere */
    const struct tree_ask *tree;       /* it names a whole tree; NULL: no */
    const struct tree_ask *aside_tree; /* it does, aside, if it names a directory */
    bool home_only;                    /* below the home directory and nowhere else (a command's word) */
};

/* ---- What readings_make works with; kept from call to call for its memory ---- */

/* Directories where relative strings start. */
struct starts {
    struct path_start *list;
    size_t count, cap;
    struct text_set set;
};

/* A string of the input that is looked at again when what is read aside is. */
struct item {
    uint32_t value; /* index in the call's document */
    uint32_t context;
};

/* What the rules of a policy can look at, as questions (readings.c answers them once for a call). */
struct needs {
    bool paths, commands, hosts;       /* what the call's own arguments name */
    bool aside_paths, aside_hosts;     /* of its other strings */
    bool command_paths, command_hosts; /* what a command acts on, read aside */
    bool command_places, command_urls; /* the same, for rules that ask a command */
    bool inner_commands;               /* commands inside others, which are read aside, may be any rule's */
    bool inner_alone, inner_acts;      /* as commands; and what they act on */
    bool inner_likes;                  /* even of those that act on nothing but what their owner does */
};

struct command_state;

/* Those of the call, and those inside others that are read aside. */
#define COMMANDS_MOST (LIMIT_CALL_COMMANDS + COMMAND_INNER)

#define TEXT_LEVELS 32 /* each level of array texts doubles the text: 16 MiB have fewer than 24 */

struct scratch {
    struct readings *out;
    const struct call *call;
    const struct path_base *base;
    const struct argument_lists *arguments;
    const struct path_prefixes *prefixes;
    const struct reading_interest *interest;
    unsigned flags;
    struct needs needs;
    uint32_t needs_classes; /* what they were found for */
    unsigned needs_flags;
    bool needs_made, needs_open;
    uint64_t seed;

    enum readings_result fault; /* why something returned false: READINGS_NO_MEMORY or READINGS_OVER_LIMIT */
    size_t strings;             /* read as paths, under the present name */
    size_t work;                /* of all names of the call */
    size_t entries_left
        [3]; /* that may be looked at below trees: the call's own, those of commands, others aside */

    /* Of the present name. */
    uint16_t name;
    struct argument_view view;
    bool sure_paths, sure_commands,
        sure_hosts;            /* it names some, not only as bases or for a workspace file's sake */
    struct sink paths, hosts;  /* of its own arguments */
    struct sink aside;         /* paths and hosts of its strings, read aside */
    size_t aside_split;        /* of which so many are of its path arguments, found as these were read */
    struct starts directories; /* that its paths name */
    struct tree_ask tree;      /* of its trees */
    struct item *items;
    size_t item_count, item_cap;

    /* Commands of the present name. */
    struct command_reader *reader;
    struct reading_command *commands[COMMANDS_MOST]; /* in the arena */
    size_t command_count, own_commands;              /* those read aside stand behind the own ones */
    struct command_state *command_state;             /* commands.c */
    bool acts_paths, acts_hosts;                     /* what is looked for of the command at hand */
    bool exists;                                     /* set when a place that exists is met */

    struct name_cache names;
    struct path_resolved *workspace;
    struct path_start top, home, server_home;
    struct starts starts;
    bool starts_made;

    struct path_files *files;
    struct path_unicode *unicode;
    struct path_walker *walker;
    struct path_globber *globber;
    struct path_names
        *components; /* of the interest; made when a tree is walked for the first time in a call */
    uint32_t *ids;
    size_t id_count, id_cap;
    struct buf uri, text, user;
    char spelt[2 * LIMIT_PATH_BYTES + 1];
    char nfc[3 * LIMIT_PATH_BYTES + 1], nfd[4 * LIMIT_PATH_BYTES + 1];

    struct json_doc texts[TEXT_LEVELS];
    unsigned texts_made;
    struct json_doc inner; /* a text of JSON that is read aside */
    uint32_t inner_value;  /* the string that it is */
};

/* Sets the fault and returns false. */
bool call_no_memory(struct scratch *scratch);
/* `limit` is a constant text for people: what a call has more of, with the number where SPEC.md has one. */
bool call_over_limit(struct scratch *scratch, const char *limit);

/* Counts work; false when the call is over the limit. */
MUST_USE bool call_spend(struct scratch *scratch, size_t work);

/* Counts one string that is read as a path; false when the call is over the limit. */
MUST_USE bool call_count_string(struct scratch *scratch);

/* Room for `count` elements and one more; false without memory or beyond `most`. */
MUST_USE bool call_grow(void **array, size_t count, size_t *cap, size_t size, size_t most);

/* From here on false means that scratch->fault is set. */

/* ---- places.c: one string to its places ---- */

MUST_USE bool places_add_plain(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                               struct slice text);
MUST_USE bool places_add_uri(struct scratch *scratch, const struct origin *origin, struct slice text);
MUST_USE bool places_add_unreadable(struct scratch *scratch, const struct origin *origin);

/* An absolute path in one form; from a sink's own. */
MUST_USE bool places_add_absolute(struct scratch *scratch, const struct origin *origin,
                                  enum reading_form form, struct slice text);

/* Adds a reading to a sink unless its text is there; *ret_slot, if not NULL, is the slot of its path. */
MUST_USE bool sink_add_path(struct scratch *scratch, struct sink *sink, struct reading reading,
                            struct text_slot **ret_slot);

/* ---- starts.c: where relative strings start ---- */

void starts_clear(struct starts *starts);
void starts_finish(struct starts *starts);

/* Adds a directory, given as text and relative to `outer` unless that is empty, if none has the same text. */
MUST_USE bool starts_add(struct scratch *scratch, struct starts *starts, struct slice outer,
                         struct slice text);

/* Adds the directory that a string of the call names, relative to the first `own` starts. */
MUST_USE bool starts_add_text(struct scratch *scratch, struct starts *starts, size_t own, struct slice text);

/* Adds the directory that it means besides, below `~` or as a `file:` URI. */
MUST_USE bool starts_add_meant(struct scratch *scratch, struct starts *starts, struct slice text);

/* The working directory, the roots and the bases of the call. */
MUST_USE bool starts_of_call(struct scratch *scratch, struct starts **ret_starts);

/* Walks a start's text, once. */
MUST_USE bool start_walk(struct scratch *scratch, struct path_start *start);
struct path_start start_of(struct slice text);

/* ---- hosts.c ---- */

/* Adds a host by its canonical text, or an unreadable one. */
MUST_USE bool hosts_add(struct scratch *scratch, struct sink *sink, uint32_t value,
                        const struct url_host *host);
MUST_USE bool hosts_add_unreadable(struct scratch *scratch, struct sink *sink, uint32_t value);

/* ---- walk.c: what the strings of the input are ---- */

/* What a value is, from the names above it. */
enum context {
    CONTEXT_PATH = 1u << 0,
    CONTEXT_SURE_PATH = 1u << 1, /* not for a workspace file's sake alone */
    CONTEXT_URI = 1u << 2,       /* only file: URIs are paths, and what has no scheme has no host */
    CONTEXT_BASE = 1u << 3,
    CONTEXT_TREE = 1u << 4,
    CONTEXT_SURE_TREE = 1u << 5,
    CONTEXT_COMMAND = 1u << 6, /* part of a command, which is read where it stands */
    CONTEXT_URL = 1u << 7,
    CONTEXT_SURE_URL = 1u << 8,
    CONTEXT_HOST = 1u << 9,       /* under `host` or `hostname` */
    CONTEXT_PROSE = 1u << 10,     /* under a name of what is written, not named */
    CONTEXT_PLACE = 1u << 11,     /* under a name of files and folders */
    CONTEXT_DIRECTORY = 1u << 12, /* under a name of where commands start */
    CONTEXT_NO_PATH = 1u << 13,   /* under a name that pathArguments takes away */
    CONTEXT_NO_TREE = 1u << 14,   /* under a name that treeArguments takes away */
    CONTEXT_SURE_COMMAND = 1u << 15,
    CONTEXT_COMMAND_LIST = 1u << 16, /* each element is a text of its own */
};

/* Walks the input under the present name: fills the sinks of its own arguments, reads its commands, keeps items. */
MUST_USE bool walk_input(struct scratch *scratch);

/* Whether a text is that of a non-empty JSON array of strings; its document stands until the same level is used again.
 * *ret_doc is NULL if not. */
MUST_USE bool walk_array_text(struct scratch *scratch, struct slice text, unsigned level,
                              const struct json_doc **ret_doc);

/* What a member's name adds to the context of what stands under it. `top`: it is a member of the input itself. */
uint32_t walk_member_context(struct scratch *scratch, uint32_t context, struct slice name, bool top);

/* ---- aside.c: strings that may name a path or a host but are not known to ---- */

MUST_USE bool aside_read(struct scratch *scratch);

/* What a text with wildcards stands for now. `starts` are for a relative one. */
MUST_USE bool aside_glob(struct scratch *scratch, const struct origin *origin, struct starts *starts,
                         struct slice text);

/* Fills in `$HOME` or `$PWD` at the start of a text, to scratch->text; false when it begins with none. */
bool aside_fill_in(struct scratch *scratch, struct slice text, struct slice *ret_text);

/* ---- commands.c ---- */

MUST_USE struct command_state *commands_create(void);
void commands_destroy(struct command_state *state);
void commands_begin(struct scratch *scratch);

/* Finds what the commands act on, and adds those that are read aside; when all are taken and the paths are known. */
MUST_USE bool commands_resolve(struct scratch *scratch);

/* Appends what is read aside of the commands to the readings. */
MUST_USE bool commands_append_aside(struct scratch *scratch);

/* Appends one reading; false when there are more than LIMIT_READINGS. */
MUST_USE bool readings_append(struct scratch *scratch, struct reading reading);

#endif
