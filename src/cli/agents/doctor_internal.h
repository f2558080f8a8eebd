/* The parts of `doctor`. Nothing outside src/cli/agents includes this. */
#ifndef CLI_DOCTOR_INTERNAL_H
#define CLI_DOCTOR_INTERNAL_H

#include "cli/agents/hook_install.h"
#include "cli/confine/confine.h"
#include "install/install.h"
#include "install/probe.h"

#define MEND_SIZE 4096

struct doctor {
    struct options options;
    bool user, project, managed;
    const char *settings;
    char place[256]; /* "claude-code, user: " */
    unsigned faults;
};

/* An installed command line, read as the program will read it. */
struct doctor_line {
    struct options options;
    struct hook_arguments a;
    struct policy *policy; /* NULL: it does not load */
    char mend[MEND_SIZE];
};

extern const char *const doctor_scope_names[];

/* Say one line that is well, worth knowing, or wrong; the last with the command that mends it. */
void doctor_good(const struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_note(const struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_fault(struct doctor *d, const char *mend, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a command that a person may copy: whatever the word is, a shell reads it as one. */
void doctor_write_command(char ret_mend[MEND_SIZE], const char *before, const char *word, const char *after);
/* Writes the command that installs the hook again, with the policies that it has. */
void doctor_write_mend(char ret_mend[MEND_SIZE], const struct install_place *place,
                       const struct installed_hook *hook);
/* False when the command line has wrong arguments, which are told on standard error. Finish it otherwise. */
bool doctor_read_line(struct doctor_line *line, struct arena *arena, const struct installed_hook *hook);
/* Whether it denies and holds nothing. */
bool doctor_line_observes(const struct doctor_line *line);
void doctor_finish_line(struct doctor_line *line);
/* Load what commands, and what this hook, would load; tell every error. `first`: tell where the rules come from.
 * NULL after a fault. */
struct policy *doctor_load_policy(struct doctor *d, const struct options *o, const char *mend, bool first);
struct policy *doctor_load_hook_policy(struct doctor *d, struct doctor_line *line, const struct host *host,
                                       bool first);
/* Whether journal and approvals can be written. */
void doctor_check_state(struct doctor *d, const struct options *o);
/* Gives an installed hook a broken message, a call to deny and one to let through. */
void doctor_try_hook(struct doctor *d, const struct install_place *place, const struct installed_hook *hook,
                     const struct doctor_line *line);
void doctor_check_hook(struct doctor *d, const struct install_place *place, const struct installed_hook *hook,
                       bool first);
void doctor_check_events(struct doctor *d, const struct install_place *place,
                         const struct installed_hook *list, size_t count);

/* Whether a setting takes the hooks of this place out of use, wherever such a setting may stand, and whether the agent
 * could write one. */
void doctor_check_steering(struct doctor *d, const struct install_place *place, struct doctor_line *line);

/* Tries from inside a confinement what an attacker would, and tells of each way what held. EXIT_YES when that was tried,
 * whatever came of it, else EXIT_UNABLE. */
int doctor_confinement(struct doctor *d, const struct confine_options *own);

#endif
