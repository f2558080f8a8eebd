/* Which method exists in which direction in which protocol revision: one table. PROTOCOLS: MCP 2024-11-05 to
 * 2026-07-28. */
#ifndef MCP_REVISION_INTERNAL_H
#define MCP_REVISION_INTERNAL_H

#include "base/slice.h"

enum revision {
    REVISION_2024_11_05 = 1,
    REVISION_2025_03_26 = 2,
    REVISION_2025_06_18 = 4,
    REVISION_2025_11_25 = 8,
    REVISION_2026_07_28 = 16,
    REVISION_ANY = 31,
};

enum method_sort {
    METHOD_REQUEST,      /* has an id and wants an answer */
    METHOD_NOTIFICATION, /* has none */
};

/* Whether some of `revisions` lets the client send this method to the server. Methods are compared byte for
 * byte. */
bool revision_client_may(struct slice method, enum method_sort sort, unsigned revisions);

/* The same for the server. */
bool revision_server_may(struct slice method, enum method_sort sort, unsigned revisions);

/* Whether a method of the client belongs to an extension, or to what became one (tasks), and is no call: it
 * passes, and the journal says so. */
bool revision_is_of_extension(struct slice method);

/* Whether a protocolVersion is of the stateless era that began with 2026-07-28, whose results carry a
 * resultType. */
bool revision_is_modern(struct slice version);

#endif
