/* Parts of a journal: rotated by us, by logrotate, with and without writers; found again, and verified as one chain. The
 * argument is the path of verify.py, the second opinion. */
#include "../../check.h"
#include "scratch.h"

static const char *second_opinion;
static struct buf error;

static struct journal *open_in(const struct scratch *scratch)
{
    return journal_open(scratch->fd, "journal.jsonl", JOURNAL_FSYNC_NEVER, SLICE("{\"pid\":1}"), &error);
}

static bool note(struct journal *journal, const char *kind)
{
    return journal_stage(journal, &(struct event){.kind = kind}) && journal_commit(journal, false, &error);
}

/* What both verifiers say of files in order: the number of events if both call them good, else 0. */
static uint64_t verified(const struct scratch *scratch, const char *const *names, size_t count,
                         struct journal_report *ret_report)
{
    char paths[8][128];
    const char *files[8];
    char *argv[11] = {(char[]){"python3"}, (char *)(uintptr_t)second_opinion};
    for (size_t i = 0; i < count; i++) {
        files[i] = scratch_path(scratch, names[i], paths[i]);
        argv[2 + i] = paths[i];
    }
    bool good = journal_verify(files, count, (struct slice){NULL, 0}, ret_report, &error) &&
                ret_report->fault.reason == NULL;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
        (void)execvp("python3", argv);
        _exit(127);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    CHECK(good == (WIFEXITED(status) && WEXITSTATUS(status) == 0)); /* they agree */
    return good ? ret_report->events : 0;
}

#define VERIFIED(scratch, report, ...)                                                                       \
    verified(scratch, (const char *const[]){__VA_ARGS__},                                                    \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), report)

static void test_two_writers(void)
{
    struct scratch scratch;
    struct journal_report report;
    scratch_open(&scratch);
    struct journal *one = open_in(&scratch), *two = open_in(&scratch);
    CHECK(note(one, "a") && note(two, "b") &&
          journal_rotate(one, &error)); /* 4 events, 1 more in the new part */
    CHECK(note(two, "c") && note(one, "d") && journal_rotate(two, &error));
    CHECK(note(one, "e") && note(two, "f"));
    const char *first = "journal.jsonl.000000000004", *second = "journal.jsonl.000000000007",
               *last = "journal.jsonl";
    CHECK(VERIFIED(&scratch, &report, first, second, last) == 10 && report.last_seq == 10 &&
          report.continues == 0);
    CHECK(VERIFIED(&scratch, &report, second, last) == 6 && report.continues == 4);
    CHECK(VERIFIED(&scratch, &report, last) == 3 && report.continues == 7);
    CHECK(VERIFIED(&scratch, &report, first, last) == 0 &&
          has(slice_of(report.fault.reason), "does not follow"));
    CHECK(VERIFIED(&scratch, &report, second, first) == 0);
    journal_close(one);
    journal_close(two);
    scratch_close(&scratch);
}

static void test_renamed_by_others(void)
{
    struct scratch scratch;
    struct journal_report report;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch), *idle = open_in(&scratch);
    CHECK(note(journal, "a"));
    CHECK(renameat(scratch.fd, "journal.jsonl", scratch.fd, "journal.jsonl.1") == 0);
    CHECK(note(journal, "b"));
    CHECK(VERIFIED(&scratch, &report, "journal.jsonl.1", "journal.jsonl") == 5);
    /* logrotate's `create`: the new file is there already. */
    CHECK(renameat(scratch.fd, "journal.jsonl.1", scratch.fd, "journal.jsonl.2") == 0);
    CHECK(renameat(scratch.fd, "journal.jsonl", scratch.fd, "journal.jsonl.1") == 0);
    scratch_write(&scratch, "journal.jsonl", (struct slice){NULL, 0});
    CHECK(note(journal, "c"));
    /* A writer that slept over both. */
    CHECK(note(idle, "d"));
    journal_close(journal);
    journal_close(idle);
    /* Renamed while nobody wrote. */
    CHECK(renameat(scratch.fd, "journal.jsonl", scratch.fd, "journal.jsonl-20261201") == 0);
    journal = open_in(&scratch);
    CHECK(note(journal, "e"));
    journal_close(journal);
    CHECK(VERIFIED(&scratch, &report, "journal.jsonl.2", "journal.jsonl.1", "journal.jsonl-20261201",
                   "journal.jsonl") == 10);
    scratch_close(&scratch);
}

static void test_not_a_rotation(void)
{
    struct scratch scratch;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch);
    CHECK(note(journal, "a") && unlinkat(scratch.fd, "journal.jsonl", 0) == 0);
    CHECK(!note(journal, "b") && error_has(&error, "was removed while in use"));
    struct buf none = scratch_read(&scratch, "journal.jsonl");
    CHECK(none.len == 0);
    buf_finish(&none);
    journal_close(journal);

    /* Another journal under its name, and the old one under another. */
    CHECK(unlinkat(scratch.fd, "journal.jsonl", 0) == 0);
    journal = open_in(&scratch);
    CHECK(note(journal, "a") && renameat(scratch.fd, "journal.jsonl", scratch.fd, "elsewhere") == 0);
    struct journal *other = open_in(&scratch); /* finds no part by its name, so it begins anew */
    CHECK(note(other, "forged"));
    CHECK(!note(journal, "b") && error_has(&error, "does not continue it"));
    journal_close(journal);
    journal_close(other);
    scratch_close(&scratch);
}

static void test_torn(void)
{
    struct scratch scratch;
    struct journal_report report;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch);
    CHECK(note(journal, "a"));
    int fd = openat(scratch.fd, "journal.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK(write(fd, "{\"torn", 6) == 6);
    (void)close(fd);
    CHECK(renameat(scratch.fd, "journal.jsonl", scratch.fd, "journal.jsonl.1") == 0);
    CHECK(note(journal, "b"));
    CHECK(VERIFIED(&scratch, &report, "journal.jsonl.1", "journal.jsonl") ==
          5); /* boot a | boot recovered b */
    struct buf text = scratch_read(&scratch, "journal.jsonl");
    CHECK(has(line_of(buf_slice_of(&text), 2), "system.recovered"));
    buf_finish(&text);
    journal_close(journal);
    scratch_close(&scratch);
}

static void test_limit(void)
{
    struct scratch scratch;
    struct stat status;
    scratch_open(&scratch);
    struct journal *journal = open_in(&scratch);
    journal_limit(journal, 4096);
    for (int i = 0; i < 100; i++) {
        CHECK(note(journal, "filler"));
        CHECK(fstatat(scratch.fd, "journal.jsonl", &status, 0) == 0 && status.st_size <= 4096);
    }
    journal_close(journal);
    scratch_close(&scratch);
}

int main(int argc, char **argv)
{
    second_opinion = argc > 1 ? argv[1] : "";
    buf_init(&error, 4096);
    test_two_writers();
    test_renamed_by_others();
    test_not_a_rotation();
    test_torn();
    test_limit();
    buf_finish(&error);
    return check_done();
}
