/* Which calls a hook leaves to the gate that stands before their server. Nothing outside src/host includes this. */
#ifndef HOST_PASSED_ON_INTERNAL_H
#define HOST_PASSED_ON_INTERNAL_H

#include "host/host.h"

/* Whether a gate that runs for the same agent claims the call: every server that it may be of stands behind one, by the
 * host's configuration as it is now or by --except-server. */
bool call_is_passed_on(const struct host_hook_options *options, struct host_message *message);

#endif
