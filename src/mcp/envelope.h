/* The members that a JSON-RPC message has, once for everybody who reads one. Plain values; they borrow from
 * their document. */
#ifndef MCP_ENVELOPE_H
#define MCP_ENVELOPE_H

#include "json/json.h"

enum member {
    MEMBER_JSONRPC,
    MEMBER_ID,
    MEMBER_METHOD,
    MEMBER_PARAMS,
    MEMBER_RESULT,
    MEMBER_ERROR,
    MEMBER_COUNT,
};
extern const char *const member_names[MEMBER_COUNT];

struct envelope {
    const struct json_value *members[MEMBER_COUNT]; /* NULL: absent; the last of several */
    unsigned repeated;                              /* a bit for each member that stands there again */
    unsigned differing;                             /* and for each whose texts are not all the same */
    bool stranger;                                  /* a member that no message has */
    bool mimic;                                     /* a stranger that some reader takes for a member */
};

/* Sorts the members of an object. */
struct envelope envelope_open(const struct json_doc *doc, const struct json_value *object);

/* Whether `jsonrpc` is there and "2.0". */
bool envelope_is_rpc(const struct envelope *envelope);

/* Whether a member stands there several times with texts that are not all the same. */
static inline bool envelope_differs(const struct envelope *envelope, enum member member)
{
    return (envelope->differing >> member & 1u) != 0;
}

/* Whether a lenient reader may take `name` for `known` though it is not: it differs by the case of letters
 * (Go's encoding/json also takes U+017F for s and U+212A for k), or is `known`, a NUL and more. `known` is
 * ASCII in lower case but for letters that are compared in any case as well. */
bool name_mimics(struct slice name, const char *known);

#endif
