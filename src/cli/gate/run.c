/* callgate run: the options of the gate in front of an MCP server. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/confine/confine.h"
#include "cli/gate/serve.h"
#include "cli/options.h"
#include "gate/claim.h"
#include "journal/journal.h"
#include "mcp/mcp.h"
#include "mcp/server_words.h"

static const char usage[] =
    "usage: callgate run --policy [TIER=]FILE... [OPTION...] -- COMMAND [ARG...]\n\n"
    "Stands in front of an MCP server: speaks MCP on standard input and output, starts COMMAND as the\n"
    "server, and lets each tool call run, denies it, or holds it until a person approves.\n"
    "Put it where the server's command stood in the client's configuration.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "                        (default: the standard places). /etc/callgate/policy.json comes first\n"
    "  --server NAME         what rules call this server; needed if a rule names one\n"
    "  --channel C           the session's channel (default: local)\n"
    "  --thread T            the session's thread (default: fresh for each run)\n"
    "  --actor A             claude_process (default) or session_owner\n"
    "  --hold-for SECONDS    how long a call is held for people (default: 55); its request stays open\n"
    "  --allow-method METHOD knows a method that no MCP revision has, and judges it like a call of a tool "
    "of\n"
    "                        that name. Repeatable\n"
    "  --root DIR            a directory that the server takes relative paths from. Repeatable; every\n"
    "                        existing directory among COMMAND's words is one, too (also --x=DIR, file://DIR, "
    "~/DIR)\n"
    "  --cwd DIR, --home DIR what relative paths and ~ start from\n"
    "  --remote              the server's paths are not this machine's: no argument is read as a path\n"
    "  --no-weakening        refuse a reload that decides anything less strictly than the policy that was\n"
    "                        acknowledged last (callgate acknowledge; until then: the policy at start)\n"
    "  --observe             deny and hold nothing: journal what would be, until 'callgate enforce' or a "
    "policy's\n"
    "                        \"allowObserve\": false ends it\n"
    "  --notify PROGRAM      tell people of requests by this program, too (callgate notices is for every "
    "gate)\n"
    "  --tell-refusals       tell the agent the reason that a person gave (callgate refuse CODE --because "
    "TEXT)\n"
    "  --confine             start the server in a view of the system that the policy makes (callgate "
    "confine);\n"
    "                        --write DIR, --no-net and --confine-net go with it. --confine=landlock: where "
    "there\n"
    "                        are no user namespaces; it holds less, and says what\n"
    "  --gate SOCKET         a broker judges ('callgate serve'), and is started when none is there: then\n"
    "                        --policy, --fsync, --journal, --no-weakening, --observe and --confine are not "
    "given "
    "here\n"
    "  --state DIR           where journal and approvals live (default: ~/.local/state/callgate)\n"
    "  --fsync WHEN          always, batch (default: at least every 100 ms) or never; denials and\n"
    "                        requests are always flushed before anyone hears of them, but for never\n"
    "  --journal WHICH       required (default: a call that cannot be recorded is denied) or optional\n"
    "  --tools WHICH         record (default): keep what the server offers, and journal what changes; pin: "
    "deny\n"
    "                        what is new or changed until it is accepted ('callgate tools accept'); off\n"
    "  --hide-denied         leave out of the server's list the tools of which no call of this session could "
    "be\n"
    "                        anything but denied; the client hears when a reload changes that\n"
    "  --record-outcomes WHICH  on (default: an event says how each call that ran has ended) or off\n"
    "  --journal-max-size N  bytes (K, M, G): a journal that would be longer is rotated (default: never)\n\n"
    "SIGHUP loads the policies again; SIGUSR1 rotates the journal. Exit: the server's exit code, 128 and its "
    "signal, or 2 when it could\n"
    "not be started.\n";

#define THREAD_BYTES 16
#define HOLD_MOST_MS 86400000u

struct run_options {
    const char *server, *channel, *thread, *actor, *hold_for, *fsync, *journal, *journal_max_size, *outcomes;
    const char *notify;
    const char *gate;
    const char *tools;
    bool remote, no_weakening, tell_refusals, observe, hide_denied;
    struct option_list methods;
    const char *confine; /* NULL: not; "": in a view; "landlock" */
    struct confine_options confined;
};

static void say_line(const char *line)
{
    say("%s", line);
}

/* Seconds, whole or with a fraction: "55", "0.5". */
/* Decimal digits, and up to three more behind a point. */
static bool read_seconds(const char *text, uint64_t *ret_ms)
{
    size_t whole = strspn(text, "0123456789");
    size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    const char *end = text + whole + (text[whole] == '.' ? 1 + part : 0);
    if (whole == 0 || whole > 9 || part > 3 || *end != '\0' || (text[whole] == '.' && part == 0)) {
        return false;
    }
    uint64_t ms = 0;
    for (size_t i = 0; i < whole; i++) {
        ms = ms * 10 + (uint64_t)(text[i] - '0');
    }
    for (size_t i = 0; i < 3; i++) {
        ms = ms * 10 + (i < part ? (uint64_t)(text[whole + 1 + i] - '0') : 0);
    }
    *ret_ms = ms;
    return ms <= HOLD_MOST_MS;
}

static bool read_actor(const char *text, enum actor *ret_actor)
{
    static const enum actor actors[] = {ACTOR_CLAUDE_PROCESS, ACTOR_SESSION_OWNER};
    for (size_t i = 0; i < 2; i++) {
        if (text == NULL || strcmp(text, actor_name(actors[i])) == 0) {
            *ret_actor = actors[i];
            return true;
        }
    }
    return false;
}

static bool read_fsync(const char *text, enum journal_fsync *ret_mode)
{
    static const struct {
        const char *name;
        enum journal_fsync mode;
    } modes[] = {
        {"batch", JOURNAL_FSYNC_BATCH},
        {"always", JOURNAL_FSYNC_ALWAYS},
        {"never", JOURNAL_FSYNC_NEVER},
    };
    for (size_t i = 0; i < 3; i++) {
        if (text == NULL || strcmp(text, modes[i].name) == 0) {
            *ret_mode = modes[i].mode;
            return true;
        }
    }
    return false;
}

/* Fills what goes to the gate and the proxy by value. -1 or an exit code. */
static int settle(const struct run_options *own, struct gate_options *gate, struct proxy_options *proxy)
{
    const struct cli_command *command = &command_run;
    if (own->server != NULL && own->server[0] == '\0') {
        return usage_error(command, "--server: the name is empty");
    }
    if (!read_actor(own->actor, &proxy->session.defaults.actor)) {
        return usage_error(command, "--actor is claude_process or session_owner");
    }
    if (!read_fsync(own->fsync, &gate->fsync)) {
        return usage_error(command, "--fsync is always, batch or never");
    }
    gate->journal_optional = own->journal != NULL && strcmp(own->journal, "optional") == 0;
    if (own->journal != NULL && !gate->journal_optional && strcmp(own->journal, "required") != 0) {
        return usage_error(command, "--journal is required or optional");
    }
    proxy->session.outcomes_off = own->outcomes != NULL && strcmp(own->outcomes, "off") == 0;
    if (own->outcomes != NULL && !proxy->session.outcomes_off && strcmp(own->outcomes, "on") != 0) {
        return usage_error(command, "--record-outcomes is on or off");
    }
    if (own->journal_max_size != NULL &&
        !option_size(own->journal_max_size, JOURNAL_SIZE_LEAST, &gate->journal_max_size)) {
        return usage_error(command,
                           "--journal-max-size is a number of bytes, or 100K, 100M, 1G; at least 64K");
    }
    proxy->session.pinned = own->tools != NULL && strcmp(own->tools, "pin") == 0;
    if (own->tools != NULL && !proxy->session.pinned && strcmp(own->tools, "record") != 0 &&
        strcmp(own->tools, "off") != 0) {
        return usage_error(command, "--tools is record, pin or off");
    }
    proxy->session.hide_denied = own->hide_denied;
    if (own->hide_denied && own->tools != NULL && strcmp(own->tools, "off") == 0) {
        return usage_error(command, "--hide-denied needs to know the server's tools: leave out --tools off");
    }
    proxy->session.hold_for_ms = 55000;
    if (own->hold_for != NULL && !read_seconds(own->hold_for, &proxy->session.hold_for_ms)) {
        return usage_error(command, "--hold-for is a number of seconds, at most a day");
    }
    if (own->server != NULL) {
        gate->server = proxy->session.defaults.server = slice_of(own->server);
    }
    gate->readings_flags = own->remote ? READINGS_REMOTE : 0;
    gate->no_weakening = own->no_weakening;
    gate->observe = own->observe;
    if (own->observe && gate->journal_optional) {
        return usage_error(command, "--observe needs the journal: leave out --journal optional");
    }
    if (own->notify != NULL && own->notify[0] != '/') {
        return usage_error(command, "--notify: name a program by its whole path");
    }
    gate->notify = own->notify;
    gate->tell_refusals = own->tell_refusals;
    proxy->session.defaults.channel = slice_of(own->channel != NULL ? own->channel : "local");
    return -1;
}

/* A session of its own for each run, unless the caller names one. */
static bool choose_thread(const char *named, char *fresh, struct slice *ret_thread)
{
    uint8_t bytes[THREAD_BYTES];
    if (named != NULL) {
        *ret_thread = slice_of(named);
        return true;
    }
    if (!random_bytes(bytes, sizeof(bytes))) {
        return false;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        fresh[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        fresh[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    *ret_thread = (struct slice){fresh, 2 * sizeof(bytes)};
    return true;
}

/* Adds what the server is told by its command and its environment. */
static bool add_server_words(struct options *options)
{
    char cwd[PATH_MAX];
    return getcwd(cwd, sizeof(cwd)) != NULL &&
           server_words_read(&options->arena, &options->base, slice_of(cwd), options->argv, environ,
                             &options->base);
}

/* What tells a server from others: its name, or else its command. */
static bool server_key(const struct options *options, const char *server, struct buf *ret_key)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    struct buf words;
    if (server != NULL) {
        buf_text(ret_key, server);
        return buf_ok(ret_key);
    }
    buf_init(&words, (size_t)16 << 20);
    for (int i = 0; i < options->argc; i++) {
        buf_bytes(&words, options->argv[i], strlen(options->argv[i]) + 1);
    }
    bool ok = buf_ok(&words) && hash_bytes(buf_slice_of(&words), hash);
    buf_finish(&words);
    if (ok) {
        hash_to_hex(hash, hex);
        buf_printf(ret_key, "command-%.16s", hex);
    }
    return ok && buf_ok(ret_key);
}

/* Opens the book of the server's tools, unless it is not wanted. False after saying why not. */
static bool open_book(const struct options *options, const struct run_options *own,
                      struct session_options *session)
{
    if (own->tools != NULL && strcmp(own->tools, "off") == 0) {
        return true;
    }
    struct buf key, error;
    buf_init(&key, (size_t)1 << 20);
    buf_init(&error, (size_t)64 << 10);
    if (server_key(options, own->server, &key)) {
        session->book = tool_book_open(options->state_dir, buf_slice_of(&key), &error);
    }
    if (session->book == NULL) {
        say("what the server offers cannot be compared: %.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&key);
    buf_finish(&error);
    return session->book != NULL || !session->pinned;
}

/* A hook of the same agent leaves the server's calls to this gate. Without the claim it judges them as well. */
static struct claim *claim_calls(const struct options *options, const struct run_options *own)
{
    char terms[HASH_HEX + 1];
    struct buf error;
    struct claim *claim = NULL;
    if (own->server == NULL || !claim_terms(&options->sources, own->gate, NULL, terms)) {
        return NULL;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    claim = claim_open(options->state_dir, slice_of(own->server), terms, &error);
    if (claim == NULL) {
        say("a hook may judge the server's calls a second time: %.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return claim;
}

static struct gate *open_gate(const struct gate_options *options, const char *broker)
{
    struct buf error;
    const struct broker_client_options client = {
        .socket = broker, .starts = true, .state_dir = options->state_dir, .base = options->base};
    buf_init(&error, (size_t)64 << 20);
    struct gate *gate =
        broker != NULL ? broker_connect(&client, options, &error) : gate_open(options, &error);
    struct slice lines = buf_slice_of(&error);
    lines.len -= lines.len > 0 && lines.ptr[lines.len - 1] == '\n';
    if (lines.len > 0) {
        say("%.*s", SLICE_FMT(lines)); /* why not, or which workspace file was left out */
    } else if (gate == NULL) {
        say("no memory to start with");
    }
    buf_finish(&error);
    return gate;
}

/* What starts the server in its confinement. */
static char **confined_command(struct options *options, const struct run_options *own, struct view *ret_view)
{
    struct confine_options confined = own->confined;
    confined.landlock = own->confine[0] != '\0';
    confined.server = own->server;
    confined.channel = own->channel;
    confined.thread = own->thread;
    return confined.proxied_network ? confine_server_words(options, &confined)
                                    : confine_words(options, &confined, ret_view);
}

static int start(struct options *options, const struct run_options *own)
{
    char fresh[2 * THREAD_BYTES];
    struct gate_options gate_options = {
        .surface = "run",
        .must_name_server = true,
        .sources = &options->sources,
        .state_dir = options->state_dir,
        .say = say_line,
    };
    struct proxy_options proxy = {
        .command = options->argv,
        .child_umask = umask_at_start,
        .client_in = STDIN_FILENO,
        .client_out = STDOUT_FILENO,
        .session.say = say_line,
    };
    int code = settle(own, &gate_options, &proxy);
    if (code != -1) {
        return code;
    }
    /* NULL after the last. */
    const char **methods = arena_array(&options->arena, own->methods.count + 1, sizeof(*methods));
    for (size_t i = 0; methods != NULL && i < own->methods.count; i++) {
        methods[i] = own->methods.items[i];
    }
    proxy.session.allowed_methods = methods;
    if (methods == NULL || !choose_thread(own->thread, fresh, &proxy.session.defaults.thread) ||
        !add_server_words(options)) {
        say("no memory, no random numbers or no working directory");
        return EXIT_UNABLE;
    }
    gate_options.base = proxy.session.base = options->base;
    proxy.session.gate = open_gate(&gate_options, own->gate);
    if (proxy.session.gate == NULL) {
        return EXIT_UNABLE;
    }
    if (!open_book(options, own, &proxy.session)) {
        gate_close(proxy.session.gate);
        return EXIT_UNABLE;
    }
    struct view view = {0};
    if (own->confine != NULL && (proxy.command = confined_command(options, own, &view)) == NULL) {
        gate_close(proxy.session.gate);
        return EXIT_UNABLE;
    }
    struct claim *claim = claim_calls(options, own);
    say_without_waiting();
    code = proxy_run(&proxy);
    claim_close(claim);
    tool_book_close(proxy.session.book);
    gate_close(proxy.session.gate);
    view_finish(&view);
    return code;
}

static int run(int argc, char **argv)
{
    struct run_options own = {.confined.command = &command_run};
    const struct option_spec specs[] = {
        {"server", OPTION_VALUE, &own.server},
        {"notify", OPTION_VALUE, &own.notify},
        {"channel", OPTION_VALUE, &own.channel},
        {"thread", OPTION_VALUE, &own.thread},
        {"actor", OPTION_VALUE, &own.actor},
        {"hold-for", OPTION_VALUE, &own.hold_for},
        {"fsync", OPTION_VALUE, &own.fsync},
        {"journal", OPTION_VALUE, &own.journal},
        {"record-outcomes", OPTION_VALUE, &own.outcomes},
        {"tools", OPTION_VALUE, &own.tools},
        {"journal-max-size", OPTION_VALUE, &own.journal_max_size},
        {"remote", OPTION_FLAG, &own.remote},
        {"no-weakening", OPTION_FLAG, &own.no_weakening},
        {"observe", OPTION_FLAG, &own.observe},
        {"hide-denied", OPTION_FLAG, &own.hide_denied},
        {"allow-method", OPTION_LIST, &own.methods},
        {"gate", OPTION_VALUE, &own.gate},
        {"confine", OPTION_MAYBE, &own.confine},
        {"tell-refusals", OPTION_FLAG, &own.tell_refusals},
        {"write", OPTION_LIST, &own.confined.writable},
        {"no-net", OPTION_FLAG, &own.confined.private_network},
        {"confine-net", OPTION_FLAG, &own.confined.proxied_network},
    };
    struct options options;
    int code = options_read(&options, &command_run, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            specs, sizeof(specs) / sizeof(specs[0]));
    if (code == -1) {
        if (options.argc == 0) {
            code = usage_error(&command_run, "name the server's command after --");
        } else if (own.confine != NULL && own.confine[0] != '\0' && strcmp(own.confine, "landlock") != 0) {
            code = usage_error(&command_run, "--confine is alone, or --confine=landlock");
        } else if (own.confined.proxied_network && (own.confine == NULL || own.confined.private_network)) {
            code = usage_error(&command_run, "--confine-net goes with --confine, and not with --no-net");
        } else if (own.confined.proxied_network && own.confine[0] != '\0') {
            code = usage_error(&command_run,
                               "--confine-net needs a network namespace, which --confine=landlock has not");
        } else if (own.gate != NULL
                       ? !broker_takes(&command_run, &options,
                                       own.fsync != NULL || own.journal != NULL || own.no_weakening ||
                                           own.confine != NULL || own.observe || own.notify != NULL ||
                                           own.journal_max_size != NULL)
                       : !options_surface_places(&command_run, &options)) {
            code = EXIT_UNABLE;
        } else {
            code = start(&options, &own);
        }
        options_finish(&options);
    }
    free(own.methods.items);
    free(own.confined.writable.items);
    return code;
}

const struct cli_command command_run = {"run", "stand in front of an MCP server", usage, run};
