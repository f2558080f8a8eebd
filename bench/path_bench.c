/* How long it takes to resolve one path, by its number of components, and to make the readings of one call.
 * The best of several rounds; no test. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "path/path.h"

#define ROUNDS 300
#define RUNS   50

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

static void bench_resolve(struct path_resolved *place)
{
    static const unsigned counts[] = {5, 10, 20, 40};
    char path[4096];
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct slice text = make_path(path, counts[i]);
        double best = 1e18;
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t begin = clock_mono_ns();
            for (int run = 0; run < RUNS; run++) {
                path_resolve(place, SLICE("/"), text, PATH_KERNEL);
            }
            double each = (double)(clock_mono_ns() - begin) / RUNS;
            best = each < best ? each : best;
        }
        need(place->exists && place->step_count == counts[i] + 1, path);
        printf("resolve %2u components   %8.2f us\n", counts[i], best / 1000);
    }
}

static void bench_readings(const char *name, const char *input)
{
    char text[8192], home[64];
    struct path_arguments *arguments = path_arguments_create();
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
            need(readings_make(&readings, &reader.call, &base, arguments, prefixes, 0) == READINGS_OK, text);
        }
        double each = (double)(clock_mono_ns() - begin) / RUNS;
        best = each < best ? each : best;
    }
    printf("%-22s %8.2f us, %zu readings\n", name, best / 1000, readings.count);
    readings_finish(&readings);
    call_reader_finish(&reader);
    path_prefixes_destroy(prefixes);
    path_arguments_destroy(arguments);
}

int main(void)
{
    struct path_resolved *place = malloc(sizeof(*place));
    need(place != NULL && mkdtemp(root) != NULL, "mkdtemp");
    bench_resolve(place);
    bench_readings("no path", "{\"tool\":\"t\",\"input\":{\"text\":\"some text\",\"n\":1,\"c\":true}}");
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
