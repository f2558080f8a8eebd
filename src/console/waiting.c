/* What waits: the list, one request whole, and answers. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "console/internal.h"
#include "people/show.h"

#define BEGIN_BYTES  240u
#define BECAUSE_MOST 1000u

/* What a surface for people shows of a name or a text: nothing that draws, nothing that cannot be seen. */
void write_printable(struct buf *buf, struct slice text)
{
    struct buf plain;
    buf_init(&plain, ANSWER_MOST);
    utf8_append_printable(&plain, text);
    json_write_bytes(buf, buf_slice_of(&plain));
    buf->failed = buf->failed || plain.failed;
    buf_finish(&plain);
}

void write_named(struct buf *buf, const char *name, struct slice text)
{
    buf_printf(buf, ",\"%s\":", name);
    if (text.ptr == NULL) {
        buf_text(buf, "null");
    } else {
        write_printable(buf, text);
    }
}

static struct slice beginning(struct slice text)
{
    size_t len = text.len < BEGIN_BYTES ? text.len : BEGIN_BYTES;
    while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) {
        len--;
    }
    return (struct slice){text.ptr, len};
}

/* A request but for its arguments; the brace stays open. */
static void write_facts(struct buf *buf, const struct request *r)
{
    buf_printf(buf, "{\"code\":\"%s\",\"number\":%lld,\"state\":\"%s\",\"created\":%lld,\"expires\":%lld",
               r->code, (long long)r->number, request_state_name(r->state), (long long)r->created_ms,
               (long long)r->expires_ms);
    if (r->client_ms != 0) {
        buf_printf(buf, ",\"client\":%lld", (long long)r->client_ms);
    }
    buf_printf(buf, ",\"needed\":%u,\"given\":%u,\"scope\":\"%s\",\"ttl\":%u,\"bytes\":%zu", r->needed,
               r->given, approval_scope_name(r->narrowed), r->ttl_ms, r->input.len);
    write_named(buf, "tool", r->tool);
    write_named(buf, "server", r->server);
    write_named(buf, "rule", r->rule);
    write_named(buf, "channel", r->channel);
    write_named(buf, "thread", r->thread);
    write_named(buf, "actor", r->actor);
    buf_text(buf, ",\"groups\":");
    buf_slice(buf, r->groups.len > 0 ? r->groups : SLICE("[]"));
}

static bool waiting(struct exchange *x, struct request **ret_list, size_t *ret_count)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool ok = people_waiting(x->console->people, ret_list, ret_count, &error);
    if (!ok) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "store");
    }
    buf_finish(&error);
    return ok;
}

void answer_waiting(struct exchange *x)
{
    struct request *list = NULL;
    size_t count = 0;
    if (!waiting(x, &list, &count)) {
        return;
    }
    buf_printf(&x->out, "{\"version\":%llu,\"now\":%lld,\"requests\":[",
               (unsigned long long)x->console->waiting_version, (long long)clock_wall_ms());
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_byte(&x->out, ',');
        }
        write_facts(&x->out, &list[i]);
        write_named(&x->out, "begin", beginning(list[i].input));
        buf_byte(&x->out, '}');
    }
    buf_text(&x->out, "]}");
}

/* ---- One request, whole ---- */

struct writing {
    struct buf *buf;
    bool any;
};

static void write_line(void *context, enum show_kind kind, struct slice text)
{
    static const char letters[] = {
        [SHOW_PLAIN] = 'p', [SHOW_NAME] = 'n', [SHOW_REMOVED] = '-', [SHOW_ADDED] = '+', [SHOW_NOTE] = 'c'};
    struct writing *w = context;
    buf_printf(w->buf, "%s[\"%c\",", w->any ? "," : "", letters[kind]);
    json_write_bytes(w->buf, text);
    buf_byte(w->buf, ']');
    w->any = true;
}

/* What ties an approval to what was shown: one that was never fetched, or that has changed, has another. */
static bool shown_of(const struct request *r, char ret_hex[HASH_HEX + 1])
{
    uint8_t hash[HASH_SIZE];
    char number[32];
    struct hash_stream *stream = hash_begin();
    snprintf(number, sizeof(number), "%lld", (long long)r->number);
    hash_add(stream, slice_of(number));
    hash_add(stream, (struct slice){(const char *)r->call_hash, sizeof(r->call_hash)});
    hash_add(stream, (struct slice){(const char *)r->shown, sizeof(r->shown)});
    hash_add(stream, r->input);
    hash_add(stream, r->paths);
    if (!hash_end(stream, hash)) {
        return false;
    }
    hash_to_hex(hash, ret_hex);
    return true;
}

static bool is_written(const struct json_doc *input, struct slice path)
{
    for (uint32_t i = 0; i < input->count; i++) {
        if (input->values[i].type == JSON_STRING && slice_eq(json_str(&input->values[i]), path)) {
            return true;
        }
    }
    return false;
}

/* The paths as they were judged, and whether the call has each as it stands. */
static void write_paths(struct buf *buf, const struct request *r)
{
    struct json_doc paths, input;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = UINT32_MAX};
    json_init(&paths);
    json_init(&input);
    bool read =
        json_parse(&paths, r->paths, &options, &error) && json_parse(&input, r->input, &options, &error);
    const struct json_value *root = read ? json_root(&paths) : NULL;
    buf_text(buf, ",\"paths\":[");
    for (const struct json_value *v = read ? json_first(&paths, root) : NULL; v != NULL;
         v = json_right(&paths, root, v)) {
        if (v->type == JSON_STRING) {
            buf_text(buf, v != json_first(&paths, root) ? ",{\"path\":" : "{\"path\":");
            write_printable(buf, json_str(v));
            buf_printf(buf, ",\"written\":%s}", is_written(&input, json_str(v)) ? "true" : "false");
        }
    }
    buf_byte(buf, ']');
    json_finish(&paths);
    json_finish(&input);
}

static void write_covered(struct buf *buf, const char *name, const struct request *r,
                          enum approval_scope scope, const struct request *list, size_t count)
{
    bool any = false;
    buf_printf(buf, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (list[i].number != r->number && people_covers(r, scope, &list[i])) {
            buf_printf(buf, "%s\"%s\"", any ? "," : "", list[i].code);
            any = true;
        }
    }
    buf_byte(buf, ']');
}

static const struct request *find(const struct request *list, size_t count, struct slice code)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_is(code, list[i].code)) {
            return &list[i];
        }
    }
    return NULL;
}

/* How a request has ended that waits no longer. */
static void write_end(struct exchange *x, struct slice code)
{
    struct request last;
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (people_last(x->console->people, code, &last, &error) == STORE_DONE) {
        write_facts(&x->out, &last);
        write_named(&x->out, "because", last.because);
        buf_byte(&x->out, '}');
    } else {
        exchange_fail(x, MHD_HTTP_NOT_FOUND, "gone");
    }
    buf_finish(&error);
}

void answer_request(struct exchange *x)
{
    struct request *list = NULL;
    size_t count = 0;
    struct slice code = exchange_query(x, "code");
    char shown[HASH_HEX + 1];
    if (!code_valid(code)) {
        exchange_fail(x, MHD_HTTP_BAD_REQUEST, "code");
        return;
    }
    if (!waiting(x, &list, &count)) {
        return;
    }
    const struct request *r = find(list, count, code);
    if (r == NULL) {
        write_end(x, code);
        return;
    }
    struct writing w = {.buf = &x->out};
    const struct show_lines lines = {write_line, &w};
    write_facts(&x->out, r);
    write_paths(&x->out, r);
    write_covered(&x->out, "alsoRule", r, APPROVAL_SESSION, list, count);
    write_covered(&x->out, "alsoCall", r, APPROVAL_CALL, list, count);
    buf_text(&x->out, ",\"lines\":[");
    bool whole = show_input(r->input, &lines) && shown_of(r, shown);
    buf_printf(&x->out, "],\"whole\":%s,\"shown\":\"%s\",\"now\":%lld,\"where\":", whole ? "true" : "false",
               whole ? shown : "", (long long)clock_wall_ms());
    write_rule_of_request(x->console, &x->out, r);
    buf_byte(&x->out, '}');
}

/* ---- Answers ---- */

static void write_answer(struct exchange *x, const struct people_answer *answer)
{
    const struct request *r = &answer->request;
    buf_printf(&x->out,
               "{\"result\":\"%s\",\"code\":\"%s\",\"given\":%u,\"needed\":%u,\"scope\":\"%s\",\"ttl\":%u,"
               "\"also\":[",
               r->state == REQUEST_WAITING ? "counted" : request_state_name(r->state), r->code, r->given,
               r->needed, approval_scope_name(r->narrowed), r->ttl_ms);
    for (size_t i = 1; i < answer->ended_count; i++) {
        buf_printf(&x->out, "%s\"%s\"", i > 1 ? "," : "", answer->ended[i].code);
    }
    buf_text(&x->out, "]}");
}

static void give(struct exchange *x, const struct vote *vote)
{
    struct console *console = x->console;
    struct roster roster;
    struct people_answer answer;
    struct buf path, error;
    const struct voter voter = {.surface = x->session->surface, .id = slice_of(x->session->id)};
    buf_init(&path, MESSAGE_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    if (!roster_open(&roster, slice_of(console->options.home), console->options.people_file, &path, &error)) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "people");
        roster = (struct roster){0};
    } else {
        switch (people_take_answer(console->people, &roster, &voter, vote, &answer, &error)) {
        case STORE_DONE:
            write_answer(x, &answer);
            break;
        case STORE_NONE:
            exchange_fail(x, MHD_HTTP_CONFLICT, "gone");
            break;
        case STORE_TWICE:
            exchange_fail(x, MHD_HTTP_CONFLICT, "twice");
            break;
        case STORE_FORBIDDEN:
            exchange_fail(x, MHD_HTTP_FORBIDDEN, "forbidden");
            break;
        default:
            console_say("an answer does not count: %.*s", SLICE_FMT(buf_message(&error)));
            exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "store");
        }
        roster_finish(&roster);
    }
    buf_finish(&path);
    buf_finish(&error);
}

static bool read_scope(struct slice name, enum approval_scope *ret_scope)
{
    for (enum approval_scope scope = APPROVAL_SESSION; scope <= APPROVAL_ONCE; scope++) {
        if (slice_is(name, approval_scope_name(scope))) {
            *ret_scope = scope;
            return true;
        }
    }
    return false;
}

/* Whether the request that waits under a code is the one that the person has seen. */
static bool was_seen(struct exchange *x, struct slice code, int64_t number, bool yes, struct slice shown)
{
    struct request *list = NULL;
    size_t count = 0;
    char hex[HASH_HEX + 1];
    if (!waiting(x, &list, &count)) {
        return false;
    }
    const struct request *r = find(list, count, code);
    if (r == NULL || r->number != number) {
        exchange_fail(x, MHD_HTTP_CONFLICT, "gone");
        return false;
    }
    if (yes && (!shown_of(r, hex) || !slice_is(shown, hex))) {
        exchange_fail(x, MHD_HTTP_CONFLICT, "unseen");
        return false;
    }
    return true;
}

void answer_answer(struct exchange *x)
{
    struct json_doc doc;
    enum approval_scope scope = APPROVAL_ONCE;
    if (exchange_json(x, &doc)) {
        const struct json_value *yes = json_get(&doc, json_root(&doc), "yes");
        struct slice code = member_text(&doc, "code"), because = member_text(&doc, "because");
        bool says_yes = json_is(yes, JSON_TRUE);
        if (!code_valid(code) || (!says_yes && !json_is(yes, JSON_FALSE)) || because.len > BECAUSE_MOST ||
            (says_yes && !read_scope(member_text(&doc, "scope"), &scope))) {
            exchange_fail(x, MHD_HTTP_BAD_REQUEST, "body");
        } else if (was_seen(x, code, member_number(&doc, "number"), says_yes, member_text(&doc, "shown"))) {
            give(x, &(const struct vote){.code = code, .yes = says_yes, .scope = scope, .because = because});
        }
    }
    json_finish(&doc);
}

/* ---- Live approvals ---- */

void answer_grants(struct exchange *x)
{
    struct grant *list = NULL;
    size_t count = 0;
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!people_grants(x->console->people, &list, &count, &error)) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "store");
    }
    buf_finish(&error);
    buf_printf(&x->out, "{\"now\":%lld,\"grants\":[", (long long)clock_wall_ms());
    for (size_t i = 0; i < count; i++) {
        const struct grant *g = &list[i];
        buf_printf(&x->out, "%s{\"id\":%lld,\"scope\":\"%s\",\"granted\":%lld,\"expires\":%lld",
                   i > 0 ? "," : "", (long long)g->id, approval_scope_name(g->scope), (long long)g->granted,
                   (long long)g->expires);
        write_named(&x->out, "rule", g->rule);
        write_named(&x->out, "channel", g->channel);
        write_named(&x->out, "thread", g->thread);
        buf_byte(&x->out, '}');
    }
    buf_text(&x->out, "]}");
}

void answer_revoke(struct exchange *x)
{
    struct json_doc doc;
    struct buf name, error;
    buf_init(&name, MESSAGE_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    if (exchange_json(x, &doc)) {
        session_person(x->console, x->session, &name);
        if (name.len == 0) {
            exchange_fail(x, MHD_HTTP_FORBIDDEN, "forbidden");
        } else {
            enum store_result result =
                people_revoke(x->console->people, member_number(&doc, "id"), buf_slice_of(&name), &error);
            if (result == STORE_DONE) {
                buf_text(&x->out, "{}");
            } else {
                exchange_fail(x, result == STORE_NONE ? MHD_HTTP_CONFLICT : MHD_HTTP_INTERNAL_SERVER_ERROR,
                              result == STORE_NONE ? "gone" : "store");
            }
        }
    }
    json_finish(&doc);
    buf_finish(&name);
    buf_finish(&error);
}
