/* A call in, a decision out: readings, facts, evaluation. Nothing is asked, journalled or remembered.
 *
 * This is the part of the door that `eval` shares with the surfaces. A decider owns its workspace and settles
 * on no allocations; it is used by one thread at a time. */
#ifndef GATE_DECIDE_H
#define GATE_DECIDE_H

#include "index/index.h"

struct decider {
    struct readings readings; /* of the last call: what was judged */
    struct facts facts;
    struct buf text; /* canonical text of the last call */
    bool hashed;
    uint8_t call_hash[32]; /* of the last call, once decide_hash was called */
};

MUST_USE bool decider_init(struct decider *decider);
void decider_finish(struct decider *decider);

/* Makes the readings and decides. Any failure is a deny with its cause. `approvals` may have call_hash NULL:
 * it is made here when some approval needs it. */
struct decision decide(struct decider *decider, const struct policy *policy, const struct call *call,
                       const struct path_base *base, unsigned readings_flags,
                       const struct approvals *approvals);

/* The hash of a call (SPEC.md section 9). False only when memory or libcrypto failed. */
MUST_USE bool decide_hash(struct decider *decider, const struct call *call, uint8_t ret_hash[32]);

#endif
