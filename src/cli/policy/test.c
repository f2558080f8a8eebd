/* callgate test: calls with the decisions that are wanted, and the rules that none of them reached. */
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/calls/calls.h"
#include "cli/calls/explain_text.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate test --policy [TIER=]FILE... [OPTION...] FILE.jsonl...\n\n"
    "Tests a policy: each line {\"name\",\"call\",\"approvals\"?,\"now\"?,\"want\"} is a call and the "
    "decision that it must\n"
    "get. `want` holds the members of the decision that matter, {\"kind\":\"deny\"} or more. Prints what "
    "differs, with\n"
    "the explanation, then the rules that no test reached, and last 'N passed, N failed'.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --min-coverage PCT    fail when fewer of the rules decided some test\n"
    "  --cwd DIR, --home DIR, --root DIR  what relative paths and ~ start from\n\n"
    "Exit: 0 all passed, 1 some failed or too few rules were reached, 2 could not be done.\n";

struct suite {
    struct judge judge;
    bool *reached; /* for each rule of the policy */
    struct json_doc line, got;
    struct buf text, out;
    size_t passed, failed;
    const char *file;
    size_t number; /* of the line */
};

/* Whether every member that the test names stands in the decision with an equal value. */
static bool as_wanted(const struct json_doc *want_doc, const struct json_value *want,
                      const struct json_doc *got_doc)
{
    struct buf a, b;
    bool equal = true;
    buf_init(&a, 1u << 20);
    buf_init(&b, 1u << 20);
    for (const struct json_value *key = json_first(want_doc, want); key != NULL && equal;
         key = json_right(want_doc, want, key)) {
        const struct json_value *got = json_get_slice(got_doc, json_root(got_doc), json_str(key));
        buf_reset(&a);
        buf_reset(&b);
        json_write_canonical(&a, want_doc, json_member_value(key), JSON_NUMBER_EXACT);
        if (got != NULL) {
            json_write_canonical(&b, got_doc, got, JSON_NUMBER_EXACT);
        }
        equal = got != NULL && buf_ok(&a) && buf_ok(&b) && slice_eq(buf_slice_of(&a), buf_slice_of(&b));
    }
    buf_finish(&a);
    buf_finish(&b);
    return equal;
}

static bool bad_line(struct suite *suite, uint32_t offset, const char *why)
{
    uint32_t line, column;
    json_place(suite->line.text, offset, &line, &column);
    say("%s:%zu:%u: %s", suite->file, suite->number, column, why);
    return false;
}

static void report(struct suite *suite, struct slice name, struct slice want, struct slice got,
                   struct slice call)
{
    struct buf json;
    suite->failed++;
    buf_text(&suite->out, "FAIL ");
    utf8_append_printable(&suite->out, name);
    buf_text(&suite->out, "\n  want ");
    utf8_append_printable(&suite->out, want);
    buf_text(&suite->out, "\n  got  ");
    utf8_append_printable(&suite->out, got);
    buf_byte(&suite->out, '\n');
    buf_init(&json, (size_t)256 << 20);
    judge_explain(&suite->judge, &json);
    explain_text_write(&suite->out, call, buf_slice_of(&json), false);
    buf_finish(&json);
}

/* False when the line is no test. */
static bool one_test(struct suite *suite, struct slice line)
{
    struct json_error error;
    struct approvals_list approvals = {0};
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 2, .max_bytes = LIMIT_MESSAGE_BYTES};
    if (!json_parse(&suite->line, line, &options, &error)) {
        suite->line.text = line;
        return bad_line(suite, error.offset, error.detail);
    }
    const struct json_doc *doc = &suite->line;
    const struct json_value *root = json_root(doc), *name = json_get(doc, root, "name"),
                            *call = json_get(doc, root, "call"), *want = json_get(doc, root, "want"),
                            *now = json_get(doc, root, "now"), *list = json_get(doc, root, "approvals");
    if (!json_is(name, JSON_STRING) || call == NULL || !json_is(want, JSON_OBJECT) || want->count == 0) {
        return bad_line(suite, 0, "wanted {\"name\",\"call\",\"approvals\"?,\"now\"?,\"want\"}");
    }
    int64_t time = 0;
    if (now != NULL && (!json_is(now, JSON_NUMBER) || json_number_int(json_str(now), &time) != JSON_INT_OK)) {
        return bad_line(suite, now->offset, "`now` is a whole number of milliseconds");
    }
    if (list != NULL && !approvals_from_json(&approvals, suite->judge.policy, doc, list)) {
        return bad_line(suite, list->offset, "these are no approvals");
    }

    suite->judge.approvals =
        (struct approvals){.list = approvals.list, .count = approvals.count, .now = time};
    struct decision decision = judge_text(&suite->judge, json_text_of(doc, call));
    if (decision.rule != NULL && decision.cause == CAUSE_NONE) {
        suite->reached[decision.rule - suite->judge.policy->rules] = true;
    }
    buf_reset(&suite->text);
    decision_write_json(&suite->text, suite->judge.policy, &decision);
    bool read = json_parse(&suite->got, buf_slice_of(&suite->text), &options, &error);
    if (read && as_wanted(doc, want, &suite->got)) {
        suite->passed++;
    } else {
        report(suite, json_str(name), json_text_of(doc, want), buf_slice_of(&suite->text),
               json_text_of(doc, call));
    }
    approvals_finish(&approvals);
    return true;
}

static bool run_file(struct suite *suite, const char *file)
{
    struct input_lines lines;
    struct slice line = {0};
    enum line_result result;
    bool ok = true;
    int fd = calls_open(file);
    if (fd < 0) {
        return false;
    }
    suite->file = file;
    suite->number = 0;
    input_lines_init(&lines, fd, LIMIT_MESSAGE_BYTES);
    while (ok && (result = input_lines_next(&lines, &line)) != LINE_END) {
        suite->number++;
        if (result == LINE_READ && line.len == 0) {
            continue;
        }
        ok = result == LINE_READ && one_test(suite, line);
        if (result != LINE_READ) {
            say("%s:%zu: the line cannot be read", file, suite->number);
        }
    }
    input_lines_finish(&lines);
    close(fd);
    return ok;
}

/* The rules that no test reached, and whether enough were. Rules for which another speaks can never be
 * reached. */
static bool write_coverage(struct suite *suite, int64_t least)
{
    const struct policy *policy = suite->judge.policy;
    uint32_t speakers = 0, reached = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        if (rule->speaker != i) {
            continue;
        }
        speakers++;
        if (suite->reached[i]) {
            reached++;
            continue;
        }
        buf_text(&suite->out, "not reached: ");
        utf8_append_printable(&suite->out, policy->files[rule->file].name);
        buf_printf(&suite->out, ":%u: rule '", rule->line);
        utf8_append_printable(&suite->out, policy_text(policy, rule->id));
        buf_text(&suite->out, "'\n");
    }
    double percent = speakers ? 100.0 * reached / speakers : 100.0;
    buf_printf(&suite->out, "coverage: %u of %u rules, %.1f %%\n", reached, speakers, percent);
    return percent >= (double)least;
}

static int run_suite(struct suite *suite, const struct options *options, int64_t least)
{
    bool ok = true;
    for (int i = 0; i < options->argc && ok; i++) {
        ok = run_file(suite, options->argv[i]);
    }
    if (!ok) {
        return EXIT_UNABLE;
    }
    bool covered = write_coverage(suite, least);
    if (!covered) {
        buf_printf(&suite->out, "FAIL: fewer than %lld %% of the rules were reached\n", (long long)least);
    }
    buf_printf(&suite->out, "%zu passed, %zu failed\n", suite->passed, suite->failed);
    if (print(&suite->out) != EXIT_YES) {
        return EXIT_UNABLE;
    }
    return suite->failed == 0 && covered ? EXIT_YES : EXIT_NO;
}

static int test(struct options *options, int64_t least)
{
    static struct suite suite;
    struct policy *policy = options_load_policy(&command_test, options);
    if (policy == NULL) {
        return EXIT_UNABLE;
    }
    int code = EXIT_UNABLE;
    suite.reached = calloc(policy->rule_count + 1u, sizeof(*suite.reached));
    if (suite.reached != NULL && judge_init(&suite.judge, policy, &options->base)) {
        json_init(&suite.line);
        json_init(&suite.got);
        buf_init(&suite.text, LIMIT_MESSAGE_BYTES * 7u);
        buf_init(&suite.out, (size_t)1 << 30);
        code = run_suite(&suite, options, least);
        json_finish(&suite.line);
        json_finish(&suite.got);
        buf_finish(&suite.text);
        buf_finish(&suite.out);
        judge_finish(&suite.judge);
    } else {
        say("no memory");
    }
    free(suite.reached);
    policy_destroy(policy);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *coverage = NULL;
    int64_t least = 0;
    const struct option_spec own[] = {{"min-coverage", OPTION_VALUE, &coverage}};
    int code = options_read(&options, &command_test, argc, argv, TAKES_POLICY | TAKES_PATHS, own, 1);
    if (code != -1) {
        return code;
    }
    if (coverage != NULL && !option_number(coverage, 0, 100, &least)) {
        code = usage_error(&command_test, "--min-coverage is a whole number from 0 to 100");
    } else if (options.argc < 1) {
        code = usage_error(&command_test, "name a file of tests");
    } else {
        code = test(&options, least);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_test = {"test", "test a policy by calls and wanted decisions", usage, run};
