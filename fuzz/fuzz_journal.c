/* The verifier, and the reader of a journal's end, over files of any bytes: neither crashes, they agree with
 * one another, and a journal that is called good is not good any more with one bit changed. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "journal/journal.h"

static int make_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("journal", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static bool verify(const char *path, struct slice head, struct journal_report *report)
{
    const char *files[] = {path};
    struct buf error;
    buf_init(&error, 1024);
    bool done = journal_verify(files, 1, head, report, &error);
    FUZZ_CHECK(done == (error.len == 0));
    buf_finish(&error);
    if (done && report->fault.reason != NULL) {
        FUZZ_CHECK(report->fault.line > 0);
        FUZZ_CHECK(report->fault.expected[0] != '\0' && report->fault.actual[0] != '\0');
    }
    return done;
}

static void check_good(int fd, const char *path, const uint8_t *data, size_t size,
                       const struct journal_report *report)
{
    struct buf head, error;
    struct journal_report again;
    char want[128];
    buf_init(&head, 1024);
    buf_init(&error, 1024);
    FUZZ_CHECK(report->events > 0 && report->last_seq == report->events);
    FUZZ_CHECK(journal_head(path, &head, &error));
    (void)snprintf(want, sizeof(want), "{\"hash\":\"%s\",\"seq\":%llu,", report->last_hash,
                   (unsigned long long)report->last_seq);
    FUZZ_CHECK(slice_starts_with(buf_slice_of(&head), slice_of(want)));
    FUZZ_CHECK(verify(path, buf_slice_of(&head), &again) && again.fault.reason == NULL);
    uint8_t other = (uint8_t)(data[size / 2] ^ 4);
    FUZZ_CHECK(pwrite(fd, &other, 1, (off_t)(size / 2)) == 1);
    FUZZ_CHECK(verify(path, (struct slice){NULL, 0}, &again) && again.fault.reason != NULL);
    buf_finish(&head);
    buf_finish(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct journal_report report;
    struct buf head, error;
    int fd = make_file(data, size, path);
    if (verify(path, (struct slice){NULL, 0}, &report) && report.fault.reason == NULL) {
        check_good(fd, path, data, size, &report);
    } else {
        buf_init(&head, 1024);
        buf_init(&error, 1024);
        FUZZ_CHECK(journal_head(path, &head, &error) == (error.len == 0));
        buf_finish(&head);
        buf_finish(&error);
    }
    /* The bytes as a head for another journal. */
    (void)verify("/dev/null", (struct slice){(const char *)data, size}, &report);
    (void)close(fd);
    return 0;
}
