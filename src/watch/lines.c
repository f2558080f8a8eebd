/* One request as lines: who asks, why it was held, the whole input, what a yes covers. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "people/notice.h"
#include "watch/watch.h"

#define LINE_BYTES ((size_t)256 << 20)

struct collecting {
    struct arena *arena;
    struct watch_line *list;
    size_t count, cap;
    bool failed;
};

static void collect(void *context, enum show_kind kind, struct slice text)
{
    struct collecting *c = context;
    if (c->count == c->cap) {
        size_t cap = c->cap > 0 ? c->cap * 2 : 64;
        struct watch_line *list = arena_array(c->arena, cap, sizeof(*list));
        if (list == NULL) {
            c->failed = true;
            return;
        }
        if (c->count > 0) {
            memcpy(list, c->list, c->count * sizeof(*list));
        }
        c->list = list;
        c->cap = cap;
    }
    struct slice copy = arena_copy(c->arena, text);
    c->failed = c->failed || copy.ptr == NULL;
    c->list[c->count++] = (struct watch_line){kind, copy};
}

static void collect_field(struct collecting *c, const char *name, struct slice value)
{
    struct buf line;
    buf_init(&line, LINE_BYTES);
    buf_printf(&line, "%-9s", name);
    utf8_append_printable(&line, value);
    c->failed = c->failed || !buf_ok(&line);
    collect(c, SHOW_NOTE, buf_slice_of(&line));
    buf_finish(&line);
}

static void collect_client(struct collecting *c, const struct request *r, int64_t now_ms)
{
    struct buf text;
    buf_init(&text, LINE_BYTES);
    if (notice_write_client(&text, r, now_ms)) {
        collect_field(c, "client", buf_slice_of(&text));
    }
    c->failed = c->failed || !buf_ok(&text);
    buf_finish(&text);
}

static void collect_facts(struct collecting *c, const struct request *r, int64_t now_ms)
{
    char text[128];
    int64_t left = (r->expires_ms - now_ms) / 1000;
    collect_field(c, "rule", r->rule);
    if (r->groups.len > 0) {
        collect_field(c, "groups", r->groups);
    }
    collect_field(c, "session", r->channel);
    collect_field(c, "thread", r->thread);
    collect_field(c, "asked by", r->actor);
    if (r->paths.len > 2) {
        collect_field(c, "paths", r->paths);
    }
    collect_client(c, r, now_ms);
    snprintf(text, sizeof(text), "%u of %u approvers; %lld s left", r->given, r->needed,
             (long long)(left > 0 ? left : 0));
    collect_field(c, "votes", slice_of(text));
    snprintf(text, sizeof(text), "%s, for %u s",
             r->narrowed == APPROVAL_SESSION ? "every call of this rule in the session"
             : r->narrowed == APPROVAL_CALL  ? "this call only"
                                             : "this call one time",
             r->ttl_ms / 1000);
    collect_field(c, "covers", slice_of(text));
}

bool watch_lines(const struct request *request, int64_t now_ms, struct arena *arena,
                 struct watch_line **ret_lines, size_t *ret_count)
{
    struct collecting c = {.arena = arena};
    const struct show_lines lines = {collect, &c};
    arena_reset(arena);
    collect_facts(&c, request, now_ms);
    collect(&c, SHOW_PLAIN, SLICE(""));
    bool ok = show_input(request->input, &lines) && !c.failed;
    *ret_lines = c.list;
    *ret_count = c.count;
    return ok;
}
