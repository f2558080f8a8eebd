/* Counts what a journal says of each rule, and keeps the counts beside it. */
#include "journal/counts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "journal/reader.h"
#include "json/json.h"

#define COUNTS_FILE    "counts.json"
#define COUNTS_CEILING ((size_t)256 << 20)

static struct journal_count *count_for(struct journal_counts *counts, struct slice rule)
{
    uint32_t id = intern_add(&counts->rules, rule);
    if (id == 0) {
        return NULL;
    }
    if (id > counts->cap) {
        uint32_t cap = counts->cap > 0 ? counts->cap * 2 : 64;
        struct journal_count *list = realloc(counts->list, cap * sizeof(*list));
        if (list == NULL) {
            return NULL;
        }
        memset(list + counts->cap, 0, (cap - counts->cap) * sizeof(*list));
        counts->list = list;
        counts->cap = cap;
    }
    return &counts->list[id - 1];
}

static uint64_t number(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    int64_t value = 0;
    const struct json_value *v = json_get(doc, object, key);
    if (!json_is(v, JSON_NUMBER) || json_number_int(json_str(v), &value) != JSON_INT_OK || value < 0) {
        return 0;
    }
    return (uint64_t)value;
}

/* A time is shown as it stands, so nothing else may. */
static void set_last(struct journal_count *count, struct slice ts)
{
    static const char letters[] = "0123456789-:.TZ";
    bool good = ts.len < sizeof(count->last);
    for (size_t i = 0; i < ts.len && good; i++) {
        good = ts.ptr[i] != '\0' && strchr(letters, ts.ptr[i]) != NULL;
    }
    if (good) {
        memcpy(count->last, ts.ptr, ts.len);
        count->last[ts.len] = '\0';
    }
}

/* What was kept. Anything wrong with it only means counting from the start. */
static void read_kept(struct journal_counts *counts, struct slice text)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = COUNTS_CEILING};
    json_init(&doc);
    if (json_parse(&doc, text, &options, &error)) {
        const struct json_value *root = json_root(&doc), *rules = json_get(&doc, root, "rules"), *key;
        for (key = rules != NULL ? json_first(&doc, rules) : NULL; key != NULL;
             key = json_right(&doc, rules, key)) {
            const struct json_value *v = json_member_value(key), *last = json_get(&doc, v, "last");
            struct journal_count *count = count_for(counts, json_str(key));
            if (count == NULL) {
                break;
            }
            count->allow = number(&doc, v, "allow");
            count->deny = number(&doc, v, "deny");
            count->require = number(&doc, v, "require");
            if (json_is(last, JSON_STRING)) {
                set_last(count, json_str(last));
            }
        }
        counts->seq = number(&doc, root, "seq");
        counts->offset = number(&doc, root, "offset");
        counts->inode = number(&doc, root, "inode");
    }
    json_finish(&doc);
}

static bool count_event(struct journal_counts *counts, const struct journal_event *event)
{
    struct journal_count *count = count_for(counts, event->rule.len > 0 ? event->rule : SLICE("(no rule)"));
    if (count == NULL) {
        return false;
    }
    if (slice_is(event->outcome, "allow")) {
        count->allow++;
    } else if (slice_is(event->outcome, "require") || slice_is(event->outcome, "would-require")) {
        count->require++;
    } else {
        count->deny++;
    }
    set_last(count, event->ts);
    return true;
}

/* Counts the decisions after those that are counted, of the parts that may hold some. */
static bool count_events(struct journal_counts *counts, struct journal_reader *reader, struct buf *error)
{
    const struct journal_event *event;
    enum journal_read result;
    while ((result = journal_reader_next(reader, &event, error)) == JOURNAL_READ_EVENT) {
        counts->seq = event->seq;
        if (event->is_decision && !count_event(counts, event)) {
            buf_text(error, "out of memory");
            return false;
        }
    }
    if (result == JOURNAL_READ_END) {
        counts->offset = journal_reader_offset(reader);
        counts->inode = journal_reader_inode(reader);
    }
    return result == JOURNAL_READ_END;
}

static void forget_counts(struct journal_counts *counts)
{
    memset(counts->list, 0, counts->cap * sizeof(*counts->list));
    counts->seq = counts->offset = counts->inode = 0;
}

static bool count_journal(struct journal_counts *counts, const struct journal_parts *parts, struct buf *error)
{
    uint64_t last = parts->last_seq[parts->count - 1];
    size_t first = 0;
    /* A file without an event of its own continues the part before it. */
    if (last == 0 && parts->count > 1) {
        last = parts->last_seq[parts->count - 2];
    }
    if (last < counts->seq && counts->list != NULL) {
        forget_counts(counts); /* another journal, in the place of the one that was counted */
    }
    while (first + 1 < parts->count && parts->last_seq[first] <= counts->seq) {
        first++;
    }
    struct journal_filter filter = {.after_seq = counts->seq};
    struct journal_reader *reader =
        journal_reader_open(parts->files + first, parts->count - first, &filter, error);
    if (reader == NULL) {
        return false;
    }
    if (counts->inode != 0 && journal_reader_inode(reader) == counts->inode) {
        journal_reader_skip(reader, counts->offset);
    }
    bool done = count_events(counts, reader, error);
    journal_reader_close(reader);
    return done;
}

static void write_counts(struct buf *buf, const struct journal_counts *counts)
{
    buf_printf(buf, "{\"inode\":%llu,\"offset\":%llu,\"rules\":{", (unsigned long long)counts->inode,
               (unsigned long long)counts->offset);
    for (uint32_t id = 1; id <= counts->rules.count; id++) {
        const struct journal_count *count = &counts->list[id - 1];
        if (id > 1) {
            buf_byte(buf, ',');
        }
        json_write_bytes(buf, intern_text(&counts->rules, id));
        buf_printf(buf, ":{\"allow\":%llu,\"deny\":%llu,\"last\":\"%s\",\"require\":%llu}",
                   (unsigned long long)count->allow, (unsigned long long)count->deny, count->last,
                   (unsigned long long)count->require);
    }
    buf_printf(buf, "},\"seq\":%llu}\n", (unsigned long long)counts->seq);
}

bool journal_counts_read(struct journal_counts *ret_counts, int dir, const char *dir_path, const char *name,
                         struct buf *ret_error)
{
    struct journal_parts parts;
    struct buf text;
    *ret_counts = (struct journal_counts){0};
    arena_init(&ret_counts->arena, 0);
    intern_init(&ret_counts->rules, &ret_counts->arena);
    buf_init(&text, COUNTS_CEILING);
    if (file_read_at(dir, COUNTS_FILE, &text)) {
        read_kept(ret_counts, buf_slice_of(&text));
    }
    bool counted = journal_parts_find(dir_path, name, &parts, ret_error);
    if (counted) {
        bool begun = parts.count > 1 || faccessat(dir, name, F_OK, 0) == 0;
        counted = !begun || count_journal(ret_counts, &parts, ret_error);
        journal_parts_finish(&parts);
    }
    buf_reset(&text);
    write_counts(&text, ret_counts);
    if (counted && buf_ok(&text)) {
        /* That they cannot be kept costs time at the next look, nothing else. */
        (void)!file_replace_at(dir, COUNTS_FILE ".new", COUNTS_FILE, buf_slice_of(&text), false);
    }
    buf_finish(&text);
    return counted;
}

void journal_counts_finish(struct journal_counts *counts)
{
    intern_finish(&counts->rules);
    arena_finish(&counts->arena);
    free(counts->list);
}

struct journal_count journal_counts_of(const struct journal_counts *counts, struct slice rule)
{
    uint32_t id = intern_find(&counts->rules, rule);
    return id ? counts->list[id - 1] : (struct journal_count){0};
}
