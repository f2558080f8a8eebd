/* One call on its way through the door: what judging, asking people and recording share. Inside this room. */
#ifndef GATE_JUDGE_INTERNAL_H
#define GATE_JUDGE_INTERNAL_H

#include "gate/internal.h"

/* Everything that is known of the call being judged. */
struct judged {
    const struct call *call;
    struct decision decision;
    struct slice *paths;
    size_t path_count;
    uint8_t hash[HASH_SIZE];
    bool hashed;
    char correlation[CORRELATION_SIZE];
    struct slice reason;      /* of a deny */
    bool authored_everywhere; /* an authored rule decides every reading */
};

/* ---- record.c: events of a decision, and the outcome that goes with it ---- */

/* The name by which the decision was made. */
const struct call_name *judged_name(const struct judged *judged, const struct readings *readings);

/* Hash of what a person is shown of where a call goes: its paths, commands and hosts, unreadable ones included, what
 * is read aside left out. False when memory ran out. */
MUST_USE bool judged_hash_shown(const struct readings *readings, uint8_t ret_hash[APPROVAL_HASH]);

void judged_stage(struct gate *gate, struct judged *judged, const char *kind, const char *outcome,
                  struct slice detail);
/* `detail` of the operator's event; may be empty. */
struct outcome judged_deny(struct gate *gate, struct judged *judged, enum denial denial, struct slice detail);
struct outcome judged_deny_because(struct gate *gate, struct judged *judged, enum denial denial,
                                   enum decision_cause cause, struct slice reason);
struct outcome judged_allow(struct gate *gate, struct judged *judged);
void gate_stage(struct gate *gate, const struct event *event);

/* What the agent may be told beside a denial: the words of the rule that decided. Empty: nothing. */
struct slice judged_tell(const struct gate *gate, const struct judged *judged);

/* ---- observe.c: what would be denied or held, and runs ---- */

/* Whether a call that the policy denies or asks about runs all the same: a gate observes, and the call could be
 * read. */
bool judged_is_observed(const struct gate *gate, const struct judged *judged, const struct held *prior);
/* `reason` of the judged call is journalled. */
struct outcome judged_would_deny(struct gate *gate, struct judged *judged);
struct outcome judged_would_require(struct gate *gate, struct judged *judged);

/* ---- consult.c: people ---- */

/* A call that a rule wants approved: what have people said so far, and if nothing, what are they asked? `approved`
 * is its own request, approved just now; NULL: there is none. */
struct outcome judged_consult(struct gate *gate, struct judged *judged, const struct held *prior,
                              const struct request *approved, struct slice wanted_code, bool may_hold);

/* Whether what people have said by now decides the call: somebody has answered since they were consulted. */
bool judged_is_answered(struct gate *gate, const struct judged *judged);

/* ---- ask.c: the request that people will see ---- */

/* Asks people. With ret_answered it looks once more, under the store's lock, for an answer that came since they were
 * consulted: then it sets *ret_answered and asks nobody, and the outcome is none. A request that came behind the
 * grant that covers it would wait in vain. */
struct outcome judged_hold(struct gate *gate, struct judged *judged, struct slice wanted_code,
                           struct times now, bool *ret_answered);
/* For whom the caller asks by itself: journalled, and nobody is asked here. */
struct outcome judged_unheld(struct gate *gate, struct judged *judged);

/* What the turn has staged so far goes into the file, so that a rollback takes nothing else along. */
MUST_USE bool gate_write_turn(struct gate *gate);

/* ---- rules.c: the rules that requests and grants name ---- */

MUST_USE bool judged_rule_digest(const struct policy *policy, const struct rule *rule,
                                 uint8_t ret_digest[HASH_SIZE]);
/* Whether a request was for this rule as it is now; for no rule at all when `rule` is NULL. */
bool judged_same_rule(const struct policy *policy, const struct rule *rule, const struct request *request);
/* The first rule with an id; NULL: none, or no memory for the map. */
const struct rule *gate_rule_by_id(struct gate *gate, struct slice text);

#endif
