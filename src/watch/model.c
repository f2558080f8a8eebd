/* What `watch` sees: requests through the interface of every surface, decisions out of the journal's end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "gate/state.h"
#include "watch/watch.h"

#define TAIL_BYTES  ((size_t)1 << 20) /* of a line of the journal */
#define FIRST_LOOK  ((int64_t)256 << 10)
#define LINES_BYTES ((size_t)2 << 30)

bool watch_open(struct watch_model *ret_model, const char *state_dir, const char *home,
                const char *people_file, struct buf *ret_error)
{
    struct buf path;
    *ret_model = (struct watch_model){.state_dir = state_dir, .journal = -1};
    arena_init(&ret_model->arena, LINES_BYTES);
    buf_init(&ret_model->tail, TAIL_BYTES);
    ret_model->decisions = calloc(WATCH_DECISIONS, sizeof(*ret_model->decisions));
    buf_init(&path, MESSAGE_BYTES);
    bool ok = roster_open(&ret_model->roster, slice_of(home), people_file, &path, ret_error);
    buf_finish(&path);
    ret_model->people = ok ? people_open(state_dir, ret_error) : NULL;
    if (ret_model->decisions != NULL && ret_model->people != NULL) {
        return true;
    }
    watch_close(ret_model);
    return false;
}

void watch_close(struct watch_model *model)
{
    people_close(model->people);
    roster_finish(&model->roster);
    free(model->decisions);
    buf_finish(&model->tail);
    arena_finish(&model->arena);
    if (model->journal >= 0) {
        close(model->journal);
    }
    *model = (struct watch_model){.journal = -1};
}

/* ---- Requests ---- */

static bool contains(struct slice text, const char *word)
{
    size_t len = strlen(word);
    return len == 0 || (text.len >= len && memmem(text.ptr, text.len, word, len) != NULL);
}

static bool passes(const struct watch_model *model, const struct request *r)
{
    return contains(r->tool, model->filter) || contains(r->server, model->filter) ||
           contains(r->rule, model->filter) || contains(r->channel, model->filter) ||
           contains(r->input, model->filter);
}

static bool look_at_requests(struct watch_model *model)
{
    struct request *all = NULL;
    size_t count = 0;
    struct buf error;
    buf_init(&error, 4096);
    bool ok = people_waiting(model->people, &all, &count, &error);
    arena_reset(&model->arena);
    model->count = model->hidden = 0;
    model->requests = ok ? arena_array(&model->arena, count + 1, sizeof(*all)) : NULL;
    for (size_t i = 0; model->requests != NULL && i < count; i++) {
        if (passes(model, &all[i])) {
            model->requests[model->count++] = all[i];
        } else {
            model->hidden++;
        }
    }
    if (model->requests == NULL) {
        snprintf(model->message, sizeof(model->message), "%.*s", (int)error.len,
                 error.ptr != NULL ? error.ptr : "");
    }
    buf_finish(&error);
    return model->requests != NULL;
}

/* ---- Decisions ---- */

static void add_text(struct buf *out, const struct json_doc *doc, const char *key)
{
    const struct json_value *v = json_get(doc, json_root(doc), key);
    if (json_is(v, JSON_STRING)) {
        utf8_append_printable(out, json_str(v));
    }
}

/* One line of the journal: a decision becomes a line for people, anything else is passed over. */
static void take_event(struct watch_model *model, struct slice line)
{
    struct json_doc doc;
    struct json_error error;
    struct buf text;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 8,
                                         .max_bytes = (uint32_t)TAIL_BYTES};
    json_init(&doc);
    buf_init(&text, TAIL_BYTES);
    const struct json_value *kind =
        json_parse(&doc, line, &options, &error) ? json_get(&doc, json_root(&doc), "kind") : NULL;
    struct slice name = json_is(kind, JSON_STRING) ? json_str(kind) : SLICE("");
    bool decision = slice_is(name, "policy.allow") || slice_is(name, "policy.deny") ||
                    slice_is(name, "policy.require") || slice_is(name, "policy.would-deny") ||
                    slice_is(name, "policy.would-require");
    if (decision) {
        const struct json_value *ts = json_get(&doc, json_root(&doc), "ts");
        struct slice when =
            json_is(ts, JSON_STRING) && ts->str_len >= 19 ? (struct slice){ts->str + 11, 8} : SLICE("");
        buf_slice(&text, when);
        buf_printf(&text, "  %-8.*s", SLICE_FMT(slice_from(name, 7)));
        add_text(&text, &doc, "server");
        buf_text(&text, json_get(&doc, json_root(&doc), "server") != NULL ? "/" : "");
        add_text(&text, &doc, "toolName");
        buf_text(&text, "  ");
        add_text(&text, &doc, "ruleId");
        size_t at = (model->decision_first + model->decision_count) % WATCH_DECISIONS;
        if (model->decision_count == WATCH_DECISIONS) {
            model->decision_first = (model->decision_first + 1) % WATCH_DECISIONS;
        } else {
            model->decision_count++;
        }
        model->decisions[at].denied = slice_is(name, "policy.deny") || slice_is(name, "policy.would-deny");
        snprintf(model->decisions[at].text, sizeof(model->decisions[at].text), "%.*s", (int)text.len,
                 text.ptr != NULL ? text.ptr : "");
    }
    buf_finish(&text);
    json_finish(&doc);
}

static void take_bytes(struct watch_model *model)
{
    char *end;
    while (model->tail.len > 0 && (end = memchr(model->tail.ptr, '\n', model->tail.len)) != NULL) {
        size_t len = (size_t)(end - model->tail.ptr);
        take_event(model, (struct slice){model->tail.ptr, len});
        buf_drop(&model->tail, len + 1);
    }
}

/* Opens the journal, again when another file has its name: it was rotated. */
static bool open_journal(struct watch_model *model)
{
    char path[4096];
    struct stat st;
    if (snprintf(path, sizeof(path), "%s/%s", model->state_dir, STATE_JOURNAL) >= (int)sizeof(path) ||
        stat(path, &st) != 0) {
        return model->journal >= 0;
    }
    if (model->journal >= 0 && st.st_ino == model->journal_ino) {
        return true;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return model->journal >= 0;
    }
    if (model->journal >= 0) {
        close(model->journal);
        model->journal_at = 0;
    } else {
        model->journal_at = st.st_size > FIRST_LOOK ? st.st_size - FIRST_LOOK : 0;
    }
    model->journal = fd;
    model->journal_ino = st.st_ino;
    buf_reset(&model->tail);
    return true;
}

static void look_at_journal(struct watch_model *model)
{
    if (!open_journal(model)) {
        return;
    }
    for (int i = 0; i < 64; i++) { /* a busy gate must not hold the keys up */
        char *room = buf_reserve(&model->tail, 64 << 10);
        ssize_t n = room != NULL ? pread(model->journal, room, 64 << 10, model->journal_at) : -1;
        if (n <= 0) {
            break;
        }
        buf_added(&model->tail, (size_t)n);
        model->journal_at += n;
        take_bytes(model);
    }
    if (!buf_ok(&model->tail)) { /* a line longer than any event: what follows it is read again */
        buf_reset(&model->tail);
    }
}

bool watch_look(struct watch_model *model)
{
    look_at_journal(model);
    return look_at_requests(model);
}

/* ---- Answers ---- */

void watch_answer(struct watch_model *model, const struct request *request, enum watch_answer answer)
{
    static const enum approval_scope scopes[] = {[WATCH_ONCE] = APPROVAL_ONCE,
                                                 [WATCH_CALL] = APPROVAL_CALL,
                                                 [WATCH_RULE] = APPROVAL_SESSION,
                                                 [WATCH_REFUSE] = APPROVAL_SESSION};
    struct people_answer given;
    struct buf error;
    struct buf name;
    char code[CODE_LENGTH + 1];
    memcpy(code, request->code, sizeof(code));
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&name, MESSAGE_BYTES);
    people_own_name(&name);
    const struct voter voter = {.surface = PEOPLE_USER, .id = buf_slice_of(&name)};
    const struct vote vote = {
        .code = slice_of(code),
        .yes = answer != WATCH_REFUSE,
        .scope = scopes[answer],
    };
    switch (people_take_answer(model->people, &model->roster, &voter, &vote, &given, &error)) {
    case STORE_DONE:
        snprintf(model->message, sizeof(model->message), "%s: %s (%u of %u)", code,
                 given.request.state == REQUEST_WAITING ? "counted, more approvers are needed"
                                                        : request_state_name(given.request.state),
                 given.request.given, given.request.needed);
        break;
    case STORE_NONE:
        snprintf(model->message, sizeof(model->message), "%s: it waits no longer", code);
        break;
    case STORE_TWICE:
        snprintf(model->message, sizeof(model->message), "%s: you have answered already", code);
        break;
    case STORE_FORBIDDEN:
        snprintf(model->message, sizeof(model->message), "%s: %.*s", code, SLICE_FMT(buf_message(&error)));
        break;
    default:
        snprintf(model->message, sizeof(model->message), "%s: the answer does not count: %.*s", code,
                 SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&name);
    buf_finish(&error);
}
