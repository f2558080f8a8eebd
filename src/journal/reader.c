/* Reads the events of a journal, a line at a time, over its parts. */
#include "journal/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "journal/file_internal.h"
#include "journal/journal.h"

#define CHUNK ((size_t)64 << 10)

struct journal_reader {
    const char *const *files;
    size_t count, next; /* files[next - 1] is open */
    struct journal_filter filter;
    struct journal_file file;
    bool seekable;     /* `size` and `at` count; else the bytes come as they come */
    uint64_t size, at; /* whole lines end at size; read up to `at` */
    uint64_t line;     /* of the line given last, in its file */
    uint64_t inode;
    struct buf bytes; /* read and not given */
    size_t given;     /* bytes of it that were */
    struct journal_event event;
    uint64_t probes; /* left out */
};

/* ---- Files ---- */

static bool open_file(struct journal_reader *reader, const char *name, struct buf *error)
{
    uint64_t size, dev;
    struct journal_file file;
    if (!journal_file_open_to_read(&file, name, &size, error)) {
        return false;
    }
    journal_file_close(&reader->file);
    reader->file = file;
    reader->seekable = size != UINT64_MAX;
    reader->size = size;
    reader->at = 0;
    reader->line = 0;
    reader->given = 0;
    buf_reset(&reader->bytes);
    if (!journal_file_identity(&file, &dev, &reader->inode)) {
        reader->inode = 0;
    }
    return true;
}

struct journal_reader *journal_reader_open(const char *const *files, size_t count,
                                           const struct journal_filter *filter, struct buf *ret_error)
{
    struct journal_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL) {
        buf_text(ret_error, "out of memory");
        return NULL;
    }
    reader->files = files;
    reader->count = count;
    reader->filter = filter != NULL ? *filter : (struct journal_filter){0};
    reader->file = (struct journal_file){.dir = -1, .fd = -1};
    buf_init(&reader->bytes, (size_t)JOURNAL_LINE_MAX + 2 * CHUNK);
    json_init(&reader->event.doc);
    if (count > 0 && !open_file(reader, files[0], ret_error)) {
        journal_reader_close(reader);
        return NULL;
    }
    reader->next = 1;
    return reader;
}

void journal_reader_close(struct journal_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    journal_file_close(&reader->file);
    buf_finish(&reader->bytes);
    json_finish(&reader->event.doc);
    free(reader);
}

void journal_reader_skip(struct journal_reader *reader, uint64_t offset)
{
    reader->at = offset;
}

uint64_t journal_reader_offset(const struct journal_reader *reader)
{
    return reader->at - (reader->bytes.len - reader->given);
}

uint64_t journal_reader_inode(const struct journal_reader *reader)
{
    return reader->inode;
}

/* ---- Lines ---- */

/* Reads more of the open file. False at its end, or with a message. */
static bool fill(struct journal_reader *reader, bool *ret_failed, struct buf *error)
{
    uint64_t left =
        reader->seekable ? reader->size - (reader->at < reader->size ? reader->at : reader->size) : CHUNK;
    size_t want = left < CHUNK ? (size_t)left : CHUNK;
    buf_drop(&reader->bytes, reader->given);
    reader->given = 0;
    char *room = want == 0 ? NULL : buf_reserve(&reader->bytes, want);
    if (want == 0) {
        return false;
    }
    ptrdiff_t got = room == NULL ? -1
                                 : journal_file_read(&reader->file,
                                                     reader->seekable ? reader->at : UINT64_MAX, room, want);
    if (got < 0) {
        *ret_failed = true;
        buf_printf(error, "%s:%llu: cannot be read: %s", reader->files[reader->next - 1],
                   (unsigned long long)reader->line + 1,
                   room == NULL ? "the line is too long, or out of memory" : strerror(errno));
        return false;
    }
    buf_added(&reader->bytes, (size_t)got);
    reader->at += (uint64_t)got;
    return got > 0;
}

/* The next line of the open file; one that is cut short counts at the end of the file only. */
static enum journal_read next_line(struct journal_reader *reader, struct slice *ret_line, struct buf *error)
{
    bool failed = false;
    for (;;) {
        struct slice rest = slice_from(buf_slice_of(&reader->bytes), reader->given);
        const char *end = rest.len == 0 ? NULL : memchr(rest.ptr, '\n', rest.len);
        if (end != NULL) {
            *ret_line = (struct slice){rest.ptr, (size_t)(end - rest.ptr)};
            reader->given += ret_line->len + 1;
            reader->line++;
            return JOURNAL_READ_EVENT;
        }
        if (!fill(reader, &failed, error)) {
            break;
        }
    }
    struct slice torn = slice_from(buf_slice_of(&reader->bytes), reader->given);
    if (failed || torn.len == 0) {
        return failed ? JOURNAL_READ_FAILED : JOURNAL_READ_END;
    }
    reader->given += torn.len;
    reader->line++;
    *ret_line = torn;
    return JOURNAL_READ_EVENT;
}

void journal_reader_skip_to_line(struct journal_reader *reader, uint64_t offset)
{
    struct slice rest;
    struct buf ignored;
    buf_init_message(&ignored, MESSAGE_BYTES);
    reader->at = offset;
    (void)next_line(reader, &rest, &ignored);
    buf_finish(&ignored);
}

/* ---- Events ---- */

static struct slice text_of(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    return json_is(value, JSON_STRING) ? json_str(value) : (struct slice){0};
}

static void read_members(struct journal_event *event)
{
    const struct json_doc *doc = &event->doc;
    const struct json_value *root = json_root(doc), *session = json_get(doc, root, "sessionKey");
    const struct json_value *seq = json_get(doc, root, "seq");
    int64_t number = 0;
    event->kind = text_of(doc, root, "kind");
    event->reason = text_of(doc, root, "reason");
    event->outcome = text_of(doc, root, "outcome");
    event->rule = text_of(doc, root, "ruleId");
    event->ts = text_of(doc, root, "ts");
    event->tool = text_of(doc, root, "toolName");
    event->server = text_of(doc, root, "server");
    event->actor = text_of(doc, root, "actor");
    event->call_hash = text_of(doc, root, "callHash");
    event->channel = text_of(doc, session, "channel");
    event->thread = text_of(doc, session, "thread");
    event->input = json_get(doc, root, "input");
    event->annotations = json_get(doc, root, "annotations");
    event->seq = 0;
    if (json_is(seq, JSON_NUMBER) && json_number_int(json_str(seq), &number) == JSON_INT_OK && number > 0) {
        event->seq = (uint64_t)number;
    }
    event->is_decision = slice_is(event->kind, "policy.allow") || slice_is(event->kind, "policy.deny") ||
                         slice_is(event->kind, "policy.require") ||
                         slice_is(event->kind, "policy.would-deny") ||
                         slice_is(event->kind, "policy.would-require");
}

static bool is_session(const struct journal_event *event, const char *wanted)
{
    struct slice text = slice_of(wanted);
    if (event->channel.ptr == NULL || !slice_starts_with(text, event->channel)) {
        return false;
    }
    struct slice rest = slice_from(text, event->channel.len);
    return rest.len == 0 || (rest.ptr[0] == '/' && slice_eq(slice_from(rest, 1), event->thread));
}

/* Times of events have one form, so that their order is that of their texts. */
static bool is_before(struct slice ts, const char *time)
{
    struct slice other = slice_of(time);
    int order = memcmp(ts.ptr, other.ptr, ts.len < other.len ? ts.len : other.len);
    return order < 0 || (order == 0 && ts.len < other.len);
}

static bool passes(const struct journal_filter *filter, const struct journal_event *event)
{
    return (!filter->denied || slice_is(event->kind, "policy.deny") ||
            slice_is(event->kind, "policy.would-deny")) &&
           (!filter->decisions || event->is_decision) &&
           event->seq >= filter->after_seq + (filter->after_seq > 0) &&
           (filter->session == NULL || is_session(event, filter->session)) &&
           (filter->since == NULL || (event->ts.len > 0 && !is_before(event->ts, filter->since))) &&
           (filter->until == NULL || (event->ts.len > 0 && is_before(event->ts, filter->until)));
}

static enum journal_read read_event(struct journal_reader *reader, struct slice line, struct buf *error)
{
    struct json_error fault;
    /* An event's input may be as deep as a call's, inside the event. */
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 4, .max_bytes = JOURNAL_LINE_MAX};
    if (!json_parse(&reader->event.doc, line, &options, &fault)) {
        buf_printf(error, "%s:%llu: no event: %s; see `callgate journal verify`",
                   reader->files[reader->next - 1], (unsigned long long)reader->line,
                   fault.detail != NULL ? fault.detail : "not JSON");
        return JOURNAL_READ_FAILED;
    }
    reader->event.text = line;
    read_members(&reader->event);
    return JOURNAL_READ_EVENT;
}

enum journal_read journal_reader_next(struct journal_reader *reader, const struct journal_event **ret_event,
                                      struct buf *ret_error)
{
    struct slice line;
    for (;;) {
        enum journal_read result =
            reader->count == 0 ? JOURNAL_READ_END : next_line(reader, &line, ret_error);
        if (result == JOURNAL_READ_END && reader->next < reader->count) {
            if (!open_file(reader, reader->files[reader->next], ret_error)) {
                return JOURNAL_READ_FAILED;
            }
            reader->next++;
            continue;
        }
        result = result == JOURNAL_READ_EVENT ? read_event(reader, line, ret_error) : result;
        if (result != JOURNAL_READ_EVENT) {
            return result;
        }
        if (!passes(&reader->filter, &reader->event)) {
            continue;
        }
        if (reader->filter.no_probes && slice_is(reader->event.thread, JOURNAL_PROBE_THREAD)) {
            reader->probes++;
        } else {
            *ret_event = &reader->event;
            return JOURNAL_READ_EVENT;
        }
    }
}

uint64_t journal_reader_probes(const struct journal_reader *reader)
{
    return reader->probes;
}

bool journal_reader_follow(struct journal_reader *reader, struct buf *ret_error)
{
    uint64_t size = 0, dev, inode = 0, other_size;
    struct journal_file named;
    if (!reader->seekable || !journal_file_whole_size(&reader->file, &size)) {
        buf_printf(ret_error, "%s: only a file can be followed", reader->files[reader->count - 1]);
        return false;
    }
    reader->size = size;
    if (size > reader->at) {
        return true; /* the rest of this part comes before what has its name now */
    }
    struct buf ignored;
    buf_init_message(&ignored, MESSAGE_BYTES);
    bool moved = journal_file_open_to_read(&named, reader->files[reader->count - 1], &other_size, &ignored);
    buf_finish(&ignored);
    if (moved) {
        moved = journal_file_identity(&named, &dev, &inode) && inode != reader->inode;
        journal_file_close(&named);
    }
    return !moved || open_file(reader, reader->files[reader->count - 1], ret_error);
}

void journal_event_call(struct buf *buf, const struct journal_event *event)
{
    buf_text(buf, "{\"tool\":");
    json_write_string(buf, event->tool);
    if (event->server.ptr != NULL) {
        buf_text(buf, ",\"server\":");
        json_write_string(buf, event->server);
    }
    buf_text(buf, ",\"sessionKey\":{\"channel\":");
    json_write_string(buf, event->channel);
    buf_text(buf, ",\"thread\":");
    json_write_string(buf, event->thread);
    buf_text(buf, "},\"actor\":");
    json_write_string(buf, event->actor);
    buf_text(buf, ",\"input\":");
    if (event->input != NULL) {
        buf_slice(buf, json_text_of(&event->doc, event->input));
    } else {
        buf_text(buf, "{}");
    }
    if (event->annotations != NULL) {
        buf_text(buf, ",\"annotations\":");
        buf_slice(buf, json_text_of(&event->doc, event->annotations));
    }
    buf_byte(buf, '}');
}
