/* loading RULES: loads the synthetic policy of so many rules and lints it; one JSON object: the milliseconds
 * of both, and the bytes that the loaded policy holds, beside its document's and those of the index alone.
 * The document is given back before memory is counted; lint's findings are not part of it. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "analysis/analysis.h"
#include "base/clock.h"
#include "bench/synthetic.h"

static size_t held(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(int argc, char **argv)
{
    uint32_t rules = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    struct path_base base = {.cwd = SLICE("/"), .home = SLICE("/")};
    struct findings errors, warnings;
    struct buf text;
    size_t before = held();
    buf_init(&text, LIMIT_POLICY_BYTES);
    findings_init(&errors);
    findings_init(&warnings);
    synthetic_policy(&text, rules);
    if (rules == 0 || !buf_ok(&text)) {
        fputs("usage: loading RULES\n", stderr);
        return 2;
    }
    size_t text_bytes = text.len - 1;
    struct policy_source source = {
        .name = SLICE("synthetic"), .tier = TIER_DEFAULT, .text = {text.ptr, text_bytes}};
    uint64_t begin = clock_mono_ns();
    struct policy *policy = policy_load(&source, 1, &base, &errors);
    uint64_t loaded = clock_mono_ns();
    if (policy == NULL) {
        return 1;
    }
    lint(policy, &warnings);
    uint64_t linted = clock_mono_ns();
    size_t warned = warnings.count;
    findings_finish(&warnings);
    findings_finish(&errors);
    buf_finish(&text);
    size_t policy_bytes = held() - before;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 1;
    }
    printf("{\"rules\":%u,\"load_ms\":%.3f,\"lint_ms\":%.3f,\"warnings\":%zu,\"text_bytes\":%zu,"
           "\"policy_bytes\":%zu,\"index_bytes\":%zu,\"peak_rss_kb\":%ld}\n",
           rules, (double)(loaded - begin) / 1e6, (double)(linted - loaded) / 1e6, warned, text_bytes,
           policy_bytes, policy_index_bytes(policy), usage.ru_maxrss);
    policy_destroy(policy);
    return 0;
}
