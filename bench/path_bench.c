/* How long it takes to resolve one path, by its number of components, and to make the readings of one call.
 * Beside our walk, in turns, what could be asked of the kernel instead: openat2 for the whole path with
 * /proc/self/fd for its canonical text, which says nothing of the files above it; the same with a look at
 * each of those, as the walk has, for the paths that have no link (RESOLVE_NO_SYMLINKS); and realpath. The
 * best of several rounds; no test. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "call/readings.h"

#define ROUNDS 300
#define RUNS   50

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static char root[] = "/tmp/callgate-bench-XXXXXX";

static void need(bool done, const char *what)
{
    if (!done) {
        perror(what);
        exit(1);
    }
}

/* A path of `count` components, all directories that exist. */
static struct slice make_path(char *out, unsigned count)
{
    char *at = stpcpy(out, root); /* two components */
    for (unsigned i = 2; i < count; i++) {
        at = stpcpy(at, "/component");
        need(mkdir(out, 0700) == 0 || access(out, F_OK) == 0, out);
    }
    return (struct slice){out, (size_t)(at - out)};
}

static void walk(struct path_resolved *place, struct slice text)
{
    path_resolve(place, SLICE("/"), text, PATH_KERNEL);
    need(place->exists, text.ptr);
}

static int open_whole(struct slice text, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, text.ptr, &how, sizeof(how));
    need(fd >= 0, text.ptr);
    return fd;
}

/* The canonical text alone. */
static void ask_openat2(struct path_resolved *place, struct slice text)
{
    char name[64];
    int fd = open_whole(text, 0);
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(name, place->text, LIMIT_PATH_BYTES);
    need(len == (ssize_t)text.len && close(fd) == 0, text.ptr);
}

/* Whether there is a link at all, and then which files the components are. */
static void ask_no_links(struct path_resolved *place, struct slice text)
{
    struct path_step step;
    int fd = open_whole(text, RESOLVE_NO_SYMLINKS);
    memcpy(place->text, text.ptr, text.len + 1);
    for (size_t end = 1; end <= text.len; end++) {
        if (end == text.len || text.ptr[end] == '/') {
            struct stat st;
            place->text[end] = '\0';
            need(fstatat(AT_FDCWD, place->text, &st, AT_SYMLINK_NOFOLLOW) == 0, place->text);
            step = (struct path_step){.dev = st.st_dev, .ino = st.st_ino};
            place->steps[end % PATH_MAX_STEPS] = step;
            place->text[end] = text.ptr[end];
        }
    }
    need(close(fd) == 0, text.ptr);
}

static void ask_realpath(struct path_resolved *place, struct slice text)
{
    need(realpath(text.ptr, place->text) != NULL, text.ptr);
}

static void bench_resolve(struct path_resolved *place)
{
    static const struct {
        const char *name;
        void (*resolve)(struct path_resolved *place, struct slice text);
    } ways[] = {{"resolve", walk},
                {"openat2, text alone,", ask_openat2},
                {"openat2, each file,", ask_no_links},
                {"realpath", ask_realpath}};
    static const unsigned counts[] = {5, 10, 20, 40};
    char path[4096];
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct slice text = make_path(path, counts[i]);
        double best[COUNT(ways)];
        for (size_t way = 0; way < COUNT(ways); way++) {
            best[way] = 1e18;
        }
        for (int turn = 0; turn < ROUNDS * (int)COUNT(ways); turn++) {
            size_t way = (size_t)turn % COUNT(ways);
            uint64_t begin = clock_mono_ns();
            for (int run = 0; run < RUNS; run++) {
                ways[way].resolve(place, text);
            }
            double each = (double)(clock_mono_ns() - begin) / RUNS;
            best[way] = each < best[way] ? each : best[way];
        }
        for (size_t way = 0; way < COUNT(ways); way++) {
            printf("%s %2u components   %8.2f us\n", ways[way].name, counts[i], best[way] / 1000);
        }
    }
}

/* As of a policy of 1,000 rules that deny by path. */
static const struct reading_interest interest = {.classes = 1u
                                                            << (READING_FIELD_STRICT | READING_FIELD_PATH)};

static void bench_readings(const char *name, const char *input)
{
    char text[8192], home[64];
    struct argument_lists *arguments = argument_lists_create();
    struct path_prefixes *prefixes = path_prefixes_create();
    struct call_reader reader;
    struct readings readings;
    struct path_base base = {.cwd = {root, strlen(root)}};
    base.home = (struct slice){home, (size_t)snprintf(home, sizeof(home), "%s/component", root)};
    need(arguments != NULL && prefixes != NULL && call_reader_init(&reader) && readings_init(&readings),
         "init");
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t id;
        (void)snprintf(text, sizeof(text), "%s/other%u/x", root, i);
        need(path_prefixes_add(prefixes, &base, slice_of(text), &id, NULL) == PATH_PREFIX_OK, text);
    }
    need(path_prefixes_seal(prefixes), "seal");
    (void)snprintf(text, sizeof(text), input, root, root);
    const struct call_defaults defaults = {
        .channel = SLICE("C1"), .thread = SLICE("1"), .actor = ACTOR_SESSION_OWNER};
    need(call_read(&reader, slice_of(text), &defaults) == CALL_OK, text);
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin = clock_mono_ns();
        for (int run = 0; run < RUNS; run++) {
            need(readings_make(&readings, &reader.call, &base, arguments, prefixes, &interest,
                               READINGS_STILL) == READINGS_OK,
                 text);
        }
        double each = (double)(clock_mono_ns() - begin) / RUNS;
        best = each < best ? each : best;
    }
    printf("%-22s %8.2f us, %zu readings\n", name, best / 1000, readings.count);
    readings_finish(&readings);
    call_reader_finish(&reader);
    path_prefixes_destroy(prefixes);
    argument_lists_destroy(arguments);
}

int main(void)
{
    struct path_resolved *place = malloc(sizeof(*place));
    need(place != NULL && mkdtemp(root) != NULL, "mkdtemp");
    bench_resolve(place);
    bench_readings("no path", "{\"tool\":\"t\",\"input\":{\"text\":\"some text\",\"n\":1,\"c\":true}}");
    bench_readings("ten strings, no slash",
                   "{\"tool\":\"t\",\"input\":{\"a\":\"some text of a call\",\"b\":\"some text of a call\","
                   "\"issue\":\"some text of a call\",\"repo\":\"octocat\",\"branch\":\"main\","
                   "\"body\":\"a longer text of one call, which is what most calls are made of\","
                   "\"labels\":[\"bug\",\"help wanted\",\"some text\",\"more text\"]}}");
    bench_readings(
        "one of them aside",
        "{\"tool\":\"t\",\"input\":{\"a\":\"some text of a call\",\"b\":\"some text of a call\","
        "\"issue\":\"some text of a call\",\"repo\":\"octocat/some/thing/of/five\",\"branch\":\"main\","
        "\"body\":\"a longer text of one call, which is what most calls are made of\","
        "\"labels\":[\"bug\",\"help wanted\",\"some text\",\"more text\"]}}");
    bench_readings("absolute, 5",
                   "{\"tool\":\"t\",\"input\":{\"path\":\"%s/component/component/component\"}}");
    bench_readings("absolute, new file",
                   "{\"tool\":\"t\",\"input\":{\"path\":\"%s/component/component/new\"}}");
    bench_readings("relative, 3", "{\"tool\":\"t\",\"input\":{\"path\":\"component/component/component\"}}");
    bench_readings("with ..", "{\"tool\":\"t\",\"input\":{\"path\":\"component/../component/component\"}}");
    bench_readings("edit, two paths",
                   "{\"tool\":\"t\",\"input\":{\"path\":\"%s/component/a\",\"new_path\":\"%s/b\"}}");
    free(place);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
    need(system(command) == 0, "rm");
    return 0;
}
