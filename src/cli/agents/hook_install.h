/* `callgate hook install` and `callgate hook uninstall`. */
#ifndef CLI_HOOK_INSTALL_H
#define CLI_HOOK_INSTALL_H

#include "cli/options.h"
#include "host/host.h"

/* The options of a hook that install writes into its command line. */
struct hook_arguments {
    const char *ask, *deadline, *event, *fsync, *journal, *protect, *gate;
    bool grant, observe;
    struct option_list except;
};

extern const char hook_install_usage[];

/* Says so when the host that is found here is of a version that ignores its fail-closed switch. */
void warn_of_host_version(const struct host *host);

/* What comes behind `callgate hook`: "install" or "uninstall" in argv[0]. */
int hook_install_run(int argc, char **argv);

#endif
