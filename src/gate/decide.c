/* Decides a call that has been read: its readings, the facts, the evaluation. */
#include "gate/decide.h"

#include <string.h>

#include "journal/journal.h"

/* The canonical text of the largest message, every byte of it escaped, fits. */
#define CALL_TEXT_CEILING ((size_t)LIMIT_MESSAGE_BYTES * 6 + 4096)

bool decider_init(struct decider *decider)
{
    *decider = (struct decider){0};
    buf_init(&decider->text, CALL_TEXT_CEILING);
    if (!readings_init(&decider->readings)) {
        return false;
    }
    if (facts_init(&decider->facts)) {
        return true;
    }
    readings_finish(&decider->readings);
    return false;
}

void decider_finish(struct decider *decider)
{
    readings_finish(&decider->readings);
    facts_finish(&decider->facts);
    buf_finish(&decider->text);
    *decider = (struct decider){0};
}

bool decide_hash(struct decider *decider, const struct call *call, uint8_t ret_hash[32])
{
    if (!decider->hashed) {
        buf_reset(&decider->text);
        call_write_canonical(&decider->text, call);
        decider->hashed =
            buf_ok(&decider->text) && hash_bytes(buf_slice_of(&decider->text), decider->call_hash);
        /* A call of megabytes must not keep its megabytes for the life of the process. */
        if (decider->text.cap > (1u << 20)) {
            buf_finish(&decider->text);
            buf_init(&decider->text, CALL_TEXT_CEILING);
        }
    }
    if (decider->hashed) {
        memcpy(ret_hash, decider->call_hash, 32);
    }
    return decider->hashed;
}

static bool needs_hash(const struct approvals *approvals)
{
    if (approvals->call_hash != NULL) {
        return false;
    }
    for (size_t i = 0; i < approvals->count; i++) {
        if (approvals->list[i].for_call) {
            return true;
        }
    }
    return false;
}

static struct decision denied(enum decision_cause cause)
{
    return (struct decision){.kind = DECISION_DENY, .cause = cause};
}

static struct decision over_limit(const struct readings *readings)
{
    struct decision decision = denied(CAUSE_OVER_LIMIT);
    decision.detail = slice_of(readings->limit != NULL ? readings->limit : "");
    return decision;
}

struct decision decide(struct decider *decider, const struct policy *policy, const struct call *call,
                       const struct path_base *base, unsigned readings_flags,
                       const struct approvals *approvals)
{
    decider->hashed = false;
    /* The call's own paths are read whatever the rules: people are shown them, and the journal keeps them. */
    struct reading_interest interest = policy->interest;
    interest.classes |= 1u << READING_FIELD_PATH;
    switch (readings_make(&decider->readings, call, base, policy->arguments, policy->prefixes, &interest,
                          readings_flags)) {
    case READINGS_OK:
        break;
    case READINGS_OVER_LIMIT:
        return over_limit(&decider->readings);
    default:
        return denied(CAUSE_INTERNAL);
    }
    if (!facts_make(&decider->facts, policy, call)) {
        return denied(CAUSE_INTERNAL);
    }
    struct approvals with_hash = *approvals;
    uint8_t hash[32];
    if (needs_hash(approvals)) {
        if (!decide_hash(decider, call, hash)) {
            return denied(CAUSE_INTERNAL);
        }
        with_hash.call_hash = hash;
    }
    return policy_evaluate(policy, &decider->facts, decider->readings.list, decider->readings.count,
                           &with_hash);
}
