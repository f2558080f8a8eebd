/* notices.json: who is told of requests. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "people/internal.h"

static bool take(struct arena *arena, const struct json_value *v, struct slice *ret_text)
{
    if (!json_is(v, JSON_STRING) || v->str_len == 0 || memchr(v->str, '\0', v->str_len) != NULL) {
        return false;
    }
    *ret_text = arena_copy(arena, json_str(v));
    return ret_text->ptr != NULL;
}

static bool read_argv(struct notice_target *target, const struct json_doc *doc, const struct json_value *list,
                      struct arena *arena)
{
    const size_t most = sizeof(target->argv) / sizeof(target->argv[0]);
    if (!json_is(list, JSON_ARRAY) || list->count == 0 || list->count > most) {
        return false;
    }
    for (const struct json_value *v = json_first(doc, list); v != NULL; v = json_right(doc, list, v)) {
        if (!take(arena, v, &target->argv[target->argc++])) {
            return false;
        }
    }
    return target->argv[0].ptr[0] == '/';
}

bool notice_target_read(struct notice_target *ret_target, const struct json_doc *doc,
                        const struct json_value *v, struct arena *arena, struct buf *ret_error)
{
    const struct json_value *kind = json_get(doc, v, "kind");
    struct slice name = json_is(kind, JSON_STRING) ? json_str(kind) : SLICE("");
    *ret_target = (struct notice_target){0};
    const char *wrong = NULL;
    if (slice_is(name, "command")) {
        ret_target->kind = NOTICE_COMMAND;
        wrong = read_argv(ret_target, doc, json_get(doc, v, "argv"), arena)
                    ? NULL
                    : "\"argv\" must be a list of at most 16 texts; the first is a program's absolute name";
    } else if (slice_is(name, "desktop")) {
        ret_target->kind = NOTICE_DESKTOP;
    } else if (slice_is(name, "bell")) {
        ret_target->kind = NOTICE_BELL;
        bool ok = take(arena, json_get(doc, v, "tty"), &ret_target->tty) &&
                  slice_starts_with(ret_target->tty, SLICE("/dev/"));
        wrong = ok ? NULL : "\"tty\" must name a terminal, as /dev/pts/3";
    } else if (slice_is(name, "webhook")) {
        ret_target->kind = NOTICE_WEBHOOK;
        bool ok = take(arena, json_get(doc, v, "url"), &ret_target->url) &&
                  (slice_starts_with(ret_target->url, SLICE("https://")) ||
                   slice_starts_with(ret_target->url, SLICE("http://127.0.0.1")) ||
                   slice_starts_with(ret_target->url, SLICE("http://localhost"))) &&
                  take(arena, json_get(doc, v, "keyFile"), &ret_target->key_file) &&
                  ret_target->key_file.ptr[0] == '/';
        wrong =
            ok ? NULL : "\"url\" must begin with https:// and \"keyFile\" name the file of the signing key";
    } else {
        wrong = "\"kind\" must be command, desktop, bell or webhook";
    }
    buf_text(ret_error, wrong != NULL ? wrong : "");
    return wrong == NULL;
}

void notice_target_write(struct buf *buf, const struct notice_target *target)
{
    switch (target->kind) {
    case NOTICE_COMMAND:
        buf_text(buf, "{\"argv\":[");
        for (size_t i = 0; i < target->argc; i++) {
            buf_text(buf, i > 0 ? "," : "");
            json_write_bytes(buf, target->argv[i]);
        }
        buf_text(buf, "],\"kind\":\"command\"}");
        break;
    case NOTICE_DESKTOP:
        buf_text(buf, "{\"kind\":\"desktop\"}");
        break;
    case NOTICE_BELL:
        buf_text(buf, "{\"kind\":\"bell\",\"tty\":");
        json_write_bytes(buf, target->tty);
        buf_byte(buf, '}');
        break;
    case NOTICE_WEBHOOK:
        buf_text(buf, "{\"keyFile\":");
        json_write_bytes(buf, target->key_file);
        buf_text(buf, ",\"kind\":\"webhook\",\"url\":");
        json_write_bytes(buf, target->url);
        buf_byte(buf, '}');
        break;
    default:
        buf->failed = true;
    }
}

static bool read_targets(struct notice_targets *targets, const struct json_doc *doc, struct buf *ret_error)
{
    const struct json_value *list = json_get(doc, json_root(doc), "targets");
    if (!json_is(list, JSON_ARRAY) || list->count > NOTICE_TARGETS_MOST) {
        buf_printf(ret_error, "%s must be {\"targets\": [at most %u]}", NOTICES_FILE, NOTICE_TARGETS_MOST);
        return false;
    }
    targets->list = arena_array(&targets->arena, list->count + 1, sizeof(*targets->list));
    if (targets->list == NULL) {
        buf_text(ret_error, "no memory");
        return false;
    }
    for (const struct json_value *v = json_first(doc, list); v != NULL; v = json_right(doc, list, v)) {
        buf_printf(ret_error, "%s: target %zu: ", NOTICES_FILE, targets->count + 1);
        size_t before = ret_error->len;
        if (!notice_target_read(&targets->list[targets->count], doc, v, &targets->arena, ret_error)) {
            return false;
        }
        ret_error->len = before;
        targets->count++;
        buf_reset(ret_error);
    }
    return true;
}

bool notice_targets_read(struct notice_targets *ret_targets, int state_dir, struct buf *ret_error)
{
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 4, .max_bytes = OUTBOX_ITEM_BYTES};
    *ret_targets = (struct notice_targets){0};
    arena_init(&ret_targets->arena, (size_t)16 << 20);
    buf_init(&text, OUTBOX_ITEM_BYTES);
    enum outbox_read found = outbox_read_file(state_dir, NOTICES_FILE, &text);
    if (found == OUTBOX_ABSENT) {
        buf_finish(&text);
        return true;
    }
    json_init(&doc);
    bool ok = false;
    if (found == OUTBOX_FAILED) {
        buf_printf(ret_error, "%s cannot be read", NOTICES_FILE);
    } else if (!json_parse(&doc, buf_slice_of(&text), &options, &error)) {
        buf_printf(ret_error, "%s: %s at byte %u", NOTICES_FILE, error.detail, error.offset);
    } else {
        ok = read_targets(ret_targets, &doc, ret_error);
    }
    json_finish(&doc);
    buf_finish(&text);
    if (!ok) {
        notice_targets_finish(ret_targets);
    }
    return ok;
}

void notice_targets_finish(struct notice_targets *targets)
{
    arena_finish(&targets->arena);
    *targets = (struct notice_targets){0};
}

bool notice_targets_write(const struct notice_targets *targets, int state_dir, struct buf *ret_error)
{
    struct buf text;
    buf_init(&text, OUTBOX_ITEM_BYTES);
    buf_text(&text, "{\"targets\":[");
    for (size_t i = 0; i < targets->count; i++) {
        buf_text(&text, i > 0 ? ",\n" : "\n");
        notice_target_write(&text, &targets->list[i]);
    }
    buf_text(&text, "\n]}\n");
    bool ok = buf_ok(&text) && outbox_write_file(state_dir, NOTICES_FILE, buf_slice_of(&text));
    if (!ok) {
        buf_printf(ret_error, "%s cannot be written: %s", NOTICES_FILE, strerror(errno));
    }
    buf_finish(&text);
    return ok;
}
