/* `bench`: what decisions cost here, under one's own policy and for one's own calls. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/clock.h"
#include "bench/synthetic.h"
#include "cli/calls/calls.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate bench --policy [TIER=]FILE... --calls FILE.jsonl [--format text|json]\n"
    "       callgate bench --synthetic N [--format text|json]\n\n"
    "Measures in one process, on one core: loading (reading, checking, lint and index), one evaluation of a "
    "call that\n"
    "is already read (looking its strings up is counted, reading JSON and resolving paths is not), and the "
    "whole way\n"
    "from a line of JSON to the line of the decision, by the processor's time.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --calls FILE          one call a line, as for `callgate eval`\n"
    "  --synthetic N         instead: N rules of twenty kinds, and calls for them. From line to decision "
    "stand calls\n"
    "                        of 600 bytes without a path\n"
    "  --format json         one JSON object on standard output\n"
    "  --cwd DIR, --home DIR what relative paths and ~ start from\n"
    "  --root DIR            one more start of relative paths; repeatable\n\n"
    "Exit: 0 measured, 2 could not be done.\n";

#define MOST_CALLS      200000u
#define SYNTHETIC_CALLS 20000u
#define SAMPLES         400000u
#define LEAST_SAMPLES   100u
#define WARM_UP         100u
#define MEASURE_NS      ((uint64_t)700 * 1000 * 1000)

/* A call that can be evaluated: its line, and its readings as they were made once. */
struct read_call {
    struct slice line;
    struct reading *readings;
    size_t reading_count;
};

struct bench {
    const struct policy *policy;
    struct judge judge;
    struct arena arena;
    struct buf text; /* the calls' lines */
    struct slice *lines;
    uint32_t line_count;
    struct slice *whole; /* the lines of the whole way */
    uint32_t whole_count;
    struct read_call *calls;
    uint32_t call_count;
    struct call_reader reader;
    struct facts facts;
    uint32_t kept; /* of all decisions, so that none is optimised away */
};

struct figures {
    uint32_t rules, calls;
    double load_ms;
    size_t index_bytes;
    double p50_ns, p99_ns, decisions, linear, whole;
};

/* ---- Calls ---- */

/* Adds the lines of a text from `from` on to an array. */
static bool split(struct bench *bench, size_t from, struct slice **ret_lines, uint32_t *ret_count)
{
    struct slice rest = slice_from(buf_slice_of(&bench->text), from);
    uint32_t count = 0, room = 1;
    for (size_t i = 0; i < rest.len; i++) {
        room += rest.ptr[i] == '\n';
    }
    struct slice *lines = arena_array(&bench->arena, room, sizeof(*lines));
    while (lines != NULL && rest.len > 0 && count < MOST_CALLS) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
        if (len > 0) {
            lines[count++] = (struct slice){rest.ptr, len};
        }
        rest = slice_from(rest, end != NULL ? len + 1 : len);
    }
    *ret_lines = lines;
    *ret_count = count;
    return lines != NULL;
}

static bool keep_readings(struct bench *bench, struct read_call *call)
{
    const struct readings *made = &bench->judge.decider.readings;
    call->readings = arena_array(&bench->arena, made->count, sizeof(*call->readings));
    if (call->readings == NULL) {
        return false;
    }
    call->reading_count = made->count;
    for (size_t i = 0; i < made->count; i++) {
        call->readings[i] = made->list[i];
        call->readings[i].path = arena_copy(&bench->arena, made->list[i].path);
        if (call->readings[i].path.ptr == NULL) {
            return false;
        }
    }
    return true;
}

/* Reads the calls; those that are denied before evaluation count for the whole way only. */
static bool read_calls(struct bench *bench)
{
    struct judge *judge = &bench->judge;
    bench->calls = arena_array(&bench->arena, bench->line_count, sizeof(*bench->calls));
    for (uint32_t i = 0; bench->calls != NULL && i < bench->line_count; i++) {
        judge_text(judge, bench->lines[i]);
        if (!judge->read) {
            continue;
        }
        struct read_call *call = &bench->calls[bench->call_count++];
        call->line = bench->lines[i];
        if (!keep_readings(bench, call)) {
            return false;
        }
    }
    return bench->calls != NULL;
}

static bool make_calls(struct bench *bench, uint32_t synthetic, const char *file)
{
    if (!synthetic) {
        bool ok = read_file(file, (size_t)1 << 32, &bench->text) &&
                  split(bench, 0, &bench->lines, &bench->line_count);
        bench->whole = bench->lines;
        bench->whole_count = bench->line_count;
        return ok;
    }
    /* Both kinds are for the evaluations; only one without paths for the whole way. */
    synthetic_calls(&bench->text, synthetic, SYNTHETIC_CALLS / 2, SYNTHETIC_WITH_PATH);
    size_t from = bench->text.len;
    synthetic_calls(&bench->text, synthetic, SYNTHETIC_CALLS / 2, SYNTHETIC_WITHOUT_PATH);
    return buf_ok(&bench->text) && split(bench, 0, &bench->lines, &bench->line_count) &&
           split(bench, from, &bench->whole, &bench->whole_count);
}

/* ---- Measuring ---- */

typedef struct decision evaluator(const struct policy *policy, const struct facts *facts,
                                  const struct reading *readings, size_t reading_count,
                                  const struct approvals *approvals);

/* One evaluation of a call that was read just before, and so is in the cache. 0 without memory. */
static uint64_t evaluate(struct bench *bench, uint32_t at, evaluator *how)
{
    const struct read_call *call = &bench->calls[at % bench->call_count];
    if (call_read(&bench->reader, call->line, &bench->judge.defaults) != CALL_OK) {
        return 0;
    }
    for (size_t i = 0; i < call->reading_count; i++) {
        bench->kept ^= intern_hash(call->readings[i].path);
    }
    uint64_t begin = clock_mono_ns();
    if (!facts_make(&bench->facts, bench->policy, &bench->reader.call)) {
        return 0;
    }
    bench->kept ^= how(bench->policy, &bench->facts, call->readings, call->reading_count, NULL).kind;
    return clock_mono_ns() - begin + 1;
}

static int by_size(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static uint32_t percentile(uint32_t *samples, uint32_t count, uint32_t of_1000)
{
    qsort(samples, count, sizeof(*samples), by_size);
    return samples[(uint64_t)(count - 1) * of_1000 / 1000];
}

/* What asking the clock twice adds to a sample. */
static uint32_t clock_cost(uint32_t *samples)
{
    for (uint32_t i = 0; i < SAMPLES / 10; i++) {
        uint64_t begin = clock_mono_ns();
        samples[i] = (uint32_t)(clock_mono_ns() - begin);
    }
    return percentile(samples, SAMPLES / 10, 500);
}

/* How long evaluations take, as far as the time goes. */
static bool measure_each(struct bench *bench, evaluator *how, double *ret_p50, double *ret_p99,
                         double *ret_per_second)
{
    uint32_t *samples = calloc(SAMPLES, sizeof(*samples)), count = 0;
    if (samples == NULL) {
        return false;
    }
    uint32_t cost = clock_cost(samples);
    uint64_t total = 0, end = clock_mono_ns() + MEASURE_NS;
    for (uint32_t i = 0; i < WARM_UP; i++) {
        (void)evaluate(bench, i, how);
    }
    while (count < SAMPLES && (count < LEAST_SAMPLES || clock_mono_ns() < end)) {
        uint64_t took = evaluate(bench, WARM_UP + count, how);
        if (took == 0) {
            break;
        }
        took = took - 1 < cost ? 0 : took - 1 - cost;
        total += took;
        samples[count++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
    }
    *ret_p50 = percentile(samples, count, 500);
    *ret_p99 = percentile(samples, count, 990);
    *ret_per_second = (double)count * 1e9 / (double)(total + 1);
    free(samples);
    return count >= LEAST_SAMPLES;
}

/* By the time of the processor, which is what "on one core" means on a machine that does other things too. */
static bool measure_whole(struct bench *bench, double *ret_per_second)
{
    struct buf out;
    buf_init(&out, 1u << 24);
    uint64_t begin = clock_thread_ns(), took = 0, done = 0;
    uint32_t at = 0;
    while (took < MEASURE_NS && buf_ok(&out)) {
        buf_reset(&out);
        for (unsigned i = 0; i < 64; i++, at = at + 1 == bench->whole_count ? 0 : at + 1) {
            judge_text(&bench->judge, bench->whole[at]);
            decision_write_json(&out, bench->policy, &bench->judge.decision);
            buf_byte(&out, '\n');
        }
        done += 64;
        took = clock_thread_ns() - begin;
    }
    *ret_per_second = (double)done * 1e9 / (double)took;
    bool ok = buf_ok(&out);
    buf_finish(&out);
    return ok;
}

/* ---- Printing ---- */

static int show(const struct figures *f, bool json)
{
    struct buf out;
    buf_init(&out, 1u << 16);
    if (json) {
        buf_printf(&out,
                   "{\"rules\":%u,\"calls\":%u,\"load_ms\":%.1f,\"index_bytes\":%zu,\"p50_ns\":%.0f,"
                   "\"p99_ns\":%.0f,\"decisions_per_second\":%.0f,\"linear_per_second\":%.0f,"
                   "\"line_to_decision_per_second\":%.0f}\n",
                   f->rules, f->calls, f->load_ms, f->index_bytes, f->p50_ns, f->p99_ns, f->decisions,
                   f->linear, f->whole);
    } else {
        buf_printf(&out,
                   "rules                        %12u\ncalls                        %12u\n"
                   "loading                      %12.1f ms\nindex                        %12zu bytes\n"
                   "one evaluation, median       %12.0f ns\none evaluation, 99 of 100    %12.0f ns\n"
                   "evaluations                  %12.0f a second\n"
                   "by the plain scan            %12.0f a second\n"
                   "from JSON line to decision   %12.0f a second\n",
                   f->rules, f->calls, f->load_ms, f->index_bytes, f->p50_ns, f->p99_ns, f->decisions,
                   f->linear, f->whole);
    }
    int code = print(&out);
    buf_finish(&out);
    return code;
}

/* ---- The command ---- */

static struct policy *load(const struct cli_command *command, struct options *options,
                           struct figures *figures)
{
    struct findings warnings;
    uint64_t begin = clock_mono_ns();
    struct policy *policy = options_load_policy(command, options);
    if (policy == NULL) {
        return NULL;
    }
    findings_init(&warnings);
    lint(policy, &warnings);
    figures->load_ms = (double)(clock_mono_ns() - begin) / 1e6;
    bool failed = warnings.failed;
    findings_finish(&warnings);
    if (!failed) {
        return policy;
    }
    say("no memory");
    policy_destroy(policy);
    return NULL;
}

static int measure(struct bench *bench, const struct options *options, uint32_t synthetic, const char *file,
                   struct figures *figures)
{
    if (!make_calls(bench, synthetic, file) || !read_calls(bench)) {
        say("the calls cannot be read");
        return EXIT_UNABLE;
    }
    if (bench->call_count == 0) {
        say("there is no call to evaluate");
        return EXIT_UNABLE;
    }
    figures->rules = bench->policy->rule_count;
    figures->calls = bench->line_count;
    figures->index_bytes = policy_index_bytes(bench->policy);
    double unused;
    if (!measure_each(bench, policy_evaluate, &figures->p50_ns, &figures->p99_ns, &figures->decisions) ||
        !measure_each(bench, policy_evaluate_linear, &unused, &unused, &figures->linear) ||
        !measure_whole(bench, &figures->whole)) {
        say("no memory");
        return EXIT_UNABLE;
    }
    return show(figures, options->json);
}

static int bench_with(const struct policy *policy, struct options *options, uint32_t synthetic,
                      const char *file, struct figures *figures)
{
    static struct bench bench;
    int code = EXIT_UNABLE;
    bench.policy = policy;
    arena_init(&bench.arena, 0);
    buf_init(&bench.text, (size_t)1 << 32);
    if (facts_init(&bench.facts)) {
        if (judge_init(&bench.judge, policy, &options->base)) {
            judge_spare_paths(&bench.judge);
            code = measure(&bench, options, synthetic, file, figures);
            judge_finish(&bench.judge);
        }
        facts_finish(&bench.facts);
    }
    buf_finish(&bench.text);
    arena_finish(&bench.arena);
    return code;
}

static int bench_all(const struct cli_command *command, struct options *options, uint32_t synthetic,
                     const char *calls)
{
    struct figures figures = {0};
    struct buf text;
    int code = EXIT_UNABLE;
    buf_init(&text, LIMIT_POLICY_BYTES);
    if (synthetic) {
        synthetic_policy(&text, synthetic);
    }
    if (!buf_ok(&text) || (synthetic && !sources_add_built_in(&options->sources, "synthetic", text.ptr))) {
        say("no memory");
    } else {
        struct policy *policy = load(command, options, &figures);
        if (policy != NULL) {
            code = bench_with(policy, options, synthetic, calls, &figures);
        }
        policy_destroy(policy);
    }
    buf_finish(&text);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *calls = NULL, *synthetic = NULL;
    int64_t count = 0;
    const struct option_spec own[] = {{"calls", OPTION_VALUE, &calls},
                                      {"synthetic", OPTION_VALUE, &synthetic}};
    int code = options_read(&options, &command_bench, argc, argv,
                            TAKES_POLICY | TAKES_PATHS | TAKES_FORMAT | TAKES_NO_WORDS, own, 2);
    if (code != -1) {
        return code;
    }
    if (synthetic != NULL && !option_number(synthetic, 1, LIMIT_RULES, &count)) {
        code = usage_error(&command_bench, "--synthetic is a number of rules from 1 to %u", LIMIT_RULES);
    } else if ((calls != NULL) == (synthetic != NULL) || (synthetic != NULL && options.sources.count > 0)) {
        code = usage_error(&command_bench, "name a policy and --calls FILE, or --synthetic N alone");
    } else {
        code = bench_all(&command_bench, &options, (uint32_t)count, calls);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_bench = {"bench", "measure what decisions cost", usage, run};
