/* The roots that a client tells its server (an answer to `roots/list`, or one among `inputResponses`): the
 * server may take relative paths from each of them, so each is one more place that the calls which follow
 * start from, as if it had been given with --root. SPEC.md section 4.
 *
 * A root once told stays one: a server may not have taken notice of a later list. One that cannot be
 * understood, or too many, make every relative path unreadable; memory that runs out does the same.
 * Owns its texts; the base that it was made from is borrowed. */
#ifndef MCP_ROOTS_INTERNAL_H
#define MCP_ROOTS_INTERNAL_H

#include "path/path.h"
#include "json/json.h"

/* Told ones, beside those of the base. */
#define ROOTS_MOST 64u

struct roots {
    struct path_base base; /* what calls start from, the told roots included */
    struct slice *list;
    size_t most;
    struct arena texts;
};

MUST_USE bool roots_init(struct roots *roots, const struct path_base *base);
void roots_finish(struct roots *roots);

/* Takes what `result`, an answer of the client, has under `roots`, if it has that. True when there is
 * something new: the caller hands `base` to the gate. */
bool roots_take(struct roots *roots, const struct json_doc *doc, const struct json_value *result);

/* The same for each answer among the `inputResponses` of a request's params, which may be NULL. */
bool roots_take_inputs(struct roots *roots, const struct json_doc *doc, const struct json_value *params);

#endif
