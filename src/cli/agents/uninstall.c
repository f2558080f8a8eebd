/* `uninstall`: takes out everything that callgate put into other programs' files, and keeps the state. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "install/install.h"
#include "install/wrap.h"

static const char usage[] =
    "usage: callgate uninstall [--print] [--state DIR] [--cwd DIR] [--home DIR]\n\n"
    "Takes out what callgate put in: hooks out of the settings of coding agents ('callgate hook install'), "
    "gates from\n"
    "before the servers of MCP configurations ('callgate wrap'), systemd's user units of a broker, and the "
    "broker that\n"
    "runs. It looks at the places of this user and of the project in the working directory, and wherever "
    "else "
    "the state\n"
    "directory says that something was put in. Policies, people.json and the state directory stay; the last "
    "lines say\n"
    "where they are. The program itself goes as it came: 'ninja -C build uninstall', or the package "
    "manager.\n\n"
    "  --print               only print what would be done\n"
    "  --state DIR           where journal and approvals live (default: ~/.local/state/callgate)\n"
    "  --cwd DIR, --home DIR where the project is, and whose files\n\n"
    "Exit: 0 done, 1 nothing was there, 2 something could not be taken out (the rest was).\n";

struct uninstall {
    struct options options;
    const char *state_dir; /* absolute */
    bool print, found, failed;
};

/* Prints what was done, and says what was not. */
static void tell(struct uninstall *u, struct buf *report, struct buf *error, bool ok)
{
    print_lines(report);
    if (!ok) {
        u->failed = true;
        say("%.*s", SLICE_FMT(error->len > 0 ? buf_slice_of(error) : SLICE("no memory")));
    }
    buf_reset(report);
    buf_reset(error);
}

/* ---- Hooks ---- */

static void take_hook_out_of(struct uninstall *u, const struct install_place *place)
{
    const struct install_options options = {.place = *place, .state_dir = u->state_dir, .dry_run = u->print};
    struct buf report, error;
    buf_init(&report, 64u << 20);
    buf_init(&error, 1u << 16);
    enum uninstall_result result = uninstall_hook(&options, &report, &error);
    u->found = u->found || result == UNINSTALL_DONE || report.len > 0;
    tell(u, &report, &error, result != UNINSTALL_FAILED);
    buf_finish(&report);
    buf_finish(&error);
}

/* For everybody on this machine: root's to take out. */
static void look_at_managed(struct uninstall *u, const struct install_place *place)
{
    struct installed_hook *list = NULL;
    size_t count = 0;
    struct buf error;
    buf_init(&error, 1u << 16);
    if (place->host->shape->managed != NULL && geteuid() == 0) {
        take_hook_out_of(u, place);
    } else if (place->host->shape->managed != NULL &&
               installed_hooks_find(place, &u->options.arena, &list, &count, &error) && count > 0) {
        printf("left: the hook for everybody in %s: 'callgate hook uninstall %s --managed' as root\n",
               place->host->shape->managed, place->host->name);
        u->found = true;
    }
    buf_finish(&error);
}

static void take_hooks_out(struct uninstall *u)
{
    struct recorded_place *recorded = NULL;
    size_t count = 0;
    struct buf report, error;
    struct install_place place = {.home = u->options.base.home, .project = u->options.base.cwd};
    if (place.project.len > 1 && place.project.ptr[place.project.len - 1] == '/') {
        place.project.len--;
    }
    buf_init(&report, 4096);
    buf_init(&error, 1u << 16);
    bool read = installed_places(u->state_dir, &u->options.arena, &recorded, &count, &error);
    tell(u, &report, &error, read);
    for (size_t i = 0; read && i < count; i++) {
        place.host = recorded[i].host;
        place.scope = INSTALL_SCOPE_USER;
        place.settings = recorded[i].settings;
        take_hook_out_of(u, &place);
    }
    place.settings = NULL;
    for (size_t i = 0; i < host_count; i++) {
        place.host = hosts[i];
        place.scope = INSTALL_SCOPE_USER;
        take_hook_out_of(u, &place);
        place.scope = INSTALL_SCOPE_PROJECT;
        if (!slice_eq(place.home, place.project)) {
            take_hook_out_of(u, &place);
        }
        place.scope = INSTALL_SCOPE_MANAGED;
        look_at_managed(u, &place);
    }
    buf_finish(&report);
    buf_finish(&error);
}

/* ---- Gates before servers ---- */

static void unwrap_one(struct uninstall *u, const char *file)
{
    const struct wrap_options options = {
        .file = file, .state_dir = u->state_dir, .dry_run = u->print, .changes_only = true};
    struct wrap_result result = {0};
    struct buf report, error;
    buf_init(&report, 64u << 20);
    buf_init(&error, 1u << 16);
    bool ok = unwrap_file(&options, &result, &report, &error);
    u->found = u->found || result.changed > 0;
    tell(u, &report, &error, ok);
    buf_finish(&report);
    buf_finish(&error);
}

static void unwrap_all(struct uninstall *u)
{
    const char **files = NULL;
    size_t count = 0;
    struct buf report, error;
    buf_init(&report, 4096);
    buf_init(&error, 1u << 16);
    bool read = wrapped_files(u->state_dir, &u->options.arena, &files, &count, &error);
    tell(u, &report, &error, read);
    for (size_t i = 0; read && i < count; i++) {
        unwrap_one(u, files[i]);
    }
    for (size_t i = 0; i < mcp_config_count; i++) {
        struct slice dir = mcp_configs[i].of_project ? u->options.base.cwd : u->options.base.home;
        char path[PATH_MAX + 64];
        snprintf(path, sizeof(path), "%.*s/%s", SLICE_FMT(dir), mcp_configs[i].file);
        if (access(path, F_OK) == 0) {
            unwrap_one(u, path);
        }
    }
    buf_finish(&report);
    buf_finish(&error);
}

/* ---- Units, brokers, gates ---- */

static void remove_units(struct uninstall *u)
{
    struct buf report, error;
    bool found = false;
    buf_init(&report, 1u << 16);
    buf_init(&error, 1u << 16);
    bool ok = units_remove(u->options.base.home, u->print, &found, &report, &error);
    if (found && !u->print) {
        buf_text(&report,
                 "systemd forgets them with: systemctl --user stop callgate.socket callgate.service; "
                 "systemctl --user daemon-reload\n");
    }
    u->found = u->found || found;
    tell(u, &report, &error, ok);
    buf_finish(&report);
    buf_finish(&error);
}

static int64_t pid_of(const struct json_doc *doc, const struct json_value *gate)
{
    int64_t pid = 0;
    const struct json_value *value = json_get(doc, gate, "pid");
    return json_is(value, JSON_NUMBER) && json_number_int(json_str(value), &pid) == JSON_INT_OK && pid > 1 &&
                   pid <= INT32_MAX
               ? pid
               : 0;
}

/* A broker is told to end; a gate ends with its client, which may be in the middle of something. */
static void end_broker(struct uninstall *u)
{
    const struct json_options json = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct buf gates, error;
    struct json_doc doc;
    struct json_error json_error;
    size_t running = 0;
    if (access(u->state_dir, F_OK) != 0) {
        return;
    }
    buf_init(&gates, LIMIT_MESSAGE_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    json_init(&doc);
    bool read = gates_write_json(u->state_dir, &gates, &error) &&
                json_parse(&doc, buf_slice_of(&gates), &json, &json_error);
    const struct json_value *list = read ? json_root(&doc) : NULL, *gate;
    for (gate = read ? json_first(&doc, list) : NULL; gate != NULL; gate = json_right(&doc, list, gate)) {
        const struct json_value *surface = json_get(&doc, gate, "surface");
        int64_t pid = pid_of(&doc, gate);
        if (!json_is(surface, JSON_STRING) || !slice_is(json_str(surface), "serve") || pid == 0) {
            running++;
            continue;
        }
        /* Its entry is locked by the process itself: the number is still its own. One broker has several. */
        if (u->print || kill((pid_t)pid, SIGTERM) == 0) {
            printf("%s the broker, process %lld\n", u->print ? "would end" : "ended", (long long)pid);
            u->found = true;
            break;
        }
    }
    if (running > 0) {
        printf("%zu gate(s) still run: each ends when its client does\n", running);
    }
    u->failed = u->failed || !read;
    if (!read) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    json_finish(&doc);
    buf_finish(&gates);
    buf_finish(&error);
}

/* ---- What stays ---- */

static void tell_what_stays(const struct uninstall *u)
{
    struct slice home = u->options.base.home;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%.*s/.config/callgate", SLICE_FMT(home));
    if (access(u->state_dir, F_OK) == 0) {
        printf("kept: %s (the journal, the store of approvals; 'callgate state backup FILE' copies it)\n",
               u->state_dir);
    }
    if (access(path, F_OK) == 0) {
        printf("kept: %s (policies and settings)\n", path);
    }
    if (access("/etc/callgate", F_OK) == 0) {
        puts("kept: /etc/callgate (the machine's)");
    }
}

static const char *absolute_state(struct uninstall *u)
{
    char path[2 * PATH_MAX], cwd[PATH_MAX];
    if (u->options.state_dir[0] == '/') {
        return u->options.state_dir;
    }
    if (getcwd(cwd, sizeof(cwd)) == NULL) {
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/%s", cwd, u->options.state_dir);
    return arena_copy(&u->options.arena, slice_of(path)).ptr;
}

static int run(int argc, char **argv)
{
    struct uninstall u = {0};
    const struct option_spec own[] = {{"print", OPTION_FLAG, &u.print}, {"dry-run", OPTION_FLAG, &u.print}};
    int code = options_read(&u.options, &command_uninstall, argc, argv,
                            TAKES_PATHS | TAKES_STATE | TAKES_NO_WORDS, own, 2);
    if (code != -1) {
        return code;
    }
    u.state_dir = absolute_state(&u);
    if (u.state_dir == NULL) {
        say("the working directory cannot be told");
        options_finish(&u.options);
        return EXIT_UNABLE;
    }
    take_hooks_out(&u);
    unwrap_all(&u);
    remove_units(&u);
    end_broker(&u);
    if (!u.found) {
        puts("nothing of callgate's is in these places");
    }
    tell_what_stays(&u);
    bool printed = fflush(stdout) == 0;
    options_finish(&u.options);
    return u.failed || !printed ? EXIT_UNABLE : u.found ? EXIT_YES : EXIT_NO;
}

const struct cli_command command_uninstall = {
    "uninstall", "take out everything that callgate put in, keep the state", usage, run};
