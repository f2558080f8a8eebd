/* What the server offers: its lists, whoever asked for them, and the pins that calls are held to. */
#include <stdio.h>
#include <stdlib.h>

#include "gate/usable.h"
#include "mcp/session_inside_internal.h"

/* More than this many of one list in the journal help nobody. */
#define NOTED_MOST 100

/* A list of more pages than this has no end. */
#define PAGES_MOST 10000u

void tool_list_changed(struct session *s)
{
    if (s->tools_state == LIST_KNOWN) {
        s->tools_state = LIST_UNKNOWN;
    }
}

void tool_list_note_request(struct session *s, const struct message *message, struct ids_entry *entry)
{
    if (s->options->book != NULL && slice_is(message->method, "tools/list")) {
        bool more = json_is(json_get(&s->doc, message->params, "cursor"), JSON_STRING);
        entry->use = more ? USE_LIST_MORE : USE_LIST_FIRST;
    }
}

/* ---- Asking ---- */

/* What a request of the later era must carry is what the client's own call carries. */
static void take_meta(struct session *s, const struct message *message)
{
    const struct json_value *meta = json_get(&s->doc, message->params, "_meta");
    buf_reset(&s->own_meta);
    if (!json_is(meta, JSON_OBJECT)) {
        return;
    }
    for (const struct json_value *key = json_first(&s->doc, meta); key != NULL;
         key = json_right(&s->doc, meta, key)) {
        if (slice_starts_with(json_str(key), SLICE("io.modelcontextprotocol/"))) {
            buf_byte(&s->own_meta, s->own_meta.len > 0 ? ',' : '{');
            buf_slice(&s->own_meta, json_text_of(&s->doc, key));
            buf_byte(&s->own_meta, ':');
            buf_slice(&s->own_meta, json_text_of(&s->doc, json_member_value(key)));
        }
    }
    if (s->own_meta.len > 0) {
        buf_byte(&s->own_meta, '}');
    }
}

/* Asks for a page: the first, or the one behind a cursor. False when no request can be kept. */
static bool ask(struct session *s, struct slice cursor)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "callgate:tools:%llu", (unsigned long long)++s->asked_lists);
    struct id id = {.kind = ID_STRING, .text = {text, (size_t)len}};
    struct ids_entry *entry =
        ids_find(&s->client_ids, &id) == NULL ? ids_add(&s->client_ids, &id, IDS_SENT) : NULL;
    if (entry == NULL || !buf_ok(&s->own_meta)) {
        return false;
    }
    entry->use = USE_OWN_LIST;
    struct buf *out = &s->batch.requests;
    buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"tools/list\",\"params\":{", text);
    if (cursor.ptr != NULL) {
        buf_text(out, "\"cursor\":");
        json_write_string(out, cursor);
    }
    if (s->own_meta.len > 0) {
        buf_text(out, cursor.ptr != NULL ? ",\"_meta\":" : "\"_meta\":");
        buf_slice(out, buf_slice_of(&s->own_meta));
    }
    buf_text(out, "}}\n");
    return buf_ok(out);
}

/* ---- Pins ---- */

static bool accepted(struct session *s, struct slice tool)
{
    return tool_state(tool_book_find(s->options->book, tool)) == TOOL_ACCEPTED;
}

enum tool_standing tool_list_standing(struct session *s, const struct message *message, struct slice tool)
{
    if (!s->options->pinned) {
        return TOOL_MAY_BE_CALLED;
    }
    if (s->tools_state == LIST_UNKNOWN) {
        take_meta(s, message);
        if (!ask(s, (struct slice){0})) {
            return TOOL_MAY_NOT;
        }
        s->tools_state = LIST_ASKED;
        s->own_list = true;
        s->own_pages = 0;
        tool_book_begin_list(s->options->book);
    }
    if (s->tools_state == LIST_ASKED) {
        return TOOL_WAITS;
    }
    if (s->list_failed) {
        return TOOL_MAY_NOT;
    }
    if (accepted(s, tool)) {
        return TOOL_MAY_BE_CALLED;
    }
    struct buf error;
    buf_init(&error, 4096);
    bool refreshed = tool_book_refresh(s->options->book, &error); /* somebody may have accepted it just now */
    buf_finish(&error);
    return refreshed && accepted(s, tool) ? TOOL_MAY_BE_CALLED : TOOL_MAY_NOT;
}

/* ---- Arguments that a tool's schema does not declare ---- */

static void note_undeclared(struct session *s, struct slice tool, struct slice names)
{
    struct buf detail;
    buf_init(&detail, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    buf_text(&detail, "{\"arguments\":");
    buf_slice(&detail, names);
    buf_byte(&detail, '}');
    const struct event event = {
        .kind = "tools.undeclared",
        .tool = tool,
        .server = s->options->defaults.server,
        .has_session = true,
        .channel = s->options->defaults.channel,
        .thread = s->options->defaults.thread,
        .detail = buf_ok(&detail) ? buf_slice_of(&detail) : (struct slice){0},
    };
    gate_note(s->gate, &event);
    s->batch.staged = true;
    buf_finish(&detail);
}

bool tool_list_undeclared(struct session *s, const struct call *call)
{
    struct buf names;
    struct slice tool = call->names[0].tool;
    if (s->options->book == NULL) {
        return false;
    }
    buf_init(&names, LIMIT_MESSAGE_BYTES);
    bool found = tool_has_undeclared(tool_book_find(s->options->book, tool), call->doc, call->input, &names);
    if (found) {
        note_undeclared(s, tool, buf_slice_of(&names));
    }
    buf_finish(&names);
    return found && s->options->pinned;
}

/* ---- Annotations ---- */

const char *tool_list_make_call(struct session *s, const struct message *message)
{
    const char *why = call_make(&s->maker, &s->doc, message);
    if (why == NULL && message->form == CALL_FORM_TOOL && s->options->book != NULL) {
        s->maker.name.hints_not = tool_hints_ruled_out(tool_book_find(s->options->book, s->maker.name.tool));
    }
    return why;
}

/* ---- Lists ---- */

static void note_tool(struct session *s, const char *kind, const struct tool *tool)
{
    struct buf detail;
    buf_init(&detail, (size_t)1 << 20);
    buf_printf(&detail, "{\"digest\":\"%s\",\"accepted\":", tool->seen.digest);
    buf_text(&detail, tool->accepted.text != NULL ? "\"" : "null");
    if (tool->accepted.text != NULL) {
        buf_printf(&detail, "%s\"", tool->accepted.digest);
    }
    buf_byte(&detail, '}');
    struct event event = {
        .kind = kind,
        .tool = {tool->name, tool->name_len},
        .server = s->options->defaults.server,
        .has_session = true,
        .channel = s->options->defaults.channel,
        .thread = s->options->defaults.thread,
        .detail = buf_ok(&detail) ? buf_slice_of(&detail) : (struct slice){0},
    };
    gate_note(s->gate, &event);
    s->batch.staged = true;
    buf_finish(&detail);
}

static void say_count(struct session *s, size_t count, const char *what)
{
    char line[160];
    snprintf(line, sizeof(line), "%zu tool(s) of the server %s; 'callgate tools' shows them", count, what);
    session_say(s, line);
}

/* Tells of what the list has brought. */
static void tell_news(struct session *s, bool first)
{
    size_t count, changed = 0, noted = 0;
    const struct tool *tools = tool_book_tools(s->options->book, &count);
    for (size_t i = 0; i < count; i++) {
        enum tool_state state = tool_state(&tools[i]);
        bool known = tools[i].accepted.text != NULL;
        changed += tools[i].offered && state != TOOL_ACCEPTED;
        if (tools[i].offered && tools[i].news && noted++ < NOTED_MOST) {
            note_tool(s, known && state == TOOL_CHANGED ? "tools.changed" : "tools.seen", &tools[i]);
        }
    }
    if (first && s->options->pinned) {
        session_note(s, "tools.accepted", "the tools of a server that was never seen, as they are",
                     (struct slice){0});
        say_count(s, count, "were accepted as they are now, because the server was never seen before");
    } else if (changed > 0 && s->options->pinned) {
        say_count(s, changed, "are new or changed, and denied until they are accepted");
    }
}

static void end_list(struct session *s)
{
    struct buf error;
    struct tool_book *book = s->options->book;
    bool first = tool_book_is_fresh(book);
    bool changed = tool_book_end_list(book);
    s->tools_state = LIST_KNOWN;
    s->own_list = false;
    s->parked_ready = true;
    if (!changed && !first) {
        return;
    }
    buf_init(&error, 4096);
    if (!tool_book_refresh(book, &error)) {
        session_say(s, "what the server offers cannot be compared with what was accepted");
    }
    if (first && s->options->pinned) {
        tool_book_accept_all(book);
    }
    tell_news(s, first);
    if (!tool_book_save(book, &error)) {
        session_say(s, "what the server offers cannot be kept in the state directory");
    }
    buf_finish(&error);
}

/* A list that cannot be read or asked for: the calls that wait for it are denied, the next one asks again. */
static void fail_list(struct session *s)
{
    if (s->own_list) {
        session_note(s, "tools.unknown", "the server's tools cannot be listed", (struct slice){0});
        s->own_list = false;
        s->tools_state = LIST_KNOWN;
        s->parked_ready = true;
        s->list_failed = true;
    }
}

static void take_page(struct session *s, const struct server_message *message, bool own)
{
    const struct json_value *tools = json_get(&s->doc, message->result, "tools");
    const struct json_value *next = json_get(&s->doc, message->result, "nextCursor");
    if (!json_is(tools, JSON_ARRAY) || !tool_book_add_page(s->options->book, &s->doc, tools)) {
        fail_list(s);
    } else if (!json_is(next, JSON_STRING)) {
        end_list(s);
    } else if (own && (++s->own_pages >= PAGES_MOST || !ask(s, json_str(next)))) {
        fail_list(s);
    }
}

bool tool_list_take(struct session *s, const struct server_message *message, const struct ids_entry *entry)
{
    bool own = entry->use == USE_OWN_LIST;
    if (s->options->book == NULL || entry->use == USE_NONE) {
        return false;
    }
    if (own && !s->own_list) {
        return true; /* of a list that was given up */
    }
    if (!own && s->own_list) {
        return false; /* the gate reads the same list for itself */
    }
    if (message->kind != SERVER_MESSAGE_RESPONSE || message->result == NULL) {
        fail_list(s);
        return own;
    }
    if (entry->use == USE_LIST_FIRST) {
        tool_book_begin_list(s->options->book);
    }
    take_page(s, message, own);
    return own;
}

/* ---- What the client sees ---- */

/* Asks the policy which tools of a list the session could use. True when the answer is another than before. */
static bool mark_usable(struct session *s, const struct offered_tool *tools, size_t count)
{
    bool *usable = calloc(count + 1, sizeof(*usable)), changed = false;
    if (usable == NULL) {
        return false;
    }
    gate_usable_tools(s->gate, &s->options->defaults, tools, count, usable);
    for (size_t i = 0; i < count; i++) {
        changed = tool_book_hide(s->options->book, tools[i].name, !usable[i]) || changed;
    }
    free(usable);
    return changed;
}

static void mark_page(struct session *s, const struct json_value *tools)
{
    struct offered_tool *offered = calloc((size_t)tools->count + 1, sizeof(*offered));
    size_t count = 0;
    for (const struct json_value *v = offered != NULL ? json_first(&s->doc, tools) : NULL; v != NULL;
         v = json_right(&s->doc, tools, v)) {
        const struct json_value *name = json_get(&s->doc, v, "name");
        if (json_is(name, JSON_STRING)) {
            const struct tool *tool = tool_book_find(s->options->book, json_str(name));
            offered[count++] = (struct offered_tool){json_str(name), tool_hints_ruled_out(tool)};
        }
    }
    (void)!mark_usable(s, offered, count);
    free(offered);
}

void tool_list_policy_changed(struct session *s)
{
    size_t count = 0, known = 0;
    if (!s->options->hide_denied || s->options->book == NULL) {
        return;
    }
    const struct tool *tools = tool_book_tools(s->options->book, &count);
    struct offered_tool *offered = calloc(count + 1, sizeof(*offered));
    for (size_t i = 0; offered != NULL && i < count; i++) {
        if (tools[i].offered) {
            offered[known++] =
                (struct offered_tool){{tools[i].name, tools[i].name_len}, tool_hints_ruled_out(&tools[i])};
        }
    }
    if (offered != NULL && mark_usable(s, offered, known) && s->listed) {
        buf_text(&s->batch.answers,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
    }
    free(offered);
}

static bool is_hidden(const struct session *s, const struct json_value *tool)
{
    const struct json_value *name = json_get(&s->doc, tool, "name");
    if (!json_is(name, JSON_STRING)) {
        return false;
    }
    const struct tool *known = tool_book_find(s->options->book, json_str(name));
    bool pinned = s->options->pinned && !tool_book_is_fresh(s->options->book) && !gate_observes(s->gate);
    return (pinned && !tool_is_as_accepted(known)) ||
           (s->options->hide_denied && known != NULL && known->hidden);
}

static void write_tools(const struct session *s, const struct json_value *tools, struct buf *out)
{
    char before = '[';
    for (const struct json_value *v = json_first(&s->doc, tools); v != NULL;
         v = json_right(&s->doc, tools, v)) {
        if (!is_hidden(s, v)) {
            buf_byte(out, before);
            buf_slice(out, json_text_of(&s->doc, v));
            before = ',';
        }
    }
    buf_text(out, before == '[' ? "[]" : "]");
}

bool tool_list_filter(struct session *s, const struct json_value *result, struct buf *ret_result)
{
    const struct json_value *tools = json_get(&s->doc, result, "tools");
    bool hides = false;
    if ((!s->options->pinned && !s->options->hide_denied) || s->options->book == NULL ||
        !json_is(tools, JSON_ARRAY)) {
        return false;
    }
    s->listed = true;
    if (s->options->hide_denied) {
        mark_page(s, tools);
    }
    for (const struct json_value *v = json_first(&s->doc, tools); v != NULL;
         v = json_right(&s->doc, tools, v)) {
        hides = hides || is_hidden(s, v);
    }
    char before = '{';
    for (const struct json_value *key = hides ? json_first(&s->doc, result) : NULL; key != NULL;
         key = json_right(&s->doc, result, key)) {
        buf_byte(ret_result, before);
        before = ',';
        buf_slice(ret_result, json_text_of(&s->doc, key));
        buf_byte(ret_result, ':');
        if (json_member_value(key) == tools) {
            write_tools(s, tools, ret_result);
        } else {
            buf_slice(ret_result, json_text_of(&s->doc, json_member_value(key)));
        }
    }
    if (hides) {
        buf_byte(ret_result, '}');
    }
    return hides;
}
