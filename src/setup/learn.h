/* Rules out of the calls of a journal: what was seen, grouped by server, tool, place, command and host.
 *
 * Nothing is wider than what was seen unless the rule's comment says "Wider than seen". A learner owns copies of all
 * that it is given. */
#ifndef SETUP_LEARN_H
#define SETUP_LEARN_H

#include "base/buffer.h"
#include "json/json.h"

struct learner;

MUST_USE struct learner *learner_create(void);
void learner_destroy(struct learner *learner); /* also of NULL */

struct learned_call {
    struct slice server; /* ptr NULL: none */
    struct slice tool;
    const struct json_doc *doc;
    const struct json_value *input;
    const struct slice *paths; /* canonical, as they were judged */
    size_t path_count;
};

/* Takes a call that ran. False only when memory ran out. */
MUST_USE bool learner_add(struct learner *learner, const struct learned_call *call);

/* Appends the policy document; *ret_rules: how many rules it has. */
void learner_write(const struct learner *learner, struct buf *buf, size_t *ret_rules);

#endif
