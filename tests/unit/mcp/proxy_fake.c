/* The proxy with a gate that is told what to decide: by the name of the tool, and by files in a directory.
 *
 * deny…       denied
 * hold…       held until the file NUMBER.approved or NUMBER.refused appears; `hold-same…` share one number;
 *             `hold-again…` becomes a new request when it is approved for the first time
 * otherwise   allowed
 *
 * While the file `full` exists no commit succeeds. What the proxy asks and notes is appended to the file
 * `log`. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcp/mcp.h"
#include "process/keeper.h"

struct gate {
    const char *dir;
    FILE *log;
    int64_t last;
};

static bool exists(const struct gate *gate, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", gate->dir, name);
    return access(path, F_OK) == 0;
}

enum request_state gate_held_state(struct gate *gate, const struct held *held)
{
    char name[64];
    snprintf(name, sizeof(name), "%lld.approved", (long long)held->number);
    if (exists(gate, name)) {
        return REQUEST_APPROVED;
    }
    snprintf(name, sizeof(name), "%lld.refused", (long long)held->number);
    return exists(gate, name) ? REQUEST_REFUSED : REQUEST_WAITING;
}

static void put_call(struct gate *gate, const struct call *call, const char *outcome, int64_t number)
{
    struct buf text;
    buf_init(&text, 64u << 20);
    json_write_canonical(&text, call->doc, call->input, JSON_NUMBER_CALL);
    size_t shown = text.len < 200 ? text.len : 200;
    fprintf(gate->log, "%s %lld %.*s %.*s\n", outcome, (long long)number, SLICE_FMT(call->names[0].tool),
            (int)shown, text.ptr);
    fflush(gate->log);
    buf_finish(&text);
}

static struct outcome hold(struct gate *gate, const struct call *call, int64_t number)
{
    put_call(gate, call, "hold", number);
    return (struct outcome){.kind = OUTCOME_HELD, .held = {.number = number}};
}

struct outcome gate_judge(struct gate *gate, const struct call *call, const struct held *prior,
                          struct slice wanted_code)
{
    (void)wanted_code;
    struct slice tool = call->names[0].tool;
    bool same = slice_starts_with(tool, SLICE("hold-same"));
    bool wait = slice_starts_with(tool, SLICE("hold"));
    bool approved = prior != NULL && gate_held_state(gate, prior) == REQUEST_APPROVED;
    if (approved && slice_starts_with(tool, SLICE("hold-again")) && prior->number == 1) {
        gate->last = 99;
        return hold(gate, call, 99);
    }
    if (wait && prior == NULL) {
        return hold(gate, call, same ? 1000 : ++gate->last);
    }
    if (slice_starts_with(tool, SLICE("deny")) || (wait && !approved)) {
        put_call(gate, call, "deny", 0);
        return (struct outcome){0};
    }
    put_call(gate, call, "allow", 0);
    return (struct outcome){.kind = OUTCOME_ALLOW};
}

struct outcome gate_deny(struct gate *gate, const struct call *call, struct slice reason)
{
    (void)reason;
    put_call(gate, call, "deny", 0);
    return (struct outcome){0};
}

struct outcome gate_judge_unheld(struct gate *gate, const struct call *call)
{
    struct slice tool = call->names[0].tool;
    bool allowed = !slice_starts_with(tool, SLICE("deny")) && !slice_starts_with(tool, SLICE("hold"));
    put_call(gate, call, allowed ? "allow" : "deny", 0);
    return (struct outcome){.kind = allowed ? OUTCOME_ALLOW : OUTCOME_DENY};
}

struct outcome gate_judge_unreadable(struct gate *gate, uint32_t cause, struct slice tool,
                                     struct slice phrase, const struct came *came,
                                     const struct call_defaults *defaults)
{
    (void)defaults;
    fprintf(gate->log, "unreadable %u '%.*s' %.*s (%zu)\n", cause, SLICE_FMT(tool), SLICE_FMT(phrase),
            came->bytes.ptr != NULL ? came->bytes.len : (size_t)came->length);
    fflush(gate->log);
    return (struct outcome){0};
}

void gate_note(struct gate *gate, const struct event *event)
{
    fprintf(gate->log, "note %s %.*s%s%s\n", event->kind, SLICE_FMT(event->detail),
            event->outcome != NULL ? " " : "", event->outcome != NULL ? event->outcome : "");
    fflush(gate->log);
}

bool gate_commit(struct gate *gate)
{
    return !exists(gate, "full");
}

void gate_tick(struct gate *gate)
{
    (void)gate;
}

bool gate_policy_moved(struct gate *gate)
{
    (void)gate;
    return false;
}

bool gate_people_moved(struct gate *gate)
{
    (void)gate;
    return true;
}

void gate_withdraw(struct gate *gate, const struct held *held)
{
    fprintf(gate->log, "withdraw %lld\n", (long long)held->number);
    fflush(gate->log);
}

bool gate_rotate(struct gate *gate, struct buf *ret_error)
{
    (void)ret_error;
    fprintf(gate->log, "rotate\n");
    fflush(gate->log);
    return true;
}

bool gate_reload(struct gate *gate)
{
    fprintf(gate->log, "reload\n");
    fflush(gate->log);
    return true;
}

void gate_start_from(struct gate *gate, const struct path_base *base)
{
    fprintf(gate->log, "start from");
    for (size_t i = 0; i < base->root_count; i++) {
        fprintf(gate->log, " '%.*s'", SLICE_FMT(base->roots[i]));
    }
    fprintf(gate->log, "\n");
    fflush(gate->log);
}

static void say(const char *line)
{
    fprintf(stderr, "callgate: %s\n", line);
}

int main(int argc, char **argv)
{
    static const char *const allowed[] = {"vendor/thing", NULL};
    if (argc >= 2 && strcmp(argv[1], KEEPER_COMMAND) == 0) {
        return keeper_main(argc, argv);
    }
    if (argc < 4) {
        return 99;
    }
    char path[4096];
    snprintf(path, sizeof(path), "%s/log", argv[1]);
    struct gate gate = {.dir = argv[1], .log = fopen(path, "ae")};
    struct proxy_options options = {
        .session =
            {
                .gate = &gate,
                .defaults = {.channel = SLICE("local"), .thread = SLICE("t"), .actor = ACTOR_CLAUDE_PROCESS},
                .base = {.cwd = SLICE("/cwd"), .home = SLICE("/home/u")},
                .allowed_methods = allowed,
                .hold_for_ms = strtoull(argv[2], NULL, 10),
                .say = say,
            },
        .command = argv + 3,
        .child_umask = 022,
        .client_in = 0,
        .client_out = 1,
    };
    if (gate.log == NULL) {
        return 99;
    }
    int code = proxy_run(&options);
    fclose(gate.log);
    return code;
}
