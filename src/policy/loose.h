/* The loose form of arguments: one text for all values that some server takes for the same. SPEC.md section 5. */
#ifndef POLICY_LOOSE_H
#define POLICY_LOOSE_H

#include "json/json.h"

/* Appends the loose form of a value of `doc`. `scratch` is a document that is parsed into: not `doc`. Two values are
 * loosely equal when what is appended for them is equal. Fails (buf->failed) only for memory or the ceiling. */
void loose_write(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                 struct json_doc *scratch);

/* Whether the loose form of a string is plainly that string: then its JSON text, if that has no escapes, is what
 * loose_write appends. False where that takes a longer look. */
bool loose_is_itself(struct slice text);

/* Appends MATCH_LOOSE_KEY and the folded form of an argument's name. */
void loose_write_key(struct buf *buf, struct slice name);

#endif
