/* `check --tools`: a policy held against the tools that servers offer. */
#ifndef CLI_CHECK_TOOLS_H
#define CLI_CHECK_TOOLS_H

#include "cli/options.h"

/* Adds a warning for each name of a rule that no list has (unknown-server, unknown-tool, unknown-argument), for each
 * argument of a tool that looks like a path, a command or a URL and is read as none (unread-argument), and for each tool
 * that no rule names (unnamed-tool). The lists are those of the state directory, or of `files`, each [SERVER=]FILE. False
 * after saying why not. */
MUST_USE bool check_tools(const struct policy *policy, const struct path_base *base, const char *state_dir,
                          const struct option_list *files, struct findings *warnings);

#endif
