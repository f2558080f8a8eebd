/* What space.c and space_box.c share. */
#ifndef ANALYSIS_SPACE_INSIDE_INTERNAL_H
#define ANALYSIS_SPACE_INSIDE_INTERNAL_H

#include "analysis/space_internal.h"

/* Whether an opaque rule matches whatever its fields hold. */
bool space_is_solid(const struct rule *rule);

/* Tools whose built-in lists differ from every other's. */
#define SPACE_TREE_TOOLS 4u
extern const char *const space_tree_tools[SPACE_TREE_TOOLS];

#endif
