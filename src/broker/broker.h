/* The door over a socket: one process that judges for every hook, gate and relay of a user.
 *
 * The server (`callgate serve`) owns the policies, the journal and the store; which files are the policy is its
 * configuration and never a client's word. A client is a gate like any other (gate.h): broker_connect gives one whose
 * door is behind a socket. Whatever goes wrong between the two (end of stream, a time-out, another version, a broker
 * that is gone or hangs) is a deny.
 *
 * Two sockets: at the first a client has calls judged, at the second people's answers are taken. Both take peers of
 * the same user only; the second refuses peers of other user, mount or pid namespaces, so that what is confined
 * can not approve. docs/broker.md says when to use it. */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include "gate/gate.h"

/* Adds what is known of a surface's callers (a host's path arguments, the files that steer it in a project): documents
 * that are part of the program. `project` has ptr NULL where none is to be protected. Texts live in the arena. */
typedef bool broker_add_built_in(struct sources *sources, struct slice surface, struct slice project,
                                 struct arena *arena);

/* Whether a file holds rules that came along with a hook of a state directory: a hook that names one has it loaded beside
 * the broker's own, at the administrator's tier. */
typedef bool broker_knows_protection(const char *state_dir, struct slice file);

struct broker_options {
    const struct sources
        *sources;         /* the policy's files; those at standard places are added for each client */
    bool standard_places; /* no files are named: the user's and the workspace's standard ones */
    const char *state_dir;
    struct path_base base; /* the broker's own */
    const char *socket;    /* of the judging socket; the approving one is beside it: SOCKET.approve */
    int socket_fd;         /* >= 0: listens already (a service manager's) */
    enum journal_fsync fsync;
    bool journal_optional, no_weakening, observe;
    uint64_t journal_max_size; /* as for a gate, for all clients */
    const char *notify;
    const char *const *words; /* what makes another broker of this one: kept, for whoever starts it again */
    size_t word_count;
    uint32_t idle_ms;                          /* ends when nobody has been connected for so long; 0: never */
    broker_add_built_in *add_built_in;         /* may be NULL */
    broker_knows_protection *knows_protection; /* may be NULL */
    void (*say)(const char *line);
};

/* Judges until it is told to end (SIGTERM, SIGINT). 0, or -1 with a message. */
MUST_USE int broker_serve(const struct broker_options *options, struct buf *ret_error);

struct broker_client_options {
    const char *socket;
    bool starts; /* start a broker when none listens there, with what the last one of this state directory was
                              started with; only at that one's socket, or at the directory's own, gate.sock */
    const char *state_dir; /* for the one that is started */
    struct path_base base; /* must outlive the gate */
    struct slice project;  /* whose steering files are protected; ptr NULL: none */
    const char *protect;   /* a file that must be among the broker's; NULL: none */
};

/* A gate whose door is the broker's: of `gate_options` its surface, server, must_name_server, readings_flags,
 * tells_authored, brief and say count. NULL with lines for people. */
MUST_USE struct gate *broker_connect(const struct broker_client_options *options,
                                     const struct gate_options *gate_options, struct buf *ret_error);

/* Appends what is known of a state directory's broker, running or not: {"pid","protocol","started","version","socket",
 * "words","running","listens"}, or null when there never was one. */
MUST_USE bool broker_write_status(struct buf *buf, const char *state_dir);

/* Whether a broker answers at a socket, and is of this protocol. False with a message. */
MUST_USE bool broker_answers(const char *socket, struct buf *ret_error);

/* A person's answer by way of the approving socket, as the user who runs this. Appends what became of it, as JSON:
 * {"result","code","state","given","needed","scope","ended":[CODE…]}. False with a message. */
MUST_USE bool broker_vote(const char *socket, const struct vote *vote, struct buf *ret_json,
                          struct buf *ret_error);

#endif
