/* One installed hook: its program, its switches, and what it answers to probes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "broker/broker.h"
#include "cli/agents/doctor_internal.h"
#include "cli/agents/subprocess.h"
#include "cli/commands.h"

#define PROBE_MS 20000u /* more than a hook takes to give up by itself */

/* ---- Probes ---- */

static struct slice cut(const struct buf *buf)
{
    return (struct slice){buf->ptr != NULL ? buf->ptr : "", buf->len < 400 ? buf->len : 400};
}

static bool is_as_wanted(const struct probe *probe, const struct subprocess *ran)
{
    return ran->in_time && ran->code == probe->code &&
           slice_eq(buf_slice_of(&ran->out), buf_slice_of(&probe->out)) &&
           (probe->says_why || slice_eq(buf_slice_of(&ran->errors), buf_slice_of(&probe->errors)));
}

static void run_probe(struct doctor *d, const struct installed_hook *hook, const struct doctor_line *line,
                      const struct probe *probe, const char *verdict)
{
    struct subprocess ran;
    struct slice what = buf_slice_of(&probe->what);
    const char *event = hook->event->name;
    char dir[4096];
    snprintf(dir, sizeof(dir), "%.*s", SLICE_FMT(d->options.base.cwd));
    if (!subprocess_run(hook->words, hook->line, dir, buf_slice_of(&probe->message), PROBE_MS, &ran)) {
        doctor_fault(d, line->mend, "%s: the hook cannot be run: %s", event, strerror(errno));
        return;
    }
    if (is_as_wanted(probe, &ran)) {
        doctor_good(d, "%s: %.*s is %s, byte for byte", event, SLICE_FMT(what), verdict);
    } else if (!ran.in_time) {
        doctor_fault(d, line->mend, "%s: %.*s has no answer within %u s", event, SLICE_FMT(what),
                     PROBE_MS / 1000);
    } else {
        doctor_fault(d, line->mend,
                     "%s: %.*s is not %s: wanted exit %d and '%.*s', got exit %d and '%.*s', errors '%.*s'",
                     event, SLICE_FMT(what), verdict, probe->code, SLICE_FMT(cut(&probe->out)), ran.code,
                     SLICE_FMT(cut(&ran.out)), SLICE_FMT(cut(&ran.errors)));
    }
    subprocess_finish(&ran);
}

void doctor_try_hook(struct doctor *d, const struct install_place *place, const struct installed_hook *hook,
                     const struct doctor_line *line)
{
    static const struct {
        enum probe_kind kind;
        const char *verdict, *none;
    } tries[] = {
        {PROBE_BROKEN, "denied", "no memory"},
        {PROBE_DENY, "denied", "no call was found that this policy denies: none was tried"},
        {PROBE_ALLOW, "let through", "no call was found that this policy lets through: none was tried"},
    };
    struct path_base base = line->options.base;
    base.cwd = d->options.base.cwd;
    struct probe_options options = {
        .host = place->host,
        .event = hook->event,
        .policy = line->policy,
        .base = &base,
        .grant = line->a.grant,
    };
    bool known = line->policy != NULL && probe_knows(place->host, hook->event);
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        struct probe probe;
        if (tries[i].kind != PROBE_BROKEN && !known) {
            continue;
        }
        if (tries[i].kind == PROBE_DENY && doctor_line_observes(line)) {
            continue; /* it was told already that nothing is denied */
        }
        if (probe_make(&options, tries[i].kind, &probe)) {
            run_probe(d, hook, line, &probe, tries[i].verdict);
        } else {
            doctor_note(d, "%s: %s", hook->event->name, tries[i].none);
        }
        probe_finish(&probe);
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
    return install_program_path(ret_path) && is_same_file(ret_path->ptr, st);
}

/* A project's hook, as the words that run our own program, whatever its path leads to by then. NULL when its
 * settings name another. */
static char **own_words(struct arena *arena, const struct installed_hook *hook)
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
static bool may_run(struct doctor *d, const struct install_place *place, struct installed_hook *hook,
                    const struct doctor_line *line, struct arena *arena)
{
    const char *event = hook->event->name;
    if (!hook->plain) {
        doctor_fault(d, line->mend, "%s: more than a command and its arguments stands there: it was not run",
                     event);
        return false;
    }
    if (place->scope != INSTALL_SCOPE_PROJECT && place->settings == NULL) {
        return true;
    }
    char **words = own_words(arena, hook);
    if (words == NULL) {
        doctor_fault(d, line->mend,
                     "%s: a project's settings name another program than this one: it was not run", event);
        return false;
    }
    hook->words = words;
    hook->line = NULL;
    return true;
}

/* Whether it can be run at all. */
static bool check_program(struct doctor *d, const struct installed_hook *hook, const struct doctor_line *line)
{
    const char *program = hook->words[0];
    struct stat st;
    char mend[MEND_SIZE];
    doctor_write_command(mend, "chmod go-w ", program, "");
    if (program[0] != '/') {
        doctor_fault(d, line->mend, "%s: '%s' is looked for where the environment says: name it by its path",
                     hook->event->name, program);
        return true;
    }
    if (stat(program, &st) != 0) {
        doctor_fault(d, line->mend, "%s: %s is not there: %s", hook->event->name, program, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || access(program, X_OK) != 0) {
        doctor_fault(d, line->mend, "%s: %s is no program that can be run", hook->event->name, program);
        return false;
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        doctor_fault(d, mend, "%s: %s can be written by group or others", hook->event->name, program);
    }
    return true;
}

static void check_switches(struct doctor *d, const struct install_place *place,
                           const struct installed_hook *hook, const struct doctor_line *line)
{
    const struct host_settings *shape = place->host->shape;
    const char *event = hook->event->name;
    int64_t seconds = 0, deadline = place->host->deadline_ms;
    if (line->a.deadline != NULL && option_number(line->a.deadline, 1, 86400, &seconds)) {
        deadline = seconds * 1000;
    }
    if (shape->fail_closed != NULL && !hook->fail_closed) {
        doctor_fault(d, line->mend, "%s: '%s' is not %s: when the hook cannot run, the call does", event,
                     shape->fail_closed, shape->fail_closed_value);
    }
    if (!hook->every_tool) {
        doctor_fault(d, line->mend, "%s: a matcher leaves tools out: their calls are not judged", event);
    }
    if (hook->timeout_ms > 0 && hook->timeout_ms <= deadline) {
        doctor_fault(d, line->mend,
                     "%s: the host lets the call run after %lld ms, the hook gives up after %lld ms", event,
                     (long long)hook->timeout_ms, (long long)deadline);
    }
}

/* A hook that asks a broker: is it there, and of this release? One that is not is started by the next hook. */
static void check_broker(struct doctor *d, const char *socket)
{
    struct buf error, status;
    buf_init_message(&error, 64u << 10);
    buf_init(&status, 1u << 20);
    if (broker_answers(socket, &error)) {
        doctor_good(d, "the broker at %s answers", socket);
    } else {
        doctor_fault(d, "callgate serve, or systemctl --user start callgate.socket", "%.*s",
                     SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    buf_finish(&status);
}

void doctor_check_hook(struct doctor *d, const struct install_place *place, const struct installed_hook *hook,
                       bool first)
{
    struct doctor_line line = {0};
    struct installed_hook tried = *hook;
    struct arena arena;
    arena_init(&arena, 1u << 20);
    bool read = doctor_read_line(&line, &arena, hook);
    doctor_write_mend(line.mend, place, hook);
    bool can_run = check_program(d, hook, &line) && may_run(d, place, &tried, &line, &arena);
    if (read) {
        check_switches(d, place, hook, &line);
        if (line.a.gate != NULL && first) {
            check_broker(d, line.a.gate);
        }
        if (line.a.gate == NULL) {
            line.policy = doctor_load_hook_policy(d, &line, place->host, first);
        } else if (first) {
            doctor_note(d, "which policy decides is the broker's: 'callgate status' shows it");
        }
        if (doctor_line_observes(&line)) {
            doctor_fault(d, "callgate enforce", "%s: OBSERVING: this hook denies and holds nothing",
                         hook->event->name);
        } else if (line.a.observe) {
            doctor_note(d, "%s: --observe is forbidden by the policy (allowObserve)", hook->event->name);
        }
        if (line.policy != NULL && first) {
            doctor_check_state(d, &line.options);
        }
    } else {
        doctor_fault(d, line.mend, "%s: the installed command line has wrong arguments", hook->event->name);
    }
    if (read && can_run) {
        doctor_try_hook(d, place, &tried, &line);
    }
    if (read && first) {
        doctor_check_steering(d, place, &line);
    }
    if (read) {
        doctor_finish_line(&line);
    } else {
        free(line.a.except.items);
    }
    arena_finish(&arena);
}

void doctor_check_events(struct doctor *d, const struct install_place *place,
                         const struct installed_hook *list, size_t count)
{
    const struct host *host = place->host;
    char mend[MEND_SIZE];
    doctor_write_mend(mend, place, &list[0]);
    for (size_t i = 0; i < host->event_count && !host->shape->plugin; i++) {
        size_t there = 0;
        for (size_t j = 0; j < count; j++) {
            there += list[j].event == &host->events[i];
        }
        if (there == 0) {
            doctor_fault(d, mend, "there is no hook for %s", host->events[i].name);
        }
    }
    if (host->shape->fail_closed == NULL && !host->shape->plugin) {
        doctor_note(d, "this host has no switch that turns a hook that failed into a deny");
    }
    if (host->shape->note != NULL) {
        doctor_note(d, "%s", host->shape->note);
    }
}
