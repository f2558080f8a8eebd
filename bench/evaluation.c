/* evaluation RULES COUNT: evaluates COUNT synthetic calls under a synthetic policy, for callgrind:
 *
 *   valgrind --tool=callgrind --instr-atstart=no --toggle-collect="measured*" build/bench/evaluation 1000
 * 2000
 *
 * counts the instructions of COUNT evaluations, looking the calls' strings up included and nothing else;
 * loading runs uncounted. The calls' paths are taken as canonical; no file is looked at. Prints the
 * nanoseconds of one, by the clock. */
#include <stdio.h>
#include <stdlib.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0 /* then without --instr-atstart=no, and slower */
#endif

#include "base/clock.h"
#include "bench/synthetic.h"
#include "document/document.h"
#include "index/index.h"

#define CALLS 1000u

struct work {
    struct policy *policy;
    struct buf text;
    struct call_reader reader;
    struct facts facts;
    unsigned allowed;
};

__attribute__((noinline)) static struct decision measured(struct work *work, const struct reading *reading)
{
    if (!facts_make(&work->facts, work->policy, &work->reader.call)) {
        abort();
    }
    return policy_evaluate(work->policy, &work->facts, reading, 1, NULL);
}

static void evaluate(struct work *work, struct slice line, uint64_t *total)
{
    struct call_defaults defaults = {
        .channel = SLICE("C1"), .thread = SLICE("1.1"), .actor = ACTOR_CLAUDE_PROCESS};
    if (call_read(&work->reader, line, &defaults) != CALL_OK) {
        abort();
    }
    const struct call *call = &work->reader.call;
    const struct json_value *path = json_get(call->doc, call->input, "path");
    struct reading reading = {.kind = READING_NO_PATH};
    if (path != NULL) {
        reading = (struct reading){.kind = READING_PATH, .path = json_str(path)};
    }
    uint64_t begin = clock_mono_ns();
    struct decision decision = measured(work, &reading);
    *total += clock_mono_ns() - begin;
    work->allowed += decision.kind == DECISION_ALLOW;
}

static bool load(struct work *work, uint32_t rules)
{
    struct path_base base = {.cwd = SLICE("/"), .home = SLICE("/")};
    struct findings errors;
    buf_init(&work->text, LIMIT_POLICY_BYTES);
    synthetic_policy(&work->text, rules);
    struct policy_source source = {
        .name = SLICE("synthetic"), .tier = TIER_DEFAULT, .text = {work->text.ptr, work->text.len - 1}};
    findings_init(&errors);
    work->policy = policy_load(&source, 1, &base, &errors);
    findings_finish(&errors);
    buf_reset(&work->text);
    synthetic_calls(&work->text, rules, CALLS / 2, SYNTHETIC_WITH_PATH);
    synthetic_calls(&work->text, rules, CALLS / 2, SYNTHETIC_WITHOUT_PATH);
    return work->policy != NULL && buf_ok(&work->text);
}

int main(int argc, char **argv)
{
    static struct work work;
    uint32_t rules = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : CALLS;
    uint64_t total = 0;
    if (!load(&work, rules) || !call_reader_init(&work.reader) || !facts_init(&work.facts)) {
        return 1;
    }
    struct slice rest = {NULL, 0};
    CALLGRIND_START_INSTRUMENTATION;
    for (uint32_t i = 0; i < count; i++) {
        if (rest.len == 0) {
            rest = buf_slice_of(&work.text);
        }
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        evaluate(&work, (struct slice){rest.ptr, len}, &total);
        rest = slice_from(rest, len + 1);
    }
    printf("%u evaluations, %u allowed, %.0f ns each\n", count, work.allowed, (double)total / count);
    facts_finish(&work.facts);
    call_reader_finish(&work.reader);
    buf_finish(&work.text);
    policy_destroy(work.policy);
    return 0;
}
