/* Policy documents: texts in, an immutable policy out; the documents' JSON Schema and their one layout.
 * SPEC.md section 2.
 *
 * A policy owns all that it holds, copies of the documents' strings included, until policy_destroy. */
#ifndef DOCUMENT_DOCUMENT_H
#define DOCUMENT_DOCUMENT_H

#include "document/finding.h"
#include "policy/policy.h"

struct policy_source {
    struct slice name; /* for messages: a file's path as the person gave it */
    enum tier tier;
    bool at_tier; /* false: the operator's own file, which may name any tier */
    struct slice text;
};

/* Loads documents into one policy, all or nothing: every error of every source is added to ret_errors
 * (initialised and empty), in order, and the result is NULL if there is any, except that a workspace source
 * with errors is reported and left out. An id that a workspace source shares with another source is the
 * workspace source's error, whatever the order; of two workspace sources it is the later one's. base gives
 * the directory that prefixes start from, and the home directory. NULL without an error only when memory ran
 * out (ret_errors->failed). Warnings of loading itself (missing-prefix) come from lint. */
MUST_USE struct policy *policy_load(const struct policy_source *sources, size_t count,
                                    const struct path_base *base, struct findings *ret_errors);

/* Appends a JSON Schema (2020-12) of policy documents, made from the table that drives validation. */
void policy_write_schema(struct buf *buf);

/* Appends a document in the one layout that all documents can be given, a line end behind it. Every member,
 * the order of rules, every string's value and every number's text are kept; members stand in one order,
 * strings have the shortest escapes, and a character that cannot be seen has one. `text` must be a document
 * that loads. Laying out what this gives changes nothing. False when memory ran out, or for a text that is no
 * strict JSON. */
MUST_USE bool policy_write_layout(struct buf *buf, struct slice text);

#endif
