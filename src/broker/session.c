/* One client of the broker: its frames are taken one by one, in their order, and each is answered before the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "broker/internal.h"
#include "gate/usable.h"

#define FRAME_TEXT_MOST ((size_t)64 << 20) /* lines for people in one answer */

/* ---- Hello ---- */

/* The base outlives the frame: its texts are copied. */
static bool keep_base(struct client *client, const struct path_base *base)
{
    size_t size = base->cwd.len + base->home.len + base->server_home.len +
                  (base->root_count + 1) * sizeof(struct slice);
    for (size_t i = 0; i < base->root_count; i++) {
        size += base->roots[i].len;
    }
    char *texts = malloc(size);
    if (texts == NULL) {
        return false;
    }
    struct slice *roots = (struct slice *)(void *)texts;
    char *at = texts + (base->root_count + 1) * sizeof(*roots);
    const struct slice *from[3] = {&base->cwd, &base->home, &base->server_home};
    struct slice kept[3];
    for (size_t i = 0; i < 3; i++) {
        if (from[i]->len > 0) {
            memcpy(at, from[i]->ptr, from[i]->len);
        }
        kept[i] = (struct slice){at, from[i]->len};
        at += from[i]->len;
    }
    for (size_t i = 0; i < base->root_count; i++) {
        memcpy(at, base->roots[i].ptr, base->roots[i].len);
        roots[i] = (struct slice){at, base->roots[i].len};
        at += base->roots[i].len;
    }
    free(client->texts);
    client->texts = texts;
    client->base = (struct path_base){.cwd = kept[0],
                                      .home = kept[1],
                                      .server_home = kept[2],
                                      .roots = roots,
                                      .root_count = base->root_count};
    return true;
}

static void welcome(struct client *client, bool ok, const struct buf *lines)
{
    size_t began = frame_begin(&client->out, FRAME_WELCOME);
    put_u32(&client->out, BROKER_VERSION);
    put_u8(&client->out, ok);
    put_text(&client->out, buf_slice_of(lines));
    frame_end(&client->out, began);
}

static bool has_file(const struct sources *sources, struct slice path)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (slice_is(path, sources->files[i].path) && sources->files[i].tier == TIER_ADMIN) {
            return true;
        }
    }
    return false;
}

/* A client names a file and nothing more: it is one of those that came along with hooks of the state directory. */
static bool may_load(const struct server *server, struct slice file)
{
    const struct broker_options *options = server->options;
    return policies_protect(&server->policies, file) ||
           (options->knows_protection != NULL && options->knows_protection(options->state_dir, file));
}

static bool take_terms(struct client *client, struct fields *fields, struct buf *lines)
{
    struct policy_key key = {.surface = take_text(fields)};
    key.project = take_text(fields);
    struct slice protect = take_text(fields);
    key.unnamed = take_bool(fields);
    client->tells_refusals = take_bool(fields);
    key.readings_flags = take_u32(fields);
    struct path_base base = take_base(fields, &client->arena);
    if (!fields_end(fields)) {
        return false;
    }
    key.cwd = base.cwd;
    key.home = base.home;
    if (!slice_starts_with(key.surface, SLICE("hook ")) && !slice_is(key.surface, "network")) {
        key.surface = SLICE(""); /* of a gate's or a relay's callers nothing is known */
    }
    if (protect.ptr != NULL && !has_file(client->server->options->sources, protect)) {
        if (!may_load(client->server, protect)) {
            buf_text(lines, "the broker does not load ");
            utf8_append_printable(lines, protect);
            buf_text(
                lines,
                ": no hook of its state directory came with it; start it with --policy admin=FILE for that "
                "file, too");
            return true;
        }
        key.protect = protect;
    }
    if (!keep_base(client, &base)) {
        buf_text(lines, "the broker has no memory");
        return true;
    }
    client->policy = policies_take(&client->server->policies, &key, lines);
    return true;
}

static bool on_hello(struct client *client, struct fields *fields)
{
    char magic[sizeof(BROKER_MAGIC) - 1];
    struct buf lines;
    take_bytes(fields, magic, sizeof(magic));
    uint32_t version = take_u32(fields);
    if (client->greeted || fields->failed || memcmp(magic, BROKER_MAGIC, sizeof(magic)) != 0) {
        return false;
    }
    buf_init_message(&lines, FRAME_TEXT_MOST);
    bool readable = true, ok = version == BROKER_VERSION;
    if (!ok) {
        buf_printf(&lines,
                   "the broker speaks version %u of its protocol and this program version %u: restart the "
                   "broker, so "
                   "that both are of one release",
                   BROKER_VERSION, version);
    } else if (client->approves) {
        readable = fields_end(fields);
    } else {
        readable = take_terms(client, fields, &lines);
        ok = client->policy != NULL;
    }
    client->greeted = ok && readable;
    welcome(client, client->greeted, &lines);
    buf_finish(&lines);
    return readable;
}

/* ---- Calls ---- */

static struct waited *find_waited(const struct client *client, int64_t number)
{
    for (size_t i = 0; i < client->held_count; i++) {
        if (client->held[i].number == number) {
            return &client->held[i];
        }
    }
    return NULL;
}

static void forget_held(struct client *client, int64_t number)
{
    struct waited *waited = find_waited(client, number);
    if (waited != NULL) {
        size_t at = (size_t)(waited - client->held);
        client->held_count--;
        memmove(waited, waited + 1, (client->held_count - at) * sizeof(*waited));
    }
}

/* The oldest that has ended makes room when there are too many. */
static void forget_oldest(struct client *client)
{
    for (size_t i = 0; i < client->held_count && client->held_count >= CLIENT_HELD_MOST; i++) {
        if (client->held[i].ended) {
            forget_held(client, client->held[i].number);
            return;
        }
    }
}

static bool remember_held(struct client *client, int64_t number)
{
    if (find_waited(client, number) != NULL) {
        return true;
    }
    forget_oldest(client);
    struct waited *held =
        client->held_count < CLIENT_HELD_MOST
            ? array_grow(client->held, &client->held_cap, client->held_count + 1, sizeof(*held))
            : NULL;
    if (held == NULL) {
        return false;
    }
    client->held = held;
    client->held[client->held_count++] = (struct waited){.number = number};
    return true;
}

static void withdraw(struct client *client, int64_t number)
{
    const struct held held = {.number = number};
    forget_held(client, number);
    if (!server_other_waits(client->server, client, number)) {
        gate_withdraw(client->policy->gate, &held);
    }
}

/* What has no answer of its own is told by the next FRAME_COMMIT. */
static bool commit(struct client *client)
{
    bool written = gate_commit(client->policy->gate);
    client->unrecorded = client->unrecorded || (client->staged && !written);
    client->staged = false;
    return written;
}

/* Nothing is answered before it is in the journal: without, an allow is a deny. */
static void answer_outcome(struct client *client, struct outcome outcome)
{
    if (!commit(client) && outcome.kind == OUTCOME_ALLOW) {
        outcome = (struct outcome){.kind = OUTCOME_DENY};
    }
    if (outcome.kind == OUTCOME_HELD && outcome.held.number != 0 &&
        !remember_held(client, outcome.held.number)) {
        withdraw(client, outcome.held.number);
        outcome = (struct outcome){.kind = OUTCOME_DENY, .denial = DENIAL_TOO_MANY};
    }
    size_t began = frame_begin(&client->out, FRAME_OUTCOME);
    put_outcome(&client->out, &outcome);
    frame_end(&client->out, began);
}

static bool take_names(struct fields *fields, struct arena *arena, struct call *ret_call)
{
    uint32_t count = take_u32(fields);
    if (fields->failed || count == 0 || count > CALL_SPLITS_MOST) {
        return false;
    }
    struct call_name *names = arena_array(arena, count, sizeof(*names));
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        names[i].server = take_text(fields);
        names[i].has_server = names[i].server.ptr != NULL;
        names[i].tool = take_text(fields);
        names[i].hints_not = take_u8(fields);
    }
    ret_call->names = names;
    ret_call->name_count = count;
    return names != NULL && !fields->failed;
}

/* What a surface has checked is checked again: who is at the other end is not known. NULL: the call can be judged. */
static const char *read_input(struct server *server, struct slice text, struct call *call)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    for (size_t i = 0; i < call->name_count; i++) {
        if (call->names[i].tool.len == 0) {
            return "no tool";
        }
    }
    if (text.ptr == NULL) {
        return NULL; /* its input is unknown: people see the preview */
    }
    if (!json_parse(&server->doc, text, &options, &error) || !json_is(json_root(&server->doc), JSON_OBJECT) ||
        call_names_clash(&server->doc, json_root(&server->doc))) {
        return "the input is no object, or two of its names are one";
    }
    call->doc = &server->doc;
    call->input = json_root(&server->doc);
    return NULL;
}

static struct outcome judge(struct client *client, struct call *call, struct slice input,
                            const struct held *prior, struct slice wanted, bool may_hold)
{
    struct gate *gate = client->policy->gate;
    const char *fault = read_input(client->server, input, call);
    if (fault != NULL) {
        const struct call_defaults defaults = {
            .channel = call->channel, .thread = call->thread, .actor = call->actor};
        return gate_judge_unreadable(gate, CAUSE_MALFORMED, call->names[0].tool, slice_of(fault), NULL,
                                     &defaults);
    }
    if (!may_hold) {
        return gate_judge_unheld(gate, call);
    }
    return gate_judge(gate, call, prior, wanted);
}

static bool on_judge(struct client *client, struct fields *fields)
{
    struct call call = {0};
    struct path_base base = take_base(fields, &client->arena);
    bool readable = take_names(fields, &client->arena, &call);
    call.channel = take_text(fields);
    call.thread = take_text(fields);
    call.actor = take_u8(fields) == ACTOR_SESSION_OWNER ? ACTOR_SESSION_OWNER : ACTOR_CLAUDE_PROCESS;
    struct slice input = take_text(fields);
    call.preview = take_text(fields);
    bool may_hold = take_bool(fields), has_prior = take_bool(fields);
    struct held prior = take_held(fields);
    struct slice wanted = take_text(fields);
    call.asks_people = take_bool(fields);
    call.waits_ms = take_u32(fields);
    if (!readable || !fields_end(fields) || call.channel.ptr == NULL || call.thread.ptr == NULL ||
        (input.ptr == NULL && call.preview.ptr == NULL) ||
        (has_prior && find_waited(client, prior.number) == NULL)) {
        return false;
    }
    gate_start_from(client->policy->gate, &base);
    gate_tell_refusals(client->policy->gate, client->tells_refusals);
    struct outcome outcome = judge(client, &call, input, has_prior ? &prior : NULL, wanted, may_hold);
    answer_outcome(client, outcome);
    gate_start_from(client->policy->gate, &client->policy->base); /* the frame's goes */
    return true;
}

static bool on_unreadable(struct client *client, struct fields *fields)
{
    struct call_defaults defaults = {0};
    struct came came = {0};
    uint8_t hash[HASH_SIZE];
    uint32_t cause = take_u32(fields);
    struct slice tool = take_text(fields), phrase = take_text(fields);
    bool came_known = take_bool(fields);
    take_bytes(fields, hash, sizeof(hash));
    came.hash = hash;
    came.length = take_u64(fields);
    defaults = take_session(fields);
    if (!fields_end(fields)) {
        return false;
    }
    bool known = cause == CAUSE_MALFORMED || cause == CAUSE_OVER_LIMIT;
    (void)gate_judge_unreadable(client->policy->gate, known ? cause : CAUSE_INTERNAL, tool, phrase,
                                came_known ? &came : NULL, &defaults);
    client->staged = true;
    return true;
}

/* ---- The rest ---- */

static void done(struct client *client, bool ok)
{
    const struct buf *lines = client->server->lines;
    size_t began = frame_begin(&client->out, FRAME_DONE);
    put_u8(&client->out, ok);
    put_text(&client->out, lines != NULL && lines->len > 0 ? buf_slice_of(lines) : SLICE(""));
    frame_end(&client->out, began);
}

/* Only kinds that surfaces have of their own: what decisions and people do is journalled by the door alone. */
static bool is_surface_kind(const char *kind)
{
    static const char *const beginnings[] = {"mcp.",  "relay.", "hook.",        "call.",
                                             "host.", "tools.", "system.server"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (strncmp(kind, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool on_note(struct client *client, struct fields *fields)
{
    char kind[64] = "";
    struct event event = {.kind = kind};
    struct slice name = take_text(fields);
    uint8_t hash[HASH_SIZE];
    event.tool = take_text(fields);
    event.server = take_text(fields);
    event.reason = take_text(fields);
    event.rule = take_text(fields);
    event.actor = take_text(fields);
    event.correlation_id = take_text(fields);
    event.has_session = take_bool(fields);
    event.channel = take_text(fields);
    event.thread = take_text(fields);
    bool has_hash = take_bool(fields);
    take_bytes(fields, hash, sizeof(hash));
    event.call_hash = has_hash ? hash : NULL;
    event.detail = take_text(fields);
    if (!fields_end(fields) || name.len == 0 || name.len >= sizeof(kind)) {
        return false;
    }
    memcpy(kind, name.ptr, name.len);
    if (!is_surface_kind(kind)) {
        return false;
    }
    gate_note(client->policy->gate, &event);
    client->staged = true;
    return true;
}

static bool on_withdraw(struct client *client, struct fields *fields)
{
    int64_t number = (int64_t)take_u64(fields);
    if (!fields_end(fields) || find_waited(client, number) == NULL) {
        return false;
    }
    withdraw(client, number);
    done(client, commit(client));
    return true;
}

static bool on_servers(struct client *client)
{
    struct slice *names = NULL;
    size_t count = 0;
    bool known = gate_servers(client->policy->gate, &client->arena, &names, &count);
    size_t began = frame_begin(&client->out, FRAME_NAMES);
    put_u8(&client->out, known);
    put_u32(&client->out, known ? (uint32_t)count : 0);
    for (size_t i = 0; known && i < count; i++) {
        put_text(&client->out, names[i]);
    }
    frame_end(&client->out, began);
    return true;
}

static bool on_usable(struct client *client, struct fields *fields)
{
    struct call_defaults session = take_session(fields);
    uint32_t count = take_u32(fields);
    if (fields->failed || count > USABLE_MOST) {
        return false;
    }
    struct offered_tool *tools = arena_array(&client->arena, (size_t)count + 1, sizeof(*tools));
    bool *usable = arena_array(&client->arena, (size_t)count + 1, sizeof(*usable));
    for (uint32_t i = 0; tools != NULL && i < count; i++) {
        tools[i].name = take_text(fields);
        tools[i].hints_not = take_u8(fields);
    }
    if (tools == NULL || usable == NULL || !fields_end(fields)) {
        return false;
    }
    gate_usable_tools(client->policy->gate, &session, tools, count, usable);
    size_t began = frame_begin(&client->out, FRAME_USES);
    put_u32(&client->out, count);
    for (uint32_t i = 0; i < count; i++) {
        put_u8(&client->out, usable[i]);
    }
    frame_end(&client->out, began);
    return true;
}

/* Which frame is legal when: hello first and once; votes at the approving socket, all else at the other. */
static bool is_legal(const struct client *client, enum frame_kind kind)
{
    if (!client->greeted) {
        return kind == FRAME_HELLO;
    }
    if (client->approves) {
        return kind == FRAME_VOTE;
    }
    switch (kind) {
    case FRAME_JUDGE:
    case FRAME_UNREADABLE:
    case FRAME_NOTE:
    case FRAME_COMMIT:
    case FRAME_WITHDRAW:
    case FRAME_RELOAD:
    case FRAME_SERVERS:
    case FRAME_USABLE:
        return true;
    default:
        return false;
    }
}

static bool take_frame(struct client *client, enum frame_kind kind, struct fields *fields)
{
    if (!is_legal(client, kind)) {
        return false;
    }
    switch (kind) {
    case FRAME_HELLO:
        return on_hello(client, fields);
    case FRAME_JUDGE:
        return on_judge(client, fields);
    case FRAME_UNREADABLE:
        return on_unreadable(client, fields);
    case FRAME_NOTE:
        return on_note(client, fields);
    case FRAME_COMMIT: {
        bool written = commit(client) && !client->unrecorded;
        client->unrecorded = false;
        done(client, written);
        return fields_end(fields);
    }
    case FRAME_WITHDRAW:
        return on_withdraw(client, fields);
    case FRAME_RELOAD:
        done(client, gate_reload(client->policy->gate));
        server_tell_reloaded(client->server);
        return fields_end(fields);
    case FRAME_SERVERS:
        return on_servers(client) && fields_end(fields);
    case FRAME_USABLE:
        return on_usable(client, fields);
    case FRAME_VOTE:
        return session_take_vote(client, fields);
    default:
        return false;
    }
}

bool session_take(struct client *client)
{
    struct buf lines;
    size_t taken = 0, length = 1;
    bool ok = true;
    buf_init_message(&lines, FRAME_TEXT_MOST);
    client->server->lines = &lines;
    while (ok && length > 0 && !client->closing) {
        enum frame_kind kind = FRAME_HELLO;
        struct fields fields = {0};
        ok = frame_first(slice_from(buf_slice_of(&client->in), taken), &kind, &fields, &length);
        if (ok && length > 0) {
            buf_reset(&lines);
            arena_reset(&client->arena);
            ok = take_frame(client, kind, &fields) && buf_ok(&client->out);
            taken += length;
        }
    }
    if (client->staged) {
        (void)!commit(client); /* nobody else's events stand behind what this one never commits */
    }
    client->server->lines = NULL;
    buf_finish(&lines);
    buf_drop(&client->in, taken);
    if (taken > 0) {
        client->since_ms = uv_now(&client->server->loop);
    }
    return ok;
}

void session_tell_reloaded(struct client *client)
{
    if (client->greeted && !client->approves && !client->closing) {
        frame_end(&client->out, frame_begin(&client->out, FRAME_RELOADED));
    }
}

void session_tell_ends(struct client *client)
{
    for (size_t i = 0; i < client->held_count; i++) {
        struct waited *waited = &client->held[i];
        const struct held held = {.number = waited->number};
        enum request_state state =
            waited->ended ? REQUEST_WAITING : gate_held_state(client->policy->gate, &held);
        if (state != REQUEST_WAITING) {
            waited->ended = true;
            size_t began = frame_begin(&client->out, FRAME_ENDED);
            put_u64(&client->out, (uint64_t)held.number);
            put_u8(&client->out, (uint8_t)state);
            frame_end(&client->out, began);
        }
    }
}

void session_end(struct client *client)
{
    while (client->policy != NULL && client->held_count > 0) {
        withdraw(client, client->held[client->held_count - 1].number);
    }
    if (client->policy != NULL) {
        (void)!gate_commit(client->policy->gate);
        policies_give_back(&client->server->policies, client->policy);
    }
    free(client->held);
    free(client->texts);
    buf_finish(&client->in);
    buf_finish(&client->out);
    arena_finish(&client->arena);
}
