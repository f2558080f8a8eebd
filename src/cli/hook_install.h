/* `callgate hook install` and `callgate hook uninstall`. */
#ifndef CLI_HOOK_INSTALL_H
#define CLI_HOOK_INSTALL_H

#include "cli/options.h"

/* The options of a hook that install writes into its command line. */
struct hook_arguments {
    const char *ask, *deadline, *event, *fsync, *journal, *protect;
    bool grant;
    struct option_list except;
};

extern const char hook_install_usage[];

/* What comes behind `callgate hook`: "install" or "uninstall" in argv[0]. */
int hook_install_run(int argc, char **argv);

#endif
