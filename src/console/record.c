/* The journal for people: the newest events first, one call's events together, and how many of which kind over time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/internal.h"
#include "gate/state.h"
#include "journal/reader.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define LINE_MOST    ((size_t)1 << 19)
#define SCAN_MOST    ((uint64_t)64 << 20) /* bytes that one question reads */
#define LIST_MOST    200
#define AROUND       2000u /* events behind a decision in which those of its call are looked for */
#define BEGIN_BYTES  240u
#define BUCKETS      48u

/* ---- From the newest event back ---- */

struct scan {
    /* Gets each event; false: enough. */
    bool (*visit)(void *context, const struct json_doc *event);
    void *context;
    uint64_t read;
    bool stopped; /* before the journal's beginning */
};

static bool visit_line(struct scan *scan, struct json_doc *doc, struct slice line)
{
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 8, .max_bytes = (uint32_t)LINE_MOST};
    return line.len == 0 || !json_parse(doc, line, &options, &error) ||
           !json_is(json_root(doc), JSON_OBJECT) || scan->visit(scan->context, doc);
}

/* The lines of a window that begin in it, the last first. *ret_begin: where the first of them begins. */
static bool visit_window(struct scan *scan, struct json_doc *doc, struct slice window, bool whole,
                         size_t *ret_begin)
{
    const char *first = whole ? window.ptr : memchr(window.ptr, '\n', window.len);
    size_t begin = first == NULL ? window.len : (size_t)(first - window.ptr) + (whole ? 0 : 1);
    size_t end = window.len;
    *ret_begin = begin;
    while (end > begin) {
        size_t last = end > begin && window.ptr[end - 1] == '\n' ? end - 1 : end;
        const char *before = last > begin ? memrchr(window.ptr + begin, '\n', last - begin) : NULL;
        size_t start = before != NULL ? (size_t)(before - window.ptr) + 1 : begin;
        if (!visit_line(scan, doc, (struct slice){window.ptr + start, last - start})) {
            return false;
        }
        end = start;
    }
    return true;
}

/* False: enough. */
static bool scan_file(struct scan *scan, const char *path, char *window)
{
    struct json_doc doc;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0) {
            close(fd);
        }
        return true;
    }
    off_t end = st.st_size;
    bool more = true;
    json_init(&doc);
    while (more && end > 0) {
        size_t len = (size_t)end < WINDOW_BYTES ? (size_t)end : WINDOW_BYTES;
        off_t start = end - (off_t)len;
        size_t begin = 0;
        if (pread(fd, window, len, start) != (ssize_t)len) {
            break;
        }
        scan->read += len;
        more = visit_window(scan, &doc, (struct slice){window, len}, start == 0, &begin);
        if (more && scan->read >= SCAN_MOST) {
            scan->stopped = true;
            more = false;
        }
        /* A line longer than a window is none of ours: what is before it is read all the same. */
        end = begin < len ? start + (off_t)begin : start;
    }
    json_finish(&doc);
    close(fd);
    return more;
}

static void scan_journal(struct console *console, struct scan *scan)
{
    struct journal_parts parts;
    struct buf error;
    char *window = malloc(WINDOW_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    if (window != NULL && journal_parts_find(console->options.state_dir, STATE_JOURNAL, &parts, &error)) {
        for (size_t i = parts.count; i-- > 0;) {
            if (!scan_file(scan, parts.files[i], window)) {
                break;
            }
        }
        journal_parts_finish(&parts);
    }
    free(window);
    buf_finish(&error);
}

/* ---- Events ---- */

static struct slice text_at(const struct json_doc *doc, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(doc, object, name);
    return json_is(v, JSON_STRING) ? json_str(v) : SLICE("");
}

static uint64_t number_at(const struct json_doc *doc, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(doc, object, name);
    int64_t number = 0;
    return json_is(v, JSON_NUMBER) && json_number_int(json_str(v), &number) == JSON_INT_OK && number > 0
               ? (uint64_t)number
               : 0;
}

static void write_text(struct buf *buf, const struct json_doc *doc, const char *member, const char *name)
{
    const struct json_value *v = json_get(doc, json_root(doc), member);
    if (json_is(v, JSON_STRING)) {
        write_named(buf, name, json_str(v));
    }
}

static struct slice beginning(struct slice text)
{
    size_t len = text.len < BEGIN_BYTES ? text.len : BEGIN_BYTES;
    while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) {
        len--;
    }
    return (struct slice){text.ptr, len};
}

/* An event in short; the brace stays open. */
static void write_short(struct buf *buf, const struct json_doc *doc)
{
    const struct json_value *root = json_root(doc), *session = json_get(doc, root, "sessionKey");
    const struct json_value *input = json_get(doc, root, "input"), *detail = json_get(doc, root, "detail");
    buf_printf(buf, "{\"seq\":%llu", (unsigned long long)number_at(doc, root, "seq"));
    write_text(buf, doc, "ts", "ts");
    write_text(buf, doc, "kind", "kind");
    write_text(buf, doc, "toolName", "tool");
    write_text(buf, doc, "server", "server");
    write_text(buf, doc, "ruleId", "rule");
    write_text(buf, doc, "outcome", "outcome");
    write_text(buf, doc, "reason", "reason");
    write_text(buf, doc, "actor", "actor");
    write_text(buf, doc, "correlationId", "correlation");
    if (json_is(session, JSON_OBJECT)) {
        write_named(buf, "channel", text_at(doc, session, "channel"));
        write_named(buf, "thread", text_at(doc, session, "thread"));
    }
    if (input != NULL) {
        write_named(buf, "begin", beginning(json_text_of(doc, input)));
    } else if (detail != NULL) {
        write_named(buf, "detail", beginning(json_text_of(doc, detail)));
    }
}

/* ---- The list ---- */

struct listing {
    struct exchange *x;
    struct slice tool, outcome, rule, session, text;
    bool all; /* also what is no decision */
    uint64_t before;
    int64_t left;
    uint64_t last; /* the number of the event that was looked at last */
    bool any;
};

static bool contains(struct slice text, struct slice word)
{
    if (word.len == 0) {
        return true;
    }
    for (size_t i = 0; i + word.len <= text.len; i++) {
        if (slice_eq_ascii_case((struct slice){text.ptr + i, word.len}, word)) {
            return true;
        }
    }
    return false;
}

static bool is_decision(struct slice kind)
{
    return slice_is(kind, "policy.allow") || slice_is(kind, "policy.deny") ||
           slice_is(kind, "policy.require");
}

static bool passes(const struct listing *l, const struct json_doc *doc)
{
    const struct json_value *root = json_root(doc), *session = json_get(doc, root, "sessionKey");
    struct slice kind = text_at(doc, root, "kind");
    return (l->all || is_decision(kind)) && contains(text_at(doc, root, "toolName"), l->tool) &&
           contains(text_at(doc, root, "ruleId"), l->rule) &&
           (l->outcome.len == 0 || slice_eq(text_at(doc, root, "outcome"), l->outcome)) &&
           (contains(text_at(doc, session, "channel"), l->session) ||
            contains(text_at(doc, session, "thread"), l->session)) &&
           contains(doc->text, l->text);
}

static bool list_event(void *context, const struct json_doc *doc)
{
    struct listing *l = context;
    uint64_t seq = number_at(doc, json_root(doc), "seq");
    if (seq == 0 || (l->before > 0 && seq >= l->before)) {
        return true;
    }
    if (l->left == 0) {
        return false;
    }
    l->last = seq;
    if (passes(l, doc)) {
        if (l->any) {
            buf_byte(&l->x->out, ',');
        }
        write_short(&l->x->out, doc);
        buf_byte(&l->x->out, '}');
        l->any = true;
        l->left--;
    }
    return true;
}

static int64_t query_number(const struct exchange *x, const char *name, int64_t least, int64_t most,
                            int64_t otherwise)
{
    struct slice text = exchange_query(x, name);
    char digits[24];
    char *end = NULL;
    if (text.len == 0 || text.len >= sizeof(digits)) {
        return otherwise;
    }
    snprintf(digits, sizeof(digits), "%.*s", SLICE_FMT(text));
    int64_t number = strtoll(digits, &end, 10);
    return *end != '\0' || number < least || number > most ? otherwise : number;
}

void answer_record(struct exchange *x)
{
    struct listing l = {
        .x = x,
        .tool = exchange_query(x, "tool"),
        .outcome = exchange_query(x, "outcome"),
        .rule = exchange_query(x, "rule"),
        .session = exchange_query(x, "session"),
        .text = exchange_query(x, "text"),
        .all = slice_is(exchange_query(x, "kind"), "all"),
        .before = (uint64_t)query_number(x, "before", 1, INT64_MAX, 0),
        .left = query_number(x, "limit", 1, LIST_MOST, 50),
    };
    struct scan scan = {.visit = list_event, .context = &l};
    buf_printf(&x->out, "{\"now\":%lld,\"events\":[", (long long)clock_wall_ms());
    scan_journal(x->console, &scan);
    bool more = l.left == 0 || scan.stopped;
    buf_printf(&x->out, "],\"next\":%llu}", (unsigned long long)(more ? l.last : 0));
}

/* ---- One event, with those of its call ---- */

struct finding_event {
    struct buf *out;
    uint64_t seq;
    struct buf correlation;
    uint64_t request;
    bool found, any;
};

static bool find_event(void *context, const struct json_doc *doc)
{
    struct finding_event *f = context;
    const struct json_value *root = json_root(doc), *detail = json_get(doc, root, "detail");
    uint64_t seq = number_at(doc, root, "seq");
    if (seq > f->seq || seq == 0) {
        return true;
    }
    if (seq == f->seq) {
        f->found = true;
        buf_slice(f->out, doc->text);
        buf_slice(&f->correlation, text_at(doc, root, "correlationId"));
        f->request = number_at(doc, detail, "request");
    }
    return false;
}

static bool join_event(void *context, const struct json_doc *doc)
{
    struct finding_event *f = context;
    const struct json_value *root = json_root(doc), *detail = json_get(doc, root, "detail");
    struct slice correlation = text_at(doc, root, "correlationId");
    uint64_t seq = number_at(doc, root, "seq"), request = number_at(doc, detail, "request");
    bool same = (correlation.len > 0 && slice_eq(correlation, buf_slice_of(&f->correlation))) ||
                (request > 0 && request == f->request);
    if (same && seq != f->seq) {
        if (f->any) {
            buf_byte(f->out, ',');
        }
        write_short(f->out, doc);
        buf_byte(f->out, '}');
        f->any = true;
    }
    return seq == 0 || seq + AROUND > f->seq;
}

void answer_event(struct exchange *x)
{
    struct finding_event f = {.out = &x->out, .seq = (uint64_t)query_number(x, "seq", 1, INT64_MAX, 0)};
    struct scan scan = {.visit = find_event, .context = &f};
    buf_init(&f.correlation, MESSAGE_BYTES);
    buf_text(&x->out, "{\"event\":");
    scan_journal(x->console, &scan);
    if (!f.found) {
        exchange_fail(x, MHD_HTTP_NOT_FOUND, "gone");
    } else {
        scan = (struct scan){.visit = join_event, .context = &f};
        buf_text(&x->out, ",\"joined\":[");
        scan_journal(x->console, &scan);
        buf_text(&x->out, "]}");
    }
    buf_finish(&f.correlation);
}

/* ---- Over time ---- */

struct chart {
    int64_t since_ms, width_ms;
    uint64_t counts[BUCKETS][3]; /* allowed, denied, held */
};

/* Days since 1970 of a date. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "2026-11-29T20:00:00.000Z" in milliseconds since 1970; 0: it is none. */
static int64_t time_of(struct slice ts)
{
    static const uint8_t at[] = {0, 5, 8, 11, 14, 17}, len[] = {4, 2, 2, 2, 2, 2};
    int64_t parts[6] = {0};
    if (ts.len < 19) {
        return 0;
    }
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < len[i]; k++) {
            char c = ts.ptr[at[i] + k];
            if (c < '0' || c > '9') {
                return 0;
            }
            parts[i] = parts[i] * 10 + (c - '0');
        }
    }
    return ((days_of(parts[0], parts[1], parts[2]) * 24 + parts[3]) * 60 + parts[4]) * 60000 +
           parts[5] * 1000;
}

static bool count_event(void *context, const struct json_doc *doc)
{
    struct chart *c = context;
    const struct json_value *root = json_root(doc);
    int64_t when = time_of(text_at(doc, root, "ts"));
    struct slice kind = text_at(doc, root, "kind");
    if (when < c->since_ms) {
        return when == 0;
    }
    int64_t bucket = (when - c->since_ms) / c->width_ms;
    if (bucket < (int64_t)BUCKETS && is_decision(kind)) {
        size_t which = slice_is(kind, "policy.allow") ? 0 : slice_is(kind, "policy.deny") ? 1 : 2;
        c->counts[bucket][which]++;
    }
    return true;
}

void answer_chart(struct exchange *x)
{
    int64_t hours = query_number(x, "hours", 1, 24 * 31, 24), now = clock_wall_ms();
    struct chart c = {.width_ms = hours * 3600000 / (int64_t)BUCKETS};
    /* Buckets stand still while time goes on. */
    c.since_ms = (now / c.width_ms + 1 - (int64_t)BUCKETS) * c.width_ms;
    struct scan scan = {.visit = count_event, .context = &c};
    scan_journal(x->console, &scan);
    buf_printf(&x->out, "{\"since\":%lld,\"width\":%lld,\"whole\":%s,\"counts\":[", (long long)c.since_ms,
               (long long)c.width_ms, scan.stopped ? "false" : "true");
    for (size_t i = 0; i < BUCKETS; i++) {
        buf_printf(&x->out, "%s[%llu,%llu,%llu]", i > 0 ? "," : "", (unsigned long long)c.counts[i][0],
                   (unsigned long long)c.counts[i][1], (unsigned long long)c.counts[i][2]);
    }
    buf_text(&x->out, "]}");
}
