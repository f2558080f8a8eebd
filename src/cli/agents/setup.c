/* `setup`: what only root can do, once: the policy where its user cannot write, the broker of every user. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "setup/machine.h"

static const char usage[] = "usage: callgate setup [--policy FILE] [--dry-run | --yes]\n"
                            "       callgate setup --undo [--force]\n\n"
                            "For root, once. Says all that it will do, and asks.\n\n"
                            "  --policy FILE  FILE becomes /etc/callgate/policy.json, which is root's and "
                            "comes before every other policy\n"
                            "  --dry-run      only say what would be done\n"
                            "  --yes          do not ask\n"
                            "  --undo         restore what was there before, byte for byte\n"
                            "  --force        with --undo: also what was changed since\n\n"
                            "Where systemd is, and callgate's units are installed, each user's manager "
                            "listens for a broker from the next\n"
                            "sign-in on.\n\n"
                            "Exit: 0 done, 1 not wanted, or there is nothing to do, 2 could not be done.\n";

#define SOCKETS "/etc/systemd/user/sockets.target.wants"

struct setup {
    struct options options;
    struct machine_plan plan;
    struct buf policy;
    const char *root, *file;
    bool dry_run, yes, undo, force;
    char unit[PATH_MAX];
};

static void add(struct setup *s, enum machine_kind kind, const char *path, struct slice text, const char *why)
{
    s->plan.steps[s->plan.count++] = (struct machine_step){kind, path, text, why};
}

/* Loads the policy as it would be there: at the admin tier. */
static bool plan_policy(struct setup *s)
{
    struct sources sources;
    struct findings errors;
    struct buf lines;
    char named[PATH_MAX + 8];
    const char *why = NULL;
    if (s->file == NULL) {
        return true;
    }
    findings_init(&errors);
    buf_init(&lines, (size_t)64 << 20);
    snprintf(named, sizeof(named), "admin=%s", s->file);
    int fd = file_open_text(s->file, &why);
    bool ok = fd >= 0 && file_read_all(fd, &s->policy);
    if (!ok) {
        say("%s %s", s->file, why != NULL ? why : "cannot be read");
    } else if (sources_init(&sources)) {
        struct policy *policy = sources_add(&sources, named, &lines)
                                    ? sources_load(&sources, &s->options.base, NULL, &errors)
                                    : NULL;
        ok = policy != NULL;
        sources_write_errors(&lines, &errors);
        say_lines(&lines);
        policy_destroy(policy);
        sources_finish(&sources);
    }
    if (fd >= 0) {
        close(fd);
    }
    findings_finish(&errors);
    buf_finish(&lines);
    if (ok) {
        add(s, MACHINE_DIRECTORY, "/etc/callgate", (struct slice){0}, "root's, for every user to read");
        add(s, MACHINE_FILE, "/etc/callgate/policy.json", buf_slice_of(&s->policy),
            "comes before every other policy, and only root changes it");
    }
    return ok;
}

/* Where systemd is, and a unit is there to be enabled. */
static void plan_units(struct setup *s)
{
    static const char *const places[] = {"/etc/systemd/user", "/usr/local/lib/systemd/user",
                                         "/usr/local/share/systemd/user", "/usr/lib/systemd/user",
                                         "/usr/share/systemd/user"};
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/run/systemd/system", s->root);
    if (access(path, F_OK) != 0) {
        puts("left out: the broker's units (systemd does not run here)");
        return;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(s->unit, sizeof(s->unit), "%s/callgate.socket", places[i]);
        snprintf(path, sizeof(path), "%s%s", s->root, s->unit);
        if (access(path, F_OK) == 0) {
            add(s, MACHINE_DIRECTORY, "/etc/systemd", (struct slice){0}, "what is enabled for users");
            add(s, MACHINE_DIRECTORY, "/etc/systemd/user", (struct slice){0}, "what is enabled for users");
            add(s, MACHINE_DIRECTORY, SOCKETS, (struct slice){0}, "what is enabled for users");
            add(s, MACHINE_LINK, SOCKETS "/callgate.socket", slice_of(s->unit),
                "each user's manager listens for that user's broker, from the next sign-in on");
            return;
        }
    }
    puts("left out: the broker's units (they are not installed where systemd looks: install the package)");
}

static void print_plan(const struct setup *s)
{
    static const char *const names[] = {"directory", "file", "link"};
    for (size_t i = 0; i < s->plan.count; i++) {
        const struct machine_step *step = &s->plan.steps[i];
        bool link = step->kind == MACHINE_LINK;
        printf("%-10s%s%s%.*s (%s)\n", names[step->kind], step->path, link ? " -> " : "",
               link ? (int)step->text.len : 0, link ? step->text.ptr : "", step->why);
    }
    puts("What stands there now is kept; 'callgate setup --undo' restores it.");
}

static bool agrees(const struct setup *s)
{
    char answer[16] = "";
    if (s->yes) {
        return true;
    }
    fputs("Do this? [y/N] ", stdout);
    fflush(stdout);
    bool yes = fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
    if (!yes) {
        say("nothing was done");
    }
    return yes;
}

static int set_up(struct setup *s)
{
    struct buf error;
    if (machine_is_set_up(s->root)) {
        say("this machine is set up already: 'callgate setup --undo' first");
        return EXIT_NO;
    }
    if (!plan_policy(s)) {
        return EXIT_UNABLE;
    }
    plan_units(s);
    if (s->plan.count == 0) {
        say("there is nothing to do: name a policy with --policy");
        return EXIT_NO;
    }
    print_plan(s);
    if (s->dry_run) {
        return EXIT_YES;
    }
    if (!agrees(s)) {
        return EXIT_NO;
    }
    buf_init(&error, MESSAGE_BYTES);
    bool ok = machine_do(s->root, &s->plan, &error);
    if (ok) {
        puts("done");
    } else {
        say("not done: %.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    return ok ? EXIT_YES : EXIT_UNABLE;
}

static int undo(const struct setup *s)
{
    struct buf report, error;
    if (!machine_is_set_up(s->root)) {
        say("there is nothing to undo");
        return EXIT_NO;
    }
    buf_init(&report, 1u << 20);
    buf_init(&error, MESSAGE_BYTES);
    bool ok = machine_undo(s->root, s->force, &report, &error);
    print_lines(&report);
    if (!ok) {
        say("not undone: %.*s%s", SLICE_FMT(buf_slice_of(&error)),
            s->force ? "" : ". With --force it is restored all the same");
    }
    buf_finish(&report);
    buf_finish(&error);
    return ok ? EXIT_YES : EXIT_UNABLE;
}

static int run(int argc, char **argv)
{
    struct setup s = {.root = ""};
    const struct option_spec own[] = {
        {"policy", OPTION_VALUE, &s.file},
        {"dry-run", OPTION_FLAG, &s.dry_run},
        {"yes", OPTION_FLAG, &s.yes},
        {"undo", OPTION_FLAG, &s.undo},
        {"force", OPTION_FLAG, &s.force},
        {"below", OPTION_VALUE, &s.root}, /* for tests: a directory in the place of the machine's root */
    };
    int code = options_read(&s.options, &command_setup, argc, argv, TAKES_PATHS | TAKES_NO_WORDS, own,
                            sizeof(own) / sizeof(own[0]));
    if (code != -1) {
        return code;
    }
    buf_init(&s.policy, (size_t)64 << 20);
    if (s.undo ? s.dry_run || s.yes || s.file != NULL : s.force) {
        code = usage_error(&command_setup, "--undo goes with --force alone, and --force with --undo");
    } else if (s.root[0] == '\0' && geteuid() != 0 && !s.dry_run) {
        say("this is for root: 'sudo callgate setup'; --dry-run says what it would do");
        code = EXIT_UNABLE;
    } else {
        code = s.undo ? undo(&s) : set_up(&s);
    }
    buf_finish(&s.policy);
    options_finish(&s.options);
    return code;
}

const struct cli_command command_setup = {
    "setup", "root's part, once: the policy to /etc, a broker for each user", usage, run};
