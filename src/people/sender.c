/* The sender's loop: looks into the outbox, starts what is due, keeps what could not be delivered. */
#include "people/sender.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "people/internal.h"
#include "people/sender_internal.h"

#define LOOK_MS        100u
#define PACE_MS        1000u
#define RUNNING_MOST   8u
#define WAITING_MOST   8u
#define FIRST_PAUSE_MS 1000u
#define LAST_PAUSE_MS  60000u
#define KEEP_MS        ((int64_t)24 * 3600 * 1000)

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of one kind ('n' or 'w') that wait, oldest first. */
static size_t list_waiting(struct sender *s, char kind, char **ret_names, size_t most)
{
    int copy = dup(s->outbox);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    size_t count = 0;
    if (dir == NULL) {
        return 0;
    }
    rewinddir(dir);
    for (struct dirent *entry; count < most && (entry = readdir(dir)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len > 2 && entry->d_name[0] != '.' && entry->d_name[len - 2] == '-' &&
            entry->d_name[len - 1] == kind && (ret_names[count] = strdup(entry->d_name)) != NULL) {
            count++;
        }
    }
    closedir(dir);
    qsort(ret_names, count, sizeof(*ret_names), by_name);
    return count;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
}

static void save_state(struct sender *s, size_t waiting)
{
    struct buf text;
    char since[CLOCK_ISO_SIZE];
    buf_init(&text, 1u << 16);
    buf_printf(&text, "{\"dropped\":%llu,\"failing\":[", (unsigned long long)s->dropped);
    if (s->failing_since != 0) {
        clock_iso8601(s->failing_since, since);
        buf_printf(&text, "{\"since\":\"%s\",\"why\":", since);
        json_write_bytes(&text, slice_of(s->failing_why));
        buf_byte(&text, '}');
    }
    buf_printf(&text, "],\"waiting\":%zu}", waiting);
    if (buf_ok(&text)) {
        (void)!outbox_write_file(s->outbox, OUTBOX_STATE, buf_slice_of(&text));
    }
    buf_finish(&text);
}

/* ---- What only the newest of matters ---- */

static void deliver_quick(struct sender *s)
{
    char *names[OUTBOX_LOOK_MOST];
    size_t count = list_waiting(s, 'n', names, OUTBOX_LOOK_MOST), first = 0;
    for (; count - first > WAITING_MOST; first++) {
        (void)unlinkat(s->outbox, names[first], 0);
        s->dropped++;
        s->untold++;
    }
    s->waits = count > first;
    uint64_t now = uv_now(&s->loop);
    if (count > first && s->running < RUNNING_MOST &&
        (s->started_ms == 0 || now - s->started_ms >= PACE_MS)) {
        s->started_ms = now;
        sender_start(s, names[first], false);
        (void)unlinkat(s->outbox, names[first], 0);
    }
    if (first > 0) {
        save_state(s, count - first);
    }
    free_names(names, count);
}

/* ---- Webhooks ---- */

static void deliver_webhook(struct sender *s)
{
    if (s->posting || uv_now(&s->loop) < s->next_post_ms) {
        s->waits = true;
        return;
    }
    char *names[OUTBOX_LOOK_MOST];
    size_t count = list_waiting(s, 'w', names, OUTBOX_LOOK_MOST), first = 0;
    while (first < count && clock_wall_ms() - strtoll(names[first], NULL, 10) > KEEP_MS) {
        (void)unlinkat(s->outbox, names[first++], 0);
        s->dropped++;
    }
    if (first < count) {
        s->waits = true;
        snprintf(s->post_name, sizeof(s->post_name), "%s", names[first]);
        sender_start(s, names[first], true);
    }
    free_names(names, count);
}

void sender_posted(struct sender *s, int64_t status)
{
    s->posting = false;
    if (status == 0 || status == SENDER_GIVE_UP) {
        (void)unlinkat(s->outbox, s->post_name, 0);
        s->pause_ms = 0;
        s->dropped += status == 0 ? 0 : 1;
    } else {
        s->pause_ms = s->pause_ms == 0 ? FIRST_PAUSE_MS : s->pause_ms * 2;
        s->pause_ms = s->pause_ms > LAST_PAUSE_MS ? LAST_PAUSE_MS : s->pause_ms;
        s->next_post_ms = uv_now(&s->loop) + s->pause_ms;
    }
    if (status == 0) {
        s->failing_since = 0;
    } else if (s->failing_since == 0) {
        s->failing_since = clock_wall_ms();
    }
    snprintf(s->failing_why, sizeof(s->failing_why), "%s",
             status == SENDER_GIVE_UP ? "a webhook refuses what it is sent, or its key cannot be read"
                                      : "a webhook cannot be reached");
    save_state(s, status == 0 ? 0 : 1);
}

/* ---- The loop ---- */

static void look(uv_timer_t *timer)
{
    struct sender *s = timer->data;
    s->waits = false;
    deliver_quick(s);
    deliver_webhook(s);
    uint64_t now = uv_now(&s->loop);
    if (s->waits || s->running > 0) {
        s->busy_ms = now;
    } else if (now - s->busy_ms >= SENDER_LINGER_MS) {
        uv_stop(&s->loop);
    }
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static bool run_loop(struct sender *s, struct buf *ret_error)
{
    if (uv_loop_init(&s->loop) != 0) {
        buf_text(ret_error, "no memory");
        return false;
    }
    (void)uv_timer_init(&s->loop, &s->timer);
    s->timer.data = s;
    uv_timer_start(&s->timer, look, 0, LOOK_MS);
    s->busy_ms = uv_now(&s->loop);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_walk(&s->loop, close_handle, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&s->loop);
    return true;
}

/* Whether something waits: asked once more after the lock is gone, so that a notice that came in between
 * finds either this sender or none. */
static bool anything_waits(struct sender *s)
{
    char *names[1];
    size_t count = list_waiting(s, 'n', names, 1);
    free_names(names, count);
    if (count == 0) {
        count = list_waiting(s, 'w', names, 1);
        free_names(names, count);
    }
    return count > 0;
}

bool sender_run(int state_dir, const char *webhook, struct buf *ret_error)
{
    struct sender s = {.webhook = webhook};
    s.outbox = outbox_open(state_dir);
    bool ok = s.outbox >= 0;
    if (!ok) {
        buf_printf(ret_error, "the outbox cannot be opened: %s", strerror(errno));
    }
    for (bool again = true; ok && again;) {
        int lock = openat(s.outbox, OUTBOX_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        bool ours = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
        ok = lock >= 0 && (!ours || run_loop(&s, ret_error));
        if (lock >= 0) {
            close(lock);
        }
        again = ok && ours && anything_waits(&s);
    }
    if (s.outbox >= 0) {
        close(s.outbox);
    }
    return ok;
}
