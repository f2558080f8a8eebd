/* callgate hook install and uninstall: puts the hook into a host's settings and takes it out. */
#include "cli/agents/hook_install.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/gate/serve.h"
#include "install/install.h"

extern char **environ;

const char hook_install_usage[] =
    "usage: callgate hook install HOST [--user|--project|--managed] [--policy [TIER=]FILE]... [OPTION...]\n"
    "       callgate hook uninstall HOST [--user|--project|--managed] [OPTION...]\n\n"
    "Writes the hook into the host's settings, or takes it out again. Nothing else in them changes; a\n"
    "copy is kept in the state directory until then. HOST: claude-code, gemini, codex, cursor, opencode.\n\n"
    "  --user                for this user (the default)\n"
    "  --project             for the project in the working directory, or in --cwd DIR\n"
    "  --managed             for everybody on this machine (needs root)\n"
    "  --settings FILE       another file than the host's own\n"
    "  --dry-run             only print what would be written\n"
    "  --gate SOCKET         a broker judges ('callgate serve'): no --policy then\n"
    "  --no-self-protect     leave out the rules that keep the agent from writing policy, settings and\n"
    "                        state\n\n"
    "The other options of 'callgate hook' go into the command line that is installed.\n";

struct install {
    struct options options;
    struct hook_arguments a;
    bool user, project, managed, dry_run, no_protect;
    const char *settings;
    const struct host *host;
    struct install_place place;
    struct arena *arena;
    const char **words;
    size_t count, most;
};

static int fail(const char *format, const char *text)
{
    say(format, text);
    return EXIT_UNABLE;
}

/* ---- The command line ---- */

/* Room is made for as many as there can be; one too many is seen at the end. */
static void add_word(struct install *in, const char *word)
{
    if (in->count < in->most) {
        in->words[in->count] = word;
    }
    in->count++;
}

static void add_option(struct install *in, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    add_word(in, name);
    add_word(in, value);
}

static const char *copy(struct install *in, struct slice text)
{
    return arena_copy(in->arena, text).ptr;
}

/* A file's real name, so that the hook finds it wherever it runs. NULL when it is not there. */
static const char *real_name(struct install *in, const char *path)
{
    char *real = realpath(path, NULL);
    const char *kept = real != NULL ? copy(in, slice_of(real)) : NULL;
    free(real);
    return kept;
}

/* `[TIER=]FILE` with the file's real name. */
static const char *policy_argument(struct install *in, const struct source_file *file, const char *real)
{
    struct buf text;
    buf_init(&text, 2 * PATH_MAX);
    if (file->at_tier) {
        buf_printf(&text, "%s=", tier_name(file->tier));
    }
    buf_text(&text, real);
    const char *kept = buf_ok(&text) ? copy(in, buf_slice_of(&text)) : NULL;
    buf_finish(&text);
    return kept;
}

static int add_policies(struct install *in, const char **ret_paths, size_t *ret_count)
{
    for (size_t i = 0; i < in->options.sources.count; i++) {
        const struct source_file *file = &in->options.sources.files[i];
        const char *real = real_name(in, file->path);
        if (real == NULL) {
            return fail("%s cannot be found", file->path);
        }
        ret_paths[(*ret_count)++] = real;
        const char *argument = policy_argument(in, file, real);
        if (argument == NULL) {
            return fail("%s", "no memory");
        }
        add_option(in, "--policy", argument);
    }
    return -1;
}

static bool add_program(struct install *in)
{
    struct buf path;
    buf_init(&path, PATH_MAX + 32);
    bool ok = install_program_path(&path);
    const char *program = ok ? copy(in, slice_of(path.ptr)) : NULL;
    buf_finish(&path);
    if (program == NULL) {
        return false;
    }
    add_word(in, program);
    add_word(in, "hook");
    add_word(in, in->host->name);
    return true;
}

static bool add_protection(struct install *in)
{
    struct buf path;
    if (in->no_protect) {
        return true;
    }
    buf_init(&path, PATH_MAX + 1);
    const char *kept = install_protect_path(&in->place, &path) ? copy(in, slice_of(path.ptr)) : NULL;
    buf_finish(&path);
    add_option(in, "--protect", kept);
    return kept != NULL;
}

static const char *absolute_name(struct install *in, const char *name)
{
    struct buf text;
    buf_init(&text, 2 * PATH_MAX);
    char cwd[PATH_MAX];
    if (name[0] != '/' && getcwd(cwd, sizeof(cwd)) != NULL) {
        buf_printf(&text, "%s/", cwd);
    }
    buf_text(&text, name);
    const char *kept = buf_ok(&text) && text.ptr[0] == '/' ? copy(in, buf_slice_of(&text)) : NULL;
    buf_finish(&text);
    return kept;
}

static const char *absolute_state(struct install *in)
{
    return absolute_name(in, in->options.state_dir);
}

/* What the person gave, and what the hook could not find by itself. */
static int write_words(struct install *in, const char **paths, size_t *ret_path_count)
{
    const struct options *o = &in->options;
    in->most = 64 + 2 * (o->sources.count + in->a.except.count + o->roots.count + 1024);
    in->words = arena_array(in->arena, in->most, sizeof(*in->words));
    if (in->words == NULL || !add_program(in)) {
        return fail("%s", "the program's own path cannot be told");
    }
    int code = add_policies(in, paths, ret_path_count);
    if (code != -1) {
        return code;
    }
    bool ok = add_protection(in);
    if (o->state != NULL || in->place.scope != INSTALL_SCOPE_MANAGED) {
        add_option(in, "--state", absolute_state(in));
    }
    if (o->home != NULL || in->place.scope != INSTALL_SCOPE_MANAGED) {
        add_option(in, "--home", copy(in, o->base.home));
    }
    add_option(in, "--gate", in->a.gate != NULL ? absolute_name(in, in->a.gate) : NULL);
    add_option(in, "--ask", in->a.ask);
    add_option(in, "--deadline", in->a.deadline);
    add_option(in, "--fsync", in->a.fsync);
    add_option(in, "--journal", in->a.journal);
    if (in->a.grant) {
        add_word(in, "--grant");
    }
    if (in->a.observe) {
        add_word(in, "--observe");
    }
    for (size_t i = 0; i < o->base.root_count; i++) {
        add_option(in, "--root", copy(in, o->base.roots[i]));
    }
    for (size_t i = 0; i < in->a.except.count; i++) {
        add_option(in, "--except-server", in->a.except.items[i]);
    }
    ok = ok && in->count <= in->most;
    for (size_t i = 0; i < in->count && ok; i++) {
        ok = in->words[i] != NULL;
    }
    return ok ? -1 : fail("%s", "no memory, or too many servers");
}

/* ---- Versions ---- */

/* What `PROGRAM --version` prints, or nothing; it gets five seconds. */
static void ask_version(const char *program, char ret_text[256])
{
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    const char *const words[] = {program, "--version", NULL};
    ret_text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    bool started = posix_spawnp(&pid, program, &actions, NULL, (char *const *)words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    struct pollfd readable = {.fd = ends[0], .events = POLLIN};
    if (started && poll(&readable, 1, 5000) > 0) {
        ssize_t n = read(ends[0], ret_text, 255);
        ret_text[n > 0 ? n : 0] = '\0';
    }
    close(ends[0]);
    if (started) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* The first three numbers of a text, such as 2.1.295, in one. */
static long version_of(const char *text)
{
    long parts[3] = {0};
    while (*text && !isdigit((unsigned char)*text)) {
        text++;
    }
    for (int i = 0; i < 3 && isdigit((unsigned char)*text); i++) {
        char *end;
        parts[i] = strtol(text, &end, 10);
        text = *end == '.' ? end + 1 : end;
    }
    return (parts[0] * 1000 + parts[1]) * 10000 + parts[2];
}

#define CLAUDE_FAILS_CLOSED "2.1.295"

void warn_of_host_version(const struct host *host)
{
    char text[256];
    if (host != &host_claude_code) {
        return;
    }
    ask_version("claude", text);
    if (text[0] == '\0') {
        say("warning: Claude Code was not found; versions before " CLAUDE_FAILS_CLOSED
            " ignore the switch that turns a hook that failed into a deny");
    } else if (version_of(text) < version_of(CLAUDE_FAILS_CLOSED)) {
        say("warning: this Claude Code is %.*s: versions before " CLAUDE_FAILS_CLOSED
            " ignore the switch that turns a hook that failed into a deny",
            (int)strcspn(text, " \n"), text);
    }
}

/* ---- Carrying it out ---- */

/* A hook with a policy that does not load denies everything: better told now. */
static int check_policy(struct install *in)
{
    struct options *o = &in->options;
    if (o->sources.count == 0 && !options_surface_places(&command_hook, o)) {
        return EXIT_UNABLE;
    }
    struct policy *policy = options_load_policy(&command_hook, o);
    if (policy == NULL) {
        return fail("%s", "the policy does not load; nothing was changed");
    }
    policy_destroy(policy);
    return -1;
}

static int finish(const struct buf *report, const struct buf *error, int code)
{
    print_lines(report);
    if (fflush(stdout) != 0) {
        code = EXIT_UNABLE;
    }
    if (code == EXIT_UNABLE) {
        say("%.*s", SLICE_FMT(buf_slice_of(error)));
    }
    return code;
}

static int install(struct install *in)
{
    const char **paths = arena_array(in->arena, in->options.sources.count + 8, sizeof(*paths));
    size_t path_count = 0;
    int64_t seconds = 0;
    bool standard = in->options.sources.count == 0;
    if (in->a.deadline != NULL && !option_number(in->a.deadline, 1, 3600, &seconds)) {
        return usage_error(&command_hook, "--deadline is a number of seconds from 1 to 3600");
    }
    if (in->a.gate != NULL && !broker_takes(&command_hook, &in->options,
                                            in->a.fsync != NULL || in->a.journal != NULL || in->a.observe)) {
        return EXIT_UNABLE;
    }
    int code = in->a.gate != NULL ? -1 : check_policy(in);
    if (code != -1) {
        return code;
    }
    if (standard) {
        for (size_t i = 0; i < in->options.sources.count && paths != NULL; i++) {
            paths[path_count++] = in->options.sources.files[i].path;
        }
        in->options.sources.count = 0; /* the hook looks there by itself */
    }
    code = paths != NULL ? write_words(in, paths, &path_count) : EXIT_UNABLE;
    if (code != -1) {
        return code;
    }
    struct install_options options = {
        .place = in->place,
        .state_dir = absolute_state(in),
        .words = in->words,
        .word_count = in->count,
        .deadline_ms = seconds ? (uint32_t)seconds * 1000 : in->host->deadline_ms,
        .policies = paths,
        .policy_count = path_count,
        .protect = !in->no_protect,
        .dry_run = in->dry_run,
    };
    struct buf report, error;
    buf_init(&report, 64u << 20);
    buf_init(&error, 1u << 16);
    code = finish(&report, &error, install_hook(&options, &report, &error) ? EXIT_YES : EXIT_UNABLE);
    buf_finish(&report);
    buf_finish(&error);
    if (code == EXIT_YES) {
        warn_of_host_version(in->host);
    }
    return code;
}

static int uninstall(struct install *in)
{
    struct install_options options = {
        .place = in->place, .state_dir = absolute_state(in), .dry_run = in->dry_run};
    struct buf report, error;
    int code = EXIT_UNABLE;
    buf_init(&report, 1u << 20);
    buf_init(&error, 1u << 16);
    switch (uninstall_hook(&options, &report, &error)) {
    case UNINSTALL_DONE:
        code = EXIT_YES;
        break;
    case UNINSTALL_NONE:
        say("there is no hook of callgate's in that place");
        code = EXIT_NO;
        break;
    case UNINSTALL_FAILED:
        break;
    }
    code = finish(&report, &error, code);
    buf_finish(&report);
    buf_finish(&error);
    return code;
}

/* ---- Arguments ---- */

static int place_of(struct install *in)
{
    if (in->user + in->project + in->managed > 1) {
        return usage_error(&command_hook, "--user, --project or --managed, not two of them");
    }
    in->place = (struct install_place){
        .host = in->host,
        .scope = in->managed   ? INSTALL_SCOPE_MANAGED
                 : in->project ? INSTALL_SCOPE_PROJECT
                               : INSTALL_SCOPE_USER,
        .home = in->options.base.home,
        .project = in->options.base.cwd,
    };
    if (in->place.project.len > 1 && in->place.project.ptr[in->place.project.len - 1] == '/') {
        in->place.project.len--;
    }
    if (in->settings == NULL) {
        return -1;
    }
    struct buf text;
    char cwd[PATH_MAX];
    buf_init(&text, 2 * PATH_MAX);
    if (in->settings[0] != '/' && getcwd(cwd, sizeof(cwd)) != NULL) {
        buf_printf(&text, "%s/", cwd);
    }
    buf_text(&text, in->settings);
    in->place.settings = buf_ok(&text) ? copy(in, buf_slice_of(&text)) : NULL;
    buf_finish(&text);
    return in->place.settings != NULL ? -1 : fail("%s", "no memory");
}

int hook_install_run(int argc, char **argv)
{
    struct install in = {0};
    bool taking_out = strcmp(argv[0], "uninstall") == 0;
    const struct option_spec own[] = {
        {"ask", OPTION_VALUE, &in.a.ask},
        {"gate", OPTION_VALUE, &in.a.gate},
        {"grant", OPTION_FLAG, &in.a.grant},
        {"observe", OPTION_FLAG, &in.a.observe},
        {"deadline", OPTION_VALUE, &in.a.deadline},
        {"fsync", OPTION_VALUE, &in.a.fsync},
        {"journal", OPTION_VALUE, &in.a.journal},
        {"except-server", OPTION_LIST, &in.a.except},
        {"user", OPTION_FLAG, &in.user},
        {"project", OPTION_FLAG, &in.project},
        {"managed", OPTION_FLAG, &in.managed},
        {"settings", OPTION_VALUE, &in.settings},
        {"dry-run", OPTION_FLAG, &in.dry_run},
        {"no-self-protect", OPTION_FLAG, &in.no_protect},
    };
    const struct cli_command command = {"hook", "", hook_install_usage, NULL};
    int code = options_read(&in.options, &command, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE, own,
                            sizeof(own) / sizeof(*own));
    if (code != -1) {
        return code;
    }
    in.arena = &in.options.arena;
    in.host = in.options.argc == 1 ? host_find(in.options.argv[0]) : NULL;
    code = in.host != NULL
               ? place_of(&in)
               : usage_error(&command_hook,
                             "%s: name one host: claude-code, gemini, codex, cursor or opencode", argv[0]);
    if (code == -1) {
        code = taking_out ? uninstall(&in) : install(&in);
    }
    free(in.a.except.items);
    options_finish(&in.options);
    return code;
}
