/* One delivery: a process that gets the notice on its standard input, or the bell of a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "people/internal.h"
#include "people/sender_internal.h"

#define NOTIFY_SEND "/usr/bin/notify-send"

struct delivery {
    struct sender *sender;
    uv_process_t process;
    uv_pipe_t in;
    uv_timer_t limit;
    uv_write_t write;
    struct buf text;
    bool webhook;
    unsigned open; /* handles that are not closed yet */
};

static void closed(uv_handle_t *handle)
{
    struct delivery *d = handle->data;
    if (--d->open == 0) {
        buf_finish(&d->text);
        free(d);
    }
}

static void ended(uv_process_t *process, int64_t status, int signal)
{
    struct delivery *d = process->data;
    d->sender->running--;
    if (d->webhook) {
        sender_posted(d->sender, signal != 0 ? 75 : status);
    }
    /* What the command left running in its group goes with it: it had its time. */
    (void)kill(-process->pid, SIGKILL);
    uv_close((uv_handle_t *)&d->process, closed);
    uv_close((uv_handle_t *)&d->in, closed);
    uv_close((uv_handle_t *)&d->limit, closed);
}

static void out_of_time(uv_timer_t *timer)
{
    struct delivery *d = timer->data;
    (void)kill(-d->process.pid, SIGKILL);
}

static void written(uv_write_t *write, int status)
{
    (void)status;
    struct delivery *d = write->data;
    int fd;
    if (!uv_is_closing((uv_handle_t *)&d->in) && uv_fileno((uv_handle_t *)&d->in, &fd) == 0) {
        (void)shutdown(fd, SHUT_WR); /* the end of the command's input */
    }
}

/* Starts `argv` in a session of its own with the text on its standard input and nothing else open. */
static bool start(struct sender *s, char **argv, struct buf *text, bool webhook)
{
    struct delivery *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return false;
    }
    d->sender = s;
    d->webhook = webhook;
    d->text = *text;
    *text = (struct buf){0};
    (void)uv_pipe_init(&s->loop, &d->in, 0);
    (void)uv_timer_init(&s->loop, &d->limit);
    d->process.data = d->in.data = d->limit.data = d->write.data = d;
    d->open = 3;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&d->in},
        {.flags = UV_IGNORE},
        {.flags = UV_IGNORE},
    };
    const uv_process_options_t options = {
        .exit_cb = ended,
        .file = argv[0],
        .args = argv,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
        .cwd = "/",
    };
    s->running++;
    if (uv_spawn(&s->loop, &d->process, &options) != 0) {
        s->running--;
        uv_close((uv_handle_t *)&d->process, closed);
        uv_close((uv_handle_t *)&d->in, closed);
        uv_close((uv_handle_t *)&d->limit, closed);
        return false;
    }
    uv_timer_start(&d->limit, out_of_time, SENDER_COMMAND_MS, 0);
    uv_buf_t bytes = uv_buf_init(d->text.ptr, (unsigned)d->text.len);
    (void)uv_write(&d->write, (uv_stream_t *)&d->in, &bytes, 1, written);
    return true;
}

/* ---- Kinds ---- */

static void ring(const struct notice_target *target)
{
    struct stat st;
    int fd = open(target->tty.ptr, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_uid == getuid() && isatty(fd) == 1) {
        (void)!write(fd, "\a", 1);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Desktops read `<`, `>` and `&` in a notice as mark-up, so they are written as that mark-up's names. */
static void write_plain(struct buf *buf, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '<':
            buf_text(buf, "&lt;");
            break;
        case '>':
            buf_text(buf, "&gt;");
            break;
        case '&':
            buf_text(buf, "&amp;");
            break;
        default:
            buf_byte(buf, text.ptr[i] == '\0' ? ' ' : text.ptr[i]);
        }
    }
    buf_byte(buf, '\0');
}

static struct slice text_of(const struct json_doc *doc, const struct json_value *notice, const char *name)
{
    const struct json_value *v = json_get(doc, notice, name);
    return json_is(v, JSON_STRING) ? json_str(v) : SLICE("");
}

static bool show_on_desktop(struct sender *s, const struct json_doc *doc, const struct json_value *notice)
{
    struct buf title, body, none = {0};
    buf_init(&title, 1u << 16);
    buf_init(&body, 1u << 16);
    write_plain(&title, text_of(doc, notice, "title"));
    write_plain(&body, text_of(doc, notice, "text"));
    char *argv[] = {NOTIFY_SEND, "--app-name=Callgate", "--", title.ptr, body.ptr, NULL};
    bool ok = buf_ok(&title) && buf_ok(&body) && start(s, argv, &none, false);
    buf_finish(&title);
    buf_finish(&body);
    return ok;
}

static void write_notice(struct sender *s, struct buf *text, const struct json_doc *doc,
                         const struct json_value *notice)
{
    struct slice whole = json_text_of(doc, notice);
    if (s->untold > 0 && whole.len > 1) { /* the object is written anew with one member more */
        buf_printf(text, "{\"dropped\":%llu,", (unsigned long long)s->untold);
        whole = slice_from(whole, 1);
        s->untold = 0;
    }
    buf_slice(text, whole);
    buf_byte(text, '\n');
}

static bool start_item(struct sender *s, const struct json_doc *doc, bool webhook)
{
    struct notice_target target;
    struct arena arena;
    struct buf error, text;
    const struct json_value *notice = json_get(doc, json_root(doc), "notice");
    const struct json_value *to = json_get(doc, json_root(doc), "target");
    char *argv[sizeof(target.argv) / sizeof(target.argv[0]) + 1] = {NULL};
    arena_init(&arena, (size_t)1 << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&text, OUTBOX_ITEM_BYTES);
    bool ok = json_is(notice, JSON_OBJECT) && to != NULL &&
              notice_target_read(&target, doc, to, &arena, &error) &&
              (target.kind == NOTICE_WEBHOOK) == webhook;
    if (ok && target.kind == NOTICE_COMMAND) {
        for (size_t i = 0; i < target.argc; i++) {
            argv[i] = (char *)target.argv[i].ptr;
        }
        write_notice(s, &text, doc, notice);
        ok = buf_ok(&text) && start(s, argv, &text, false);
    } else if (ok && target.kind == NOTICE_WEBHOOK) {
        argv[0] = (char *)s->webhook;
        argv[1] = (char *)target.url.ptr;
        argv[2] = (char *)target.key_file.ptr;
        buf_slice(&text, json_text_of(doc, notice));
        ok = buf_ok(&text) && start(s, argv, &text, true);
    } else if (ok && target.kind == NOTICE_DESKTOP) {
        ok = show_on_desktop(s, doc, notice);
    } else if (ok) {
        ring(&target);
    }
    buf_finish(&text);
    buf_finish(&error);
    arena_finish(&arena);
    return ok;
}

void sender_start(struct sender *s, const char *name, bool webhook)
{
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 4, .max_bytes = OUTBOX_ITEM_BYTES};
    buf_init(&text, OUTBOX_ITEM_BYTES);
    json_init(&doc);
    bool ok = outbox_read_file(s->outbox, name, &text) == OUTBOX_READ &&
              json_parse(&doc, buf_slice_of(&text), &options, &error);
    s->posting = webhook;
    if (ok) {
        ok = start_item(s, &doc, webhook);
    } else if (webhook) { /* what cannot be read will not be better next time */
        sender_posted(s, SENDER_GIVE_UP);
        webhook = false;
    }
    if (!ok && webhook) {
        sender_posted(s, 75);
    }
    json_finish(&doc);
    buf_finish(&text);
}
