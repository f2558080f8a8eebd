/* What the files of the gate share. Nothing outside src/gate includes this. */
#ifndef GATE_INTERNAL_H
#define GATE_INTERNAL_H

#include "analysis/analysis.h"
#include "gate/door.h"
#include "gate/gate.h"

/* The state directory with what lives in it: the journal and the store of approvals. A gate has one; so have
 * the commands through which people answer. */
struct ledger {
    int dir;
    struct journal *journal;
    struct store *store;  /* NULL until ledger_open_store */
    uint64_t correlation; /* the next correlation id; starts at random */
    struct arena arena;   /* for one operation */
    bool looked_for_gap;
    char kept_hash[HASH_HEX + 1]; /* of the journal's event that was kept in the store last */
    char *path;                   /* of the state directory: absolute */
    const char *notify;           /* a program that is told of requests, beside those of the settings */
    bool announced;               /* the request at hand was told of when it was first made */
};

MUST_USE bool ledger_open(struct ledger *ledger, const char *state_dir, enum journal_fsync fsync,
                          struct slice boot_detail, struct buf *ret_error);
/* The same for a surface that runs on (NULL: for one call), with its boot event and the store. */
MUST_USE bool ledger_open_for(struct ledger *ledger, const char *state_dir, enum journal_fsync fsync,
                              const char *surface, struct buf *ret_error);
/* Opens the store, unless it is open. */
MUST_USE bool ledger_open_store(struct ledger *ledger, const char *state_dir, struct buf *ret_error);
void ledger_close(struct ledger *ledger);

/* Keeps the journal's last event in the store, unless it is kept. */
void gap_keep_head(struct ledger *ledger);

/* Looks whether the journal holds the event that was kept last; if not, journals that (ret_found). */
MUST_USE bool gap_check(struct ledger *ledger, const char *state_dir, bool *ret_found, struct buf *ret_error);

#define DETAIL_BYTES ((size_t)64 << 10) /* of the detail of an event about one request */

struct times times_now(void);

#define CORRELATION_SIZE GATE_CORRELATION_SIZE
void ledger_correlation(struct ledger *ledger, char ret_id[CORRELATION_SIZE]);

/* Stages the event of an answer to a request. */
MUST_USE bool ledger_stage_vote(struct ledger *ledger, const struct request *request,
                                const struct vote *vote);

/* Stages one event for each request that has ended, of the kind that its end has. */
MUST_USE bool ledger_stage_ends(struct ledger *ledger, const struct request *ended, size_t count,
                                struct slice by);

/* Tells people, by notices, of requests that wait since now or have ended. Best effort; ret_error says what failed. */
void ledger_notify(struct ledger *ledger, const struct request *requests, size_t count,
                   struct buf *ret_error);

/* Commits what is staged and the store's transaction as one: the journal first, flushed; then people are told. When the store's commit
 * fails after it, each of the requests gets an event `approval.void` with the reason, which takes back what
 * the journal says became of it. False, with nothing changed in the store and a message. */
MUST_USE bool ledger_commit(struct ledger *ledger, const struct request *requests, size_t count,
                            struct buf *ret_error);

/* Ends requests that have waited too long, and withdraws those whose gate has ended: transactions of their own,
 * journalled. Whether it ended any. */
bool ledger_sweep(struct ledger *ledger, struct times now);

/* Withdraws what waits and is held by the gate of this name, which ends. */
void ledger_withdraw_all(struct ledger *ledger, const char *holder);

/* One running gate's entry: a lock that is held as long as the process lives, and a file that says what it
 * runs. */
struct registry {
    int dir, lock;
    char name[40];
};
MUST_USE bool registry_enter(struct registry *registry, int state_dir, struct buf *ret_error);
#define REGISTRY_FILE_MOST ((size_t)4 << 20) /* bytes of one of its files */
#define REGISTRY_STATUS    ".json"
#define REGISTRY_REFUSED   ".refused"
#define REGISTRY_CLAIM     ".claim" /* of an entry that is no gate's own (claim.h) */
/* Writes one of its files whole, or removes it when `json` is empty. */
MUST_USE bool registry_write(struct registry *registry, const char *ending, struct slice json);
void registry_leave(struct registry *registry);
/* Appends a JSON array of the claims that stand. */
MUST_USE bool registry_claims(const char *state_dir, struct buf *buf, struct buf *ret_error);
/* Whether the gate of this name runs. When that cannot be told, it does. */
bool registry_is_alive(int state_dir, struct slice name);

struct gate {
    struct gate_options options;
    const struct gate_door *door; /* not NULL: all that this gate does is done there; the rest is not used */
    void *door_self;
    struct ledger *ledger; /* `own`, or one that several gates share */
    struct ledger own;
    struct path_base calls; /* where paths of calls start; options.base is where prefixes do */
    struct decider decider;
    struct policy *policy;
    struct source_texts texts;
    struct policy *first; /* with no_weakening: the policy at start, the baseline until one is acknowledged */
    uint32_t *rules_of_ids; /* by id: one more than the index of its first rule; NULL until it is needed */
    size_t ids_mapped;
    char digest[HASH_HEX + 1];
    uint64_t generation;
    int64_t started_ms, loaded_ms;
    size_t warnings;
    uint64_t reloads; /* tried, adopted or not */
    struct registry registry;
    bool registered;    /* it writes a status */
    bool entered;       /* it is among the running gates: with `brief`, from the first call that it holds */
    uint64_t looked_ns; /* when gate_people_moved said so last */

    /* The turn. */
    bool turn_failed; /* an event of the turn could not be staged or written */
    bool turn_flush;  /* a denial or an approval is staged */
    bool told;        /* the operator knows that the journal cannot be written */
};

void gate_tell(struct gate *gate, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says once, until a commit succeeds again, why the journal cannot be written. */
void gate_tell_journal(struct gate *gate, struct slice why);

/* Loads the sources, at start or at a reload, and refuses what this gate cannot enforce. */
MUST_USE struct policy *gate_load(struct gate *gate, struct source_texts *texts, struct findings *ret_errors);

/* Takes a policy and its texts over, or destroys the policy: digest, generation, warnings to the operator and
 * the journal, status. */
MUST_USE bool gate_adopt(struct gate *gate, struct policy *policy, struct source_texts *texts);

/* Tells the operator that the gate observes, or that it was asked to and must not. */
void gate_tell_observing(struct gate *gate);

/* Ends observing when `callgate enforce` has ended it since the gate started. */
void gate_look_at_enforced(struct gate *gate);

/* Tells the operator and the journal which live approvals no longer count under the policy in force. */
void gate_tell_stale(struct gate *gate);

/* Appends what `status` and the journal say of the policy in force. */
void gate_write_policy(struct buf *buf, const struct gate *gate);
void gate_write_status(struct gate *gate);

/* The readings' canonical paths, each once, in order. Lives in the arena. False when memory ran out. */
MUST_USE bool judged_paths(const struct readings *readings, struct arena *arena, struct slice **ret_paths,
                           size_t *ret_count);

/* More than this many warnings, errors or violations in one event help nobody; it says how many more. */
#define EVENT_LIST_MOST ((size_t)100)

/* What speaks against a reload. Owns all of it. */
struct refusal {
    struct policy *policy;   /* the new one */
    struct policy *baseline; /* the acknowledged one, if it was asked for and is there */
    struct findings errors;
    struct violations violations;
    struct diff diff, unreadable; /* from the baseline, with no_weakening */
    struct confined_changes confined;
    bool allows_observing; /* the baseline forbids it, with no_weakening */
    char new_digest[HASH_HEX + 1];
};
void refusal_init(struct refusal *refusal);
void refusal_finish(struct refusal *refusal);

/* Tells, journals and keeps a refusal for review until a later reload succeeds. */
void gate_refuse(struct gate *gate, const struct refusal *refusal);

/* The policy that the operator acknowledged last, from the state directory. */
enum baseline_result {
    BASELINE_FAILED = 0, /* there is one and it cannot be read */
    BASELINE_NONE,
    BASELINE_READ,
};
MUST_USE enum baseline_result baseline_load(int state_dir, struct policy **ret_policy, struct buf *ret_error);

#endif
