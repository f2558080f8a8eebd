#include "cli/journal/counts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/calls/approvals.h"
#include "cli/command.h"
#include "cli/journal/decided.h"
#include "gate/state.h"

#define COUNTS_FILE    "counts.json"
#define COUNTS_CEILING ((size_t)256 << 20)

static struct count *count_for(struct counts *counts, struct slice rule)
{
    uint32_t id = intern_add(&counts->rules, rule);
    if (!id) {
        return NULL;
    }
    if (id > counts->cap) {
        uint32_t cap = counts->cap ? counts->cap * 2 : 64;
        struct count *list = realloc(counts->list, cap * sizeof(*list));
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
static void set_last(struct count *count, struct slice ts)
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
static void read_kept(struct counts *counts, struct slice text)
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
            struct count *count = count_for(counts, json_str(key));
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
    }
    json_finish(&doc);
}

static void count_event(struct counts *counts, const struct decided *event, bool *failed)
{
    struct count *count = count_for(counts, event->rule.len ? event->rule : SLICE("(no rule)"));
    if (count == NULL) {
        *failed = true;
        return;
    }
    if (slice_is(event->outcome, "allow")) {
        count->allow++;
    } else if (slice_is(event->outcome, "require")) {
        count->require++;
    } else {
        count->deny++;
    }
    set_last(count, event->ts);
    counts->seq = event->seq;
}

/* How long the journal is with no writer in the middle of a line: its lock is held just for the look. */
static bool whole_length(int fd, uint64_t *ret_length)
{
    struct stat st;
    if (flock(fd, LOCK_SH) != 0) {
        return false;
    }
    bool known = fstat(fd, &st) == 0;
    flock(fd, LOCK_UN);
    *ret_length = known ? (uint64_t)st.st_size : 0;
    return known;
}

static bool count_journal(struct counts *counts, const char *journal)
{
    struct decided_reader reader;
    uint64_t length;
    bool failed = false;
    enum decided_result result = DECIDED_END;
    if (!decided_open(&reader, journal)) {
        return false;
    }
    if (!whole_length(reader.fd, &length) || length < counts->offset ||
        lseek(reader.fd, (off_t)counts->offset, SEEK_SET) < 0) {
        say("%s: is shorter than it was when the counts were kept; see `callgate journal verify`", journal);
        failed = true;
    } else {
        reader.lines.left = length - counts->offset;
    }
    while (!failed && (result = decided_next(&reader)) == DECIDED_ONE) {
        count_event(counts, &reader.event, &failed);
    }
    decided_close(&reader);
    failed = failed || result != DECIDED_END;
    if (!failed) {
        counts->offset = length;
    }
    return !failed;
}

static void write_counts(struct buf *buf, const struct counts *counts)
{
    buf_printf(buf, "{\"offset\":%llu,\"rules\":{", (unsigned long long)counts->offset);
    for (uint32_t id = 1; id <= counts->rules.count; id++) {
        const struct count *count = &counts->list[id - 1];
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

/* Keeps the counts. That it cannot costs time at the next look, nothing else. */
static void keep(const struct counts *counts, int dir)
{
    struct buf text;
    buf_init(&text, COUNTS_CEILING);
    write_counts(&text, counts);
    int fd = buf_ok(&text) ? openat(dir, COUNTS_FILE ".new",
                                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
                           : -1;
    if (fd >= 0) {
        bool written = write(fd, text.ptr, text.len) == (ssize_t)text.len;
        close(fd);
        if (!written || renameat(dir, COUNTS_FILE ".new", dir, COUNTS_FILE) != 0) {
            unlinkat(dir, COUNTS_FILE ".new", 0);
        }
    }
    buf_finish(&text);
}

static bool is_regular(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool read_file_at(const char *state_dir, const char *name, struct buf *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", state_dir, name);
    if (!is_regular(path)) {
        buf_init(text, 1);
        return false;
    }
    return read_file(path, COUNTS_CEILING, text);
}

bool counts_read(struct counts *ret_counts, const char *state_dir)
{
    char journal[4096];
    struct buf error, kept;
    *ret_counts = (struct counts){0};
    arena_init(&ret_counts->arena, 0);
    intern_init(&ret_counts->rules, &ret_counts->arena);
    buf_init_message(&error, MESSAGE_BYTES);
    int dir = state_open(state_dir, &error);
    if (dir < 0) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    if (dir < 0) {
        return false;
    }
    if (read_file_at(state_dir, COUNTS_FILE, &kept)) {
        read_kept(ret_counts, buf_slice_of(&kept));
    }
    buf_finish(&kept);
    snprintf(journal, sizeof(journal), "%s/%s", state_dir, STATE_JOURNAL);
    bool counted = access(journal, F_OK) != 0;
    if (!counted && !is_regular(journal)) {
        say("%s: is no regular file", journal);
    } else if (!counted) {
        counted = count_journal(ret_counts, journal);
    }
    if (counted) {
        keep(ret_counts, dir);
    }
    close(dir);
    return counted;
}

void counts_finish(struct counts *counts)
{
    intern_finish(&counts->rules);
    arena_finish(&counts->arena);
    free(counts->list);
}

struct count counts_of(const struct counts *counts, struct slice rule)
{
    uint32_t id = intern_find(&counts->rules, rule);
    return id ? counts->list[id - 1] : (struct count){0};
}
