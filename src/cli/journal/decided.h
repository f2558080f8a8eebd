/* The decisions in a journal, one after the other. */
#ifndef CLI_DECIDED_H
#define CLI_DECIDED_H

#include "cli/calls/input_lines.h"
#include "json/json.h"

/* One event. The slices live until the next one is read. */
struct decided {
    struct json_doc doc;
    bool is_decision; /* policy.allow, policy.deny or policy.require */
    struct slice kind, outcome, rule, reason, ts, tool, server, channel, thread, actor, call_hash;
    const struct json_value *input; /* NULL: none */
    uint64_t seq;
};

struct decided_reader {
    struct input_lines lines;
    struct decided event;
    const char *file;
    uint64_t line;
    int fd;
};

/* False after saying why not. */
MUST_USE bool decided_open(struct decided_reader *reader, const char *file);
void decided_close(struct decided_reader *reader);

enum decided_result {
    DECIDED_FAILED, /* said why */
    DECIDED_END,
    DECIDED_ONE,
};

/* The next decision; passes other events over. Verifies nothing: that is `journal verify`. */
enum decided_result decided_next(struct decided_reader *reader);

/* Appends the call of a decision, as `eval` and `explain` read it: what the journal kept of it. */
void decided_write_call(struct buf *buf, const struct decided *event);

/* The next event, whatever it is. */
enum decided_result decided_next_event(struct decided_reader *reader);

#endif
