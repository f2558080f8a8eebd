/* Questions about policies, answered exactly without a call. SPEC.md sections 7 and 8.
 *
 * Nothing here changes a policy. Findings and violations own their texts. */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include "document/document.h"
#include "index/index.h"

/* Adds the warnings of SPEC.md section 7 to ret_warnings: shadow (within a tier, and cross-tier), broad,
 * missing-prefix, flattened-name; in order of file and place. Not quadratic in the number of rules. */
void lint(const struct policy *policy, struct findings *ret_warnings);

/* "policy-load: warning: rule 'LATER' (line N) is shadowed by earlier rule 'EARLIER' (line M) — reorder or
 * narrow the earlier rule." and its kin, for standard error. */
void lint_write_text(struct buf *buf, const struct finding *warning);

/* ---- Matches as sets of calls ---- */

/* Whether every call that the rule `inner` matches is matched by the rule `outer`, field by field as SPEC.md section 7
 * says: each arm of the one is within some arm of the other. They may belong to different policies. */
bool rule_subset(const struct policy *inner_policy, const struct rule *inner,
                 const struct policy *outer_policy, const struct rule *outer);

/* Whether the fields of some arms of two rules let some call match both, as SPEC.md section 7 says for cross-tier
 * shadows. */
bool rule_intersects(const struct policy *a_policy, const struct rule *a, const struct policy *b_policy,
                     const struct rule *b);

/* ---- Monotonicity at reload (SPEC.md section 8) ---- */

struct violation {
    struct slice new_rule, existing_deny;
    struct slice message; /* new auto_approve rule 'NEW' weakens existing deny 'DENY' — reload refused */
};

struct violations {
    struct arena arena;
    struct violation *list;
    size_t count, cap;
    bool failed; /* the list is not whole (no memory, or more than VIOLATIONS_MAX): refuse the reload */
};

/* Far more than anyone reads: a list can be as long as the product of the two rule sets. */
#define VIOLATIONS_MAX ((size_t)1 << 20)

void violations_init(struct violations *violations);
void violations_finish(struct violations *violations);

/* Every new auto_approve rule of `next` whose match is a subset of the match of any deny in `running`. Not
 * quadratic. */
void violations_find(const struct policy *running, const struct policy *next,
                     struct violations *ret_violations);

/* ---- Exact answers (docs: "Exact analysis") ----
 *
 * Said of calls whose paths can be read. A path, and an argument that is read as one, are looked at for what
 * they are on this machine now, from `base`; what a tool opens later is not known here. Where a call has
 * several readings, each is a call of its own. A witness is a call as JSON text, as `callgate eval` reads it,
 * with the server if it has one; it was decided by the evaluator before it was given out. */

struct analysis;

/* Ready for any number of questions about a policy. `asked`: the space of the assertions to be asked about,
 * with the assertions themselves (policy->assertion_space, policy->assertions); or NULL. All are borrowed, as
 * is base. NULL when there is no memory. */
MUST_USE struct analysis *analysis_create(const struct policy *policy, const struct policy *asked,
                                          const struct assertion *assertions, size_t assertion_count,
                                          const struct path_base *base);
void analysis_destroy(struct analysis *analysis);

/* Adds a finding of kind `dead` for each rule that no call can reach, because rules before it, of whatever
 * tier, cover it together; `by` names them. Rules that a shadow warning already in the list names as the
 * later one are passed over, and so is a rule that another speaks for when it is named so. */
void dead_find(struct analysis *analysis, struct findings *warnings);

/* Appends a call on which this rule decides; false, nothing appended, when there is none, or none could be
 * made. */
MUST_USE bool dead_witness(struct analysis *analysis, uint32_t rule, struct buf *ret_call);

/* Whether no call of an assertion's match gets a decision that it says is never. */
enum assertion_result {
    ASSERTION_FAILED = 0,  /* no memory, or too many steps: nothing is proved */
    ASSERTION_REFUTED,     /* there is a call: see the refutation */
    ASSERTION_UNCONFIRMED, /* not proved: a rule stands against it, but no call could be made that shows it */
    ASSERTION_PROVED,
};

struct refutation {
    const struct rule *rule; /* that decides it; NULL: no rule does */
    uint32_t kind;           /* enum decision_kind */
};

/* What a proof says of calls with several readings. True (never allow; never allow nor require, or allow even
 * when approved): no call that has a reading of the match gets such a decision. False: no reading of the
 * match is what gives a call such a decision; another reading of the call may. */
bool assertion_holds_of_calls(const struct assertion *assertion);

/* Asks about assertion number `assertion` of those given. Appends the refuting call to ret_call. */
MUST_USE enum assertion_result assertion_prove(struct analysis *analysis, size_t assertion,
                                               struct refutation *ret, struct buf *ret_call);

/* Proves the assertions that a policy's documents carry. Adds an error `assertion-refuted`, with the refuting
 * call, for each that is not proved; true when all are. */
MUST_USE bool assertions_check(const struct policy *policy, const struct path_base *base,
                               struct findings *errors);

/* ---- Differences ---- */

struct diff_side {
    uint32_t kind;           /* enum decision_kind, without approvals */
    const struct rule *rule; /* NULL: no rule matches */
    bool stops; /* of an unreadable path: evaluation stops at the rule, and rule `default` denies */
};

/* A set of calls whose decision changes. */
struct diff_class {
    bool weaker; /* somewhere less strict than before: kind, approvers, ttlMs or scope */
    bool
        aside; /* said of what is read aside: `from` counts there, and what decides it now does not (SPEC.md section 4) */
    struct diff_side from, to;
    /* The set is the calls of `match` that none of `except` matches: matches in JSON, where a pathComponent may be a list
     * of two that one path has. It is exactly these where no rule with lists, commands, hosts or annotations is concerned;
     * what such a rule takes is never excepted, so that no call of the class is left out. */
    struct slice match;
    const struct slice *except; /* NULL: not listed */
    size_t except_count;
    struct slice witness; /* ptr NULL: none could be made; the class may be one that files rule out */
    /* A change of a list is a class of its own: the argument `name` of these tools is a path (a tree), or is
     * one no more. Then from and to are those of the witness, if there is one that shows a change of
     * decision. */
    const char *list;  /* "pathArguments", "treeArguments"; NULL for every other class */
    struct slice name; /* of the argument */
    bool added;
};

struct diff {
    struct arena arena;
    struct diff_class *list;
    size_t count, cap;
    bool failed;    /* the list is not whole: treat as weaker */
    size_t excepts; /* of all classes together */
    bool excepts_full;
};

/* A class whose exceptions would make more than this of all classes together has none listed. */
#define DIFF_EXCEPTS_MOST ((size_t)1000000)

void diff_init(struct diff *diff);
void diff_finish(struct diff *diff);

/* Every class of calls that `to` decides otherwise than `from`: first those of rules, in the order of the old
 * rules, then of the new ones, then those of lists. With DIFF_BRIEF no class's `except` is filled. The
 * policies must outlive the diff. */
enum diff_detail { DIFF_BRIEF, DIFF_EXCEPT };
void diff_find(const struct policy *from, const struct policy *to, const struct path_base *base,
               enum diff_detail detail, struct diff *ret_diff);

/* The same for calls with a path that cannot be resolved, which evaluation denies at the first rule that
 * would look at it: its kind is then deny, and `rule` is where evaluation stops. */
void diff_find_unreadable(const struct policy *from, const struct policy *to, const struct path_base *base,
                          enum diff_detail detail, struct diff *ret_diff);

/* Whether some class of a difference is weaker, or not all could be told. */
bool diff_is_weaker(const struct diff *diff);

/* ---- Places of confined programs ---- */

/* A place that one policy's documents name under `confine` and the other's do not, compared as it is written. */
struct confined_change {
    struct slice place; /* of the policy that has it */
    bool writes;        /* of `write`; else of `read` */
    bool added;
    bool weaker; /* `write` has one more, or `read` one less */
};

struct confined_changes {
    struct confined_change *list; /* `read` first, then by text */
    size_t count, weaker;
    bool failed; /* no memory: treat as weaker */
};

/* All changes from one policy to another. The policies must outlive them. */
void confined_compare(const struct policy *from, const struct policy *to,
                      struct confined_changes *ret_changes);
void confined_finish(struct confined_changes *changes);

#endif
