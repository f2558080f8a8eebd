/* journal [DIR]: how many events a second the journal takes, through its own interface (stage, then commit),
 * in each flush mode and for batches of 1, 8, 64 and 512; beside it, in turns, a bare write of the very same
 * bytes to another file, flushed exactly when the journal is. The events are the decisions of synthetic calls
 * of 600 bytes, already read and hashed. Both files are made in a new folder in DIR (the working directory
 * without it; measure where journals live: not on a tmpfs) and removed.
 *
 * Prints one JSON object: for each mode and batch size events a second of both, and the journal's part of the
 * bare figure ("of_bare"), each the median of ROUNDS. "always" flushes after each batch. "batch" flushes at
 * the end of a round of at most 100 ms, "never" not at all; the bare side does the same, so the bare
 * append-and-flush of a batch stands beside "always". */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/synthetic.h"
#include "call/call.h"
#include "journal/journal.h"

#define CALLS    512u
#define ROUNDS   7
#define ROUND_NS 100000000u /* of both sides together */
#define ROUND_BYTES                                                                                          \
    ((uint64_t)32 << 20) /* so that the disk, and not the page cache's limit, is what both wait for */

static const unsigned sizes[] = {1, 8, 64, 512};
static const struct {
    const char *name;
    enum journal_fsync fsync;
} modes[] = {
    {"always", JOURNAL_FSYNC_ALWAYS}, {"batch", JOURNAL_FSYNC_BATCH}, {"never", JOURNAL_FSYNC_NEVER}};

struct bench {
    struct call_reader readers[CALLS];
    uint8_t hashes[CALLS][HASH_SIZE];
    struct buf text, error;
    int dir;
};

/* One journal and the bare file beside it. */
struct pair {
    struct journal *journal;
    int written, bare; /* the journal's file, to read what it wrote; and the other */
    uint64_t at;       /* bytes of the journal's file that the bare one has too */
    char bytes[(size_t)1 << 21];
};

struct figures {
    double journal, bare; /* events a second */
};

static void need(bool done, const char *what)
{
    if (!done) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static void read_calls(struct bench *bench)
{
    const struct call_defaults defaults = {
        .channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    buf_init(&bench->text, (size_t)1 << 24);
    synthetic_calls(&bench->text, 1000, CALLS, SYNTHETIC_WITHOUT_PATH);
    struct slice rest = buf_slice_of(&bench->text);
    for (unsigned i = 0; i < CALLS; i++) {
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        struct slice line = {rest.ptr, len};
        need(call_reader_init(&bench->readers[i]) &&
                 call_read(&bench->readers[i], line, &defaults) == CALL_OK &&
                 hash_bytes(line, bench->hashes[i]),
             "call");
        rest = slice_from(rest, len + 1);
    }
}

static void stage(struct bench *bench, struct journal *journal, unsigned i)
{
    const struct call *call = &bench->readers[i % CALLS].call;
    const struct event event = {
        .kind = "policy.allow",
        .outcome = "allow",
        .tool = call->names[0].tool,
        .server = call->names[0].server,
        .input_doc = call->doc,
        .input = call->input,
        .rule = SLICE("rule-417"),
        .actor = SLICE("claude_process"),
        .correlation_id = SLICE("00000000-0000-4000-8000-000000000000"),
        .has_session = true,
        .channel = call->channel,
        .thread = call->thread,
        .call_hash = bench->hashes[i % CALLS],
    };
    need(journal_stage(journal, &event), "stage");
}

static uint64_t commit(struct bench *bench, struct pair *pair, unsigned size)
{
    uint64_t begin = clock_mono_ns();
    for (unsigned i = 0; i < size; i++) {
        stage(bench, pair->journal, i);
    }
    bool done = journal_commit(pair->journal, false, &bench->error);
    uint64_t took = clock_mono_ns() - begin;
    need(done, "commit");
    return took;
}

static uint64_t write_bare(int fd, struct slice bytes, bool flush)
{
    uint64_t begin = clock_mono_ns();
    bool done = write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len && (!flush || fdatasync(fd) == 0);
    uint64_t took = clock_mono_ns() - begin;
    need(done, "write");
    return took;
}

/* What the journal has written since the last time. */
static struct slice new_bytes(struct pair *pair)
{
    ssize_t got = pread(pair->written, pair->bytes, sizeof(pair->bytes), (off_t)pair->at);
    need(got > 0 && (size_t)got < sizeof(pair->bytes), "pread");
    pair->at += (uint64_t)got;
    return (struct slice){pair->bytes, (size_t)got};
}

static uint64_t flush_journal(struct bench *bench, struct pair *pair)
{
    uint64_t begin = clock_mono_ns();
    need(journal_flush(pair->journal, &bench->error), "flush");
    return clock_mono_ns() - begin;
}

/* One round: batches in turns until the time or the bytes are used up, then the flush of "batch". */
static struct figures measure_round(struct bench *bench, struct pair *pair, enum journal_fsync fsync,
                                    unsigned size)
{
    uint64_t journal = 0, bare = 0, begin = pair->at, events = 0;
    while (journal + bare < ROUND_NS && pair->at - begin < ROUND_BYTES) {
        journal += commit(bench, pair, size);
        bare += write_bare(pair->bare, new_bytes(pair), fsync == JOURNAL_FSYNC_ALWAYS);
        events += size;
    }
    if (fsync == JOURNAL_FSYNC_BATCH) {
        journal += flush_journal(bench, pair);
        bare += write_bare(pair->bare, (struct slice){"\n", 1}, true);
    }
    return (struct figures){.journal = (double)events * 1e9 / (double)journal,
                            .bare = (double)events * 1e9 / (double)bare};
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

static void open_pair(struct bench *bench, struct pair *pair, enum journal_fsync fsync)
{
    pair->journal = journal_open(bench->dir, "journal", fsync, SLICE("{}"), &bench->error);
    pair->written = openat(bench->dir, "journal", O_RDONLY | O_CLOEXEC);
    pair->bare = openat(bench->dir, "bare", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    need(pair->journal != NULL && pair->written >= 0 && pair->bare >= 0, "open");
    pair->at = 0;
    (void)new_bytes(pair);
}

static void close_pair(struct bench *bench, struct pair *pair)
{
    journal_close(pair->journal);
    need(close(pair->written) == 0 && close(pair->bare) == 0 && unlinkat(bench->dir, "journal", 0) == 0 &&
             unlinkat(bench->dir, "bare", 0) == 0,
         "remove");
}

static void measure(struct bench *bench, struct pair *pair, size_t mode, unsigned size)
{
    double journal[ROUNDS], bare[ROUNDS], part[ROUNDS];
    open_pair(bench, pair, modes[mode].fsync);
    (void)measure_round(bench, pair, modes[mode].fsync, size); /* warm */
    for (int i = 0; i < ROUNDS; i++) {
        struct figures figures = measure_round(bench, pair, modes[mode].fsync, size);
        journal[i] = figures.journal;
        bare[i] = figures.bare;
        part[i] = figures.journal / figures.bare;
    }
    close_pair(bench, pair);
    printf("\"%u\":{\"events_per_second\":%.0f,\"bare_per_second\":%.0f,\"of_bare\":%.3f}", size,
           median(journal), median(bare), median(part));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static struct pair pair;
    char name[] = "callgate-bench-XXXXXX";
    buf_init(&bench.error, 4096);
    need(argc < 2 || chdir(argv[1]) == 0, argv[argc - 1]);
    need(mkdtemp(name) != NULL, "mkdtemp");
    bench.dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(bench.dir >= 0, name);
    read_calls(&bench);

    open_pair(&bench, &pair, JOURNAL_FSYNC_NEVER);
    (void)commit(&bench, &pair, CALLS);
    printf("{\"bytes_per_event\":%zu", new_bytes(&pair).len / CALLS);
    close_pair(&bench, &pair);
    for (size_t mode = 0; mode < sizeof(modes) / sizeof(*modes); mode++) {
        printf(",\"%s\":{", modes[mode].name);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            fputs(i > 0 ? "," : "", stdout);
            measure(&bench, &pair, mode, sizes[i]);
        }
        printf("}");
    }
    printf("}\n");

    for (unsigned i = 0; i < CALLS; i++) {
        call_reader_finish(&bench.readers[i]);
    }
    buf_finish(&bench.text);
    buf_finish(&bench.error);
    need(close(bench.dir) == 0 && rmdir(name) == 0, name);
    return 0;
}
