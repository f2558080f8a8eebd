/* `callgate hook HOST`: the adapters between coding agents' hooks and the one door. One file a host.
 *
 * Every host lets a call go on when its hook crashes, is slow, or prints the wrong shape. So: a deny of the
 * host's shape stands ready before anything can fail (emergency.h); a deadline of our own, a fatal signal, no
 * memory, a message that cannot be read, and every failure of the door give that deny, which is a constant text; the
 * whole answer leaves with one write.
 *
 * Hosts are constants. A message owns its documents and its arena. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "gate/gate.h"
#include "host/steering_internal.h"

/* What every deny says, to whomever. */
#define HOST_DENY_TEXT "Denied by Callgate."

/* How a host is to be answered. The zero value is deny. */
enum host_answer {
    HOST_DENY = 0x00000000,
    HOST_ASK = 0x0f0f3c3c,   /* the host's own question to its user */
    HOST_NONE = 0x33cc0ff0,  /* no opinion: the host's own rules decide */
    HOST_ALLOW = 0x6996a55a, /* the host's allow; only with --grant */
};

/* An event on which a host waits for an answer, with the answers as they are printed, each a whole line.
 * Constants, so that nothing can fail between a decision and its answer. */
struct host_event {
    const char *name;  /* as the message says it */
    const char *deny;  /* never NULL, never empty */
    const char *ask;   /* NULL: this host has no question of its own here, or does not heed it */
    const char *none;  /* may be empty: then nothing is printed */
    const char *allow; /* NULL: this host has no allow here */
    int deny_code;     /* exit code of a deny; every other answer is 0 */
    bool dialog;       /* comes only when the host is about to ask its user: no opinion is its question */
};

/* Whether the host asks its user in the mode that the message shows. */
enum host_mode {
    HOST_MODE_UNKNOWN = 0,
    HOST_MODE_ASKS,       /* this host is known to ask in this mode */
    HOST_MODE_ASKS_NOBODY /* bypass, auto, headless: its question would be answered by nobody */
};

/* What a host's message says. Slices point into the message's documents or its arena. */
struct host_message {
    const struct host_event *event;
    bool silent; /* an event that decides nothing (SessionStart, ...): no opinion whatever the policy */
    enum host_mode mode;
    struct slice session, cwd;
    const struct slice *roots; /* more starts of relative paths; may be NULL */
    size_t root_count;
    struct call_name *names; /* every way to understand the tool's name; at least one */
    size_t name_count;
    bool reads_resource; /* the last name is the host's own tool for it, the others are the resource's */
    bool server_unknown; /* the tool is some server's, and the message does not tell whose */
    const struct json_doc *input_doc;
    const struct json_value *input; /* an object of input_doc */
    const char *fault;     /* of a message that cannot be read: a constant phrase that echoes nothing */
    bool over_limit;       /* ... because it is over a limit */
    struct json_doc doc;   /* the message */
    struct json_doc inner; /* the input where it is not an object of the message */
    struct buf text;       /* what inner was read from */
    struct arena arena;
};

/* Where a host's configuration may stand that names its MCP servers. */
struct host_places {
    struct slice home; /* absolute */
};

/* A server as the host's configuration names it, for telling where a flattened name splits. */
struct host_server {
    struct slice name;     /* as configured */
    struct slice spelled;  /* as it stands in a flattened name */
    struct slice launched; /* the command line or the URL, where the configuration tells it; may be empty */
    bool of_project;       /* configured in a project's file, which an agent can write */
};

struct host_servers {
    struct host_server *list; /* in the message's arena */
    size_t count;
    size_t cap;
    bool partial;       /* there may be more, in a form that is not read */
    bool in_project;    /* what is added now stands in a project's file */
    const char *others; /* characters beside letters, digits, `_` and `-` that this host keeps; may be NULL */
};

/* How a hook stands in a host's settings (install/install.h). */
struct host_settings {
    const char *user, *project; /* the settings, under the home directory and under a project's */
    const char *managed;        /* for everybody on this machine; NULL: the host has no such place */
    bool plugin; /* the file is ours as a whole: a plugin that runs the command; the rest does not apply */
    bool groups; /* hooks stand in groups with a matcher; false: each by itself */
    bool args;   /* the command is run without a shell, its arguments apart */
    const char *matcher; /* that of a group for every tool; NULL: none is needed */
    const char *entry;   /* more members of an entry, each behind a comma: `,"name":"callgate"`; may be "" */
    uint32_t timeout_unit_ms; /* of the member `timeout` */
    uint32_t margin_ms;       /* how much longer than our deadline the host is to wait */
    const char *fail_closed,
        *fail_closed_value;         /* the member that turns a hook that failed into a deny; NULL: none */
    const char *version;            /* value of a member `version` that the document must have; NULL: none */
    const char *const *write_tools; /* the host's own tools that write files; NULL at the end */
    const char *note;               /* what a person must know after installing; may be NULL */
};

/* A tool of the host's own that reads a server's resources, and the method by which it does. */
struct host_resource_tool {
    const char *tool, *method;
};

struct host {
    const char *name; /* "claude-code": also the channel of its sessions */
    const char *summary;
    uint32_t deadline_ms;            /* ours by default: shorter than the host's own */
    const struct host_event *events; /* the first is that of a message that cannot be read */
    size_t event_count;
    const char *const *silent;  /* names of events that decide nothing; NULL at the end */
    const char *path_arguments; /* a policy document: arguments of the host's own tools that are paths */
    const struct host_resource_tool *resource_tools; /* ended by a tool of NULL */
    const struct host_settings *shape;
    const struct host_steering *steering; /* the files that steer it (steering.h) */
    bool says_why; /* standard error of a run that is no error is not shown to the agent */

    /* Takes event, session and call out of the message, whose document is there and is an object. False with
     * `fault` or `over_limit`, or without them when memory ran out: deny. */
    bool (*read)(struct host_message *message, const struct host_places *places);

    /* Adds the servers of the host's configuration for message->cwd. False only when memory ran out. */
    bool (*servers)(struct host_message *message, const struct host_places *places,
                    struct host_servers *servers);
};

extern const struct host host_claude_code, host_gemini, host_codex, host_cursor, host_opencode;
extern const struct host *const hosts[];
extern const size_t host_count;

/* Whether a server's command line runs `callgate run`. */
bool host_server_is_wrapped(struct slice launched);

/* The host or its event of a name, or NULL. */
const struct host *host_find(const char *name);
const struct host_event *host_event_find(const struct host *host, struct slice name);

/* Appends a policy document of admin rules, named NAME-1 and so on, that deny the host's own tools and those that
 * write by habit to write each of the paths, `count` of them. */
void host_write_protection(struct buf *buf, const struct host *host, const char *name,
                           const char *const *paths, size_t count);

/* The same for the files that steer the host in a project and above it: what `hook install` cannot know of each
 * project that a call will come from. The text, with a NUL behind it, lives in the arena. False when memory ran
 * out. */
MUST_USE bool host_project_protection(struct arena *arena, const struct host *host, struct slice project,
                                      struct slice *ret_text);

/* The files and directories that steer a host for this user, in whatever project, and the one that names its hooks; they
 * may be missing. In the arena. False when memory ran out. */
MUST_USE bool host_steering_places(struct arena *arena, const struct host *host, struct slice home,
                                   struct slice **ret_places, size_t *ret_count);

/* ---- Messages ---- */

MUST_USE bool host_message_init(struct host_message *message);
void host_message_finish(struct host_message *message);

/* Reads a message of a host. False: deny, by message->event, which is always set; `fault` or `over_limit` say
 * why unless memory ran out. */
MUST_USE bool host_message_read(struct host_message *message, const struct host *host,
                                const struct host_event *expected, struct slice text,
                                const struct host_places *places);

/* ---- Words ---- */

/* Appends what the agent hears of a denial: its kind, and the rule's own words where it has some. */
void host_write_reason(struct buf *buf, enum denial denial, struct slice tell);

/* Appends the event's deny with a reason in the place of HOST_DENY_TEXT. */
void host_write_deny(struct buf *buf, const struct host_event *event, struct slice reason);

/* ---- One run ---- */

enum host_asking {
    HOST_ASKING_AUTO = 0, /* through the host where it is known to ask, else held here */
    HOST_ASKING_HOST,     /* through the host wherever it can ask */
    HOST_ASKING_CALLGATE, /* held here */
};

struct host_hook_options {
    const struct host *host;
    const struct host_event *event; /* what a message that does not say so is taken for */
    struct sources *sources;        /* the host's own path arguments are added in front */
    const char *state_dir;
    const char *broker;       /* the socket of a broker that judges; NULL: this process does */
    const char *protect_file; /* with a broker: rules that must be among its own; NULL: none */
    struct path_base base; /* where the policy's prefixes start; a call's paths start at its message's cwd */
    enum host_asking asking;
    bool protect; /* the files that steer the host in the project of the call are not the agent's to write */
    bool observe; /* deny and hold nothing: the host's own rules decide (gate.h) */
    bool grant;   /* an authored allow is the host's allow, not only no opinion */
    const char *const *except; /* names of servers that stand behind `callgate run` */
    size_t except_count;
    uint32_t deadline_ms; /* from the start of the process */
    enum journal_fsync fsync;
    bool journal_optional;
    int in; /* where the message comes from: 0 in the program */
    void (*say)(const char *line);
};

/* Reads one message, hands its call to the door, waits for people if it must, and says how the host is to be
 * answered; ret_event is the event to answer; of a deny, what the agent hears is appended to ret_reason. Arms the deadline as it goes (emergency.h); gives up a little
 * before it. */
MUST_USE enum host_answer host_hook_run(const struct host_hook_options *options,
                                        const struct host_event **ret_event, struct buf *ret_reason);

#endif
