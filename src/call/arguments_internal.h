/* Which arguments of a call are paths, whole trees, commands or URLs: the built-in lists, and what documents add and
 * take away. SPEC.md section 4. */
#ifndef CALL_ARGUMENTS_INTERNAL_H
#define CALL_ARGUMENTS_INTERNAL_H

#include "base/slice.h"

enum argument_list {
    ARGUMENT_PATHS,    /* pathArguments */
    ARGUMENT_TREES,    /* treeArguments */
    ARGUMENT_COMMANDS, /* commandArguments */
    ARGUMENT_URLS,     /* urlArguments */
    ARGUMENT_LISTS,
};

/* The built-in lists and what documents add and take away. Owned by whoever creates it (a policy); immutable
 * once the loading is over. */
struct argument_lists;
MUST_USE struct argument_lists *argument_lists_create(void);
void argument_lists_destroy(struct argument_lists *arguments);

/* One entry of a document: `key` is a tool's name, `SERVER/TOOL`, `SERVER/` and `*`, or `*`; `name` is an argument's, or `-` and
 * an argument's. In the order of the documents. What a workspace file adds gives a call more readings and
 * takes none away: the reading without a path stays if nothing but such names gives the call paths. False
 * when there is no memory. */
enum argument_source {
    ARGUMENT_SOURCE_OPERATOR,
    ARGUMENT_SOURCE_WORKSPACE, /* an agent can write it */
};
MUST_USE bool argument_lists_change(struct argument_lists *arguments, enum argument_list list,
                                    struct slice key, struct slice name, enum argument_source source);

#endif
