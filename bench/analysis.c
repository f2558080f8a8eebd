/* analysis synthetic|crowded|paths|language RULES [no-diffs|one-diff]: how long the exact answers take, on a policy of so
 * many rules; one JSON object. Loading is not counted; what an answer prepares is. With a third word no differences are
 * measured, or only those of one rule.
 *
 * "synthetic" is what `callgate bench --synthetic` measures with; for "crowded" see crowded.h; "paths" is
 * that with an argument `path` in every eighth argEquals, whose calls cannot be told without trying them; for "language"
 * see language.h. A
 * changed rule has another effect and, in the crowded policy, another match too. One rule is changed at nine
 * places, one after the other: the median and the longest. Assertions are the matches of a hundred of the
 * rules, with `never` all that the rule does not decide, and one about every call of a tool. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/analysis.h"
#include "bench/synthetic.h"
#include "crowded.h"
#include "language.h"

#define ASSERTIONS 100u
#define PLACES     9u
#define ROUNDS     3u /* of which the best is taken */
#define MOST_BYTES ((size_t)LIMIT_POLICY_BYTES)

static const struct path_base base = {.cwd = {"/", 1}, .home = {"/", 1}};

struct work {
    const char *name;
    bool crowded, path_arguments, language;
    uint32_t rules;
    struct policy *policy;
    struct buf text;
};

static void need(bool done, const char *what)
{
    if (!done) {
        fprintf(stderr, "analysis: %s\n", what);
        exit(1);
    }
}

/* What this process has used: what else runs on the machine counts less. */
static uint64_t cpu_ns(void)
{
    struct timespec used;
    need(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0, "no clock");
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static double ms_since(uint64_t begin)
{
    return (double)(cpu_ns() - begin) / 1e6;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* ---- Policies ---- */

static struct policy *load(struct slice text)
{
    struct policy_source source = {.name = SLICE("policy"), .tier = TIER_DEFAULT, .text = text};
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = policy_load(&source, 1, &base, &errors);
    if (errors.count > 0) {
        fprintf(stderr, "%.*s\n", SLICE_FMT(errors.list[0].message));
    }
    findings_finish(&errors);
    need(policy != NULL, "a policy does not load");
    return policy;
}

/* Gives the rule of one line of the synthetic policy the next effect. */
static void write_changed(struct buf *out, struct slice line)
{
    static const char *const effects[] = {"\"auto_approve\"", "\"require_approval\"",
                                          "\"deny\",\"reason\":\"not in this project\""};
    for (uint32_t i = 0; i < 3; i++) {
        size_t len = strlen(effects[i]);
        const char *at = memmem(line.ptr, line.len, effects[i], len);
        if (at != NULL) {
            size_t before = (size_t)(at - line.ptr);
            buf_bytes(out, line.ptr, before);
            buf_text(out, effects[(i + 1) % 3]);
            buf_slice(out, slice_from(line, before + len));
            return;
        }
    }
    need(false, "a rule without an effect");
}

static void write_synthetic(struct buf *out, const struct work *work, uint32_t first, uint32_t step)
{
    uint32_t rules = work->rules;
    struct buf whole;
    buf_init(&whole, MOST_BYTES);
    synthetic_policy(&whole, rules);
    struct slice rest = {whole.ptr, whole.len - 1};
    for (uint32_t line = 0; rest.len > 0; line++) { /* the head, a line for each rule, the foot */
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr) + 1;
        struct slice this = {rest.ptr, len};
        if (step != 0 && line > first && line <= rules && (line - 1 - first) % step == 0) {
            write_changed(out, this);
        } else {
            buf_slice(out, this);
        }
        rest = slice_from(rest, len);
    }
    need(buf_ok(&whole), "no memory");
    buf_finish(&whole);
}

static void write_crowded(struct buf *out, const struct work *work, uint32_t first, uint32_t step)
{
    for (uint32_t i = 0; i < work->rules; i++) {
        bool changed = step != 0 && i >= first && (i - first) % step == 0;
        buf_text(out, i == 0 ? "[\n" : ",\n");
        if (work->language) {
            language_rule(out, i, changed);
        } else {
            crowded_rule(out, i, work->rules, changed, work->path_arguments);
        }
    }
    buf_text(out, "\n]");
}

/* The policy, with every step-th rule from `first` on changed; step 0: none. */
static struct policy *make(struct work *work, uint32_t first, uint32_t step)
{
    buf_reset(&work->text);
    (work->crowded ? write_crowded : write_synthetic)(&work->text, work, first, step);
    need(buf_ok(&work->text), "no memory");
    return load(buf_slice_of(&work->text));
}

/* ---- Questions ---- */

/* Milliseconds of lint and of the search for dead rules; how many warnings each gave. */
static void find_dead(const struct work *work, double *ret_lint, double *ret_dead, size_t *ret_linted,
                      size_t *ret_dead_rules)
{
    struct findings warnings;
    findings_init(&warnings);
    uint64_t begin = cpu_ns();
    lint(work->policy, &warnings);
    *ret_lint = ms_since(begin);
    *ret_linted = warnings.count;
    begin = cpu_ns();
    struct analysis *analysis = analysis_create(work->policy, NULL, NULL, 0, &base);
    need(analysis != NULL, "no memory");
    dead_find(analysis, &warnings);
    analysis_destroy(analysis);
    *ret_dead = ms_since(begin);
    *ret_dead_rules = warnings.count - *ret_linted;
    need(!warnings.failed, "dead rules");
    findings_finish(&warnings);
}

static void measure_dead(const struct work *work)
{
    double lint_ms = 1e18, dead_ms = 1e18, one_lint, one_dead;
    size_t linted, dead;
    for (unsigned round = 0; round < ROUNDS; round++) {
        find_dead(work, &one_lint, &one_dead, &linted, &dead);
        lint_ms = one_lint < lint_ms ? one_lint : lint_ms;
        dead_ms = one_dead < dead_ms ? one_dead : dead_ms;
    }
    printf(",\"lint_ms\":%.2f,\"lint_warnings\":%zu,\"dead_ms\":%.2f,\"dead_rules\":%zu", lint_ms, linted,
           dead_ms, dead);
}

/* Milliseconds of one comparison, violations included. */
static double compare_once(const struct work *work, const struct policy *changed, enum diff_detail detail,
                           size_t *ret_classes)
{
    struct violations violations;
    struct diff diff;
    violations_init(&violations);
    diff_init(&diff);
    uint64_t begin = cpu_ns();
    violations_find(work->policy, changed, &violations);
    diff_find(work->policy, changed, &base, detail, &diff);
    double took = ms_since(begin);
    need(!diff.failed && !violations.failed, "a diff");
    *ret_classes = diff.count;
    diff_finish(&diff);
    violations_finish(&violations);
    return took;
}

static double compare(const struct work *work, const struct policy *changed, enum diff_detail detail,
                      size_t *ret_classes)
{
    double best = 1e18;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double took = compare_once(work, changed, detail, ret_classes);
        best = took < best ? took : best;
    }
    return best;
}

static void measure_one_diff(struct work *work)
{
    double took[PLACES];
    size_t classes = 0, most = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t place = (uint32_t)((uint64_t)(work->rules - 1) * i / (PLACES - 1));
        struct policy *changed = make(work, place, work->rules);
        took[i] = compare(work, changed, DIFF_EXCEPT, &classes);
        most = classes > most ? classes : most;
        policy_destroy(changed);
    }
    qsort(took, PLACES, sizeof(*took), by_size);
    printf(",\"diff_one_ms\":%.2f,\"diff_one_longest_ms\":%.2f,\"diff_one_most_classes\":%zu",
           took[PLACES / 2], took[PLACES - 1], most);
}

static void measure_more_diffs(struct work *work)
{
    size_t classes = 0;
    struct policy *changed = make(work, work->rules / 20, work->rules < 10 ? 1 : work->rules / 10);
    double ten = compare(work, changed, DIFF_EXCEPT, &classes);
    printf(",\"diff_10_ms\":%.2f,\"diff_10_classes\":%zu", ten, classes);
    policy_destroy(changed);
    changed = make(work, 5, 10);
    double tenth = compare(work, changed, DIFF_EXCEPT, &classes);
    double brief = compare(work, changed, DIFF_BRIEF, &classes);
    printf(",\"diff_tenth_rules\":%u,\"diff_tenth_ms\":%.2f,\"diff_tenth_brief_ms\":%.2f,\"diff_tenth_"
           "classes\":%zu",
           (work->rules + 4) / 10, tenth, brief, classes);
    policy_destroy(changed);
}

/* The match as it stands in a rule's line, of either policy. */
static struct slice match_of(struct slice line)
{
    static const char key[] = "\"match\":";
    const char *at = memmem(line.ptr, line.len, key, sizeof(key) - 1), *end = line.ptr + line.len;
    need(at != NULL, "a rule without a match");
    while (end[-1] != '}') {
        end--;
    }
    at += sizeof(key) - 1;
    return (struct slice){at, (size_t)(end - 1 - at)};
}

/* Appends a match without its tier, which an assertion does not have. */
static void write_asked(struct buf *out, struct slice match)
{
    static const char tier[] = "\"tier\":\"default\",";
    const char *at = memmem(match.ptr, match.len, tier, sizeof(tier) - 1);
    size_t before = at == NULL ? 0 : (size_t)(at - match.ptr);
    buf_bytes(out, match.ptr, before);
    buf_slice(out, slice_from(match, at == NULL ? 0 : before + sizeof(tier) - 1));
}

/* The document of the assertions: the match of every so many-th rule, and all calls of one tool. */
static struct policy *make_assertions(struct work *work)
{
    struct buf rules;
    buf_init(&rules, MOST_BYTES);
    (work->crowded ? write_crowded : write_synthetic)(&rules, work, 0, 0);
    struct slice rest = buf_slice_of(&rules);
    buf_reset(&work->text);
    buf_text(&work->text, "{\"assertions\":[");
    for (uint32_t rule = 0, asked = 0; rule < work->rules && asked < ASSERTIONS; rule++) {
        rest = slice_from(rest, (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr) + 1);
        if (rule != (uint64_t)work->rules * asked / ASSERTIONS) {
            continue;
        }
        size_t len = (size_t)((const char *)memchr(rest.ptr, '\n', rest.len) - rest.ptr);
        buf_printf(&work->text, "{\"name\":\"%u\",\"never\":[\"%s\"],\"match\":", asked++,
                   work->policy->rules[rule].effect == EFFECT_DENY ? "allow" : "deny");
        write_asked(&work->text, match_of((struct slice){rest.ptr, len}));
        buf_text(&work->text, "},");
    }
    buf_printf(&work->text, "{\"name\":\"a tool\",\"never\":[\"allow\"],\"match\":{\"tool\":\"%s\"}}]}",
               work->crowded ? "tool_1" : "list_item_1");
    need(buf_ok(&work->text) && buf_ok(&rules), "no memory");
    buf_finish(&rules);
    return load(buf_slice_of(&work->text));
}

static enum assertion_result prove(struct analysis *analysis, uint32_t assertion, struct buf *call,
                                   double *ret_ms)
{
    enum assertion_result result = ASSERTION_FAILED;
    *ret_ms = 1e18;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct refutation refutation;
        buf_reset(call);
        uint64_t begin = cpu_ns();
        result = assertion_prove(analysis, assertion, &refutation, call);
        double took = ms_since(begin);
        *ret_ms = took < *ret_ms ? took : *ret_ms;
    }
    return result;
}

static void measure_assertions(struct work *work)
{
    struct policy *asked = make_assertions(work);
    double took[ASSERTIONS + 1];
    unsigned results[ASSERTION_PROVED + 1] = {0};
    struct buf call;
    buf_init(&call, MOST_BYTES);
    uint64_t begin = cpu_ns();
    struct analysis *analysis = analysis_create(work->policy, asked->assertion_space, asked->assertions,
                                                asked->assertion_count, &base);
    double prepared = ms_since(begin);
    need(analysis != NULL && asked->assertion_count == ASSERTIONS + 1, "assertions");
    for (uint32_t i = 0; i < asked->assertion_count; i++) {
        results[prove(analysis, i, &call, &took[i])]++;
    }
    need(results[ASSERTION_FAILED] == 0, "an assertion failed");
    double whole_tool = took[ASSERTIONS];
    qsort(took, ASSERTIONS + 1, sizeof(*took), by_size);
    printf(",\"assertions_prepared_ms\":%.2f,\"assertion_ms\":%.3f,\"assertion_longest_ms\":%.3f,"
           "\"assertion_tool_ms\":%.3f,\"proved\":%u,\"refuted\":%u,\"unconfirmed\":%u",
           prepared, took[ASSERTIONS / 2], took[ASSERTIONS], whole_tool, results[ASSERTION_PROVED],
           results[ASSERTION_REFUTED], results[ASSERTION_UNCONFIRMED]);
    analysis_destroy(analysis);
    policy_destroy(asked);
    buf_finish(&call);
}

int main(int argc, char **argv)
{
    struct work work = {.name = argc > 1 ? argv[1] : ""};
    work.path_arguments = strcmp(work.name, "paths") == 0;
    work.language = strcmp(work.name, "language") == 0;
    work.crowded = work.path_arguments || work.language || strcmp(work.name, "crowded") == 0;
    work.rules = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if ((!work.crowded && strcmp(work.name, "synthetic") != 0) || work.rules < ASSERTIONS ||
        work.rules > LIMIT_RULES) {
        fputs("usage: analysis synthetic|crowded|paths|language RULES [no-diffs|one-diff]\n", stderr);
        return 2;
    }
    buf_init(&work.text, MOST_BYTES);
    work.policy = make(&work, 0, 0);
    printf("{\"policy\":\"%s\",\"rules\":%u", work.name, work.rules);
    measure_dead(&work);
    measure_assertions(&work);
    if (argc < 4 || strcmp(argv[3], "one-diff") == 0) {
        measure_one_diff(&work);
    }
    if (argc < 4) {
        measure_more_diffs(&work);
    }
    puts("}");
    policy_destroy(work.policy);
    buf_finish(&work.text);
    return 0;
}
