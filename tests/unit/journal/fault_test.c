/* Every allocation and every call to the system fails once, and from some point on always: whatever happens,
 * the file holds exactly the events of the commits that were said to be good, and the next start can go on.
 *
 * Linked with --wrap for each call below. */
#include <errno.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "../../check.h"
#include "scratch.h"

static unsigned calls, failing = UINT_MAX; /* counted from 1 */
static bool for_ever;
static const char *failed_call;

static bool fails(const char *name)
{
    calls++;
    if (calls == failing || (for_ever && calls > failing)) {
        failed_call = failed_call == NULL ? name : failed_call;
        return true;
    }
    return false;
}

#define WRAP(type, name, failure, number, parameters, arguments)                                             \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        if (fails(#name)) {                                                                                  \
            errno = number;                                                                                  \
            return failure;                                                                                  \
        }                                                                                                    \
        return __real_##name arguments;                                                                      \
    }

WRAP(void *, malloc, NULL, ENOMEM, (size_t size), (size))
WRAP(void *, calloc, NULL, ENOMEM, (size_t count, size_t size), (count, size))
WRAP(void *, realloc, NULL, ENOMEM, (void *old, size_t size), (old, size))
WRAP(void *, reallocarray, NULL, ENOMEM, (void *old, size_t count, size_t size), (old, count, size))
WRAP(int, fdatasync, -1, EIO, (int fd), (fd))
WRAP(int, fsync, -1, EIO, (int fd), (fd))
WRAP(int, fchmod, -1, EPERM, (int fd, mode_t mode), (fd, mode))
WRAP(int, fstatat, -1, EIO, (int fd, const char *name, struct stat *status, int flags),
     (fd, name, status, flags))
WRAP(ssize_t, pread, -1, EIO, (int fd, void *bytes, size_t len, off_t at), (fd, bytes, len, at))
WRAP(ssize_t, pread64, -1, EIO, (int fd, void *bytes, size_t len, off_t at), (fd, bytes, len, at))
WRAP(int, ftruncate, -1, EIO, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, -1, EIO, (int fd, off_t size), (fd, size))

/* Held by somebody else for ever would be a test of five seconds: another error instead. */
WRAP(int, flock, -1, ENOLCK, (int fd, int operation), (fd, operation))

/* Half of it is written, and the next call fails. */
ssize_t __real_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
    static bool half;
    if (half) {
        half = false;
        errno = ENOSPC;
        return -1;
    }
    if (fails("write")) {
        half = len > 1;
        if (len > 1) {
            return __real_write(fd, bytes, len / 2);
        }
        errno = EINTR; /* of a torn line's end */
        return -1;
    }
    return __real_write(fd, bytes, len);
}

static struct buf error;

static bool stage(struct journal *journal, const struct json_doc *doc, const char *kind)
{
    const struct slice paths[] = {SLICE("/a"), SLICE("/b password=x")};
    struct event event = {.kind = kind,
                          .tool = SLICE("t token=abc"),
                          .input_doc = doc,
                          .input = json_root(doc),
                          .paths = paths,
                          .path_count = 2,
                          .has_session = true,
                          .detail = SLICE("{\"a\":[1,{\"password\":\"x\"}]}")};
    return journal_stage(journal, &event);
}

struct outcome {
    uint64_t events; /* that were committed, as far as the calls said */
    bool opened, all;
};

/* One run: two starts, commits of one and of several events, flushed and not. */
static struct outcome run(const struct scratch *scratch, const struct json_doc *doc)
{
    struct outcome outcome = {0};
    outcome.all = true;
    for (int start = 0; start < 2; start++) {
        struct journal *journal =
            journal_open(scratch->fd, "journal.jsonl", JOURNAL_FSYNC_BATCH, SLICE("{}"), &error);
        if (journal == NULL) {
            outcome.all = false;
            CHECK(error.len > 0);
            buf_reset(&error);
            continue;
        }
        outcome.opened = true;
        outcome.events++;
        for (int commit = 0; commit < 3; commit++) {
            uint64_t staged = 0;
            for (int i = 0; i <= commit; i++) {
                staged += stage(journal, doc, "test.fault");
            }
            if (staged != (uint64_t)commit + 1) {
                outcome.all = false;
            }
            if (journal_commit(journal, commit == 1, &error)) {
                outcome.events += staged;
            } else {
                outcome.all = false;
                CHECK(error.len > 0);
            }
            buf_reset(&error);
        }
        if (!journal_flush(journal, &error)) {
            outcome.all = false;
        }
        buf_reset(&error);
        journal_close(journal);
    }
    return outcome;
}

/* The events in the file, or UINT64_MAX if it does not verify; 0 for none or an empty one. */
static uint64_t events_in(const struct scratch *scratch)
{
    char path[128];
    const char *files[] = {scratch_path(scratch, "journal.jsonl", path)};
    struct journal_report report;
    struct stat status;
    if (fstatat(scratch->fd, "journal.jsonl", &status, 0) != 0 || status.st_size == 0) {
        return 0;
    }
    if (!journal_verify(files, 1, (struct slice){NULL, 0}, &report, &error)) {
        return UINT64_MAX;
    }
    if (report.fault.reason != NULL) {
        printf("    line %llu: %s\n", (unsigned long long)report.fault.line, report.fault.reason);
        return UINT64_MAX;
    }
    return report.events;
}

static void each_fails_once(const struct json_doc *doc)
{
    struct outcome outcome = {0};
    unsigned target = 1;
    for (; target < 5000; target++) {
        struct scratch scratch;
        scratch_open(&scratch);
        calls = 0;
        failing = target;
        failed_call = NULL;
        outcome = run(&scratch, doc);
        failing = UINT_MAX;
        uint64_t events = events_in(&scratch);
        /* A start that failed after its boot was written (a directory that cannot be flushed) leaves it
         * there. */
        bool boot_stays = failed_call != NULL && strcmp(failed_call, "fsync") == 0;
        if (events != outcome.events + boot_stays) {
            printf("    call %u (%s): %llu events, %llu committed\n", target, failed_call,
                   (unsigned long long)events, (unsigned long long)outcome.events);
        }
        CHECK(events == outcome.events + boot_stays);
        scratch_close(&scratch);
        if (failed_call == NULL) {
            break;
        }
    }
    CHECK(outcome.all && outcome.events == 14);
    CHECK(target > 60 && target < 5000);
}

static void all_fail_from_some_point(const struct json_doc *doc)
{
    for_ever = true;
    for (unsigned target = 1; target < 5000; target++) {
        struct scratch scratch;
        scratch_open(&scratch);
        calls = 0;
        failing = target;
        failed_call = NULL;
        struct outcome outcome = run(&scratch, doc);
        failing = UINT_MAX;
        /* What could not be taken back may stand there, torn or whole; the next start copes. */
        struct journal *journal =
            journal_open(scratch.fd, "journal.jsonl", JOURNAL_FSYNC_NEVER, SLICE("{}"), &error);
        if (journal == NULL) {
            printf("    call %u (%s): %.*s\n", target, failed_call, (int)error.len, error.ptr);
            buf_reset(&error);
        }
        CHECK(journal != NULL);
        journal_close(journal);
        uint64_t events = events_in(&scratch);
        CHECK(events != UINT64_MAX && events > outcome.events);
        scratch_close(&scratch);
        if (failed_call == NULL) {
            break;
        }
    }
    for_ever = false;
}

/* The verifier and the head: a failure is told, never taken for a good journal. */
static void reading_fails_once(const struct json_doc *doc)
{
    struct scratch scratch;
    char path[128];
    const char *files[] = {path};
    scratch_open(&scratch);
    scratch_path(&scratch, "journal.jsonl", path);
    CHECK(run(&scratch, doc).all);
    for (int head = 0; head < 2; head++) {
        unsigned target = 1;
        for (; target < 500; target++) {
            struct journal_report report = {0};
            struct buf text;
            buf_init(&text, 1024);
            calls = 0;
            failing = target;
            failed_call = NULL;
            bool done = head ? journal_head(path, &text, &error)
                             : journal_verify(files, 1, (struct slice){NULL, 0}, &report, &error);
            failing = UINT_MAX;
            if (failed_call != NULL &&
                strcmp(failed_call, "flock") != 0) { /* reads without the lock, if it must */
                CHECK(!done);
            } else if (!done) {
                printf("    %.*s\n", (int)error.len, error.ptr);
                CHECK(done);
            } else {
                CHECK(head ? has(buf_slice_of(&text), "\"seq\":14") : report.events == 14);
            }
            buf_reset(&error);
            buf_finish(&text);
            if (failed_call == NULL) {
                break;
            }
        }
        CHECK(target > 3 && target < 500);
    }
    scratch_close(&scratch);
}

/* A disk that is full, as far as one process can be made to believe. */
static void file_cannot_grow(const struct json_doc *doc)
{
    struct scratch scratch;
    struct stat status;
    struct rlimit limit, tight;
    scratch_open(&scratch);
    struct journal *journal =
        journal_open(scratch.fd, "journal.jsonl", JOURNAL_FSYNC_BATCH, SLICE("{}"), &error);
    CHECK(stage(journal, doc, "before") && journal_commit(journal, true, &error));
    CHECK(fstatat(scratch.fd, "journal.jsonl", &status, 0) == 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    tight = limit;
    tight.rlim_cur = (rlim_t)status.st_size + 700; /* room for one event and a part of another */
    CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(stage(journal, doc, "full") && stage(journal, doc, "full") && stage(journal, doc, "full"));
        CHECK(!journal_commit(journal, i == 1, &error) &&
              error_has(&error, "cannot write to it: File too large"));
        struct stat now;
        CHECK(fstatat(scratch.fd, "journal.jsonl", &now, 0) == 0 && now.st_size == status.st_size);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(stage(journal, doc, "after") && journal_commit(journal, true, &error));
    journal_close(journal);
    CHECK(events_in(&scratch) == 3);
    scratch_close(&scratch);
}

int main(void)
{
    struct json_doc doc;
    struct json_error json_error;
    const struct json_options options = {.max_depth = 64, .max_bytes = 1 << 20};
    struct buf text;
    buf_init(&error, 8192);
    buf_init(&text, 1 << 20);
    json_init(&doc);
    buf_byte(&text, '{');
    for (int i = 0; i < 40; i++) { /* more members than fit without memory */
        buf_printf(&text, "\"k%d\":\"token=%d and more\",", i, i);
    }
    buf_text(&text, "\"secret=\":1}");
    CHECK(json_parse(&doc, buf_slice_of(&text), &options, &json_error));
    each_fails_once(&doc);
    all_fail_from_some_point(&doc);
    reading_fails_once(&doc);
    file_cannot_grow(&doc);
    json_finish(&doc);
    buf_finish(&text);
    buf_finish(&error);
    return check_done();
}
