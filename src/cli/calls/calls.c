/* Judges calls of a file one after the other. */
#include "cli/calls/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"

bool judge_init(struct judge *judge, const struct policy *policy, const struct path_base *base)
{
    *judge = (struct judge){.policy = policy, .base = base, .flags = READINGS_STILL};
    judge->defaults =
        (struct call_defaults){.channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    if (!decider_init(&judge->decider)) {
        return false;
    }
    if (call_reader_init(&judge->reader)) {
        return true;
    }
    decider_finish(&judge->decider);
    return false;
}

void judge_finish(struct judge *judge)
{
    call_reader_finish(&judge->reader);
    decider_finish(&judge->decider);
}

void judge_spare_paths(struct judge *judge)
{
    judge->flags |= judge->policy->has_path_rules ? 0 : READINGS_NO_RESOLVE;
}

void judge_may_have_run(struct judge *judge, bool may)
{
    judge->flags = may ? judge->flags & ~(unsigned)READINGS_STILL : judge->flags | READINGS_STILL;
}

struct decision judge_too_long(struct judge *judge)
{
    judge->read = false;
    judge->decision = (struct decision){
        .kind = DECISION_DENY, .cause = CAUSE_OVER_LIMIT, .detail = SLICE("16 MiB in one call")};
    return judge->decision;
}

struct decision judge_text(struct judge *judge, struct slice text)
{
    struct decision *decision = &judge->decision;
    *decision = (struct decision){.kind = DECISION_DENY, .cause = CAUSE_INTERNAL};
    judge->read = false;
    switch (call_read(&judge->reader, text, &judge->defaults)) {
    case CALL_OK:
        judge->approvals.channel = judge->reader.call.channel;
        judge->approvals.thread = judge->reader.call.thread;
        judge->approvals.call_hash = NULL;
        *decision = decide(&judge->decider, judge->policy, &judge->reader.call, judge->base, judge->flags,
                           &judge->approvals);
        judge->read = decision->cause != CAUSE_OVER_LIMIT && decision->cause != CAUSE_INTERNAL;
        break;
    case CALL_MALFORMED:
        decision->cause = CAUSE_MALFORMED;
        decision->detail = slice_of(judge->reader.detail);
        break;
    case CALL_OVER_LIMIT:
        decision->cause = CAUSE_OVER_LIMIT;
        decision->detail = SLICE("a depth of 64, or 16 MiB");
        break;
    default:
        break;
    }
    return *decision;
}

void judge_explain(struct judge *judge, struct buf *buf)
{
    uint8_t hash[32];
    if (!judge->read) {
        buf_text(buf, "{\"decision\":");
        decision_write_json(buf, judge->policy, &judge->decision);
        if (judge->decision.cause == CAUSE_OVER_LIMIT && judge->decision.detail.len > 0) {
            buf_text(buf, ",\"limit\":");
            json_write_string(buf, judge->decision.detail);
        }
        buf_text(buf, ",\"reading\":0,\"readings\":[]}");
        return;
    }
    if (decide_hash(&judge->decider, &judge->reader.call, hash)) {
        judge->approvals.call_hash = hash;
    }
    policy_explain(buf, judge->policy, &judge->reader.call, judge->decider.readings.list,
                   judge->decider.readings.count, &judge->approvals);
    judge->approvals.call_hash = NULL;
}

int calls_open(const char *file)
{
    const char *why = NULL;
    int fd = strcmp(file, "-") == 0 ? dup(0) : file_open_text(file, &why);
    if (fd < 0) {
        say("%s cannot be opened: %s", file, why != NULL ? why : strerror(errno));
    }
    return fd;
}
