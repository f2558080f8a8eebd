/* A file of approvals for `eval`, `explain` and `test`: what evaluation would find in the store. */
#ifndef CLI_APPROVALS_H
#define CLI_APPROVALS_H

#include "policy/policy.h"

/* Owns its list; the texts are the documents'. */
struct approvals_list {
    struct approval *list;
    size_t count;
    struct buf text;
    struct json_doc doc;
    bool open;
};

/* Reads [{"rule","channel","thread","granted","expires","callHash"?}]; the rule's digest is taken to be that
 * of the loaded rule; one that names no loaded rule is left out. False after saying what is wrong. */
MUST_USE bool approvals_read(struct approvals_list *ret_list, const struct policy *policy, const char *file);

/* The same from a value of a document that outlives the list. */
MUST_USE bool approvals_from_json(struct approvals_list *ret_list, const struct policy *policy,
                                  const struct json_doc *doc, const struct json_value *array);

void approvals_finish(struct approvals_list *list);

/* Reads a whole file. False after saying what is wrong. */
MUST_USE bool read_file(const char *file, size_t ceiling, struct buf *ret_text);

#endif
