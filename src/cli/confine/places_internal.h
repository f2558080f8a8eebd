/* Between confine.c and places.c. Nothing outside src/cli/confine includes this. */
#ifndef CLI_CONFINE_PLACES_INTERNAL_H
#define CLI_CONFINE_PLACES_INTERNAL_H

#include "cli/confine/confine.h"

/* Sets the writable and the read-only places of a view: the working directory, what --write and --root name, and what
 * the policy's documents say (SPEC.md section 16). They live in the options' arena. False after saying why. */
MUST_USE bool confine_find_places(struct options *options, const struct confine_options *own,
                                  const struct policy *policy, struct view_options *ret_options);

#endif
