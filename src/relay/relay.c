/* The loop of the permission relay: requests in, one verdict for each out. */
#include "relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "relay/message_internal.h"

#define POLL_MS      100
#define LINE_MOST    LIMIT_MESSAGE_BYTES
#define TRACKED_MOST 4096 /* requests of one host that are remembered, answered ones included */

/* One permission request of the host. */
struct tracked {
    char id[CODE_LENGTH + 1];      /* lower case: what people call it by */
    char spelled[CODE_LENGTH + 1]; /* as the host wrote it */
    bool waiting;
    struct held held;
    struct slice tool, preview; /* of a waiting one: malloc'd */
};

struct relay {
    const struct relay_options *options;
    struct buf in, out;
    bool skipping; /* a line that was too long is read past */
    bool failed;   /* the host reads no more */
    struct json_doc doc;
    struct arena arena;
    struct tracked *tracked;
    size_t count;
};

/* ---- Verdicts ---- */

static void send(struct relay *relay)
{
    struct slice left = buf_slice_of(&relay->out);
    while (buf_ok(&relay->out) && left.len > 0) {
        ssize_t n = write(relay->options->out, left.ptr, left.len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            relay->failed = true;
            break;
        }
        left = slice_from(left, (size_t)n);
    }
    relay->failed = relay->failed || !buf_ok(&relay->out);
    buf_reset(&relay->out);
}

static void note(struct relay *relay, const char *kind, struct slice request, const char *why)
{
    struct buf detail;
    buf_init(&detail, 4096);
    buf_text(&detail, "{\"reason\":");
    json_write_string(&detail, slice_of(why));
    buf_text(&detail, ",\"request\":");
    json_write_bytes(&detail, request);
    buf_byte(&detail, '}');
    struct event event = {
        .kind = kind,
        .has_session = true,
        .channel = relay->options->channel,
        .thread = relay->options->thread,
        .detail = buf_ok(&detail) ? buf_slice_of(&detail) : (struct slice){0},
    };
    gate_note(relay->options->gate, &event);
    buf_finish(&detail);
}

/* Nothing leaves before its events are written; without them an allow is a deny. */
static void answer(struct relay *relay, struct slice id, bool allow)
{
    bool recorded = gate_commit(relay->options->gate);
    bool allowed = allow && recorded;
    buf_text(&relay->out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/claude/channel/permission\","
                          "\"params\":{\"request_id\":");
    json_write_string(&relay->out, id);
    buf_text(&relay->out, allowed ? ",\"behavior\":\"allow\"}}\n" : ",\"behavior\":\"deny\"}}\n");
    send(relay);
}

/* ---- Permission requests ---- */

/* Every way to split `mcp__SERVER__TOOL`; a name of another form is a tool's as it is. 0: too many, or no
 * memory. */
static size_t split(struct slice name, struct arena *arena, const struct call_name **ret_names)
{
    struct slice flat = slice_starts_with(name, SLICE("mcp__")) ? slice_from(name, 5) : SLICE("");
    struct call_name *names = arena_array(arena, CALL_SPLITS_MOST, sizeof(*names)), next;
    size_t count = 0, at = 0;
    while (names != NULL && call_split_next(flat, SLICE("__"), &at, &next)) {
        if (count == CALL_SPLITS_MOST) {
            return 0;
        }
        names[count++] = next;
    }
    if (names != NULL && count == 0) {
        names[count++] = (struct call_name){.tool = name};
    }
    *ret_names = names;
    return count;
}

/* The message is the document's, while that is the one that could not be judged. */
static struct outcome judge_unreadable(struct relay *relay, enum decision_cause cause, struct slice tool)
{
    struct came came = {.bytes = relay->doc.text};
    struct call_defaults defaults = {
        .channel = relay->options->channel,
        .thread = relay->options->thread,
        .actor = relay->options->actor,
    };
    return gate_judge_unreadable(relay->options->gate, cause, tool,
                                 SLICE("a permission request without its four texts"), &came, &defaults);
}

static struct outcome judge(struct relay *relay, struct slice tool, struct slice preview,
                            const struct held *prior, struct slice wanted)
{
    struct call call = {
        .channel = relay->options->channel,
        .thread = relay->options->thread,
        .actor = relay->options->actor,
        .preview = preview,
    };
    arena_reset(&relay->arena);
    call.name_count = split(tool, &relay->arena, &call.names);
    if (call.name_count == 0) {
        return judge_unreadable(relay, CAUSE_OVER_LIMIT, tool);
    }
    return gate_judge(relay->options->gate, &call, prior, wanted);
}

static struct slice keep(struct slice s)
{
    char *copy = malloc(s.len + 1);
    if (copy != NULL) {
        memcpy(copy, s.ptr, s.len);
    }
    return (struct slice){copy, s.len};
}

static void forget(struct tracked *tracked)
{
    free((char *)tracked->tool.ptr);
    free((char *)tracked->preview.ptr);
    tracked->tool = tracked->preview = (struct slice){0};
    tracked->waiting = false;
}

static struct tracked *find(struct relay *relay, const char *id)
{
    for (size_t i = 0; i < relay->count; i++) {
        if (strcmp(relay->tracked[i].id, id) == 0) {
            return &relay->tracked[i];
        }
    }
    return NULL;
}

/* Makes room for one more: the oldest that has its answer is forgotten. */
static void forget_oldest(struct relay *relay)
{
    size_t at = 0;
    while (at < relay->count && relay->tracked[at].waiting) {
        at++;
    }
    if (at == relay->count) {
        return;
    }
    forget(&relay->tracked[at]);
    relay->count--;
    memmove(&relay->tracked[at], &relay->tracked[at + 1], (relay->count - at) * sizeof(*relay->tracked));
}

static struct tracked *track(struct relay *relay, const char *id, const char *spelled)
{
    if (relay->count == TRACKED_MOST) {
        forget_oldest(relay);
    }
    if (relay->count == TRACKED_MOST) {
        return NULL;
    }
    struct tracked *list = realloc(relay->tracked, (relay->count + 1) * sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    relay->tracked = list;
    struct tracked *tracked = &list[relay->count++];
    *tracked = (struct tracked){0};
    memcpy(tracked->id, id, sizeof(tracked->id));
    memcpy(tracked->spelled, spelled, sizeof(tracked->spelled));
    return tracked;
}

static void hold(struct relay *relay, struct tracked *tracked, const struct outcome *outcome,
                 struct slice tool, struct slice preview)
{
    tracked->held = outcome->held;
    tracked->tool = keep(tool);
    tracked->preview = keep(preview);
    tracked->waiting = tracked->tool.ptr != NULL && tracked->preview.ptr != NULL;
    if (!tracked->waiting) {
        gate_withdraw(relay->options->gate, &tracked->held);
        forget(tracked);
        answer(relay, slice_of(tracked->spelled), false);
    }
}

static void settle(struct relay *relay, struct tracked *tracked, struct outcome outcome, struct slice tool,
                   struct slice preview)
{
    if (outcome.kind == OUTCOME_ALLOW && outcome.observed) {
        /* The dialog at the terminal stays, as if nobody had been asked; without a record it is a deny. */
        if (!gate_commit(relay->options->gate)) {
            answer(relay, slice_of(tracked->spelled), false);
        }
    } else if (outcome.kind == OUTCOME_HELD) {
        hold(relay, tracked, &outcome, tool, preview);
    } else {
        answer(relay, slice_of(tracked->spelled), outcome.kind == OUTCOME_ALLOW);
    }
}

static void on_permission(struct relay *relay, const struct permission *permission)
{
    char id[CODE_LENGTH + 1] = "", spelled[CODE_LENGTH + 1] = "";
    if (!permission->id_ok) {
        note(relay, "relay.dropped", permission->id, "the request has no usable request_id");
        (void)!gate_commit(relay->options->gate);
        return;
    }
    memcpy(spelled, permission->id.ptr, CODE_LENGTH);
    for (size_t i = 0; i < CODE_LENGTH; i++) {
        id[i] = (char)(spelled[i] | 0x20);
    }
    if (find(relay, id) != NULL) {
        note(relay, "relay.dropped", permission->id, "this request_id was there before: one answer for each");
        (void)!gate_commit(relay->options->gate);
        return;
    }
    struct tracked *tracked = track(relay, id, spelled);
    if (tracked == NULL) {
        note(relay, "relay.dropped", permission->id, "the request cannot be kept: denied");
        answer(relay, slice_of(spelled), false);
        return;
    }
    struct outcome outcome = permission->whole
                                 ? judge(relay, permission->tool, permission->preview, NULL, slice_of(id))
                                 : judge_unreadable(relay, CAUSE_MALFORMED, permission->tool);
    settle(relay, tracked, outcome, permission->tool, permission->preview);
}

/* Looks at the requests that wait: people, or time, may have ended them. */
static void look_at_waiting(struct relay *relay)
{
    struct gate *gate = relay->options->gate;
    for (size_t i = 0; i < relay->count; i++) {
        struct tracked *tracked = &relay->tracked[i];
        if (!tracked->waiting || gate_held_state(gate, &tracked->held) == REQUEST_WAITING) {
            continue;
        }
        struct slice tool = tracked->tool, preview = tracked->preview;
        struct outcome outcome = judge(relay, tool, preview, &tracked->held, (struct slice){0});
        tracked->tool = tracked->preview = (struct slice){0};
        tracked->waiting = false;
        settle(relay, tracked, outcome, tool, preview);
        free((char *)tool.ptr);
        free((char *)preview.ptr);
    }
}

/* ---- Messages ---- */

static void on_line(struct relay *relay, struct slice line)
{
    struct relay_message message;
    relay_message_read(&relay->doc, line, &message);
    switch (message.kind) {
    case HOST_PERMISSION:
        on_permission(relay, &message.permission);
        return;
    case HOST_REQUEST:
        relay_message_answer(&relay->out, &relay->doc, &message);
        send(relay);
        return;
    case HOST_UNREADABLE:
        note(relay, "relay.dropped", (struct slice){0}, "a line is no message");
        (void)!gate_commit(relay->options->gate);
        return;
    default:
        return; /* notifications of no interest, and responses: nothing was asked */
    }
}

static void take_lines(struct relay *relay)
{
    size_t begin = 0;
    const char *lf;
    while ((lf = memchr(relay->in.ptr + begin, '\n', relay->in.len - begin)) != NULL) {
        size_t end = (size_t)(lf - relay->in.ptr), next = end + 1;
        if (end > begin && relay->in.ptr[end - 1] == '\r') {
            end--;
        }
        if (!relay->skipping && end > begin) {
            on_line(relay, (struct slice){relay->in.ptr + begin, end - begin});
        }
        relay->skipping = false;
        begin = next;
    }
    buf_drop(&relay->in, begin);
    if (relay->in.len > LINE_MOST) {
        relay->skipping = true;
        buf_reset(&relay->in);
        note(relay, "relay.dropped", (struct slice){0}, "a line is over the limit");
        (void)!gate_commit(relay->options->gate);
    }
}

/* False at the end of input. */
static bool read_more(struct relay *relay)
{
    char *room = buf_reserve(&relay->in, 64 << 10);
    ssize_t n = room != NULL ? read(relay->options->in, room, 64 << 10) : -1;
    if (n < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    if (n == 0) {
        return false;
    }
    buf_added(&relay->in, (size_t)n);
    take_lines(relay);
    return true;
}

static volatile sig_atomic_t reload_wanted, end_wanted;

static void on_signal(int number)
{
    if (number == SIGHUP) {
        reload_wanted = 1;
    } else {
        end_wanted = 1;
    }
}

static void loop(struct relay *relay)
{
    struct pollfd fd = {relay->options->in, POLLIN, 0};
    uint64_t ticked = clock_mono_ns();
    while (!relay->failed && !end_wanted) {
        int ready = poll(&fd, 1, POLL_MS);
        if (ready < 0 && errno != EINTR) {
            return;
        }
        if (reload_wanted) {
            reload_wanted = 0;
            gate_reload(relay->options->gate);
        }
        if (ready > 0 && !read_more(relay)) {
            return;
        }
        if (clock_mono_ns() - ticked < POLL_MS * 1000000ull) {
            continue;
        }
        ticked = clock_mono_ns();
        gate_tick(relay->options->gate);
        if (gate_people_moved(relay->options->gate)) {
            look_at_waiting(relay);
        }
    }
}

int relay_run(const struct relay_options *options)
{
    struct relay relay = {.options = options};
    buf_init(&relay.in, LINE_MOST + (128u << 10));
    buf_init(&relay.out, 1u << 20);
    json_init(&relay.doc);
    arena_init(&relay.arena, 64u << 20);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    loop(&relay);
    for (size_t i = 0; i < relay.count; i++) {
        if (relay.tracked[i].waiting) {
            gate_withdraw(options->gate, &relay.tracked[i].held);
        }
        forget(&relay.tracked[i]);
    }
    (void)!gate_commit(options->gate);
    free(relay.tracked);
    buf_finish(&relay.in);
    buf_finish(&relay.out);
    json_finish(&relay.doc);
    arena_finish(&relay.arena);
    return relay.failed ? 1 : 0;
}
