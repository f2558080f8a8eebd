/* Shows the events of a journal, one a line. */
#include "cli/journal/journal_show.h"

#include <stdlib.h>
#include <time.h>

#include "base/utf8.h"
#include "cli/journal/times.h"
#include "cli/options.h"

#define SHOWN_MOST ((size_t)64 << 20) /* bytes of one event as it is printed */

/* Of an input, a path list or a detail. */
#define SHOWN_BYTES 160u

static void write_part(struct buf *out, const char *before, struct slice text, const char *behind)
{
    if (!text.len) {
        return;
    }
    buf_text(out, before);
    utf8_append_printable(out, text);
    buf_text(out, behind);
}

static void write_value(struct buf *out, const struct journal_event *event, const char *key)
{
    const struct json_value *value = json_get(&event->doc, json_root(&event->doc), key);
    if (value == NULL) {
        return;
    }
    struct slice text = json_text_of(&event->doc, value);
    size_t len = text.len;
    if (len > SHOWN_BYTES) {
        for (len = SHOWN_BYTES; len > 0 && (text.ptr[len] & 0xc0) == 0x80; len--)
            ;
    }
    buf_printf(out, "  %s ", key);
    utf8_append_printable(out, (struct slice){text.ptr, len});
    buf_text(out, len < text.len ? "\xe2\x80\xa6" : "");
}

/* `2026-11-29 21:00:00  12  policy.deny  fs/read_file  by 'no-etc'  (system files)  C1/1.1 claude_process  …` */
static void write_event(struct buf *out, const struct journal_event *event)
{
    times_write_local(out, event->ts);
    buf_printf(out, "  %llu  ", (unsigned long long)event->seq);
    utf8_append_printable(out, event->kind);
    write_part(out, "  ", event->server, "/");
    write_part(out, event->server.len ? "" : "  ", event->tool, "");
    write_part(out, "  by '", event->rule, "'");
    write_part(out, "  (", event->reason, ")");
    write_part(out, "  ", event->channel, "/");
    write_part(out, "", event->thread, "");
    write_part(out, " ", event->actor, "");
    write_value(out, event, "input");
    write_value(out, event, "paths");
    write_value(out, event, "detail");
    buf_byte(out, '\n');
}

static void write_shown(struct buf *out, const struct shown *shown, const struct journal_event *event)
{
    buf_reset(out);
    if (shown->json) {
        buf_slice(out, event->text);
        buf_byte(out, '\n');
    } else if (shown->calls) {
        journal_event_call(out, event);
        buf_byte(out, '\n');
    } else {
        write_event(out, event);
    }
}

/* The last events as they will be printed: a ring of texts. */
struct last {
    struct buf *texts;
    size_t room, next;
};

static bool last_init(struct last *last, size_t room)
{
    *last = (struct last){.texts = calloc(room, sizeof(*last->texts)), .room = room};
    for (size_t i = 0; last->texts != NULL && i < room; i++) {
        buf_init(&last->texts[i], SHOWN_MOST);
    }
    return last->texts != NULL;
}

static int last_print(const struct last *last)
{
    int code = EXIT_YES;
    for (size_t i = 0; i < last->room && code == EXIT_YES; i++) {
        const struct buf *text = &last->texts[(last->next + i) % last->room];
        code = text->len > 0 ? print(text) : EXIT_YES;
    }
    return code;
}

static void last_finish(struct last *last)
{
    for (size_t i = 0; last->texts != NULL && i < last->room; i++) {
        buf_finish(&last->texts[i]);
    }
    free(last->texts);
}

/* Prints what there is up to the end; with `last`, keeps it instead. */
static int show_to_end(struct journal_reader *reader, const struct shown *shown, struct last *last,
                       struct buf *out)
{
    const struct journal_event *event;
    struct buf error;
    enum journal_read result;
    int code = EXIT_YES;
    buf_init_message(&error, MESSAGE_BYTES);
    while (code == EXIT_YES && (result = journal_reader_next(reader, &event, &error)) != JOURNAL_READ_END) {
        if (result == JOURNAL_READ_FAILED) {
            say("%.*s", SLICE_FMT(buf_message(&error)));
            code = EXIT_UNABLE;
        } else if (last != NULL) {
            write_shown(&last->texts[last->next], shown, event);
            last->next = (last->next + 1) % last->room;
        } else {
            write_shown(out, shown, event);
            code = print(out);
        }
    }
    buf_finish(&error);
    return code;
}

static int follow(struct journal_reader *reader, const struct shown *shown, struct buf *out)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    struct buf error;
    int code = EXIT_YES;
    buf_init_message(&error, MESSAGE_BYTES);
    while (code == EXIT_YES) {
        (void)nanosleep(&pause, NULL);
        if (!journal_reader_follow(reader, &error)) {
            say("%.*s", SLICE_FMT(buf_message(&error)));
            code = EXIT_UNABLE;
        } else {
            code = show_to_end(reader, shown, NULL, out);
        }
    }
    buf_finish(&error);
    return code;
}

int journal_show(const char *const *files, size_t count, const struct shown *shown)
{
    struct buf out, error;
    struct last last = {0};
    int code = EXIT_UNABLE;
    struct journal_filter filter = shown->filter;
    filter.decisions = filter.decisions || shown->calls;
    filter.no_probes = filter.denied && filter.session == NULL;
    buf_init(&out, SHOWN_MOST);
    buf_init_message(&error, MESSAGE_BYTES);
    struct journal_reader *reader = journal_reader_open(files, count, &filter, &error);
    bool wants_last = shown->tail > 0;
    if (reader == NULL) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    } else if (wants_last && !last_init(&last, shown->tail)) {
        say("out of memory");
    } else {
        code = show_to_end(reader, shown, wants_last ? &last : NULL, &out);
        if (code == EXIT_YES && journal_reader_probes(reader) > 0) {
            say("%llu probe(s) of callgate doctor are left out; they are in a session of their "
                "own: " JOURNAL_PROBE_THREAD,
                (unsigned long long)journal_reader_probes(reader));
        }
        code = code == EXIT_YES && wants_last ? last_print(&last) : code;
        code = code == EXIT_YES && shown->follow ? follow(reader, shown, &out) : code;
    }
    last_finish(&last);
    journal_reader_close(reader);
    buf_finish(&error);
    buf_finish(&out);
    return code;
}
