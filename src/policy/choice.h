/* The words that documents have for effects, tiers, scopes, actors and decisions: constant tables that drive loading,
 * printing, messages and the JSON Schema. SPEC.md section 2. */
#ifndef POLICY_CHOICE_H
#define POLICY_CHOICE_H

#include <stdint.h>

#include "base/slice.h"

struct choice {
    const char *name; /* NULL ends a list */
    uint32_t value;
    const char *help;
};

extern const struct choice schema_effects[];
extern const struct choice schema_tiers[];
extern const struct choice schema_scopes[];
extern const struct choice schema_actors[];
extern const struct choice schema_decisions[];

/* The choice by its name, or NULL. */
const struct choice *schema_choice(const struct choice *choices, struct slice name);

#endif
