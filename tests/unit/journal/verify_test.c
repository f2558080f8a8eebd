/* The verifier: every way to change a journal is found, named, and placed; and what verify.py says of the
 * same file. */
#include "../../check.h"
#include "scratch.h"

static const char *second_opinion;
static struct scratch scratch;
static struct buf error, original, changed;
static struct slice lines[8]; /* of the original, lines[1] to lines[6] */
static char first_path[128], second_path[128];
static struct journal_report report;

static bool verify(size_t files, struct slice head)
{
    const char *names[] = {first_path, second_path};
    return journal_verify(names, files, head, &report, &error);
}

static int ask_python(const char *head)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
        if (head != NULL) {
            (void)execlp("python3", "python3", second_opinion, "--head", head, first_path, (char *)NULL);
        } else {
            (void)execlp("python3", "python3", second_opinion, first_path, (char *)NULL);
        }
        _exit(127);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The fault that `changed` has, which Python must find as well. */
static bool fault_is(uint64_t line, uint64_t seq, const char *reason)
{
    scratch_write(&scratch, "one", buf_slice_of(&changed));
    if (!verify(1, (struct slice){NULL, 0})) {
        printf("    cannot verify: %.*s\n", (int)error.len, error.ptr);
        buf_reset(&error);
        return false;
    }
    const struct journal_fault *fault = &report.fault;
    bool same = fault->reason != NULL && strcmp(fault->reason, reason) == 0 && fault->line == line &&
                fault->seq == seq && slice_is(fault->file, first_path) && fault->expected[0] != '\0' &&
                fault->actual[0] != '\0';
    if (!same) {
        printf("    line %llu seq %llu: %s: expected %s, actual %s\n", (unsigned long long)fault->line,
               (unsigned long long)fault->seq, fault->reason == NULL ? "no fault" : fault->reason,
               fault->expected, fault->actual);
    }
    return same && ask_python(NULL) == 1;
}

static void begin(void)
{
    buf_reset(&changed);
}

static void add(size_t line)
{
    buf_slice(&changed, lines[line]);
    buf_byte(&changed, '\n');
}

static void add_all_but(size_t line)
{
    begin();
    for (size_t i = 1; i <= 6; i++) {
        if (i != line) {
            add(i);
        }
    }
}

/* The original with one text of a line replaced by another. */
static void replace(size_t line, const char *old, const char *new)
{
    begin();
    for (size_t i = 1; i <= 6; i++) {
        if (i != line) {
            add(i);
            continue;
        }
        const char *at = memmem(lines[i].ptr, lines[i].len, old, strlen(old));
        CHECK(at != NULL);
        size_t before = (size_t)(at - lines[i].ptr);
        buf_bytes(&changed, lines[i].ptr, before);
        buf_text(&changed, new);
        buf_slice(&changed, slice_from(lines[i], before + strlen(old)));
        buf_byte(&changed, '\n');
    }
}

/* A line with its hash made right again, as a forger would. */
static void add_rehashed(struct slice line, const char *prev_hash)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    struct buf text;
    buf_init(&text, 1 << 20);
    const char *own = memmem(line.ptr, line.len, "\"hash\":\"", 8);
    size_t before = (size_t)(own - line.ptr);
    buf_text(&text, prev_hash);
    buf_bytes(&text, line.ptr, before);
    buf_slice(&text, slice_from(line, before + 8 + HASH_HEX + 2));
    CHECK(hash_bytes(buf_slice_of(&text), hash));
    hash_to_hex(hash, hex);
    size_t from = changed.len;
    buf_slice(&changed, line);
    memcpy(changed.ptr + from + before + 8, hex, HASH_HEX);
    buf_byte(&changed, '\n');
    buf_finish(&text);
}

static struct slice prev_hash_of(struct slice line)
{
    const char *at = memmem(line.ptr, line.len, "\"prevHash\":\"", 12);
    return (struct slice){at + 12, HASH_HEX};
}

static void test_good(void)
{
    scratch_write(&scratch, "one", buf_slice_of(&original));
    CHECK(verify(1, (struct slice){NULL, 0}) && report.fault.reason == NULL);
    CHECK(report.events == 6 && report.last_seq == 6 && has(lines[6], report.last_hash));
    CHECK(ask_python(NULL) == 0);
    /* A pipe holds a journal as well. */
    const char *names[] = {"/dev/stdin"};
    (void)fflush(stdout);
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    CHECK(write(ends[1], original.ptr, original.len) == (ssize_t)original.len);
    (void)close(ends[1]);
    int saved = dup(0);
    (void)dup2(ends[0], 0);
    CHECK(journal_verify(names, 1, (struct slice){NULL, 0}, &report, &error));
    CHECK(report.fault.reason == NULL && report.events == 6);
    (void)dup2(saved, 0);
    (void)close(saved);
    (void)close(ends[0]);
}

static void test_changed_lines(void)
{
    replace(3, "event 3", "event 4");
    CHECK(fault_is(3, 3, "the hash is not that of the event"));
    CHECK(strlen(report.fault.expected) == HASH_HEX && strlen(report.fault.actual) == HASH_HEX);
    replace(3, "\"seq\":3", "\"seq\":4");
    CHECK(fault_is(3, 4, "the hash is not that of the event"));
    replace(4, "\"hash\":\"", "\"hash\":\"z");
    CHECK(fault_is(4, 4, "the hash is not that of the event"));
    CHECK(strcmp(report.fault.actual, "no SHA-256 in lower-case hex") == 0);
    replace(6, "\"v\":1", "\"v\":2");
    CHECK(fault_is(6, 6, "the event has another version"));
    replace(2, "\"seq\":2,", "");
    CHECK(fault_is(2, 0, "the event has no sequence number"));
    replace(2, "\"seq\":2,", "\"seq\":\"2\",");
    CHECK(fault_is(2, 0, "the event has no sequence number"));
    replace(2, "\"seq\":2,", "\"seq\":-2,");
    CHECK(fault_is(2, 0, "the event has no sequence number"));
    replace(2, "\"prevHash\"", "\"prevhash\"");
    CHECK(fault_is(2, 2, "a member of the event is missing"));
    replace(2, "\"kind\":\"test.event\"", "\"kind\":7");
    CHECK(fault_is(2, 2, "a member of the event is missing"));
}

static void test_lines(void)
{
    add_all_but(3);
    CHECK(fault_is(3, 4, "the sequence is broken"));
    CHECK(strcmp(report.fault.expected, "seq 3") == 0 && strcmp(report.fault.actual, "seq 4") == 0);
    CHECK(report.events == 2 && report.last_seq == 2);
    add_all_but(1);
    CHECK(fault_is(1, 2, "the sequence is broken"));
    begin(); /* doubled */
    add(1), add(2), add(2), add(3);
    CHECK(fault_is(3, 2, "the sequence is broken"));
    begin(); /* swapped */
    add(1), add(3), add(2);
    CHECK(fault_is(2, 3, "the sequence is broken"));
    begin(); /* one of another journal put in, with the right number */
    add(1), add(2);
    struct buf forged;
    buf_init(&forged, 1 << 16);
    buf_slice(&forged, lines[3]);
    memcpy(memmem(forged.ptr, forged.len, "event 3", 7), "evenT 3", 7);
    char prev[HASH_HEX + 1];
    memcpy(prev, prev_hash_of(lines[3]).ptr, HASH_HEX);
    prev[HASH_HEX] = '\0';
    add_rehashed(buf_slice_of(&forged), prev); /* a good event in its place: the next one tells */
    add(4);
    CHECK(fault_is(4, 4, "the event does not follow the one before it"));
    CHECK(strlen(report.fault.expected) == HASH_HEX && strlen(report.fault.actual) == HASH_HEX);
    buf_finish(&forged);
    begin();
    add(1), add(2);
    buf_byte(&changed, '\n');
    add(3);
    CHECK(fault_is(3, 0, "the line is not JSON"));
    begin();
    add(1);
    buf_text(&changed, "{}\n");
    CHECK(fault_is(2, 0, "the event has another version"));
    begin();
    add(1);
    buf_text(&changed, "[]\n");
    CHECK(fault_is(2, 0, "the line is not an event"));
    begin();
    add(1);
    buf_text(&changed, "\xff\n");
    CHECK(fault_is(2, 0, "the line is not JSON"));
}

static void test_spellings(void)
{
    static const char *const others[][2] = {
        {"\"seq\":3", "\"seq\": 3"},
        {"\"seq\":3", "\"seq\":3.0"},
        {"\"seq\":3", "\"seq\":03"},
        {"event 3", "event\\u0020"
                    "3"},
        {"\"n\":1.5", "\"n\":1.50"},
        {"\"n\":1.5", "\"n\":15e-1"},
        {"\"v\":1}", "\"v\":1} "},
        {"\"v\":1}", "\"v\":1}\r"},
        {"{\"", " {\""},
        {"\"u\":\"\xC3\xA9\"", "\"u\":\"\\u00e9\""},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        replace(3, others[i][0], others[i][1]);
        bool json = strcmp(others[i][1], "\"seq\":03") != 0;
        CHECK(fault_is(3, json ? 3 : 0,
                       json ? "the line is not in its canonical form" : "the line is not JSON"));
    }
    /* Members in another order, and one twice. */
    replace(3, "\"n\":1.5,\"t\":\"event 3\"", "\"t\":\"event 3\",\"n\":1.5");
    CHECK(fault_is(3, 3, "the line is not in its canonical form"));
    replace(3, "\"n\":1.5", "\"n\":1.5,\"n\":1.5");
    CHECK(fault_is(3, 0, "the line is not JSON"));
    /* A number that no double holds is no RFC 8785, even with a right hash. */
    begin();
    add(1), add(2);
    struct buf forged;
    buf_init(&forged, 1 << 16);
    const char *at = memmem(lines[3].ptr, lines[3].len, "1.5", 3);
    buf_bytes(&forged, lines[3].ptr, (size_t)(at - lines[3].ptr));
    buf_text(&forged, "9007199254740993");
    buf_slice(&forged, slice_from(lines[3], (size_t)(at - lines[3].ptr) + 3));
    char prev[HASH_HEX + 1];
    memcpy(prev, prev_hash_of(lines[3]).ptr, HASH_HEX);
    prev[HASH_HEX] = '\0';
    add_rehashed(buf_slice_of(&forged), prev);
    CHECK(fault_is(3, 3, "the line is not in its canonical form"));
    buf_finish(&forged);
}

static void test_begin_and_end(void)
{
    begin();
    CHECK(fault_is(1, 0, "there is no event"));
    /* Another anchor than the one the chain began with. */
    replace(1, "\"anchor\":\"", "\"anchor\":\"x");
    CHECK(fault_is(1, 1, "the hash is not that of the event"));
    replace(1, "\"anchor\":\"", "\"anchor\":\"x");
    struct buf forged;
    buf_init(&forged, 1 << 16);
    buf_slice(&forged, line_of(buf_slice_of(&changed), 1));
    char prev[HASH_HEX + 1];
    memcpy(prev, prev_hash_of(lines[1]).ptr, HASH_HEX);
    prev[HASH_HEX] = '\0';
    begin();
    add_rehashed(buf_slice_of(&forged), prev);
    CHECK(fault_is(1, 1, "the event does not follow the one before it"));
    /* No anchor, or no boot. */
    static const char *const others[][2] = {{"\"anchor\":\"", "\"anchoR\":\""},
                                            {"system.boot", "system.Boot"}};
    for (size_t i = 0; i < 2; i++) {
        replace(1, others[i][0], others[i][1]);
        buf_reset(&forged);
        buf_slice(&forged, line_of(buf_slice_of(&changed), 1));
        begin();
        add_rehashed(buf_slice_of(&forged), prev);
        CHECK(fault_is(1, 1, "the first event is not the boot of a new journal"));
    }
    buf_finish(&forged);
    /* A torn last line, whole or not. */
    begin();
    buf_bytes(&changed, original.ptr, original.len - 1);
    CHECK(fault_is(6, 0, "the last line is cut short"));
    CHECK(report.events == 5);
    begin();
    buf_bytes(&changed, original.ptr, original.len - 20);
    CHECK(fault_is(6, 0, "the last line is cut short"));
    /* Lines that are too long, with and without an end. */
    for (int i = 0; i < 2; i++) {
        begin();
        add(1);
        while (changed.len < (size_t)(i == 0 ? 1 : 40) * JOURNAL_LINE_MAX + 1000) {
            buf_text(&changed, "                                                                ");
        }
        buf_text(&changed, i == 0 ? "\n" : "");
        CHECK(fault_is(2, 0, "the line is too long"));
    }
}

static void test_every_byte(void)
{
    /* No byte can be changed: 256 bits of hash over all of it. Every byte of a short journal, one bit each.
     */
    size_t len = (size_t)(lines[3].ptr - original.ptr);
    size_t missed = 0;
    for (size_t i = 0; i < len; i++) {
        begin();
        buf_bytes(&changed, original.ptr, len);
        changed.ptr[i] = (char)(changed.ptr[i] ^ (1 << i % 8));
        scratch_write(&scratch, "one", buf_slice_of(&changed));
        missed += !verify(1, (struct slice){NULL, 0}) || report.fault.reason == NULL;
    }
    CHECK(len > 300 && missed == 0);
}

static void test_head(void)
{
    struct buf head, old_head;
    buf_init(&head, 1024);
    buf_init(&old_head, 1024);
    scratch_write(&scratch, "one", buf_slice_of(&original));
    CHECK(journal_head(first_path, &head, &error));
    CHECK(has(buf_slice_of(&head), "{\"hash\":\"") && has(buf_slice_of(&head), "\",\"seq\":6,\"ts\":\"2"));
    CHECK(verify(1, buf_slice_of(&head)) && report.fault.reason == NULL);

    /* The end cut off: only the head tells. */
    begin();
    add(1), add(2), add(3);
    scratch_write(&scratch, "one", buf_slice_of(&changed));
    CHECK(verify(1, (struct slice){NULL, 0}) && report.fault.reason == NULL && report.events == 3);
    CHECK(verify(1, buf_slice_of(&head)) && report.fault.reason != NULL);
    CHECK(strcmp(report.fault.reason, "the end of the journal is missing") == 0 && report.fault.line == 4);
    CHECK(strcmp(report.fault.expected, "the head's event, seq 6") == 0);
    CHECK(strcmp(report.fault.actual, "the last event has seq 3") == 0);
    buf_byte(&head, '\0');
    CHECK(ask_python(head.ptr) == 1);
    head.len--;
    /* An older head holds for a longer journal. */
    CHECK(journal_head(first_path, &old_head, &error));
    scratch_write(&scratch, "one", buf_slice_of(&original));
    CHECK(verify(1, buf_slice_of(&old_head)) && report.fault.reason == NULL && report.events == 6);
    /* Another journal of the same length. */
    struct scratch other;
    scratch_open(&other);
    struct journal *journal = journal_open(other.fd, "j", JOURNAL_FSYNC_NEVER, SLICE("{}"), &error);
    for (int i = 0; i < 5; i++) {
        CHECK(journal_stage(journal, &(struct event){.kind = "x"}) && journal_commit(journal, false, &error));
    }
    journal_close(journal);
    struct buf text = scratch_read(&other, "j");
    scratch_write(&scratch, "one", buf_slice_of(&text));
    CHECK(verify(1, buf_slice_of(&head)) && report.fault.reason != NULL);
    CHECK(strcmp(report.fault.reason, "the event is not the one of the head") == 0 && report.fault.line == 6);
    buf_finish(&text);
    scratch_close(&other);

    static const char *const bad[] = {"{", "[]", "{\"seq\":1}", "{\"hash\":\"00\",\"seq\":1}", "x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK(!verify(1, slice_of(bad[i])) && error_has(&error, "the head is not one of ours"));
    }
    buf_finish(&head);
    buf_finish(&old_head);
}

static void test_several_files(void)
{
    begin();
    add(1), add(2), add(3);
    scratch_write(&scratch, "one", buf_slice_of(&changed));
    begin();
    add(4), add(5), add(6);
    scratch_write(&scratch, "two", buf_slice_of(&changed));
    CHECK(verify(2, (struct slice){NULL, 0}) && report.fault.reason == NULL && report.events == 6);
    CHECK(verify(1, (struct slice){NULL, 0}) && report.fault.reason == NULL && report.events == 3);
    /* In the other order, with one missing between, and twice the first. */
    const char *names[] = {second_path, first_path};
    CHECK(journal_verify(names, 2, (struct slice){NULL, 0}, &report, &error) && report.fault.line == 1);
    CHECK(slice_is(report.fault.file, second_path) &&
          strcmp(report.fault.reason, "the sequence is broken") == 0);
    begin();
    add(5), add(6);
    scratch_write(&scratch, "two", buf_slice_of(&changed));
    CHECK(verify(2, (struct slice){NULL, 0}) && report.fault.line == 1 && report.fault.seq == 5);
    CHECK(slice_is(report.fault.file, second_path) && report.events == 3);
    names[0] = first_path;
    CHECK(journal_verify(names, 2, (struct slice){NULL, 0}, &report, &error) && report.fault.line == 1);
    CHECK(report.fault.seq == 1 && report.events == 3);
}

static void test_unreadable(void)
{
    CHECK(unlinkat(scratch.fd, "two", 0) == 0);
    CHECK(!verify(2, (struct slice){NULL, 0}) && error_has(&error, "cannot read it: No such file"));
    const char *names[] = {"/"};
    CHECK(!journal_verify(names, 1, (struct slice){NULL, 0}, &report, &error));
    CHECK(error_has(&error, "is a directory"));
    struct buf head;
    buf_init(&head, 1024);
    CHECK(!journal_head("/", &head, &error) && error_has(&error, "is a directory"));
    CHECK(!journal_head("/dev/null", &head, &error) && error_has(&error, "is a device"));
    scratch_write(&scratch, "one", SLICE(""));
    CHECK(!journal_head(first_path, &head, &error) && error_has(&error, "there is no event"));
    scratch_write(&scratch, "one", SLICE("hello\n"));
    CHECK(!journal_head(first_path, &head, &error) && error_has(&error, "is not JSON"));
    CHECK(head.len == 0);
    buf_finish(&head);
}

int main(int argc, char **argv)
{
    second_opinion = argc > 1 ? argv[1] : "verify.py";
    buf_init(&error, 4096);
    buf_init(&changed, (size_t)1 << 28);
    scratch_open(&scratch);
    scratch_path(&scratch, "one", first_path);
    scratch_path(&scratch, "two", second_path);
    struct journal *journal = journal_open(scratch.fd, "journal", JOURNAL_FSYNC_NEVER, SLICE("{}"), &error);
    for (int i = 2; i <= 6; i++) {
        struct buf detail;
        buf_init(&detail, 1024);
        buf_printf(&detail, "{\"t\":\"event %d\",\"n\":1.5,\"u\":\"\xC3\xA9\"}", i);
        CHECK(journal_stage(journal, &(struct event){.kind = "test.event", .detail = buf_slice_of(&detail)}));
        CHECK(journal_commit(journal, false, &error));
        buf_finish(&detail);
    }
    journal_close(journal);
    original = scratch_read(&scratch, "journal");
    for (size_t i = 1; i <= 6; i++) {
        lines[i] = line_of(buf_slice_of(&original), i);
    }
    test_good();
    test_changed_lines();
    test_lines();
    test_spellings();
    test_begin_and_end();
    test_every_byte();
    test_head();
    test_several_files();
    test_unreadable();
    scratch_close(&scratch);
    buf_finish(&original);
    buf_finish(&changed);
    buf_finish(&error);
    return check_done();
}
