/* The verifier: whole files, as one chain, a line at a time. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "journal/file_internal.h"
#include "journal/journal.h"
#include "journal/line_internal.h"
#include "journal/tail_internal.h"

#define READ_SIZE 65536u

/* The head that was kept elsewhere, to be met on the way. */
struct head {
    bool given, met;
    uint64_t seq;
    char hash[HASH_HEX + 1];
};

struct verifier {
    struct line_reader reader;
    struct buf bytes; /* read and not yet verified: at most a line and what was read with it */
    struct chain chain;
    struct head head;
    struct journal_report report;
};

static bool read_head(struct slice text, struct head *ret_head)
{
    const struct json_options options = {.max_depth = 1, .max_bytes = 4096};
    struct json_doc doc;
    struct json_error error;
    uint8_t hash[HASH_SIZE];
    int64_t seq = 0;
    json_init(&doc);
    bool parsed = json_parse(&doc, text, &options, &error);
    const struct json_value *root = parsed ? json_root(&doc) : NULL;
    const struct json_value *number = json_is(root, JSON_OBJECT) ? json_get(&doc, root, "seq") : NULL;
    const struct json_value *hex = json_is(root, JSON_OBJECT) ? json_get(&doc, root, "hash") : NULL;
    bool good = json_is(number, JSON_NUMBER) && json_number_int(json_str(number), &seq) == JSON_INT_OK &&
                seq > 0 && json_is(hex, JSON_STRING) && hash_from_hex(json_str(hex), hash);
    if (good) {
        *ret_head = (struct head){.given = true, .seq = (uint64_t)seq};
        hash_to_hex(hash, ret_head->hash);
    }
    json_finish(&doc);
    return good;
}

/* The first event of a file binds it to the anchor in its detail, and to the part before it where there is one. */
static bool begin_part(struct verifier *v, const struct line *line)
{
    struct journal_fault *fault = &v->report.fault;
    uint8_t hash[HASH_SIZE];
    bool is_boot = slice_is(line->kind, "system.boot") && line->anchor.ptr != NULL;
    bool ties = is_boot && line->previous_seq > 0;
    if (v->chain.seq == 0 && line->seq == 1 && !is_boot) {
        fault_set(fault, "the first event is not the boot of a new journal",
                  "system.boot with an anchor in detail", "another event, or no anchor");
        return false;
    }
    if (v->chain.seq != 0 && ties &&
        (line->previous_seq != v->chain.seq || !slice_is(line->previous_hash, v->chain.hash))) {
        char expected[sizeof(fault->expected)], actual[sizeof(fault->actual)], hex[HASH_HEX + 1];
        (void)snprintf(expected, sizeof(expected), "seq %" PRIu64 ", %s", v->chain.seq, v->chain.hash);
        (void)snprintf(actual, sizeof(actual), "seq %" PRIu64 ", %s", line->previous_seq,
                       hash_for_people(line->previous_hash, hex));
        fault_set(fault, "this part does not follow the one before it", expected, actual);
        return false;
    }
    /* A file that only continues another, cut at any line, and any other first event: line_follows judges it. */
    if (!is_boot || (v->chain.seq != 0 && !ties)) {
        return true;
    }
    if (!hash_bytes(line->anchor, hash)) {
        return false;
    }
    hash_to_hex(hash, v->chain.hash);
    if (v->chain.seq == 0) {
        v->report.continues = line->previous_seq;
        v->chain.seq = line->previous_seq;
    }
    return true;
}

static bool meet_head(struct verifier *v, const struct line *line)
{
    char actual[HASH_HEX + 1];
    if (!v->head.given || line->seq != v->head.seq) {
        return true;
    }
    v->head.met = slice_is(line->hash, v->head.hash);
    if (!v->head.met) {
        fault_set(&v->report.fault, "the event is not the one of the head", v->head.hash,
                  hash_for_people(line->hash, actual));
    }
    return v->head.met;
}

enum step {
    STEP_FAILED = 0, /* memory or libcrypto */
    STEP_FAULT,
    STEP_OK,
};

static enum step verify_line(struct verifier *v, struct slice text)
{
    struct line line;
    v->report.fault.line++;
    v->report.fault.seq = 0;
    switch (line_read(&v->reader, text, &line, &v->report.fault)) {
    case LINE_OK:
        break;
    case LINE_FAULT:
        return STEP_FAULT;
    case LINE_UNREAD:
    default:
        return STEP_FAILED;
    }
    bool good = (v->report.fault.line > 1 || begin_part(v, &line)) &&
                line_follows(&line, &v->chain, &v->report.fault) && meet_head(v, &line);
    if (!good) {
        return v->report.fault.reason == NULL ? STEP_FAILED : STEP_FAULT;
    }
    line_advance(&line, &v->chain);
    v->report.events++;
    return STEP_OK;
}

static enum step too_long(struct verifier *v)
{
    v->report.fault.line++;
    v->report.fault.seq = 0;
    char actual[32];
    (void)snprintf(actual, sizeof(actual), "more than %u bytes", JOURNAL_LINE_MAX);
    fault_set(&v->report.fault, "the line is too long", "at most 262144 bytes", actual);
    return STEP_FAULT;
}

/* Verifies the whole lines that have been read, and keeps the rest. */
static enum step verify_lines(struct verifier *v)
{
    struct slice rest = buf_slice_of(&v->bytes);
    for (;;) {
        const char *end = rest.len == 0 ? NULL : memchr(rest.ptr, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr);
        if (len > JOURNAL_LINE_MAX) {
            return too_long(v);
        }
        if (end == NULL) {
            break;
        }
        enum step step = verify_line(v, (struct slice){rest.ptr, len});
        if (step != STEP_OK) {
            return step;
        }
        rest = slice_from(rest, len + 1);
    }
    buf_drop(&v->bytes, v->bytes.len - rest.len);
    return STEP_OK;
}

static enum step torn_line(struct verifier *v)
{
    char actual[48];
    (void)snprintf(actual, sizeof(actual), "%zu bytes without one", v->bytes.len);
    v->report.fault.line++;
    v->report.fault.seq = 0;
    fault_set(&v->report.fault, "the last line is cut short", "a line end", actual);
    return STEP_FAULT;
}

/* `left` is how much of the file there is to read; UINT64_MAX: to its end. */
static enum step verify_open(struct verifier *v, const struct journal_file *file, uint64_t left,
                             const char *name, struct buf *error)
{
    bool to_end = left == UINT64_MAX;
    buf_reset(&v->bytes);
    while (left > 0) {
        size_t want = left < READ_SIZE ? (size_t)left : READ_SIZE;
        char *room = buf_reserve(&v->bytes, want);
        ptrdiff_t got = room == NULL ? 0 : journal_file_read(file, UINT64_MAX, room, want);
        if (room == NULL || got < 0) {
            buf_printf(error, "%s: cannot read it: %s", name,
                       room == NULL ? "out of memory" : strerror(errno));
            return STEP_FAILED;
        }
        if (got == 0) {
            break;
        }
        buf_added(&v->bytes, (size_t)got);
        left -= to_end ? 0 : (size_t)got;
        enum step step = verify_lines(v);
        if (step != STEP_OK) {
            if (step == STEP_FAILED) {
                buf_printf(error, "%s: cannot verify it: out of memory, or libcrypto failed", name);
            }
            return step;
        }
    }
    return v->bytes.len == 0 ? STEP_OK : torn_line(v);
}

static enum step verify_file(struct verifier *v, const char *name, struct buf *error)
{
    uint64_t size;
    struct journal_file file;
    if (!journal_file_open_to_read(&file, name, &size, error)) {
        return STEP_FAILED;
    }
    v->report.fault = (struct journal_fault){.file = slice_of(name)};
    enum step step = verify_open(v, &file, size, name, error);
    journal_file_close(&file);
    return step;
}

/* What can only be said once everything has been read. */
static void verify_end(struct verifier *v)
{
    struct journal_fault *fault = &v->report.fault;
    char expected[64], actual[64];
    if (v->report.events == 0) {
        fault->line = 1;
        fault_set(fault, "there is no event", "system.boot with an anchor in detail", "nothing");
    } else if (v->head.given && !v->head.met) {
        fault->line++;
        (void)snprintf(expected, sizeof(expected), "the head's event, seq %" PRIu64, v->head.seq);
        (void)snprintf(actual, sizeof(actual), "the last event has seq %" PRIu64, v->chain.seq);
        fault_set(fault, "the end of the journal is missing", expected, actual);
    }
}

static bool verify_files(struct verifier *v, const char *const *files, size_t count, struct buf *error)
{
    for (size_t i = 0; i < count; i++) {
        switch (verify_file(v, files[i], error)) {
        case STEP_OK:
            break;
        case STEP_FAULT:
            return true;
        case STEP_FAILED:
        default:
            return false;
        }
    }
    verify_end(v);
    return true;
}

bool journal_verify(const char *const *files, size_t count, struct slice head,
                    struct journal_report *ret_report, struct buf *ret_error)
{
    struct verifier v = {0};
    line_reader_init(&v.reader);
    buf_init(&v.bytes, (size_t)JOURNAL_LINE_MAX + (size_t)2 * READ_SIZE);
    bool done = head.len == 0 || read_head(head, &v.head);
    if (!done) {
        buf_text(ret_error,
                 "journal: the head is not one of ours: give the text that 'callgate journal head' prints");
    }
    done = done && verify_files(&v, files, count, ret_error);
    if (done) {
        v.report.last_seq = v.chain.seq;
        memcpy(v.report.last_hash, v.chain.hash, sizeof(v.report.last_hash));
        *ret_report = v.report;
    }
    line_reader_finish(&v.reader);
    buf_finish(&v.bytes);
    return done;
}

static bool head_of(const struct journal_file *file, uint64_t size, const char *name,
                    struct line_reader *reader, struct buf *head, struct buf *error)
{
    struct buf bytes;
    struct tail tail;
    struct journal_fault fault = {0};
    buf_init(&bytes, (size_t)2 * JOURNAL_BATCH_MAX);
    enum line_result result = tail_read(file, size, &bytes, reader, &tail, &fault);
    buf_finish(&bytes);
    if (result == LINE_UNREAD) {
        buf_printf(error, "%s: cannot read its end: %s", name, strerror(errno));
    } else if (result == LINE_FAULT) {
        buf_printf(error, "%s: %s (expected %s, found %s); see 'callgate journal verify'", name, fault.reason,
                   fault.expected, fault.actual);
    } else if (tail.chain.seq == 0) {
        buf_printf(error, "%s: there is no event in it", name);
    } else {
        buf_printf(head, "{\"hash\":\"%s\",\"seq\":%" PRIu64 ",\"ts\":", tail.chain.hash, tail.chain.seq);
        json_write_bytes(head, slice_of(tail.ts));
        buf_byte(head, '}');
        return buf_ok(head);
    }
    return false;
}

bool journal_head(const char *file, struct buf *ret_head, struct buf *ret_error)
{
    uint64_t size;
    struct line_reader reader;
    struct journal_file open;
    if (!journal_file_open_to_read(&open, file, &size, ret_error)) {
        return false;
    }
    line_reader_init(&reader);
    bool done = size != UINT64_MAX;
    if (!done) {
        buf_printf(ret_error, "%s: not a regular file", file);
    }
    done = done && head_of(&open, size, file, &reader, ret_head, ret_error);
    line_reader_finish(&reader);
    journal_file_close(&open);
    return done;
}
