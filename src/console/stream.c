/* Streams of server-sent events: a browser hears at once that there is something to be fetched. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "console/internal.h"

#define BEAT_MS 15000

struct stream {
    struct console *console;
    struct MHD_Connection *connection;
    struct stream *next;
    uint64_t session;
    struct buf queue;
    bool sleeps; /* MHD does not look at it */
    bool ends;
};

static ssize_t read_stream(void *context, uint64_t position, char *to, size_t most)
{
    struct stream *s = context;
    (void)position;
    if (s->ends || s->queue.failed) { /* whoever is too slow comes again */
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (s->queue.len == 0) {
        s->sleeps = true;
        MHD_suspend_connection(s->connection);
        return 0;
    }
    size_t len = s->queue.len < most ? s->queue.len : most;
    memcpy(to, s->queue.ptr, len);
    buf_drop(&s->queue, len);
    return (ssize_t)len;
}

static struct session *session_of(struct console *console, uint64_t number)
{
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        if (console->sessions[i].used && console->sessions[i].number == number) {
            return &console->sessions[i];
        }
    }
    return NULL;
}

static void free_stream(void *context)
{
    struct stream *s = context;
    struct session *session = session_of(s->console, s->session);
    struct stream **at = &s->console->streams;
    while (*at != NULL && *at != s) {
        at = &(*at)->next;
    }
    if (*at == s) {
        *at = s->next;
        s->console->stream_count--;
    }
    if (session != NULL) {
        session->streams--;
    }
    buf_finish(&s->queue);
    free(s);
}

static void wake(struct stream *s)
{
    if (s->sleeps) {
        s->sleeps = false;
        MHD_resume_connection(s->connection);
    }
}

bool stream_open(struct exchange *x)
{
    struct console *console = x->console;
    if (console->stream_count >= STREAMS_MOST || x->session->streams >= STREAMS_SESSION) {
        return false;
    }
    struct stream *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return false;
    }
    *s = (struct stream){.console = console, .connection = x->connection, .session = x->session->number};
    buf_init(&s->queue, STREAM_QUEUE);
    buf_printf(&s->queue, "retry: 1000\nevent: waiting\ndata: %llu\n\nevent: record\ndata: %llu\n\n",
               (unsigned long long)console->waiting_version, (unsigned long long)console->record_version);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, s, free_stream);
    if (response == NULL) {
        buf_finish(&s->queue);
        free(s);
        return false;
    }
    s->next = console->streams;
    console->streams = s;
    console->stream_count++;
    x->session->streams++;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    x->queued = MHD_queue_response(x->connection, MHD_HTTP_OK, response) == MHD_YES;
    MHD_destroy_response(response); /* frees the stream when it was not queued */
    return x->queued;
}

void streams_tell(struct console *console, const char *event, uint64_t version)
{
    for (struct stream *s = console->streams; s != NULL; s = s->next) {
        buf_printf(&s->queue, "event: %s\ndata: %llu\n\n", event, (unsigned long long)version);
        wake(s);
    }
}

/* A line that says nothing: who has gone away is noticed by it. */
void streams_beat(struct console *console)
{
    int64_t now = clock_boot_ms();
    if (now - console->beat_ms < BEAT_MS) {
        return;
    }
    console->beat_ms = now;
    for (struct stream *s = console->streams; s != NULL; s = s->next) {
        buf_text(&s->queue, ":\n\n");
        wake(s);
    }
}

void streams_end(struct console *console, uint64_t session)
{
    for (struct stream *s = console->streams; s != NULL; s = s->next) {
        if (session == 0 || s->session == session) {
            s->ends = true;
            wake(s);
        }
    }
}
