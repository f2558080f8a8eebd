/* peer FOLDER: this project's own evaluation under the protocol of bench/peers, see host.mjs there: loads
 * policy.json, then reads requests from standard input, a line each:
 *
 *   check MS           decides the calls of calls.jsonl in their order -> {"ranks":[...]}
 *   measure MS COUNT   decides the first COUNT of them over and over for so long -> {"decisions":N,"ns":N}
 *
 * A call is read anew each time, outside of what is timed; looking up its strings is inside. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "document/document.h"
#include "index/index.h"

#define BATCH 64u

struct work {
    struct policy *policy;
    struct buf text, calls;
    uint32_t count, at;
    struct slice *lines;
    struct call_reader readers[BATCH];
    struct facts facts;
};

static bool read_whole(const char *folder, const char *name, struct buf *buf)
{
    char path[4096], block[65536];
    size_t got;
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "rb") : NULL;
    if (file == NULL) {
        return false;
    }
    while ((got = fread(block, 1, sizeof(block), file)) > 0) {
        buf_bytes(buf, block, got);
    }
    bool ok = !ferror(file) && buf_ok(buf);
    (void)fclose(file);
    return ok;
}

static bool load(struct work *work, const char *folder)
{
    struct path_base base = {.cwd = SLICE("/"), .home = SLICE("/")};
    struct findings errors;
    buf_init(&work->text, LIMIT_POLICY_BYTES);
    buf_init(&work->calls, LIMIT_POLICY_BYTES);
    if (!read_whole(folder, "policy.json", &work->text) || !read_whole(folder, "calls.jsonl", &work->calls)) {
        return false;
    }
    buf_byte(&work->text, '\0');
    struct policy_source source = {
        .name = SLICE("policy.json"), .tier = TIER_DEFAULT, .text = {work->text.ptr, work->text.len - 1}};
    findings_init(&errors);
    work->policy = policy_load(&source, 1, &base, &errors);
    findings_finish(&errors);
    struct slice rest = buf_slice_of(&work->calls);
    work->lines = calloc(rest.len, sizeof(*work->lines));
    if (work->policy == NULL || work->lines == NULL) {
        return false;
    }
    for (const char *end; rest.len > 0 && (end = memchr(rest.ptr, '\n', rest.len)) != NULL;) {
        size_t len = (size_t)(end - rest.ptr);
        work->lines[work->count++] = (struct slice){rest.ptr, len};
        rest = slice_from(rest, len + 1);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        if (!call_reader_init(&work->readers[i])) {
            return false;
        }
    }
    return work->count > 0 && facts_init(&work->facts);
}

static void read_call(struct work *work, struct call_reader *reader, uint32_t line)
{
    struct call_defaults defaults = {
        .channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    if (call_read(reader, work->lines[line], &defaults) != CALL_OK) {
        abort();
    }
}

static struct decision decide(struct work *work, const struct call_reader *reader)
{
    static const struct reading no_path = {.kind = READING_NO_PATH};
    if (!facts_make(&work->facts, work->policy, &reader->call)) {
        abort();
    }
    return policy_evaluate(work->policy, &work->facts, &no_path, 1, NULL);
}

static void check(struct work *work)
{
    for (uint32_t i = 0; i < work->count; i++) {
        read_call(work, &work->readers[0], i);
        struct decision decision = decide(work, &work->readers[0]);
        printf("%s%ld", i ? "," : "{\"ranks\":[",
               decision.rule == NULL ? -1L : (long)(decision.rule - work->policy->rules));
    }
    printf("]}\n");
}

static void measure(struct work *work, uint64_t ns, uint32_t count)
{
    uint64_t took = 0, done = 0;
    unsigned kept = 0; /* of all decisions, so that none is optimised away */
    while (took < ns) {
        for (unsigned i = 0; i < BATCH; i++) {
            read_call(work, &work->readers[i], work->at++ % count);
        }
        uint64_t begin = clock_mono_ns();
        for (unsigned i = 0; i < BATCH; i++) {
            kept ^= (unsigned)decide(work, &work->readers[i]).kind;
        }
        took += clock_mono_ns() - begin;
        done += BATCH;
    }
    printf("{\"decisions\":%llu,\"ns\":%llu,\"kept\":%u}\n", (unsigned long long)done,
           (unsigned long long)took, kept);
}

int main(int argc, char **argv)
{
    static struct work work;
    char line[256];
    uint64_t begin = clock_mono_ns();
    if (argc != 2 || !load(&work, argv[1])) {
        fprintf(stderr, "usage: peer FOLDER, with policy.json and calls.jsonl in it\n");
        return 2;
    }
    printf("{\"load_ms\":%.1f}\n", (double)(clock_mono_ns() - begin) / 1e6);
    while (fflush(stdout) == 0 && fgets(line, sizeof(line), stdin) != NULL) {
        bool measures = strncmp(line, "measure ", 8) == 0;
        char *rest = line + 6;
        unsigned long ms = strtoul(measures ? rest + 2 : rest, &rest, 10), count = strtoul(rest, NULL, 10);
        if (!measures) {
            check(&work);
        } else if (count > 0 && count <= work.count) {
            measure(&work, (uint64_t)ms * 1000000, (uint32_t)count);
        } else {
            return 2;
        }
    }
    return 0;
}
