/* The one door: every surface makes a call and hands it in here; no other place evaluates, asks or journals.
 *
 * A gate owns its policy, its place in the journal and in the store of approvals. One thread uses it.
 * Whatever goes wrong in here is a deny. A later release moves this interface into a daemon: keep it small.
 *
 * The turn. gate_judge stages the events of a decision; gate_commit writes them, all of a loop turn at once.
 * A surface acts on outcomes only after gate_commit, and when that fails every OUTCOME_ALLOW of the turn is a
 * deny. */
#ifndef GATE_GATE_H
#define GATE_GATE_H

#include "approval/approval.h"
#include "gate/decide.h"
#include "gate/sources.h"
#include "journal/journal.h"
#include "people/roster.h"

struct gate;
struct ledger; /* a state directory with its journal and its store */

struct gate_options {
    const char *surface;   /* "run", "hook claude-code", "relay": for status and the journal */
    struct slice server;   /* the server's name, for status; ptr NULL: none */
    bool must_name_server; /* refuse a policy with a rule that names a server when `server` is none: the
                              rule could never match */
    const struct sources *sources; /* must outlive the gate: a reload reads them again */
    struct ledger
        *ledger; /* shared with other gates of the same thread; must outlive the gate. NULL: its own, in
                              state_dir */
    const char *state_dir;   /* made 0700 when missing; owner and mode are checked */
    struct path_base base;   /* must outlive the gate */
    unsigned readings_flags; /* READINGS_REMOTE */
    enum journal_fsync fsync;
    uint64_t journal_max_size; /* bytes; a journal that would be longer is rotated; 0: no limit */
    bool journal_optional;     /* --journal=optional: a journal that cannot be written denies nothing */
    bool no_weakening;         /* refuse a reload that decides anything less strictly than the baseline */
    bool observe; /* deny and hold nothing, only journal what would be (SPEC.md section 14), unless the policy
                     forbids it; not for a gate behind a door */
    bool brief;   /* one call and gone (a hook): not entered in status, no lint, no boot event, and
                              the store of approvals is opened only for a call that needs people */
    bool
        tells_authored; /* fill in outcome.authored_in_every_reading: what a surface asks before it says more than
                            "not denied" */
    const char
        *notify; /* an absolute program that is told of requests (--notify); NULL: none beside those of the
                           state directory's settings */
    bool tell_refusals; /* the reason that a person gave for a refusal is told to the agent (outcome.tell) */
    void (*say)(const char *line); /* a line for the operator (standard error); may be NULL */
};

/* Opens the state directory, the journal and the store, loads the policy, and enters the gate among the
 * running ones. NULL with lines for people in ret_error; lines also on success when a workspace file was left
 * out. */
MUST_USE struct gate *gate_open(const struct gate_options *options, struct buf *ret_error);
void gate_close(struct gate *gate);

/* A ledger that several gates share: one journal writer and one store. `surface` as for a gate. NULL with a
 * message. */
MUST_USE struct ledger *gate_ledger_open(const char *state_dir, enum journal_fsync fsync, const char *surface,
                                         struct buf *ret_error);
void gate_ledger_close(struct ledger *ledger); /* after its gates; may be NULL */

/* The policy in force; not for a gate behind a door (door.h). */
const struct policy *gate_policy(const struct gate *gate);

/* Whether it observes: it was asked to, and neither its policy nor `callgate enforce` has ended that. False of a gate
 * behind a door, which does not say. */
bool gate_observes(const struct gate *gate);

/* Ends observing for every gate of a state directory that runs by now, from its next reload on; journalled. False
 * with a message. */
MUST_USE bool gate_enforce(const char *state_dir, struct buf *ret_error);

/* Whether observing was ended after a moment (wall clock, ms). When that cannot be told, it was. */
bool gate_enforced_since(const char *state_dir, int64_t wall_ms);

/* Whether its policy decides alike wherever calls start from: no prefix of it is relative. */
bool gate_is_movable(const struct gate *gate);

/* Every name of a server that its policy may mean, its rules' and its lists', in the arena. False when that cannot
 * be told. */
MUST_USE bool gate_servers(struct gate *gate, struct arena *arena, struct slice **ret_names,
                           size_t *ret_count);

/* From now on the reason that a person gave for a refusal is told to the agent, or not: for a gate whose calls are of
 * several surfaces. */
void gate_tell_refusals(struct gate *gate, bool tells);

/* ---- Judging ---- */

/* What kind of denial it is: all that an agent may be told of it, besides `tell`. SPEC.md section 10. */
enum denial {
    DENIAL_POLICY = 0,  /* denied */
    DENIAL_REFUSED,     /* refused by a person */
    DENIAL_NOT_IN_TIME, /* nobody answered in time */
    DENIAL_UNREADABLE,  /* the call could not be read */
    DENIAL_TOO_MANY,    /* too many requests wait */
};

/* The zero value is deny. Test for OUTCOME_ALLOW by name. */
enum outcome_kind {
    OUTCOME_DENY = 0x00000000,
    OUTCOME_HELD = 0x33cc0ff0, /* a request waits for people: see `held` */
    OUTCOME_ALLOW = 0x6996a55a,
};

#define HELD_TELL_BYTES 808 /* LIMIT_REASON_CHARS characters of UTF-8 fit */

/* A held call's claim: what was shown to people, and which request it is. A plain value. */
struct held {
    int64_t number; /* of the request; 0: none */
    char code[CODE_LENGTH + 1];
    uint32_t needed;              /* approvers */
    uint8_t shown[APPROVAL_HASH]; /* hash of the paths, commands and hosts as shown */
    uint32_t tell_len; /* what an agent may hear when people refuse or nobody answers; 0: nothing */
    char tell[HELD_TELL_BYTES];
};

#define GATE_CORRELATION_SIZE 17 /* sixteen hexadecimal digits and a NUL */

static inline struct slice held_tell(const struct held *held)
{
    return (struct slice){held->tell, held->tell_len};
}

struct outcome {
    uint32_t kind;   /* enum outcome_kind */
    uint32_t cause;  /* enum decision_cause */
    uint32_t denial; /* enum denial, of a deny */
    bool authored;   /* an authored rule decided; false: no rule matched */
    bool
        authored_in_every_reading; /* of an allow, and only with gate_options.tells_authored: an authored rule
                                       decides every reading, not only the one that spoke for all */
    bool by_approval;              /* allowed because people approved */
    bool observed;     /* allowed because the gate observes: the policy would have denied or held it */
    struct slice tell; /* of a deny: the rule's words for the agent, and no more; empty: none. Valid until the
                          next call of this gate */
    struct held held;
    char correlation[GATE_CORRELATION_SIZE]; /* of the call's events; empty: none was staged */
};

/* Judges a call. `prior`, if not NULL, is the claim of this very call whose request has ended: the call is
 * read and evaluated anew, a refusal or a time-out is a deny, and a grant counts only if the canonical paths
 * are those that were shown; else it is a new request. `wanted_code`, if not empty, is the code that a new
 * request should have. Events are staged; a new request is journalled and stored at once. */
struct outcome gate_judge(struct gate *gate, const struct call *call, const struct held *prior,
                          struct slice wanted_code);

/* The same without ever holding: a call that needs people is a deny for the agent here, journalled as
 * required (a hook that asks through its host, SPEC.md section 3 `require`). The outcome's kind is
 * OUTCOME_HELD with held.number 0. */
struct outcome gate_judge_unheld(struct gate *gate, const struct call *call);

/* Denies a call for a reason that is no rule's: a surface knows something of it that speaks against every call
 * of that kind (a tool that nobody has accepted). Journalled like any denial, the reason for the operator. */
struct outcome gate_deny(struct gate *gate, const struct call *call, struct slice reason);

/* Where the paths of the calls that follow start from. A hook learns it from its message, when the policy is
 * loaded already; the policy's own prefixes keep theirs. What `base` points to must outlive those calls. */
void gate_start_from(struct gate *gate, const struct path_base *base);

/* A message as it came, for the journal: its bytes, or, of one that was not kept, its SHA-256 and length. */
struct came {
    struct slice bytes; /* ptr NULL: not kept */
    const uint8_t *hash;
    uint64_t length;
};

/* A call that could not even be read: `cause` CAUSE_MALFORMED (with a constant phrase) or CAUSE_OVER_LIMIT.
 * Always a deny; journalled with what is known (tool may be empty; `came` may be NULL). SPEC.md section 13. */
struct outcome gate_judge_unreadable(struct gate *gate, uint32_t cause, struct slice tool,
                                     struct slice phrase, const struct came *came,
                                     const struct call_defaults *defaults);

/* An event of a surface's own ("mcp.dropped", "mcp.server_request"). Staged like the others. */
void gate_note(struct gate *gate, const struct event *event);

/* Writes what the turn has staged; flushes when the mode, a denial or an approval asks for it. When it fails,
 * says why once to the operator, and every OUTCOME_ALLOW of the turn is a deny. */
MUST_USE bool gate_commit(struct gate *gate);

/* Every 100 ms or so: flushes the journal (fsync=batch), ends requests that timed out. */
void gate_tick(struct gate *gate);

/* ---- Held calls ---- */

/* Whether anything may have changed in the store since this last said so: then look at each held call. Cheap.
 * True once a second in any case. */
bool gate_people_moved(struct gate *gate);

/* Whether the policy of a gate behind a door may be another than when this last said so: ask again. Of any other gate it
 * is its surface that reloads. */
bool gate_policy_moved(struct gate *gate);

/* Where a held call stands: REQUEST_WAITING, or how it ended. A store that cannot be read is REQUEST_WAITING.
 */
enum request_state gate_held_state(struct gate *gate, const struct held *held);

/* The caller cancelled: ends the request as withdrawn. A surface that holds several calls of one request (a
 * retry) withdraws only with the last of them. */
void gate_withdraw(struct gate *gate, const struct held *held);

/* ---- Reload (SPEC.md section 8) ---- */

/* Reads the sources again and adopts the new policy, or refuses it and keeps the running one, untouched;
 * journals which, and says so to the operator. True when adopted. */
bool gate_reload(struct gate *gate);

/* The SHA-256 of a policy's canonical text, in hex: the same for every layout of the same documents. */
MUST_USE bool policy_digest(const struct policy *policy, char ret_hex[HASH_HEX + 1]);

/* What is missing of the journal of a state directory: an event that was written and that neither it nor its parts hold
 * (seq 0: none is). Once a gate has told it in the journal, it stays until it is acknowledged. */
MUST_USE bool gate_find_gap(const char *state_dir, struct journal_place *ret_missing, struct buf *ret_error);
MUST_USE bool gate_acknowledge_gap(const char *state_dir, bool *ret_was, struct buf *ret_error);

/* Begins a new part of the journal: that of a gate, or that of a state directory without one. */
MUST_USE bool gate_rotate(struct gate *gate, struct buf *ret_error);
MUST_USE bool gate_rotate_journal(const char *state_dir, struct buf *ret_error);

/* Makes a policy the baseline that no_weakening compares with: the files of `sources`, behind the admin file,
 * if the digest of what they load to, alone or behind it, is `digest`. Journalled. False with a message. */
MUST_USE bool gate_acknowledge(const char *state_dir, const struct sources *sources,
                               const struct path_base *base, struct slice digest, struct buf *ret_error);

/* ---- People: what `pending`, `approve`, `refuse` and other approval surfaces do. No policy is needed. ----
 */

struct people;

MUST_USE struct people *people_open(const char *state_dir, struct buf *ret_error);
/* On a ledger that gates of the same thread share; it must outlive this. NULL without memory. */
MUST_USE struct people *people_open_on(struct ledger *ledger);
void people_close(struct people *people);

/* What an answer did. Valid until the next call. */
struct people_answer {
    struct request request; /* after the answer */
    struct request
        *ended;         /* what it ended: the request itself first, then what else it released or refused */
    size_t ended_count; /* 0: it waits for more approvers */
};

/* Who answers, and what has authenticated them. */
struct voter {
    enum people_surface surface;
    struct slice id; /* what the surface knows them by: the system's user, WORKSPACE/USER, … */
    struct slice as; /* the name that they say they have; empty: none. It must be the person's own. */
};

/* Counts the answer of whoever a surface has authenticated: what every surface calls. With a roster the identity is
 * the person's name there, who must be one that may answer requests of this rule and channel; without one it is the
 * operating system's name of the user who runs this process, whatever the surface, because one human could otherwise
 * meet a quorum of two. vote->identity is not read. STORE_FORBIDDEN, with a line for the person in ret_error and an
 * event approval.dropped: they may not answer. */
MUST_USE enum store_result people_take_answer(struct people *people, const struct roster *roster,
                                              const struct voter *voter, const struct vote *vote,
                                              struct people_answer *ret_answer, struct buf *ret_error);

/* Journals that an answer was dropped, and why (a constant phrase). Best effort: it changes nothing. */
void people_drop(struct people *people, const struct vote *vote, const char *why);

/* The people of the user who runs this process: roster_open with their home directory. `named` may be NULL. */
MUST_USE bool people_read_roster(struct roster *ret_roster, const char *named, struct buf *ret_error);

/* Appends what the user who runs this process is called where it is journalled who did something: the name of the person
 * in the roster whom the operating system's user authenticates, or else that user's name. */
void people_name_of_user(const struct roster *roster, struct buf *ret_name);

/* Appends the operating system's name of the user who runs this process, or uid:N. */
void people_own_name(struct buf *ret_name);

/* Journals an event of a surface's own, such as who has signed in. Best effort: it changes nothing. False when it could
 * not be written. */
bool people_note(struct people *people, const struct event *event);

/* Whether anything may have changed in the store since this last said so: then look. Cheap enough to ask ten times a
 * second. */
bool people_may_have_changed(struct people *people);

/* Counts the answer of an identity that was authenticated: what people_take_answer ends in. STORE_NONE: no such request waits (people_last says what became of it). */
MUST_USE enum store_result people_vote(struct people *people, const struct vote *vote,
                                       struct people_answer *ret_answer, struct buf *ret_error);

/* What waits, oldest first. Requests that are over, or whose gate has ended, are ended first. Valid until the next
 * call. */
MUST_USE bool people_waiting(struct people *people, struct request **ret_requests, size_t *ret_count,
                             struct buf *ret_error);

/* Of one list of people_waiting: whether an approval of `request` with a scope covers `other` as well. */
bool people_covers(const struct request *request, enum approval_scope scope, const struct request *other);

/* The request that has a code, waiting or ended lately. Valid until the next call. */
MUST_USE enum store_result people_last(struct people *people, struct slice code, struct request *ret_request,
                                       struct buf *ret_error);

/* Live approvals, and the end of one: journalled as approval.revoked with who did it. STORE_NONE: no live one
 * has this id. */
MUST_USE bool people_grants(struct people *people, struct grant **ret_grants, size_t *ret_count,
                            struct buf *ret_error);
MUST_USE enum store_result people_revoke(struct people *people, int64_t id, struct slice identity,
                                         struct buf *ret_error);

/* ---- Who runs (status) ---- */

/* Appends a JSON array with an object for each running gate of a state directory:
 * {"pid","surface","server","started","reloads","observing","policy":{"digest","generation","loaded","rules","warnings",
 *  "files":[…]},"refused":{"when","errors":[…],"violations":[…]}|null}. */
MUST_USE bool gates_write_json(const char *state_dir, struct buf *buf, struct buf *ret_error);

/* Takes the refused reloads off the list for review. *ret_count: how many. */
MUST_USE bool gates_dismiss(const char *state_dir, size_t *ret_count, struct buf *ret_error);

/* Where state lives when --state is not given: .local/state/callgate under the home directory of the user
 * database. */
MUST_USE bool gate_default_state_dir(struct buf *ret_path);
MUST_USE bool gate_home_dir(struct buf *ret_path);

#endif
