/* `check --upgrade`: which calls this release decides more strictly than the one before. */
#ifndef CLI_UPGRADE_H
#define CLI_UPGRADE_H

#include "analysis/analysis.h"
#include "cli/options.h"

/* Judges calls by a policy and compares with what the release before decided. `olds` are its program (it is asked, also
 * about calls that are made up from the rules), journals or state directories (calls with what was decided), and files of
 * calls (the program must be among `olds` then). Prints one line, or with options->json one object a line, for each call
 * that is decided more strictly. An exit code: EXIT_NO when there is one. */
int upgrade_check(const struct options *options, const struct policy *policy, struct analysis *analysis,
                  const struct option_list *olds);

#endif
