/* Which tools of a server a session could use: those of which some call would not be denied, whatever its input.
 *
 * It is the exact analysis that is asked (analysis/analysis.h): a tool is left out only when it is proved that every
 * call of it is denied, whether people approve or not. */
#ifndef GATE_USABLE_H
#define GATE_USABLE_H

#include "gate/gate.h"

/* A tool that the server offers, and what its annotations rule out (call/call.h). */
struct offered_tool {
    struct slice name;
    uint8_t hints_not;
};

/* Sets for each tool whether it is usable under the policy in force. Of a gate that observes, and where it cannot be
 * told, every tool is. */
void gate_usable_tools(struct gate *gate, const struct call_defaults *session,
                       const struct offered_tool *tools, size_t count, bool *ret_usable);

#endif
