/* Calls from a file, one a line, judged one after the other: what eval, explain and test share. */
#ifndef CLI_CALLS_H
#define CLI_CALLS_H

#include "cli/calls/approvals.h"
#include "cli/calls/input_lines.h"
#include "gate/decide.h"

/* Owns its workspace; the policy and the base are the caller's. */
struct judge {
    const struct policy *policy;
    const struct path_base *base;
    struct call_defaults defaults;
    struct approvals approvals;
    unsigned flags; /* enum readings_flags */
    struct decider decider;
    struct call_reader reader;
    struct decision decision; /* of the last call */
    bool read; /* the last call could be read: reader.call, decider.readings and .facts are its */
};

/* Channel C1, thread 1.1, actor claude_process; no server, no approvals. */
MUST_USE bool judge_init(struct judge *judge, const struct policy *policy, const struct path_base *base);
void judge_finish(struct judge *judge);

/* Resolves no path from now on where no rule depends on one; the readings then tell no paths. */
void judge_spare_paths(struct judge *judge);

/* Says whether a call may have run since the last one was judged; until it is said, none has. */
void judge_may_have_run(struct judge *judge, bool may);

/* Judges the call in a text. */
struct decision judge_text(struct judge *judge, struct slice text);

/* A call that is a value of another document. */
struct decision judge_too_long(struct judge *judge);

/* Appends the explanation of the last call: policy_explain's object, or only the decision of one that could
 * not be read. */
void judge_explain(struct judge *judge, struct buf *buf);

/* Opens a file of calls, `-` for standard input. -1 after saying why not. */
int calls_open(const char *file);

#endif
