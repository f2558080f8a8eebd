/* Writing journals: what stands in them, one process and several, crashes, files changed underneath. The
 * argument is the path of verify.py, the second opinion. */
#include "opinion.h"

static void test_line(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_BATCH);
    CHECK(journal != NULL);

    struct json_doc doc;
    struct json_error json_error;
    json_init(&doc);
    const struct json_options options = {.max_depth = 64, .max_bytes = 1 << 20};
    CHECK(json_parse(&doc, SLICE("{\"b\":1e2,\"a\":\"x\\u0041\",\"n\":9007199254740993}"), &options,
                     &json_error));
    const struct slice paths[] = {SLICE("/tmp/a"), SLICE("/tmp/\xff")};
    uint8_t hash[HASH_SIZE] = {0xAB};
    struct event event = {
        .kind = "policy.deny",
        .outcome = "deny",
        .tool = SLICE("write_file"),
        .server = SLICE("fs"),
        .input_doc = &doc,
        .input = json_root(&doc),
        .paths = paths,
        .path_count = 2,
        .reason = SLICE("no \"way\""),
        .rule = SLICE("r1"),
        .actor = SLICE("claude_process"),
        .correlation_id = SLICE("c-1"),
        .has_session = true,
        .channel = SLICE("C1"),
        .call_hash = hash,
        .detail = SLICE(" { \"z\" : [ 1 , 2.50 ] , \"a\" : null } "),
    };
    CHECK(journal_stage(journal, &event));
    CHECK(journal_commit(journal, true, &error));
    CHECK(both_verify(&scratch, 2));

    struct buf text = scratch_read(&scratch, "journal.jsonl");
    struct slice first = line_of(buf_slice_of(&text), 1), second = line_of(buf_slice_of(&text), 2);
    CHECK(slice_starts_with(first, SLICE("{\"detail\":{\"anchor\":\"")));
    CHECK(has(first, "\"pid\":1},\"hash\":\"") && has(first, "\"kind\":\"system.boot\""));
    CHECK(has(first, "\"seq\":1,\"ts\":\"2") && slice_ends_with(first, SLICE("Z\",\"v\":1}")));
    CHECK(slice_starts_with(
        second,
        SLICE("{\"actor\":\"claude_process\",\"callHash\":\"ab0000000000000000000000000000000000000000000000"
              "0000000000000000\",\"correlationId\":\"c-1\",\"detail\":{\"a\":null,\"z\":[1,2.5]},\"hash\":"
              "\"")));
    CHECK(has(second,
              "\",\"input\":{\"a\":\"xA\",\"b\":100,\"n\":\"9007199254740993e0\"},\"kind\":\"policy.deny\","
              "\"outcome\":\"deny\",\"paths\":[\"/tmp/a\",\"/tmp/\xEF\xBF\xBD\"],\"prevHash\":\""));
    CHECK(
        has(second,
            "\",\"reason\":\"no \\\"way\\\"\",\"ruleId\":\"r1\",\"seq\":2,\"server\":\"fs\",\"sessionKey\":{"
            "\"channel\":\"C1\",\"thread\":\"\"},\"toolName\":\"write_file\",\"ts\":\""));
    buf_finish(&text);
    json_finish(&doc);

    struct stat status;
    CHECK(fstatat(scratch.fd, "journal.jsonl", &status, 0) == 0 && (status.st_mode & 07777) == 0600);
    journal_close(journal);
    scratch_close(&scratch);
}

static void test_stage_failures(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
    CHECK(journal_stage(journal, &(struct event){.kind = "good"}));
    CHECK(!journal_stage(journal, &(struct event){.kind = "bad", .detail = SLICE("{")}));
    CHECK(!journal_stage(journal, &(struct event){.kind = "bad", .detail = SLICE("{\"a\":1,\"a\":1}")}));
    CHECK(!journal_stage(journal, &(struct event){.kind = "bad", .detail = SLICE("1 2")}));
    CHECK(!journal_stage(journal, &(struct event){.kind = NULL}));
    CHECK(journal_commit(journal, false, &error)); /* the good one is still staged */
    CHECK(both_verify(&scratch, 2));
    CHECK(journal_stage(journal, &(struct event){.kind = "forgotten"}));
    journal_unstage(journal);
    CHECK(journal_commit(journal, false, &error));
    CHECK(both_verify(&scratch, 2));

    /* The ceiling of what is staged holds, and what fits under it is written. */
    uint64_t staged = 0;
    while (journal_stage(journal, &(struct event){.kind = "many"})) {
        staged++;
    }
    CHECK(staged > 10000);
    CHECK(journal_commit(journal, false, &error));
    struct stat status;
    CHECK(fstatat(scratch.fd, "journal.jsonl", &status, 0) == 0 && status.st_size < JOURNAL_BATCH_MAX);
    CHECK(verifies(&scratch, 2 + staged));
    journal_close(journal);
    scratch_close(&scratch);
}

static void test_flush_modes(void)
{
    for (int mode = JOURNAL_FSYNC_BATCH; mode <= JOURNAL_FSYNC_NEVER; mode++) {
        struct scratch scratch;
        scratch_open(&scratch);
        struct journal *journal = open_in(&scratch, (enum journal_fsync)mode);
        CHECK(!journal_needs_flush(journal));
        CHECK(note(journal, "x"));
        CHECK(journal_needs_flush(journal) == (mode == JOURNAL_FSYNC_BATCH));
        CHECK(journal_flush(journal, &error) && !journal_needs_flush(journal));
        CHECK(note(journal, "x"));
        CHECK(journal_commit(journal, true, &error) && !journal_needs_flush(journal));
        CHECK(note(journal, "x"));
        CHECK(journal_stage(journal, &(struct event){.kind = "y"}) && journal_commit(journal, true, &error));
        CHECK(!journal_needs_flush(journal));
        journal_close(journal);
        CHECK(both_verify(&scratch, 5));
        scratch_close(&scratch);
    }
}

static void test_second_start(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    struct journal *a = open_in(&scratch, JOURNAL_FSYNC_NEVER);
    CHECK(note(a, "a"));
    struct journal *b = open_in(&scratch, JOURNAL_FSYNC_NEVER); /* beside the first */
    CHECK(note(b, "b"));
    CHECK(note(a, "a"));
    CHECK(note(a, "a"));
    CHECK(note(b, "b"));
    journal_close(a);
    journal_close(b);
    struct journal *c =
        journal_open(scratch.fd, "journal.jsonl", JOURNAL_FSYNC_NEVER, (struct slice){NULL, 0}, &error);
    CHECK(c != NULL); /* starts no gate: tells no boot */
    journal_close(c);
    CHECK(both_verify(&scratch, 7));
    c = journal_open(scratch.fd, "journal.jsonl", JOURNAL_FSYNC_NEVER, SLICE(""), &error);
    CHECK(c != NULL);
    journal_close(c);
    CHECK(both_verify(&scratch, 8));
    struct buf text = scratch_read(&scratch, "journal.jsonl");
    CHECK(has(line_of(buf_slice_of(&text), 3), "\"detail\":{\"pid\":1}"));
    CHECK(slice_starts_with(line_of(buf_slice_of(&text), 8), SLICE("{\"hash\":\"")));
    buf_finish(&text);
    scratch_close(&scratch);

    /* Two new journals have different anchors. */
    struct buf texts[2];
    for (int i = 0; i < 2; i++) {
        scratch_open(&scratch);
        journal_close(open_in(&scratch, JOURNAL_FSYNC_NEVER));
        texts[i] = scratch_read(&scratch, "journal.jsonl");
        scratch_close(&scratch);
    }
    CHECK(memcmp(texts[0].ptr + 21, texts[1].ptr + 21, 64) != 0);
    buf_finish(&texts[0]);
    buf_finish(&texts[1]);
}

/* Every process appends 1,000 events in batches of 1 to 7. */
static void append_as_child(const struct scratch *scratch, int number)
{
    struct journal *journal = open_in(scratch, JOURNAL_FSYNC_NEVER);
    char detail[64];
    int done = 0;
    while (journal != NULL && done < 1000) {
        for (int i = 0; i <= (done + number) % 7 && done < 1000; i++, done++) {
            (void)snprintf(detail, sizeof(detail), "{\"process\":%d,\"event\":%d}", number, done);
            if (!journal_stage(journal, &(struct event){.kind = "test.event", .detail = slice_of(detail)})) {
                _exit(1);
            }
        }
        if (!journal_commit(journal, false, &error)) {
            printf("    %.*s\n", (int)error.len, error.ptr);
            (void)fflush(stdout);
            _exit(1);
        }
    }
    journal_close(journal);
    _exit(journal == NULL);
}

static void test_processes(void)
{
    enum { PROCESSES = 6 };
    struct scratch scratch;
    pid_t children[PROCESSES];
    scratch_open(&scratch);
    (void)fflush(stdout);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            append_as_child(&scratch, i);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    CHECK(both_verify(&scratch, PROCESSES * 1001));
    /* Each process's events stand in its order, none is lost, none doubled. */
    struct buf text = scratch_read(&scratch, "journal.jsonl");
    int next[PROCESSES] = {0};
    buf_byte(&text, '\0'); /* for sscanf */
    const char *at = text.ptr, *end = text.ptr + text.len - 1;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *detail = memmem(at, (size_t)(stop - at), "{\"event\":", 9);
        int event, process;
        if (detail != NULL && sscanf(detail, "{\"event\":%d,\"process\":%d}", &event, &process) == 2) {
            if (process < 0 || process >= PROCESSES || event != next[process]++) {
                CHECK(false); /* events out of order */
                break;
            }
        }
        at = stop + 1;
    }
    for (int i = 0; i < PROCESSES; i++) {
        CHECK(next[i] == 1000);
    }
    buf_finish(&text);
    scratch_close(&scratch);
}

/* Processes that are killed while they append leave a journal that the next one can use. */
static void test_killed_processes(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    journal_close(open_in(&scratch, JOURNAL_FSYNC_NEVER));
    (void)fflush(stdout);
    for (int round = 0; round < 20; round++) {
        int started[2];
        char byte;
        if (pipe2(started, O_CLOEXEC) != 0) {
            exit(1);
        }
        pid_t child = fork();
        if (child == 0) {
            struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
            if (write(started[1], "x", 1) != 1) {
                _exit(1);
            }
            while (note(journal, "test.loop")) {
            }
            _exit(1);
        }
        (void)close(started[1]);
        CHECK(read(started[0], &byte, 1) == 1); /* it is in its loop, or about to be */
        (void)close(started[0]);
        for (volatile int spin = 0; spin < round * 20000; spin++) {
        }
        (void)kill(child, SIGKILL);
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
        CHECK(journal != NULL && note(journal, "test.after"));
        journal_close(journal);
    }
    char path[128];
    const char *files[] = {scratch_path(&scratch, "journal.jsonl", path)};
    struct journal_report report;
    CHECK(journal_verify(files, 1, (struct slice){NULL, 0}, &report, &error) && report.fault.reason == NULL);
    CHECK(report.events >= 1 + 20 * 3);
    CHECK(ask_python(&scratch, "journal.jsonl") == 0);
    scratch_close(&scratch);
}

/* A journal of a boot and three events in a file, and its text. */
static struct buf prepare(struct scratch *scratch)
{
    scratch_open(scratch);
    struct journal *journal = open_in(scratch, JOURNAL_FSYNC_NEVER);
    CHECK(note(journal, "one") && note(journal, "two") && note(journal, "three"));
    journal_close(journal);
    return scratch_read(scratch, "journal.jsonl");
}

static void test_torn(void)
{
    struct scratch scratch;
    struct buf text = prepare(&scratch);
    size_t last = text.len - 1 - line_of(buf_slice_of(&text), 4).len;

    /* Every length that a crash can leave of the last line: the next start verifies and tells of it. */
    for (size_t len = last; len <= text.len; len += 29) {
        scratch_write(&scratch, "journal.jsonl", (struct slice){text.ptr, len});
        struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
        CHECK(journal != NULL && note(journal, "after"));
        journal_close(journal);
        struct buf now = scratch_read(&scratch, "journal.jsonl");
        bool whole = len == last;
        CHECK(has(buf_slice_of(&now), "system.recovered") == !whole);
        if (!whole) {
            char want[64];
            (void)snprintf(want, sizeof(want), "{\"bytes\":%zu,\"sha256\":\"", len - last);
            CHECK(has(line_of(buf_slice_of(&now), 4), want));
        }
        buf_finish(&now);
        CHECK(both_verify(&scratch, whole ? 5 : 6));
    }
    /* Only the line end is missing: the event stays, and gets it. */
    scratch_write(&scratch, "journal.jsonl", (struct slice){text.ptr, text.len - 1});
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
    CHECK(journal != NULL);
    CHECK(both_verify(&scratch, 5));

    /* Another process dies in the middle of a write while we run. */
    int fd = openat(scratch.fd, "journal.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK(write(fd, "{\"half", 6) == 6);
    CHECK(note(journal, "after"));
    CHECK(both_verify(&scratch, 7));
    /* Blocks of zeros, as a file system may leave them after a power cut: longer than a line can be. */
    char *zeros = calloc(1, 600000);
    CHECK(write(fd, zeros, 600000) == 600000);
    CHECK(note(journal, "after"));
    CHECK(both_verify(&scratch, 9));
    free(zeros);
    (void)close(fd);
    journal_close(journal);
    struct buf now = scratch_read(&scratch, "journal.jsonl");
    CHECK(now.len < 20000 && has(buf_slice_of(&now), "{\"bytes\":600000,\"sha256\":\""));
    buf_finish(&now);

    /* Nothing but a torn line: a new chain begins. */
    scratch_write(&scratch, "journal.jsonl", (struct slice){text.ptr, 100});
    journal_close(open_in(&scratch, JOURNAL_FSYNC_NEVER));
    CHECK(both_verify(&scratch, 2));
    buf_finish(&text);
    scratch_close(&scratch);
}

static void test_tampered_tail(void)
{
    struct scratch scratch;
    struct buf text = prepare(&scratch);
    size_t last = text.len - 1 - line_of(buf_slice_of(&text), 4).len;
    struct buf changed;
    buf_init(&changed, 1 << 20);

    for (int kind = 0; kind < 4; kind++) {
        buf_reset(&changed);
        buf_slice(&changed, buf_slice_of(&text));
        switch (kind) {
        case 0: /* another byte */
            memcpy(memmem(changed.ptr + last, changed.len - last, "three", 5), "threo", 5);
            break;
        case 1: /* a line that is no event */
            buf_text(&changed, "hello\n");
            break;
        case 2: /* an empty line */
            buf_text(&changed, "\n");
            break;
        default: /* another spelling */
            changed.len--;
            buf_text(&changed, " \n");
            break;
        }
        scratch_write(&scratch, "journal.jsonl", buf_slice_of(&changed));
        CHECK(open_in(&scratch, JOURNAL_FSYNC_NEVER) == NULL);
        CHECK(error_has(&error, "nothing is added to it"));
        struct buf now = scratch_read(&scratch, "journal.jsonl");
        CHECK(slice_eq(buf_slice_of(&now), buf_slice_of(&changed))); /* the evidence stays */
        buf_finish(&now);
    }
    buf_finish(&changed);
    buf_finish(&text);
    scratch_close(&scratch);
}

static void replace_by_copy(const struct scratch *scratch, struct slice bytes)
{
    scratch_write(scratch, "copy", bytes);
    CHECK(renameat(scratch->fd, "copy", scratch->fd, "journal.jsonl") == 0);
}

static void test_changed_underneath(void)
{
    struct scratch scratch;
    struct buf text = prepare(&scratch);
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);

    CHECK(note(journal, "x"));
    struct buf now = scratch_read(&scratch, "journal.jsonl");
    CHECK(linkat(scratch.fd, "journal.jsonl", scratch.fd, "old", 0) == 0);
    replace_by_copy(&scratch, buf_slice_of(&now));
    CHECK(!note(journal, "x") && error_has(&error, "does not continue it"));
    CHECK(unlinkat(scratch.fd, "journal.jsonl", 0) == 0 &&
          symlinkat("old", scratch.fd, "journal.jsonl") == 0);
    CHECK(!note(journal, "x") && error_has(&error, "symbolic link"));
    CHECK(open_in(&scratch, JOURNAL_FSYNC_NEVER) == NULL && error_has(&error, "symbolic link"));
    CHECK(renameat(scratch.fd, "old", scratch.fd, "journal.jsonl") == 0);

    CHECK(fchmodat(scratch.fd, "journal.jsonl", 0644, 0) == 0);
    CHECK(!note(journal, "x") && error_has(&error, "mode is not 0600"));
    CHECK(open_in(&scratch, JOURNAL_FSYNC_NEVER) == NULL && error_has(&error, "mode is not 0600"));
    CHECK(fchmodat(scratch.fd, "journal.jsonl", 0600, 0) == 0);
    CHECK(note(journal, "x"));

    /* Shortened, even to a whole number of lines. */
    struct buf longer = scratch_read(&scratch, "journal.jsonl");
    scratch_write(&scratch, "journal.jsonl", buf_slice_of(&now));
    CHECK(!note(journal, "x") && error_has(&error, "is shorter than what was written"));
    /* Written anew, longer, and in itself valid: not what this process wrote. */
    scratch_write(&scratch, "journal.jsonl", (struct slice){NULL, 0});
    struct journal *other = open_in(&scratch, JOURNAL_FSYNC_NEVER);
    for (int i = 0; i < 50; i++) {
        CHECK(note(other, "forged"));
    }
    journal_close(other);
    CHECK(!note(journal, "x") && error_has(&error, "nothing is added to it"));
    scratch_write(&scratch, "journal.jsonl", buf_slice_of(&longer));
    CHECK(note(journal, "x"));
    journal_close(journal);
    CHECK(both_verify(&scratch, 8));
    buf_finish(&longer);
    buf_finish(&now);
    buf_finish(&text);
    scratch_close(&scratch);
}

static void test_not_a_journal(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    static const char *const names[] = {"", ".", "..", "a/b", "/etc/passwd"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CHECK(journal_open(scratch.fd, names[i], JOURNAL_FSYNC_NEVER, SLICE(""), &error) == NULL);
        CHECK(error_has(&error, "not a plain file name"));
    }
    CHECK(mkfifoat(scratch.fd, "journal.jsonl", 0600) == 0);
    CHECK(open_in(&scratch, JOURNAL_FSYNC_NEVER) == NULL && error_has(&error, "not a regular file"));
    CHECK(unlinkat(scratch.fd, "journal.jsonl", 0) == 0);
    CHECK(journal_open(scratch.fd, "journal.jsonl", JOURNAL_FSYNC_NEVER, SLICE("[1]"), &error) == NULL);
    CHECK(error_has(&error, "cannot make its first event"));
    CHECK(journal_open(scratch.fd, "journal.jsonl", JOURNAL_FSYNC_NEVER, SLICE("{\"anchor\":\"mine\"}"),
                       &error) == NULL);
    CHECK(error_has(&error, "cannot make its first event"));
    CHECK(journal_open(-1, "journal.jsonl", JOURNAL_FSYNC_NEVER, SLICE(""), &error) == NULL);
    CHECK(error_has(&error, "keep its directory open"));
    /* After all that the name still is free for a journal. */
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_ALWAYS);
    CHECK(journal != NULL && note(journal, "x"));
    journal_close(journal);
    journal_close(NULL);
    CHECK(both_verify(&scratch, 2));
    scratch_close(&scratch);
}

/* Random values of every kind: what is written is canonical for the other verifier too. */
static void random_value(struct buf *out, unsigned *seed, int depth)
{
    static const char *const atoms[] = {
        "null",
        "true",
        "0",
        "-0",
        "1e400",
        "1E-400",
        "0.1",
        "1e21",
        "123456789012345678901234567890",
        "5e-324",
        "-1.5e300",
        "9007199254740993",
        "1e-7",
        "100e-2",
        "4.35",
        "\"\"",
        "\"\\u0000\\u001f\\u007f\"",
        "\"\\ud83d\\ude00\"",
        "\"\xEF\xBF\xBF\"",
        "\"\\\\\\\"\\/\\b\\f\\n\\r\\t\"",
        "\"\\u2028\xC3\xA9\"",
        "\"password=abc def\"",
        "\"Bearer abcdefghijklmnop\"",
    };
    static const char *const names[] = {
        "\"a\"", "\"\\u20ac\"",  "\"\\r\"",   "\"\xF0\x9F\x98\x80\"", "\"\xEF\xAC\xB3\"",
        "\"1\"", "\"\xC3\xB6\"", "\"token\"", "\"\\u0080\""};
    *seed = *seed * 1664525u + 1013904223u;
    unsigned pick = *seed >> 16;
    if (depth == 0 || pick % 3 == 0) {
        buf_text(out, atoms[pick / 3 % (sizeof(atoms) / sizeof(*atoms))]);
        return;
    }
    bool object = pick % 3 == 1;
    size_t count = pick / 3 % (object ? sizeof(names) / sizeof(*names) : 5), start = pick % 7;
    buf_byte(out, object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        buf_text(out, i > 0 ? "," : "");
        if (object) {
            buf_text(out, names[(i + start) % (sizeof(names) / sizeof(*names))]);
            buf_byte(out, ':');
        }
        random_value(out, seed, depth - 1);
    }
    buf_byte(out, object ? '}' : ']');
}

static void test_random_events(void)
{
    struct scratch scratch;
    struct buf detail;
    unsigned seed = 1;
    scratch_open(&scratch);
    buf_init(&detail, 1 << 20);
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
    for (int i = 0; i < 3000; i++) {
        buf_reset(&detail);
        random_value(&detail, &seed, 5);
        CHECK(
            journal_stage(journal, &(struct event){.kind = "test.random", .detail = buf_slice_of(&detail)}));
        if (i % 64 == 63) {
            CHECK(journal_commit(journal, false, &error));
        }
    }
    CHECK(journal_commit(journal, true, &error));
    journal_close(journal);
    CHECK(both_verify(&scratch, 3001));
    buf_finish(&detail);
    scratch_close(&scratch);
}

/* 16 MiB of input do not make 16 MiB of line, whatever their shape. */
static void test_ceiling(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch, JOURNAL_FSYNC_NEVER);
    struct buf big;
    buf_init(&big, LIMIT_MESSAGE_BYTES);
    static const char *const pieces[] = {"\\u0001", "[],", "\"\\u0001\\u0001\\u0001\",",
                                         "1,",      "{}",  "[\"\\u0002\"]"};
    for (size_t shape = 0; shape < sizeof(pieces) / sizeof(*pieces); shape++) {
        buf_reset(&big);
        buf_text(&big, shape == 0 ? "\"" : shape < 4 ? "[" : "{");
        for (unsigned i = 0; big.len < 4000000; i++) {
            if (shape >= 4) {
                buf_printf(&big, "\"%u\":%s,", i, pieces[shape]);
            } else {
                buf_text(&big, pieces[shape]);
            }
        }
        buf_text(&big, shape == 0 ? "\"" : shape < 4 ? "0]" : "\"z\":0}");
        struct slice text = buf_slice_of(&big);
        CHECK(buf_ok(&big));
        struct slice *paths = calloc(4096, sizeof(*paths));
        for (size_t i = 0; i < 4096; i++) {
            paths[i] = (struct slice){text.ptr, 4095};
        }
        struct event event = {.kind = "test.big",
                              .tool = text,
                              .server = text,
                              .paths = paths,
                              .path_count = 4096,
                              .reason = text,
                              .rule = text,
                              .actor = text,
                              .correlation_id = text,
                              .has_session = true,
                              .channel = text,
                              .thread = text,
                              .detail = text};
        CHECK(journal_stage(journal, &event));
        CHECK(journal_commit(journal, false, &error));
        free(paths);
    }
    journal_close(journal);
    CHECK(both_verify(&scratch, 1 + sizeof(pieces) / sizeof(*pieces)));
    struct stat status;
    CHECK(fstatat(scratch.fd, "journal.jsonl", &status, 0) == 0);
    CHECK(status.st_size < (off_t)(sizeof(pieces) / sizeof(*pieces)) * JOURNAL_LINE_MAX);
    buf_finish(&big);
    scratch_close(&scratch);
}

int main(int argc, char **argv)
{
    second_opinion = argc > 1 ? argv[1] : "verify.py";
    buf_init(&error, 4096);
    test_line();
    test_stage_failures();
    test_flush_modes();
    test_second_start();
    test_processes();
    test_killed_processes();
    test_torn();
    test_tampered_tail();
    test_changed_underneath();
    test_not_a_journal();
    test_random_events();
    test_ceiling();
    buf_finish(&error);
    return check_done();
}
