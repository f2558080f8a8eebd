/* `doctor`: is the hook there, does it find its policy and its journal, and does a deny come through? */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/hook_install.h"
#include "cli/ran.h"
#include "hook/install.h"
#include "hook/probe.h"

#define PROBE_MS  20000u /* more than a hook takes to give up by itself */
#define MEND_SIZE 4096

static const char usage[] =
    "usage: callgate doctor [HOST] [--user|--project|--managed] [--settings FILE] [OPTION...]\n\n"
    "Proves that a deny comes through. Looks whether the hook is in the host's settings for every event and\n"
    "every tool, its program is there, the switch that turns a failure into a deny is set, the policy "
    "loads,\n"
    "and the journal can be written. Then a broken message, a call that the policy denies and one that it\n"
    "lets through go to the installed command line, run as the host runs it, and the answers are compared\n"
    "byte for byte. Says what is wrong and the command that mends it.\n"
    "HOST: claude-code, gemini, codex, cursor or opencode (default: every host with a hook of "
    "callgate's).\n\n"
    "  --user, --project, --managed\n"
    "                        only the hook of this place (default: each that is there)\n"
    "  --settings FILE       another file than the host's own\n"
    "  --policy [TIER=]FILE, --state DIR\n"
    "                        what to look at where no hook is installed\n"
    "  --cwd DIR, --home DIR where the project is, and whose settings\n\n"
    "The calls that are tried stand in the journal like all others, in the session callgate-doctor.\n\n"
    "Exit: 0 all is well, 1 something is wrong, 2 could not be done.\n";

struct doctor {
    struct options options;
    bool user, project, managed;
    const char *settings;
    char place[256]; /* "claude-code, user: " */
    unsigned faults;
};

/* ---- Telling ---- */

static void tell(const struct doctor *d, const char *word, const char *format, va_list args)
{
    struct buf line;
    char text[4096];
    vsnprintf(text, sizeof(text), format, args);
    buf_init(&line, 1u << 20);
    utf8_append_printable(&line, slice_of(d->place));
    utf8_append_printable(&line, slice_of(text));
    printf("%-6s %.*s\n", word, SLICE_FMT(buf_slice_of(&line)));
    buf_finish(&line);
}

static void __attribute__((format(printf, 2, 3))) good(const struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(d, "ok", format, args);
    va_end(args);
}

static void __attribute__((format(printf, 2, 3))) note(const struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(d, "note", format, args);
    va_end(args);
}

static void __attribute__((format(printf, 3, 4))) fault(struct doctor *d, const char *mend,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(d, "FAULT", format, args);
    va_end(args);
    struct buf line;
    buf_init(&line, 1u << 20);
    utf8_append_printable(&line, slice_of(mend));
    printf("       mend: %.*s\n", SLICE_FMT(buf_slice_of(&line)));
    buf_finish(&line);
    d->faults++;
}

/* A command that a person may copy: whatever the word is, a shell reads it as one. */
static void write_command(char ret_mend[MEND_SIZE], const char *before, const char *word, const char *after)
{
    struct buf text;
    buf_init(&text, MEND_SIZE - 1);
    buf_text(&text, before);
    hook_write_word(&text, word);
    buf_text(&text, after);
    buf_byte(&text, '\0');
    snprintf(ret_mend, MEND_SIZE, "%s%s", buf_ok(&text) ? text.ptr : before, buf_ok(&text) ? "" : "it");
    buf_finish(&text);
}

/* ---- An installed command line, read as the program will read it ---- */

struct line {
    struct options options;
    struct hook_arguments a;
    struct policy *policy; /* NULL: it does not load */
    char mend[MEND_SIZE];
};

static const char *const scope_names[] = {"user", "project", "managed"};

/* The command that installs the hook again, with the policies that it has. */
static void write_mend(char ret_mend[MEND_SIZE], const struct hook_place *place,
                       const struct hook_installed *hook)
{
    struct buf text;
    buf_init(&text, MEND_SIZE - 1);
    buf_printf(&text, "callgate hook install %s --%s", place->host->name, scope_names[place->scope]);
    if (place->settings != NULL) {
        buf_text(&text, " --settings ");
        hook_write_word(&text, place->settings);
    }
    for (size_t i = 0; i + 1 < hook->word_count; i++) {
        if (strcmp(hook->words[i], "--policy") == 0) {
            buf_text(&text, " --policy ");
            hook_write_word(&text, hook->words[i + 1]);
        }
    }
    buf_byte(&text, '\0');
    if (buf_ok(&text)) {
        memcpy(ret_mend, text.ptr, text.len);
    } else {
        snprintf(ret_mend, MEND_SIZE, "callgate hook install %s", place->host->name);
    }
    buf_finish(&text);
}

/* False when the command line has wrong arguments, which are told on standard error. getopt puts the words
 * into another order: into that of a copy. */
static bool read_line(struct line *line, struct arena *arena, const struct hook_installed *hook)
{
    const struct option_spec own[] = {
        {"ask", OPTION_VALUE, &line->a.ask},
        {"grant", OPTION_FLAG, &line->a.grant},
        {"deadline", OPTION_VALUE, &line->a.deadline},
        {"event", OPTION_VALUE, &line->a.event},
        {"fsync", OPTION_VALUE, &line->a.fsync},
        {"journal", OPTION_VALUE, &line->a.journal},
        {"except-server", OPTION_LIST, &line->a.except},
        {"protect", OPTION_VALUE, &line->a.protect},
    };
    char **words = arena_array(arena, hook->word_count + 1, sizeof(*words));
    if (words == NULL) {
        return false;
    }
    memcpy(words, hook->words, hook->word_count * sizeof(*words));
    return options_read(&line->options, &command_hook, (int)hook->word_count - 1, words + 1,
                        TAKES_POLICY | TAKES_PATHS | TAKES_STATE, own, sizeof(own) / sizeof(*own)) == -1;
}

static void finish_line(struct line *line)
{
    policy_destroy(line->policy);
    free(line->a.except.items);
    options_finish(&line->options);
}

/* ---- Policy and state ---- */

static void print_errors(const struct findings *errors)
{
    struct buf lines;
    buf_init(&lines, 64u << 20);
    sources_write_errors(&lines, errors);
    fwrite(lines.ptr, 1, lines.len, stdout);
    buf_finish(&lines);
}

static struct policy *load_policy(struct doctor *d, const struct options *o, const char *mend, bool first)
{
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = sources_load(&o->sources, &o->base, NULL, &errors);
    if (policy == NULL) {
        fault(d, mend, "the policy does not load, so every call is denied:");
    } else if (errors.count) {
        note(d, "a workspace file does not load and is left out:");
    }
    print_errors(&errors);
    findings_finish(&errors);
    for (uint32_t i = 0; policy != NULL && first && i < policy->file_count; i++) {
        if (policy->files[i].used && policy->files[i].rules > 0) {
            good(d, "policy: %u rule(s) from %.*s", policy->files[i].rules, SLICE_FMT(policy->files[i].name));
        }
    }
    return policy;
}

/* What the hook of this host loads beside the named files. */
static bool add_hook_sources(struct line *line, const struct hook_host *host)
{
    struct sources *sources = &line->options.sources;
    struct buf protect, error;
    bool added = true;
    buf_init(&protect, 64u << 10);
    buf_init(&error, 4096);
    if (line->a.protect != NULL) {
        buf_printf(&protect, "admin=%s", line->a.protect);
        added = buf_ok(&protect) && sources_add(sources, protect.ptr, &error);
    }
    added = added && sources_add_built_in(sources, host->name, host->path_arguments);
    buf_finish(&protect);
    buf_finish(&error);
    return added;
}

static struct policy *load_hook_policy(struct doctor *d, struct line *line, const struct hook_host *host,
                                       bool first)
{
    struct options *o = &line->options;
    char mend[MEND_SIZE] = "mend the file that is named below";
    if (!options_surface_places(&command_hook, o)) {
        fault(d, "write one of the files named above, or install the hook with --policy FILE",
              "the hook has no policy, so every call is denied");
        return NULL;
    }
    if (o->policies.count) {
        write_command(mend, "callgate check --policy ", o->policies.items[0], "");
    }
    if (line->a.protect != NULL && access(line->a.protect, R_OK) != 0) {
        fault(d, line->mend, "the rules that came along with the hook are gone, so every call is denied: %s",
              line->a.protect);
        return NULL;
    }
    if (!add_hook_sources(line, host)) {
        fault(d, line->mend, "the policy cannot be named");
        return NULL;
    }
    return load_policy(d, o, mend, first);
}

static void say_nothing(const char *line)
{
    (void)line;
}

/* A hook opens it only for a call that needs people. */
static void check_approvals(struct doctor *d, const struct options *o)
{
    struct buf error;
    char path[MEND_SIZE], mend[MEND_SIZE];
    buf_init(&error, 1u << 16);
    snprintf(path, sizeof(path), "%s/approvals.db", o->state_dir);
    write_command(mend, "chmod 600 ", path, "; move it away if it is damaged");
    struct people *people = people_open(o->state_dir, &error);
    if (people != NULL) {
        good(d, "journal and approvals can be written: %s", o->state_dir);
    } else {
        fault(d, mend, "approvals cannot be kept, so every call that needs people is denied: %.*s",
              SLICE_FMT(buf_slice_of(&error)));
    }
    people_close(people);
    buf_finish(&error);
}

/* Opens what a hook does, and writes an event. */
static void check_state(struct doctor *d, const struct options *o)
{
    struct gate_options options = {
        .surface = "doctor",
        .sources = &o->sources,
        .state_dir = o->state_dir,
        .base = o->base,
        .brief = true,
        .say = say_nothing,
    };
    struct event event = {.kind = "doctor.check", .detail = SLICE("{}")};
    struct buf error;
    char mend[MEND_SIZE];
    bool written = false;
    buf_init(&error, 1u << 20);
    write_command(mend, "chmod 700 ", o->state_dir, "; it must be yours, on a disk with room");
    struct gate *gate = gate_open(&options, &error);
    if (gate != NULL) {
        gate_note(gate, &event);
        written = gate_commit(gate);
    }
    if (written) {
        check_approvals(d, o);
    } else {
        fault(d, mend, "the journal cannot be written, so every call is denied: %.*s",
              SLICE_FMT(buf_slice_of(&error)));
    }
    gate_close(gate);
    buf_finish(&error);
}

/* ---- Probes ---- */

static struct slice cut(const struct buf *buf)
{
    return (struct slice){buf->ptr != NULL ? buf->ptr : "", buf->len < 400 ? buf->len : 400};
}

static bool is_as_wanted(const struct hook_probe *probe, const struct ran *ran)
{
    return ran->in_time && ran->code == probe->code && slice_is(buf_slice_of(&ran->out), probe->out) &&
           (probe->errors == NULL || slice_is(buf_slice_of(&ran->errors), probe->errors));
}

static void run_probe(struct doctor *d, const struct hook_installed *hook, const struct line *line,
                      const struct hook_probe *probe, const char *verdict)
{
    struct ran ran;
    struct slice what = buf_slice_of(&probe->what);
    const char *event = hook->event->name;
    char dir[4096];
    snprintf(dir, sizeof(dir), "%.*s", SLICE_FMT(d->options.base.cwd));
    if (!run_once(hook->words, hook->line, dir, buf_slice_of(&probe->message), PROBE_MS, &ran)) {
        fault(d, line->mend, "%s: the hook cannot be run: %s", event, strerror(errno));
        return;
    }
    if (is_as_wanted(probe, &ran)) {
        good(d, "%s: %.*s is %s, byte for byte", event, SLICE_FMT(what), verdict);
    } else if (!ran.in_time) {
        fault(d, line->mend, "%s: %.*s has no answer within %u s", event, SLICE_FMT(what), PROBE_MS / 1000);
    } else {
        fault(d, line->mend,
              "%s: %.*s is not %s: wanted exit %d and '%s', got exit %d and '%.*s', errors '%.*s'", event,
              SLICE_FMT(what), verdict, probe->code, probe->out, ran.code, SLICE_FMT(cut(&ran.out)),
              SLICE_FMT(cut(&ran.errors)));
    }
    ran_finish(&ran);
}

static void try_hook(struct doctor *d, const struct hook_place *place, const struct hook_installed *hook,
                     const struct line *line)
{
    static const struct {
        enum hook_probe_kind kind;
        const char *verdict, *none;
    } tries[] = {
        {HOOK_PROBE_BROKEN, "denied", "no memory"},
        {HOOK_PROBE_DENY, "denied", "no call was found that this policy denies: none was tried"},
        {HOOK_PROBE_ALLOW, "let through", "no call was found that this policy lets through: none was tried"},
    };
    struct path_base base = line->options.base;
    base.cwd = d->options.base.cwd;
    struct hook_probe_options options = {
        .host = place->host,
        .event = hook->event,
        .policy = line->policy,
        .base = &base,
        .grant = line->a.grant,
    };
    bool known = line->policy != NULL && hook_probe_knows(place->host, hook->event);
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        struct hook_probe probe;
        if (tries[i].kind != HOOK_PROBE_BROKEN && !known) {
            continue;
        }
        if (hook_probe_make(&options, tries[i].kind, &probe)) {
            run_probe(d, hook, line, &probe, tries[i].verdict);
        } else {
            note(d, "%s: %s", hook->event->name, tries[i].none);
        }
        hook_probe_finish(&probe);
    }
}

/* ---- What stands in the settings ---- */

static bool is_same_file(const char *path, const struct stat *st)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Whether a file is this program, or the one that `hook install` names; appends the path of that, and a NUL.
 */
static bool is_own_program(const struct stat *st, struct buf *ret_path)
{
    buf_text(ret_path, "/proc/self/exe");
    buf_byte(ret_path, '\0');
    if (buf_ok(ret_path) && is_same_file(ret_path->ptr, st)) {
        return true;
    }
    buf_reset(ret_path);
    return hook_program_path(ret_path) && is_same_file(ret_path->ptr, st);
}

/* A project's hook, as the words that run our own program, whatever its path leads to by then. NULL when its
 * settings name another. */
static char **own_words(struct arena *arena, const struct hook_installed *hook)
{
    struct stat st;
    struct buf path;
    buf_init(&path, 1u << 16);
    char **words = arena_array(arena, hook->word_count + 1, sizeof(*words));
    bool own = words != NULL && hook->words[0][0] == '/' && stat(hook->words[0], &st) == 0 &&
               is_own_program(&st, &path);
    if (own) {
        memcpy(words, hook->words, hook->word_count * sizeof(*words));
        words[0] = (char *)arena_copy(arena, slice_of(path.ptr)).ptr;
    }
    buf_finish(&path);
    return own && words[0] != NULL ? words : NULL;
}

/* Whether it is safe to run here, and what to run then. A person who asks what is wrong with a hook must not
 * run what an agent put into a project's settings, nor what a shell would make of more than a command. */
static bool may_run(struct doctor *d, const struct hook_place *place, struct hook_installed *hook,
                    const struct line *line, struct arena *arena)
{
    const char *event = hook->event->name;
    if (!hook->plain) {
        fault(d, line->mend, "%s: more than a command and its arguments stands there: it was not run", event);
        return false;
    }
    if (place->scope != HOOK_SCOPE_PROJECT && place->settings == NULL) {
        return true;
    }
    char **words = own_words(arena, hook);
    if (words == NULL) {
        fault(d, line->mend, "%s: a project's settings name another program than this one: it was not run",
              event);
        return false;
    }
    hook->words = words;
    hook->line = NULL;
    return true;
}

/* Whether it can be run at all. */
static bool check_program(struct doctor *d, const struct hook_installed *hook, const struct line *line)
{
    const char *program = hook->words[0];
    struct stat st;
    char mend[MEND_SIZE];
    write_command(mend, "chmod go-w ", program, "");
    if (program[0] != '/') {
        fault(d, line->mend, "%s: '%s' is looked for where the environment says: name it by its path",
              hook->event->name, program);
        return true;
    }
    if (stat(program, &st) != 0) {
        fault(d, line->mend, "%s: %s is not there: %s", hook->event->name, program, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || access(program, X_OK) != 0) {
        fault(d, line->mend, "%s: %s is no program that can be run", hook->event->name, program);
        return false;
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        fault(d, mend, "%s: %s can be written by group or others", hook->event->name, program);
    }
    return true;
}

static void check_switches(struct doctor *d, const struct hook_place *place,
                           const struct hook_installed *hook, const struct line *line)
{
    const struct hook_shape *shape = place->host->shape;
    const char *event = hook->event->name;
    int64_t seconds = 0, deadline = place->host->deadline_ms;
    if (line->a.deadline != NULL && option_number(line->a.deadline, 1, 86400, &seconds)) {
        deadline = seconds * 1000;
    }
    if (shape->fail_closed != NULL && !hook->fail_closed) {
        fault(d, line->mend, "%s: '%s' is not %s: when the hook cannot run, the call does", event,
              shape->fail_closed, shape->fail_closed_value);
    }
    if (!hook->every_tool) {
        fault(d, line->mend, "%s: a matcher leaves tools out: their calls are not judged", event);
    }
    if (hook->timeout_ms > 0 && hook->timeout_ms <= deadline) {
        fault(d, line->mend, "%s: the host lets the call run after %lld ms, the hook gives up after %lld ms",
              event, (long long)hook->timeout_ms, (long long)deadline);
    }
}

static void check_hook(struct doctor *d, const struct hook_place *place, const struct hook_installed *hook,
                       bool first)
{
    struct line line = {0};
    struct hook_installed tried = *hook;
    struct arena arena;
    arena_init(&arena, 1u << 20);
    bool read = read_line(&line, &arena, hook);
    write_mend(line.mend, place, hook);
    bool can_run = check_program(d, hook, &line) && may_run(d, place, &tried, &line, &arena);
    if (read) {
        check_switches(d, place, hook, &line);
        line.policy = load_hook_policy(d, &line, place->host, first);
        if (line.policy != NULL && first) {
            check_state(d, &line.options);
        }
    } else {
        fault(d, line.mend, "%s: the installed command line has wrong arguments", hook->event->name);
    }
    if (read && can_run) {
        try_hook(d, place, &tried, &line);
    }
    if (read) {
        finish_line(&line);
    } else {
        free(line.a.except.items);
    }
    arena_finish(&arena);
}

static void check_events(struct doctor *d, const struct hook_place *place, const struct hook_installed *list,
                         size_t count)
{
    const struct hook_host *host = place->host;
    char mend[MEND_SIZE];
    write_mend(mend, place, &list[0]);
    for (size_t i = 0; i < host->event_count && !host->shape->plugin; i++) {
        size_t there = 0;
        for (size_t j = 0; j < count; j++) {
            there += list[j].event == &host->events[i];
        }
        if (there == 0) {
            fault(d, mend, "there is no hook for %s", host->events[i].name);
        }
    }
    if (host->shape->fail_closed == NULL && !host->shape->plugin) {
        note(d, "this host has no switch that turns a hook that failed into a deny");
    }
    if (host->shape->note != NULL) {
        note(d, "%s", host->shape->note);
    }
}

/* ---- Places ---- */

static bool wants_scope(const struct doctor *d, enum hook_scope scope)
{
    const bool wanted[] = {d->user, d->project, d->managed};
    return wanted[scope] || !(d->user || d->project || d->managed);
}

/* The number of hooks in a place; they are checked. */
static size_t check_place(struct doctor *d, const struct hook_place *place, const char *path)
{
    struct hook_installed *list = NULL;
    struct arena arena;
    struct buf error;
    size_t count = 0;
    arena_init(&arena, 64u << 20);
    buf_init(&error, 1u << 16);
    snprintf(d->place, sizeof(d->place), "%s, %s: ", place->host->name, scope_names[place->scope]);
    if (!hook_installed_find(place, &arena, &list, &count, &error)) {
        fault(d, "mend the settings by hand", "%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (count > 0) {
        good(d, "%zu hook(s) in %s", count, path);
        check_events(d, place, list, count);
        for (size_t i = 0; i < count; i++) {
            check_hook(d, place, &list[i], i == 0);
        }
    }
    d->place[0] = '\0';
    buf_finish(&error);
    arena_finish(&arena);
    return count;
}

static size_t check_host(struct doctor *d, const struct hook_host *host, struct buf *looked)
{
    struct buf path, before;
    size_t found = 0;
    buf_init(&path, 1u << 16);
    buf_init(&before, 1u << 16);
    for (enum hook_scope scope = HOOK_SCOPE_USER; scope <= HOOK_SCOPE_MANAGED; scope++) {
        struct hook_place place = {
            .host = host,
            .scope = scope,
            .settings = d->settings,
            .home = d->options.base.home,
            .project = d->options.base.cwd,
        };
        buf_reset(&path);
        /* A project in the home directory has the user's settings, and a named file is one file. */
        if (!wants_scope(d, scope) || !hook_place_path(&place, &path) ||
            slice_eq(buf_slice_of(&path), buf_slice_of(&before))) {
            continue;
        }
        buf_printf(looked, "%s%s", looked->len ? ", " : "", path.ptr);
        found += check_place(d, &place, path.ptr);
        buf_reset(&before);
        buf_slice(&before, buf_slice_of(&path));
    }
    buf_finish(&path);
    buf_finish(&before);
    return found;
}

static void check_without_hook(struct doctor *d)
{
    struct options *o = &d->options;
    if (!options_surface_places(&command_doctor, o)) {
        fault(d, "write one of the files named above, or name one with --policy FILE", "there is no policy");
        return;
    }
    struct policy *policy = load_policy(d, o, "callgate check, with the same --policy", true);
    if (policy != NULL) {
        check_state(d, o);
    }
    policy_destroy(policy);
}

static int doctor(struct doctor *d, const struct hook_host *only)
{
    struct buf looked;
    char mend[256];
    size_t found = 0;
    buf_init(&looked, 1u << 16);
    for (size_t i = 0; i < hook_host_count; i++) {
        size_t here = only == NULL || only == hook_hosts[i] ? check_host(d, hook_hosts[i], &looked) : 0;
        if (here) {
            warn_of_host_version(hook_hosts[i]);
        }
        found += here;
    }
    snprintf(mend, sizeof(mend), "callgate hook install %s --policy FILE",
             only != NULL ? only->name : "HOST");
    if (found == 0) {
        fault(d, mend, "no hook of callgate's is installed; looked at %.*s",
              SLICE_FMT(buf_slice_of(&looked)));
        check_without_hook(d);
    }
    buf_finish(&looked);
    printf("%u fault(s)\n", d->faults);
    if (fflush(stdout) != 0) {
        return EXIT_UNABLE;
    }
    return d->faults ? EXIT_NO : EXIT_YES;
}

static int run(int argc, char **argv)
{
    struct doctor d = {0};
    const struct option_spec own[] = {
        {"user", OPTION_FLAG, &d.user},
        {"project", OPTION_FLAG, &d.project},
        {"managed", OPTION_FLAG, &d.managed},
        {"settings", OPTION_VALUE, &d.settings},
    };
    int code = options_read(&d.options, &command_doctor, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            own, sizeof(own) / sizeof(*own));
    if (code != -1) {
        return code;
    }
    const struct hook_host *host = d.options.argc == 1 ? hook_host_find(d.options.argv[0]) : NULL;
    if (d.options.argc > 1 || (d.options.argc == 1 && host == NULL)) {
        code = usage_error(&command_doctor, "name one host: claude-code, gemini, codex, cursor or opencode");
    } else if (d.settings != NULL && host == NULL) {
        code = usage_error(&command_doctor, "--settings is of one host: name it");
    } else {
        code = doctor(&d, host);
    }
    options_finish(&d.options);
    return code;
}

const struct command command_doctor = {"doctor", "prove that a deny comes through", usage, run};
