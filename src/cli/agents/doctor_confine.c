/* `doctor --confine`: is what a confinement promises true here? The same tries are made twice, outside and inside. Those
 * outside show that a try can succeed at all; the ones inside must not. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agents/doctor_bystander.h"
#include "cli/agents/doctor_internal.h"
#include "cli/agents/subprocess.h"
#include "cli/commands.h"
#include "cli/libexec.h"
#include "confine/probe.h"
#include "gate/state.h"

#define LIMIT_MS   60000u
#define INPUT_MOST ((size_t)64 << 20)
/* A variable that names a socket outside, as SSH_AUTH_SOCK and the like do. */
#define SOCKET_NAME "CALLGATE_DOCTOR_SOCKET"

/* The ways in which something confined could read what is denied, or answer for a person. */
enum way {
    WAY_FILES,
    WAY_STATE,
    WAY_COMMAND,
    WAY_STORE,
    WAY_SOCKET,
    WAY_SIGNAL,
    WAY_PTRACE,
    WAY_TERMINAL,
    WAY_JOURNAL,
    WAY_POLICY,
    WAY_PATH,
    WAY_ENVIRONMENT,
    WAY_NETWORK,
    WAYS
};

static const struct {
    const char *name, *mend;
} ways[WAYS] = {
    [WAY_FILES] = {"denied files",
                   "callgate confine --print shows the view; leave that place out of --write"},
    [WAY_STATE] = {"state directory", "leave the state directory out of --write"},
    [WAY_COMMAND] = {"command line", "leave the state directory out of --write"},
    [WAY_STORE] = {"store", "leave the state directory out of --write"},
    [WAY_SOCKET] = {"socket", "install the whole package again"},
    [WAY_SIGNAL] = {"signal", "install the whole package again"},
    [WAY_PTRACE] = {"ptrace", "install the whole package again"},
    [WAY_TERMINAL] = {"terminal", "install the whole package again"},
    [WAY_JOURNAL] = {"journal", "leave the state directory out of --write"},
    [WAY_POLICY] = {"policy", "keep the policy outside of what can be written inside"},
    [WAY_PATH] =
        {"PATH",
         "leave that directory out of --write, or out of PATH: a person would start what is put there"},
    [WAY_ENVIRONMENT] = {"environment", "start it without the variable that names that socket"},
    [WAY_NETWORK] = {"network", "install the whole package again"},
};

struct attempt {
    enum way way;
    const char *task;
    bool said, reached, reached_outside;
    char seen[256];
};

struct proof {
    struct doctor *d;
    struct confine_options own;
    struct view view;
    struct bystander bystander;
    struct attempt *list;
    size_t count, cap;
    struct buf input; /* for the probe: TASK NUL ARGUMENT NUL */
};

static void add(struct proof *p, enum way way, const char *task, const char *argument)
{
    if (p->count == p->cap) {
        size_t cap = p->cap > 0 ? p->cap * 2 : 64;
        struct attempt *list = realloc(p->list, cap * sizeof(*list));
        if (list == NULL) {
            p->input.failed = true;
            return;
        }
        p->list = list;
        p->cap = cap;
    }
    p->list[p->count++] = (struct attempt){.way = way, .task = task};
    buf_bytes(&p->input, task, strlen(task) + 1);
    buf_bytes(&p->input, argument, strlen(argument) + 1);
}

static void add_format(struct proof *p, enum way way, const char *task, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add_format(struct proof *p, enum way way, const char *task, const char *format, ...)
{
    char text[2 * PATH_MAX + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add(p, way, task, text);
}

/* ---- What is tried ---- */

static void add_place(struct proof *p, enum way way, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0) {
        add_format(p, S_ISSOCK(st.st_mode) ? WAY_SOCKET : way, PROBE_PLACE, "%ju:%ju:%s",
                   (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, path);
    }
}

static void add_hidden(struct proof *p)
{
    struct slice state = slice_of(p->d->options.state_dir);
    for (size_t i = 0; i < p->view.count; i++) {
        const struct view_place *place = &p->view.list[i];
        if (place->kind == VIEW_HIDDEN) {
            add_place(p, path_is_under(place->path, state) ? WAY_STATE : WAY_FILES, place->path.ptr);
        }
    }
}

static void add_files(struct proof *p, const char *program)
{
    const struct options *o = &p->d->options;
    char real[PATH_MAX];
    add_format(p, WAY_STORE, PROBE_WRITE, "%s/%s", o->state_dir, STATE_APPROVALS);
    add_format(p, WAY_JOURNAL, PROBE_WRITE, "%s/%s", o->state_dir, STATE_JOURNAL);
    for (size_t i = 0; i < o->sources.count; i++) {
        const struct source_file *file = &o->sources.files[i];
        if (file->text == NULL && !(file->at_tier && file->tier == TIER_WORKSPACE) &&
            realpath(file->path, real) != NULL) {
            add(p, WAY_POLICY, PROBE_WRITE, real);
        }
    }
    add(p, WAY_PATH, PROBE_PATH, "");
    add(p, WAY_PATH, PROBE_WRITE, program);
}

static void add_commands(struct proof *p, const char *program)
{
    const struct options *o = &p->d->options;
    add_format(p, WAY_COMMAND, PROBE_COMMAND, "\t%s\tpending\t--state\t%s", program, o->state_dir);
    add_format(p, WAY_ENVIRONMENT, PROBE_ENVIRONMENT, "\t%.*s\t%s\t%s\tjournal\thead",
               SLICE_FMT(o->base.home), o->state_dir, program);
}

static void add_doors(struct proof *p)
{
    const struct bystander *w = &p->bystander;
    if (w->socket[0] != '\0') {
        add(p, WAY_SOCKET, PROBE_CONNECT, w->socket);
        (void)setenv(SOCKET_NAME, w->socket, 1); /* for what is inside to try: nothing reads it by its name */
    }
    if (p->own.gate != NULL) {
        add_format(p, WAY_SOCKET, PROBE_CONNECT, "%s.approve", p->own.gate);
    }
    add_format(p, WAY_SIGNAL, PROBE_SIGNAL, "%d", (int)w->victim);
    add_format(p, WAY_PTRACE, PROBE_PTRACE, "%d", (int)w->victim);
    add(p, WAY_TERMINAL, PROBE_TERMINAL, w->terminal);
    add(p, WAY_TERMINAL, PROBE_TYPING, "");
    add(p, WAY_ENVIRONMENT, PROBE_NAMED_SOCKETS, p->own.gate != NULL ? p->own.gate : "");
    if (p->own.private_network || p->own.proxied_network) {
        add(p, WAY_NETWORK, PROBE_NETWORK, "");
    }
}

/* ---- What came of it ---- */

/* "NUMBER reached|held WHAT-WAS-SEEN". What is no such line was said by something else, and counts for nothing. */
static void read_line(struct proof *p, const char *line, bool outside)
{
    char *rest = NULL;
    size_t number = (size_t)strtoul(line, &rest, 10);
    bool reached = rest != line && strncmp(rest, " reached ", 9) == 0;
    if (rest == line || number >= p->count || (!reached && strncmp(rest, " held ", 6) != 0)) {
        return;
    }
    struct attempt *a = &p->list[number];
    if (outside) {
        a->reached_outside = reached;
        return;
    }
    a->said = true;
    a->reached = reached;
    snprintf(a->seen, sizeof(a->seen), "%s", rest + (reached ? 9 : 6));
}

/* What stands outside tells by itself; its word counts beside the probe's. */
static void take_bystander(struct proof *p, bool outside)
{
    struct bystander_saw saw = bystander_look(&p->bystander);
    for (size_t i = 0; i < p->count; i++) {
        struct attempt *a = &p->list[i];
        bool reached = (strcmp(a->task, PROBE_SIGNAL) == 0 && saw.signal) ||
                       (strcmp(a->task, PROBE_TERMINAL) == 0 && saw.terminal) ||
                       (strcmp(a->task, PROBE_CONNECT) == 0 && saw.socket && a->way == WAY_SOCKET);
        *(outside ? &a->reached_outside : &a->reached) |= reached;
    }
}

static bool run_probe(struct proof *p, char *const *words, bool outside)
{
    struct subprocess ran;
    char dir[PATH_MAX], *rest = NULL;
    snprintf(dir, sizeof(dir), "%.*s", SLICE_FMT(p->d->options.base.cwd));
    if (!subprocess_run(words, NULL, dir, buf_slice_of(&p->input), LIMIT_MS, &ran)) {
        doctor_fault(p->d, "install the whole package again", "%s cannot be started: %s", words[0],
                     strerror(errno));
        return false;
    }
    buf_byte(&ran.out, '\0');
    for (char *line = buf_ok(&ran.out) ? strtok_r(ran.out.ptr, "\n", &rest) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        read_line(p, line, outside);
    }
    take_bystander(p, outside);
    bool ok = ran.in_time && ran.code == 0;
    if (!ok) {
        struct slice said = buf_slice_of(&ran.errors);
        said.len = said.len < 1000 ? said.len : 1000;
        doctor_fault(p->d, "what the message says; docs/confinement.md",
                     "no program runs %s: exit %d%s: %.*s", outside ? "here" : "confined", ran.code,
                     ran.in_time ? "" : ", not in time", SLICE_FMT(said));
    }
    subprocess_finish(&ran);
    return ok;
}

static void tell_way(struct proof *p, enum way way)
{
    size_t held = 0, outside = 0, tried = 0;
    const char *seen = "";
    for (size_t i = 0; i < p->count; i++) {
        const struct attempt *a = &p->list[i];
        if (a->way != way) {
            continue;
        }
        tried++;
        outside += a->reached_outside;
        if (!a->said && !a->reached) {
            doctor_fault(p->d, "install the whole package again", "%s: was not tried", ways[way].name);
        } else if (a->reached) {
            doctor_fault(p->d, ways[way].mend, "%s: WITHIN REACH: %s", ways[way].name, a->seen);
        } else {
            held++;
            seen = a->seen;
        }
    }
    if (tried == 0) {
        if (way == WAY_FILES) {
            doctor_note(p->d, "%s: the policy denies no place that is there", ways[way].name);
        }
    } else if (held == tried && outside == 0) {
        doctor_note(p->d, "%s: out of reach, but outside as well, so that this proves nothing (%s)",
                    ways[way].name, seen);
    } else if (held == tried) {
        doctor_good(p->d, "%s: out of reach, %zu tried (%s)", ways[way].name, tried, seen);
    }
}

/* ---- The whole ---- */

static void try_all(struct proof *p, char **words, const char *probe, const char *program)
{
    char *const alone[] = {(char *)probe, NULL};
    if (!bystander_start(&p->bystander, probe, p->d->options.state_dir)) {
        doctor_fault(p->d, "install the whole package again", "nothing can be put outside to be reached: %s",
                     strerror(errno));
    } else {
        add_hidden(p);
        add_files(p, program);
        add_commands(p, program);
        add_doors(p);
        if (!buf_ok(&p->input)) {
            doctor_fault(p->d, "free some memory", "no memory");
        } else if (run_probe(p, alone, true) && run_probe(p, words, false)) {
            for (enum way way = 0; way < WAYS; way++) {
                tell_way(p, way);
            }
        }
    }
    bystander_finish(&p->bystander);
}

int doctor_confinement(struct doctor *d, const struct confine_options *own)
{
    struct proof p = {.d = d, .own = *own};
    struct buf probe;
    char program[PATH_MAX], *command[2] = {NULL, NULL}, **words = NULL;
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    snprintf(d->place, sizeof(d->place), "confinement: ");
    buf_init(&probe, PATH_MAX);
    buf_init(&p.input, INPUT_MOST);
    libexec_path("callgate-confine-probe", &probe);
    d->options.argc = 1;
    d->options.argv = command;
    command[0] = buf_ok(&probe) ? probe.ptr : program;
    if (options_surface_places(&command_doctor, &d->options) &&
        (p.own.gate == NULL || confine_find_broker(&d->options, &p.own))) {
        doctor_check_state(d, &d->options);
        words = confine_words(&d->options, &p.own, &p.view);
    }
    if (words != NULL) {
        try_all(&p, words, command[0], program);
        view_finish(&p.view);
    }
    d->options.argc = 0;
    buf_finish(&probe);
    buf_finish(&p.input);
    free(p.list);
    d->place[0] = '\0';
    return words == NULL ? EXIT_UNABLE : EXIT_YES;
}
