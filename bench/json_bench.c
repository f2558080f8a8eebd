/* How long the JSON reader and writer take, by kind of text. The best of several rounds; no test.
 *
 * Without arguments the texts below; else each file named. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "json/json.h"

#define ROUNDS     9
#define ROUND_NS   20000000u
#define MOST_BYTES (64u << 20)

static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = MOST_BYTES};

struct job {
    struct json_doc doc;
    struct buf out;
    struct slice text;
};

static void read_once(struct job *job)
{
    struct json_error error;
    if (!json_parse(&job->doc, job->text, &options, &error)) {
        fprintf(stderr, "byte %u: %s\n", error.offset, error.detail);
        exit(1);
    }
}

static void write_once(struct job *job)
{
    buf_reset(&job->out);
    json_write_canonical(&job->out, &job->doc, json_root(&job->doc), JSON_NUMBER_CALL);
}

/* Nanoseconds of one run. */
static double measure(struct job *job, void (*work)(struct job *job))
{
    uint64_t begin = clock_mono_ns();
    work(job);
    uint64_t first = clock_mono_ns() - begin;
    unsigned long runs = 1 + ROUND_NS / (first + 1);
    double best = (double)first;
    for (int round = 0; round < ROUNDS; round++) {
        begin = clock_mono_ns();
        for (unsigned long i = 0; i < runs; i++) {
            work(job);
        }
        double each = (double)(clock_mono_ns() - begin) / (double)runs;
        best = each < best ? each : best;
    }
    return best;
}

static void report(const char *name, struct slice text)
{
    struct job job = {.text = text};
    json_init(&job.doc);
    buf_init(&job.out, MOST_BYTES);
    double read = measure(&job, read_once);
    double write = measure(&job, write_once);
    printf("%-24s %9zu bytes %8u values  read %11.0f ns %6.2f ns/byte  write %11.0f ns %6.2f ns/byte\n", name,
           text.len, job.doc.count, read, read / (double)text.len, write, write / (double)text.len);
    json_finish(&job.doc);
    buf_finish(&job.out);
}

static void repeat(struct buf *buf, const char *name, const char *before, const char *piece,
                   const char *after, int times)
{
    buf_reset(buf);
    buf_text(buf, before);
    for (int i = 0; i < times; i++) {
        buf_printf(buf, i == 0 ? "%.*s" : ",%.*s", (int)strlen(piece), piece);
    }
    buf_text(buf, after);
    report(name, buf_slice_of(buf));
}

static const char message[] = "{\"jsonrpc\":\"2.0\",\"id\":4711,\"method\":\"tools/"
                              "call\",\"params\":{\"name\":\"edit_file\",\"arguments\":{"
                              "\"path\":\"/home/alice/projects/gate/src/json/"
                              "reader.c\",\"edits\":[{\"oldText\":\"static bool grow_values(stru"
                              "ct json_doc *doc)\",\"newText\":\"static bool grow(struct json_doc *doc, "
                              "uint32_t least)\"},{\"oldText\":\"if (c"
                              "ap == 0) { return false; }\",\"newText\":\"if (cap <= doc->cap) { return "
                              "false; }\"}],\"dryRun\":false,\"options"
                              "\":{\"preserveIndentation\":true,\"normalizeWhitespace\":true,"
                              "\"partialMatch\":false,\"confidence\":0.85}},\"_me"
                              "ta\":{\"progressToken\":\"b0a1e2c4-77d1-4a34-9f3e-1b7e8e2f9a10\"}},\"trace\":["
                              "1,2,3],\"note\":\"0123456789abc\"}";

static void report_file(const char *path)
{
    FILE *file = fopen(path, "re");
    struct buf buf;
    buf_init(&buf, MOST_BYTES);
    size_t got = 0;
    do {
        char *to = file == NULL ? NULL : buf_reserve(&buf, 65536);
        got = to == NULL ? 0 : fread(to, 1, 65536, file);
        buf_added(&buf, got);
    } while (got > 0);
    if (file == NULL || !buf_ok(&buf)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    report(path, buf_slice_of(&buf));
    buf_finish(&buf);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        report_file(argv[i]);
    }
    if (argc > 1) {
        return 0;
    }
    struct buf buf;
    buf_init(&buf, MOST_BYTES);
    report("a message", slice_of(message));
    repeat(&buf, "rules", "[",
           "{\"id\":\"rule-1\",\"effect\":\"deny\",\"match\":{\"tool\":\"write_file\",\"pathPrefix\":\"/srv/"
           "data\"},"
           "\"reason\":\"not yours\"}",
           "]", 10000);
    repeat(&buf, "plain strings", "[", "\"The quick brown fox jumps over the lazy dog, again and again.\"",
           "]", 2000);
    repeat(&buf, "source with escapes", "[", "\"    if (x == \\\"y\\\") {\\n        return 1;\\n    }\\n\"",
           "]", 2000);
    repeat(&buf, "text of three bytes", "[",
           "\"\xE6\xBC\xA2\xE5\xAD\x97\xE3\x81\x8B\xE3\x81\xAA\xE6\xBC\xA2\xE5\xAD\x97\"", "]", 2000);
    repeat(&buf, "escaped letters", "[", "\"\\u6f22\\u5b57\\u304b\\u306a\"", "]", 2000);
    repeat(&buf, "integers", "[", "1234567", "]", 10000);
    repeat(&buf, "doubles, 16 digits", "[", "0.1234567890123456", "]", 2000);
    buf_reset(&buf);
    for (int i = 0; i < 100000; i++) {
        buf_printf(&buf, "%c\"key%d\":0", i == 0 ? '{' : ',', i * 7919 % 100003);
    }
    buf_byte(&buf, '}');
    report("100 000 keys", buf_slice_of(&buf));
    buf_finish(&buf);
    return 0;
}
