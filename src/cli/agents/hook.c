/* callgate hook: answers one message of a coding agent's hook. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/hook_install.h"
#include "cli/commands.h"
#include "cli/gate/serve.h"
#include "cli/options.h"
#include "host/emergency.h"
#include "host/host.h"

static const char usage[] =
    "usage: callgate hook HOST --policy [TIER=]FILE... [OPTION...]\n"
    "       callgate hook install|uninstall HOST [OPTION...]: see 'callgate hook install --help'\n\n"
    "Reads one message of a coding agent's hook from standard input and prints the host's answer.\n"
    "HOST: claude-code, gemini, codex, cursor or opencode.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --ask auto|host|callgate\n"
    "                        who asks when a rule needs approval: the host its user, or callgate its\n"
    "                        approvers; auto (the default): the host where it is known to ask\n"
    "  --grant               a call that a rule allows is the host's allow, not only no opinion\n"
    "  --observe             deny and hold nothing, only journal what would be: the host's own rules decide\n"
    "  --except-server NAME  an MCP server that stands behind 'callgate run'; repeatable\n"
    "  --deadline SECONDS    when to give up and deny (default: by host, shorter than the host's own)\n"
    "  --event NAME          the event of a message that does not tell its own\n"
    "  --gate SOCKET         a broker judges ('callgate serve'): then --policy, --fsync and --journal are "
    "its own\n"
    "  --protect FILE        the rules that 'hook install' wrote along with the hook\n"
    "  --state DIR           where journal and approvals live\n"
    "  --fsync always|batch|never, --journal required|optional\n"
    "                        as for 'callgate run'; batch waits for the disk only for a denial or a request\n"
    "  --cwd DIR, --home DIR what the policy's relative prefixes and ~ start from\n"
    "  --root DIR            one more start of relative paths; repeatable\n\n"
    "Whatever goes wrong is the host's deny.\n";

/* What the arguments ask for, before they are read with care: enough for the deny that stands ready. */
struct wanted {
    const struct host *host; /* NULL: none that is known */
    const char *event;
};

/* The value of `--NAME VALUE` or `--NAME=VALUE` at argv[i], or NULL. */
static const char *value_of(char **argv, int i, const char *name)
{
    size_t len = strlen(name);
    if (strncmp(argv[i], name, len) != 0) {
        return NULL;
    }
    if (argv[i][len] == '=') {
        return argv[i] + len + 1;
    }
    return argv[i][len] == '\0' ? argv[i + 1] : NULL;
}

static struct wanted look_at(int argc, char **argv)
{
    struct wanted wanted = {0};
    for (int i = 1; i < argc; i++) {
        const char *event = value_of(argv, i, "--event");
        if (event != NULL) {
            wanted.event = event;
        }
        if (wanted.host == NULL) {
            wanted.host = host_find(argv[i]);
        }
    }
    return wanted;
}

static const struct host_event *event_of(const struct host *host, const char *name)
{
    const struct host_event *event = name != NULL ? host_event_find(host, slice_of(name)) : NULL;
    return event != NULL ? event : &host->events[0];
}

static bool is_install(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], "install") == 0 || strcmp(argv[1], "uninstall") == 0);
}

void hook_prepare(int argc, char **argv)
{
    struct wanted wanted = look_at(argc, argv);
    if (wanted.host != NULL && !is_install(argc, argv)) {
        emergency_arm(event_of(wanted.host, wanted.event), wanted.host->deadline_ms, !wanted.host->says_why);
    }
}

static void say_line(const char *line)
{
    say("%s", line);
}

static bool one_of(const char *text, const char *const *words, int *ret_index)
{
    for (int i = 0; text != NULL && words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return text == NULL;
}

/* Fills what the options say; -1, or the exit code of a usage error. */
static int fill(struct host_hook_options *ret, const struct hook_arguments *a)
{
    static const char *const askings[] = {"auto", "host", "callgate", NULL};
    static const char *const fsyncs[] = {"batch", "always", "never", NULL};
    static const char *const journals[] = {"required", "optional", NULL};
    int asking = 0, fsync = 0, journal = 0;
    int64_t seconds = 0;
    if (!one_of(a->ask, askings, &asking)) {
        return usage_error(&command_hook, "--ask is auto, host or callgate");
    }
    if (!one_of(a->fsync, fsyncs, &fsync)) {
        return usage_error(&command_hook, "--fsync is always, batch or never");
    }
    if (!one_of(a->journal, journals, &journal)) {
        return usage_error(&command_hook, "--journal is required or optional");
    }
    if (a->deadline != NULL && !option_number(a->deadline, 1, 86400, &seconds)) {
        return usage_error(&command_hook, "--deadline is a number of seconds from 1 to 86400");
    }
    if (a->event != NULL && host_event_find(ret->host, slice_of(a->event)) == NULL) {
        return usage_error(&command_hook, "--event: %s has no event '%s' that can be answered",
                           ret->host->name, a->event);
    }
    ret->asking = (enum host_asking)asking;
    ret->fsync = (enum journal_fsync)fsync;
    ret->journal_optional = journal == 1;
    ret->deadline_ms = seconds ? (uint32_t)seconds * 1000 : ret->host->deadline_ms;
    ret->grant = a->grant;
    ret->observe = a->observe;
    if (a->observe && ret->journal_optional) {
        return usage_error(&command_hook, "--observe needs the journal: leave out --journal optional");
    }
    ret->protect = a->protect != NULL;
    ret->event = event_of(ret->host, a->event);
    ret->except = a->except.items;
    ret->except_count = a->except.count;
    return -1;
}

/* The rules that came along with the hook: they must be there, and stand in for no policy. */
static bool add_protection(struct options *options, const char *file)
{
    struct buf argument, error;
    if (file == NULL) {
        return true;
    }
    buf_init(&argument, 64u << 10);
    buf_init_message(&error, MESSAGE_BYTES);
    buf_printf(&argument, "admin=%s", file);
    bool added = buf_ok(&argument) && sources_add(&options->sources, argument.ptr, &error);
    if (!added) {
        usage_error(&command_hook, "--protect: no usable name");
    }
    buf_finish(&argument);
    buf_finish(&error);
    return added;
}

static int run_host(struct options *options, const struct hook_arguments *a)
{
    const struct host *host = options->argc == 1 ? host_find(options->argv[0]) : NULL;
    if (host == NULL) {
        return usage_error(&command_hook, "name one host: claude-code, gemini, codex, cursor or opencode");
    }
    struct host_hook_options hook = {
        .host = host,
        .sources = &options->sources,
        .state_dir = options->state_dir,
        .base = options->base,
        .in = 0,
        .say = say_line,
    };
    int code = fill(&hook, a);
    if (code != -1) {
        return code;
    }
    hook.broker = a->gate;
    hook.protect_file = a->protect;
    if (a->gate != NULL) {
        if (!broker_takes(&command_hook, options, a->fsync != NULL || a->journal != NULL || a->observe)) {
            return EXIT_UNABLE;
        }
    } else if (!options_surface_places(&command_hook, options) || !add_protection(options, a->protect)) {
        return EXIT_UNABLE;
    }
    const struct host_event *event = hook.event;
    struct buf reason;
    buf_init(&reason, 64u << 10);
    enum host_answer answer = host_hook_run(&hook, &event, &reason);
    if (answer == HOST_DENY && buf_ok(&reason)) {
        emergency_deny(event, buf_slice_of(&reason));
    }
    emergency_answer(event, answer);
}

static int run(int argc, char **argv)
{
    if (is_install(argc, argv)) {
        return hook_install_run(argc - 1, argv + 1);
    }
    struct wanted wanted = look_at(argc, argv);
    struct options options;
    struct hook_arguments a = {0};
    const struct option_spec own[] = {
        {"ask", OPTION_VALUE, &a.ask},         {"grant", OPTION_FLAG, &a.grant},
        {"observe", OPTION_FLAG, &a.observe},  {"deadline", OPTION_VALUE, &a.deadline},
        {"event", OPTION_VALUE, &a.event},     {"fsync", OPTION_VALUE, &a.fsync},
        {"journal", OPTION_VALUE, &a.journal}, {"except-server", OPTION_LIST, &a.except},
        {"protect", OPTION_VALUE, &a.protect}, {"gate", OPTION_VALUE, &a.gate},
    };
    int code = options_read(&options, &command_hook, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            own, sizeof(own) / sizeof(*own));
    if (code == -1) {
        code = run_host(&options, &a);
        options_finish(&options);
    }
    free(a.except.items);
    /* Arguments that are wrong are a deny as well. */
    if (code == EXIT_UNABLE && wanted.host != NULL) {
        emergency_answer(event_of(wanted.host, wanted.event), HOST_DENY);
    }
    return code;
}

const struct cli_command command_hook = {"hook", "judge one call of a coding agent", usage, run};
