/* Questions about rules with lists, commands and hosts, which boxes cannot hold. For this room only.
 *
 * What two matches have in common is asked arm by arm. For each pair of arms there are finitely many calls that stand
 * for all of them: fields that the pair leaves open have values like no rule's, and its commands are the points of
 * command/points.h, each also behind an assignment and before a word that is not known. Each such call is made as JSON,
 * read as the gate would, and decided by the evaluator. What is found so is a call; that nothing was found is a proof
 * where the pair has no path fields and no arguments. */
#ifndef ANALYSIS_NAMED_INTERNAL_H
#define ANALYSIS_NAMED_INTERNAL_H

#include "command/points.h"
#include "index/index.h"

struct named;

/* `policy` decides; `asked` holds the matches of the assertions that are asked about. All are borrowed, as is the base.
 * NULL when there is no memory. */
MUST_USE struct named *named_create(const struct policy *policy, const struct policy *asked,
                                    const struct assertion *assertions, size_t assertion_count,
                                    const struct path_base *base);
void named_destroy(struct named *named); /* takes NULL */

struct named_question {
    const struct match *asked;
    const struct rule
        *rule;  /* the policy's rule whose calls are asked about; NULL: those that no rule decides */
    bool noted; /* the rule may be noted as well, of calls that it need not match: nothing is proved */
    struct slice server, tool; /* of a NULL rule, of the default set's entry; ptr NULL: none */
    bool by_it;                /* the call, too, must get its decision from the rule */
    bool (*is_bad)(const void *context, uint32_t kind);
    const void *context;
};

enum named_answer {
    NAMED_UNKNOWN = 0, /* nothing was found, and it is no proof */
    NAMED_NONE,        /* no call: proved */
    NAMED_FOUND,
};

/* Whether some call of the asked match gets a bad decision from the rule, or, by another reading, a bad one at all.
 * Appends the call to ret_call, and writes its decision, when one is found. */
enum named_answer named_ask(struct named *named, const struct named_question *question,
                            struct decision *ret_decision, struct buf *ret_call);

/* What decides the calls of a rule that decides none itself: rules of the policy, each once. */
#define NAMED_COVERS 4u
struct named_covers {
    const struct rule *list[NAMED_COVERS];
    uint32_t count;
};

/* Whether a rule decides some call. Of one that may be noted, and of one with path fields or arguments, it is never said
 * to decide none. Appends a call, and writes its decision, when one is found; writes the covers when none is. */
enum named_answer named_decides(struct named *named, const struct rule *rule, struct named_covers *ret_covers,
                                struct buf *ret_call);

/* The same for two policies: what decides a call on one side. */
struct named_side {
    const struct rule *rule;   /* NULL: no rule of the policy */
    uint32_t kind;             /* enum decision_kind: of a NULL rule, what is decided then */
    struct slice server, tool; /* of a NULL rule, of the default set's entry; ptr NULL: none */
};
MUST_USE struct named *named_create_pair(const struct policy *from, const struct policy *to,
                                         const struct path_base *base);

/* Whether some call is decided by one rule in the old policy and by another in the new one. Of rules that may be noted
 * it is never said that there is none. Appends a call when one is found. */
enum named_answer named_differs(struct named *named, const struct named_side *from,
                                const struct named_side *to, struct buf *ret_call);

#endif
