/* One run of a hook: a message in, the host's answer out. */
#include "host/host.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "broker/broker.h"
#include "host/emergency.h"
#include "host/internal.h"
#include "host/passed_on_internal.h"

/* All that we do without people is done within this, or denied. */
#define MACHINE_MS 10000u

/* We give up this long before the deadline, so that what became of the call is journalled. */
#define MARGIN_MS 250u

/* How often a held call looks for what people said. */
#define LOOK_MS 50u

const struct host *const hosts[] = {
    &host_claude_code, &host_gemini, &host_codex, &host_cursor, &host_opencode,
};
const size_t host_count = sizeof(hosts) / sizeof(*hosts);

const struct host *host_find(const char *name)
{
    for (size_t i = 0; i < host_count; i++) {
        if (strcmp(hosts[i]->name, name) == 0) {
            return hosts[i];
        }
    }
    return NULL;
}

const struct host_event *host_event_find(const struct host *host, struct slice name)
{
    for (size_t i = 0; i < host->event_count; i++) {
        if (slice_is(name, host->events[i].name)) {
            return &host->events[i];
        }
    }
    return NULL;
}

/* ---- Standard input ---- */

/* Reads to the end, however long it is: a host whose writing fails may take that for a hook that failed.
 * What is too long is read and forgotten; what never ends meets the deadline. */
static bool read_message(int fd, struct buf *text, bool *ret_over_limit)
{
    static char rest[64 << 10];
    *ret_over_limit = false;
    for (;;) {
        size_t size = sizeof(rest);
        char *room = *ret_over_limit ? rest : buf_room(text, &size);
        if (room == NULL) {
            return false;
        }
        ssize_t n = read(fd, room, size);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd readable = {.fd = fd, .events = POLLIN};
            (void)!poll(&readable, 1, -1);
            continue;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n == 0) {
            return true;
        }
        if (n > 0 && !*ret_over_limit) {
            buf_added(text, (size_t)n);
        }
        *ret_over_limit = *ret_over_limit || text->len > LIMIT_MESSAGE_BYTES;
    }
}

/* ---- The call ---- */

struct run {
    const struct host_hook_options *options;
    struct host_message message;
    struct gate *gate;
    struct call call;
    struct buf *reason; /* of a deny */
    struct slice text;  /* the message as it came; ptr NULL: more than is kept */
};

static void sleep_ms(uint32_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)!nanosleep(&pause, NULL);
}

/* The denial of a call that nobody answered, with the words of the rule that asked. */
static struct outcome not_in_time(struct run *run, const struct outcome *outcome)
{
    struct outcome denied = {.kind = OUTCOME_DENY, .denial = outcome->denial, .tell = outcome->tell};
    if (outcome->kind == OUTCOME_HELD) {
        struct slice tell = arena_copy(&run->message.arena, held_tell(&outcome->held));
        denied.denial = DENIAL_NOT_IN_TIME;
        denied.tell = tell.ptr != NULL ? tell : (struct slice){"", 0};
    }
    return denied;
}

/* Until when the hook waits for people, since its start: short of its deadline, so that the end is journalled. */
static uint32_t waits_until(const struct run *run)
{
    return run->options->deadline_ms > 2 * MARGIN_MS ? run->options->deadline_ms - MARGIN_MS : 0;
}

/* Waits until people have answered, or nearly until our deadline. What is not answered by then is denied, and the
 * request ends with it: nobody holds the call any more. */
static struct outcome wait_for_people(struct run *run, struct outcome outcome)
{
    uint32_t until = waits_until(run);
    while (outcome.kind == OUTCOME_HELD) {
        bool late = emergency_elapsed() >= until;
        struct held held = outcome.held;
        if (late || (gate_people_moved(run->gate) && gate_held_state(run->gate, &held) != REQUEST_WAITING)) {
            outcome = gate_judge(run->gate, &run->call, &held, (struct slice){0});
            if (!gate_commit(run->gate)) {
                outcome = (struct outcome){.kind = OUTCOME_DENY};
            } else if (late && outcome.kind != OUTCOME_ALLOW) {
                outcome = not_in_time(run, &outcome);
            }
            continue;
        }
        gate_tick(run->gate);
        sleep_ms(LOOK_MS);
    }
    return outcome;
}

/* Whether a call that people must approve goes before the host's user, and not before ours. */
static bool host_asks(const struct run *run, uint32_t needed)
{
    const struct host_event *event = run->message.event;
    if (needed != 1 || (event->ask == NULL && !event->dialog)) {
        return false; /* one user is one person; and some hosts do not heed the question */
    }
    switch (run->options->asking) {
    case HOST_ASKING_AUTO:
        return event->dialog || run->message.mode == HOST_MODE_ASKS;
    case HOST_ASKING_HOST:
        return event->dialog || run->message.mode != HOST_MODE_ASKS_NOBODY;
    case HOST_ASKING_CALLGATE:
        break;
    }
    return false;
}

static enum host_answer answer_to_allow(const struct run *run, const struct outcome *outcome)
{
    bool grant = run->options->grant && run->message.event->allow != NULL && run->message.name_count == 1 &&
                 outcome->authored_in_every_reading;
    return grant ? HOST_ALLOW : HOST_NONE;
}

/* Asks without holding first: only the door knows whether people must answer, and how many. */
static enum host_answer judge(struct run *run)
{
    bool may_ask = host_asks(run, 1);
    uint32_t until = waits_until(run), elapsed = (uint32_t)emergency_elapsed();
    run->call.waits_ms = until > elapsed ? until - elapsed : 0;
    struct outcome outcome = may_ask ? gate_judge_unheld(run->gate, &run->call)
                                     : gate_judge(run->gate, &run->call, NULL, (struct slice){0});
    if (outcome.kind == OUTCOME_HELD && may_ask && !host_asks(run, outcome.held.needed)) {
        outcome = gate_judge(run->gate, &run->call, NULL, (struct slice){0});
    }
    if (!gate_commit(run->gate)) {
        return HOST_DENY;
    }
    if (outcome.kind == OUTCOME_HELD && outcome.held.number == 0) {
        return run->message.event->ask != NULL ? HOST_ASK : HOST_NONE;
    }
    if (outcome.kind == OUTCOME_HELD) {
        emergency_deadline(run->options->deadline_ms);
        outcome = wait_for_people(run, outcome);
    }
    if (outcome.kind == OUTCOME_ALLOW) {
        return answer_to_allow(run, &outcome);
    }
    host_write_reason(run->reason, (enum denial)outcome.denial, outcome.tell);
    return HOST_DENY;
}

/* A message that cannot be read is denied and journalled like a call. */
static enum host_answer deny_unreadable(struct run *run)
{
    const struct host_message *message = &run->message;
    struct call_defaults defaults = {
        .channel = slice_of(run->options->host->name),
        .thread = message->session.ptr != NULL ? message->session : (struct slice){"", 0},
        .actor = ACTOR_CLAUDE_PROCESS,
    };
    struct slice tool = message->name_count ? message->names[0].tool : (struct slice){"", 0};
    uint32_t cause = message->over_limit      ? CAUSE_OVER_LIMIT
                     : message->fault != NULL ? CAUSE_MALFORMED
                                              : CAUSE_INTERNAL;
    struct slice phrase = message->fault != NULL ? slice_of(message->fault) : (struct slice){"", 0};
    struct came came = {.bytes = run->text};
    (void)gate_judge_unreadable(run->gate, cause, tool, phrase, &came, &defaults);
    (void)!gate_commit(run->gate);
    if (cause != CAUSE_INTERNAL) {
        host_write_reason(run->reason, DENIAL_UNREADABLE, (struct slice){"", 0});
    }
    return HOST_DENY;
}

/* ---- The run ---- */

static void say_lines(const struct host_hook_options *options, struct buf *text)
{
    buf_byte(text, '\0');
    for (char *line = text->ptr, *end; buf_ok(text) && line != NULL && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        bool last = *end == '\0';
        *end = '\0';
        options->say(line);
        if (last) {
            break;
        }
    }
}

static bool add_protection(struct run *run)
{
    struct slice text = {"", 0};
    if (!run->options->protect || run->message.cwd.ptr == NULL) {
        return true;
    }
    return host_project_protection(&run->message.arena, run->options->host, run->message.cwd, &text) &&
           sources_add_built_in(run->options->sources, "the project's steering files", text.ptr);
}

static struct gate *open_gate(struct run *run)
{
    const struct host_hook_options *options = run->options;
    char surface[64] = "hook ";
    struct gate_options gate_options = {
        .surface = surface,
        .sources = options->sources,
        .state_dir = options->state_dir,
        .base = options->base,
        .fsync = options->fsync,
        .journal_optional = options->journal_optional,
        .observe = options->observe,
        .brief = true,
        .tells_authored = options->grant,
        .say = options->say,
    };
    struct buf error;
    memcpy(surface + 5, options->host->name, strnlen(options->host->name, sizeof(surface) - 6));
    buf_init(&error, 1u << 20);
    struct gate *gate = NULL;
    if (options->broker != NULL) {
        const struct broker_client_options client = {
            .socket = options->broker,
            .starts = true,
            .state_dir = options->state_dir,
            .base = options->base,
            .project = options->protect ? run->message.cwd : (struct slice){0},
            .protect = options->protect_file,
        };
        gate = broker_connect(&client, &gate_options, &error);
    } else if (sources_add_built_in(options->sources, options->host->name, options->host->path_arguments) &&
               add_protection(run)) {
        gate = gate_open(&gate_options, &error);
    }
    if (error.len) {
        say_lines(options, &error);
    }
    buf_finish(&error);
    return gate;
}

static enum host_answer decide_message(struct run *run, bool readable)
{
    struct host_message *message = &run->message;
    struct slice *servers = NULL;
    size_t server_count = 0;
    if (!readable ||
        (message->server_unknown && !(gate_servers(run->gate, &message->arena, &servers, &server_count) &&
                                      names_of_every_server(message, servers, server_count)))) {
        return deny_unreadable(run);
    }
    struct path_base base = run->options->base;
    struct slice *roots =
        arena_array(&message->arena, base.root_count + message->root_count + 1, sizeof(*roots));
    if (roots == NULL) {
        return HOST_DENY;
    }
    for (size_t i = 0; i < base.root_count + message->root_count; i++) {
        roots[i] = i < base.root_count ? base.roots[i] : message->roots[i - base.root_count];
    }
    base.cwd = message->cwd;
    base.roots = roots;
    base.root_count += message->root_count;
    gate_start_from(run->gate, &base);
    run->call = (struct call){
        .names = message->names,
        .name_count = message->name_count,
        .channel = slice_of(run->options->host->name),
        .thread = message->session,
        .actor = ACTOR_CLAUDE_PROCESS,
        .doc = message->input_doc,
        .input = message->input,
    };
    return judge(run);
}

static enum host_answer run_message(struct run *run, struct slice text)
{
    const struct host_hook_options *options = run->options;
    struct host_places places = {.home = options->base.home};
    run->text = run->message.over_limit ? (struct slice){0} : text;
    bool readable = !run->message.over_limit &&
                    host_message_read(&run->message, options->host, options->event, text, &places);
    emergency_event(run->message.event);
    if (readable && run->message.silent) {
        return HOST_NONE;
    }
    if (readable && call_is_passed_on(options, &run->message)) {
        return HOST_NONE;
    }
    run->gate = open_gate(run);
    return run->gate != NULL ? decide_message(run, readable) : HOST_DENY;
}

enum host_answer host_hook_run(const struct host_hook_options *options, const struct host_event **ret_event,
                               struct buf *ret_reason)
{
    struct run run = {.options = options, .reason = ret_reason};
    struct buf text;
    enum host_answer answer = HOST_DENY;
    bool over_limit;
    emergency_deadline(options->deadline_ms < MACHINE_MS ? options->deadline_ms : MACHINE_MS);
    buf_init(&text, (size_t)LIMIT_MESSAGE_BYTES + (256u << 10));
    if (host_message_init(&run.message)) {
        run.message.event = options->event;
        if (read_message(options->in, &text, &over_limit)) {
            run.message.over_limit = over_limit;
            answer = run_message(&run, buf_slice_of(&text));
        }
        *ret_event = run.message.event;
    }
    return answer;
}
