/* Frames: written and read. */
#include <string.h>

#include "broker/protocol_internal.h"

#define NO_TEXT    UINT32_MAX
#define ROOTS_MOST 4096u

void put_u8(struct buf *buf, uint8_t value)
{
    buf_bytes(buf, &value, 1);
}

void put_u32(struct buf *buf, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                              (uint8_t)(value >> 24)};
    buf_bytes(buf, bytes, sizeof(bytes));
}

void put_u64(struct buf *buf, uint64_t value)
{
    put_u32(buf, (uint32_t)value);
    put_u32(buf, (uint32_t)(value >> 32));
}

void put_text(struct buf *buf, struct slice text)
{
    if (text.len >= NO_TEXT) {
        buf->failed = true;
        return;
    }
    put_u32(buf, text.ptr == NULL ? NO_TEXT : (uint32_t)text.len);
    buf_slice(buf, text);
}

size_t frame_begin(struct buf *buf, enum frame_kind kind)
{
    size_t began = buf->len;
    put_u32(buf, 0);
    put_u8(buf, (uint8_t)kind);
    return began;
}

void frame_end(struct buf *buf, size_t began)
{
    if (!buf_ok(buf)) {
        return;
    }
    size_t len = buf->len - began - 4;
    if (len > FRAME_MOST) {
        buf->failed = true;
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        buf->ptr[began + i] = (char)(len >> (8 * i));
    }
}

void put_base(struct buf *buf, const struct path_base *base)
{
    put_text(buf, base->cwd);
    put_text(buf, base->home);
    put_text(buf, base->server_home);
    put_u32(buf, (uint32_t)base->root_count);
    for (size_t i = 0; i < base->root_count; i++) {
        put_text(buf, base->roots[i]);
    }
}

void put_held(struct buf *buf, const struct held *held)
{
    put_u64(buf, (uint64_t)held->number);
    buf_bytes(buf, held->code, sizeof(held->code));
    put_u32(buf, held->needed);
    buf_bytes(buf, held->shown, sizeof(held->shown));
    put_text(buf, held_tell(held));
}

void put_outcome(struct buf *buf, const struct outcome *outcome)
{
    put_u32(buf, outcome->kind);
    put_u32(buf, outcome->cause);
    put_u32(buf, outcome->denial);
    put_u8(buf, outcome->authored);
    put_u8(buf, outcome->authored_in_every_reading);
    put_u8(buf, outcome->by_approval);
    put_u8(buf, outcome->observed);
    put_text(buf, outcome->tell);
    put_held(buf, &outcome->held);
    buf_bytes(buf, outcome->correlation, sizeof(outcome->correlation));
}

/* ---- Reading ---- */

void take_bytes(struct fields *fields, void *to, size_t len)
{
    memset(to, 0, len);
    if (fields->failed || fields->left.len < len) {
        fields->failed = true;
        return;
    }
    memcpy(to, fields->left.ptr, len);
    fields->left = slice_from(fields->left, len);
}

uint8_t take_u8(struct fields *fields)
{
    uint8_t value;
    take_bytes(fields, &value, 1);
    return value;
}

uint32_t take_u32(struct fields *fields)
{
    uint8_t bytes[4];
    take_bytes(fields, bytes, sizeof(bytes));
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint64_t take_u64(struct fields *fields)
{
    uint64_t low = take_u32(fields);
    return low | (uint64_t)take_u32(fields) << 32;
}

bool take_bool(struct fields *fields)
{
    uint8_t value = take_u8(fields);
    fields->failed = fields->failed || value > 1;
    return value == 1;
}

struct slice take_text(struct fields *fields)
{
    uint32_t len = take_u32(fields);
    if (fields->failed || len == NO_TEXT) {
        return (struct slice){0};
    }
    if (fields->left.len < len) {
        fields->failed = true;
        return (struct slice){0};
    }
    struct slice text = {fields->left.ptr, len};
    fields->left = slice_from(fields->left, len);
    return text;
}

struct path_base take_base(struct fields *fields, struct arena *arena)
{
    struct path_base base = {
        .cwd = take_text(fields), .home = take_text(fields), .server_home = take_text(fields)};
    uint32_t count = take_u32(fields);
    struct slice *roots = count <= ROOTS_MOST ? arena_array(arena, (size_t)count + 1, sizeof(*roots)) : NULL;
    fields->failed = fields->failed || roots == NULL;
    for (uint32_t i = 0; i < count && !fields->failed; i++) {
        roots[i] = take_text(fields);
        fields->failed =
            fields->failed || roots[i].ptr == NULL || roots[i].len == 0 || roots[i].ptr[0] != '/';
    }
    bool absolute =
        base.cwd.len > 0 && base.cwd.ptr[0] == '/' && base.home.len > 0 && base.home.ptr[0] == '/';
    fields->failed = fields->failed || !absolute;
    base.roots = roots;
    base.root_count = count;
    return base;
}

struct held take_held(struct fields *fields)
{
    struct held held = {.number = (int64_t)take_u64(fields)};
    take_bytes(fields, held.code, sizeof(held.code));
    held.code[CODE_LENGTH] = '\0';
    held.needed = take_u32(fields);
    take_bytes(fields, held.shown, sizeof(held.shown));
    struct slice tell = take_text(fields);
    if (tell.len > sizeof(held.tell)) {
        fields->failed = true;
    } else if (tell.len > 0) {
        memcpy(held.tell, tell.ptr, tell.len);
        held.tell_len = (uint32_t)tell.len;
    }
    return held;
}

struct outcome take_outcome(struct fields *fields)
{
    struct outcome outcome = {
        .kind = take_u32(fields), .cause = take_u32(fields), .denial = take_u32(fields)};
    outcome.authored = take_bool(fields);
    outcome.authored_in_every_reading = take_bool(fields);
    outcome.by_approval = take_bool(fields);
    outcome.observed = take_bool(fields);
    outcome.tell = take_text(fields);
    outcome.held = take_held(fields);
    take_bytes(fields, outcome.correlation, sizeof(outcome.correlation));
    outcome.correlation[GATE_CORRELATION_SIZE - 1] = '\0';
    bool known =
        outcome.kind == OUTCOME_DENY || outcome.kind == OUTCOME_HELD || outcome.kind == OUTCOME_ALLOW;
    return known && fields_end(fields) ? outcome : (struct outcome){.kind = OUTCOME_DENY};
}

bool fields_end(const struct fields *fields)
{
    return !fields->failed && fields->left.len == 0;
}

bool frame_first(struct slice bytes, enum frame_kind *ret_kind, struct fields *ret_fields, size_t *ret_length)
{
    *ret_length = 0;
    if (bytes.len < FRAME_HEAD) {
        return true;
    }
    struct fields head = {.left = bytes};
    size_t len = take_u32(&head);
    uint8_t kind = take_u8(&head);
    if (len < 1 || len > FRAME_MOST || kind == 0 || kind >= FRAME_KINDS) {
        return false;
    }
    if (bytes.len < len + 4) {
        return true;
    }
    *ret_kind = (enum frame_kind)kind;
    *ret_fields = (struct fields){.left = {bytes.ptr + FRAME_HEAD, len - 1}};
    *ret_length = len + 4;
    return true;
}

/* ---- Sessions ---- */

void put_session(struct buf *buf, const struct call_defaults *session)
{
    put_text(buf, session->server);
    put_text(buf, session->channel);
    put_text(buf, session->thread);
    put_u8(buf, (uint8_t)session->actor);
}

struct call_defaults take_session(struct fields *fields)
{
    struct call_defaults session = {.server = take_text(fields)};
    session.channel = take_text(fields);
    session.thread = take_text(fields);
    session.actor = take_u8(fields) == ACTOR_SESSION_OWNER ? ACTOR_SESSION_OWNER : ACTOR_CLAUDE_PROCESS;
    fields->failed = fields->failed || session.channel.ptr == NULL || session.thread.ptr == NULL;
    return session;
}
