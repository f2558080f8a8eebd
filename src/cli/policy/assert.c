/* callgate assert: proves a list of assertions over a policy. */
#include <stdio.h>

#include "analysis/analysis.h"
#include "base/utf8.h"
#include "cli/calls/approvals.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate assert --policy [TIER=]FILE... [--format text|json] FILE\n\n"
    "Proves or refutes sentences about a policy: FILE is a JSON list of\n"
    "{\"name\",\"match\",\"never\":[\"allow\",…],\"evenApproved\"?}, each saying that no call of the match "
    "gets one of "
    "these\n"
    "decisions. The answer is exact: proved, or a call that refutes it. With \"allow\" in `never` an "
    "approval does "
    "not\n"
    "count as allowed unless `evenApproved` is true. \"Never allow\" and \"never allow, never require\" are "
    "proved of "
    "calls\n"
    "with any number of paths; any other set of each path by itself, which a note says.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --format json         one JSON object a line: "
    "{\"name\",\"result\",\"call\"?,\"kind\"?,\"rule\"?,\"notes\"?}\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
    "Exit: 0 all proved, 1 some refuted, 2 could not be done.\n";

/* The key that makes a list of assertions a policy document, on a line of its own, so that columns are the
 * list's. */
static const char document_head[] = "{\"assertions\":\n";

/* Loads the list as the assertions of a document without rules. NULL after saying what is wrong. */
static struct policy *load_assertions(const char *file, const struct path_base *base)
{
    struct buf text, document, lines;
    struct findings errors;
    struct json_doc doc;
    struct json_error json_error;
    struct policy *policy = NULL;
    const struct json_options json_options = {.max_depth = LIMIT_JSON_DEPTH,
                                              .max_bytes = LIMIT_MESSAGE_BYTES};
    findings_init(&errors);
    json_init(&doc);
    buf_init(&document, (size_t)LIMIT_MESSAGE_BYTES + 4096);
    buf_init(&lines, (size_t)LIMIT_MESSAGE_BYTES);
    if (read_file(file, (size_t)LIMIT_MESSAGE_BYTES + (128u << 10), &text)) {
        struct slice list = buf_slice_of(&text);
        if (!json_parse(&doc, list, &json_options, &json_error)) {
            uint32_t line, column;
            json_place(list, json_error.offset, &line, &column);
            say("%s:%u:%u: %s", file, line, column, json_error.detail);
        } else {
            buf_text(&document, document_head);
            buf_slice(&document, list);
            buf_byte(&document, '}');
            struct policy_source source = {
                .name = slice_of(file), .tier = TIER_DEFAULT, .text = buf_slice_of(&document)};
            policy = buf_ok(&document) ? policy_load(&source, 1, base, &errors) : NULL;
        }
    }
    for (size_t i = 0; i < errors.count; i++) {
        errors.list[i].line--;
    }
    sources_write_errors(&lines, &errors);
    say_lines(&lines);
    buf_finish(&text);
    buf_finish(&document);
    buf_finish(&lines);
    json_finish(&doc);
    findings_finish(&errors);
    return policy;
}

static const char *result_name(enum assertion_result result)
{
    static const char *const names[] = {"failed", "refuted", "unconfirmed", "proved"};
    return names[result];
}

/* ---- What a proof does not say ---- */

#define NOTES_MOST 2

/* Whether some rule has this very prefix: then other names of the same file are judged as it, too. */
static bool names_prefix(const struct policy *policy, struct slice path)
{
    for (uint32_t i = 0; i < policy->prefixes->count; i++) {
        if (slice_eq(policy->prefixes->list[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* Texts go to `room`. Returns how many there are. */
static size_t find_notes(const struct policy *policy, const struct policy *asked, uint32_t assertion,
                         struct buf room[NOTES_MOST])
{
    uint32_t id = asked->assertions[assertion].match.path_prefix;
    const struct path_prefix *prefix = id ? &asked->assertion_space->prefixes->list[id - 1] : NULL;
    size_t count = 0;
    if (!assertion_holds_of_calls(&asked->assertions[assertion])) {
        buf_text(&room[count++],
                 "said of each path by itself: a call with several can be denied, or wait, for another "
                 "of them, or for one that cannot be resolved");
    }
    if (prefix != NULL && prefix->exists && prefix->path.len > 1 && !names_prefix(policy, prefix->path)) {
        buf_text(&room[count], "said of paths by this name: no rule has the pathPrefix ");
        utf8_append_printable(&room[count], prefix->path);
        buf_text(&room[count++], ", so a bind mount of it elsewhere is not judged as it");
    }
    return count;
}

static void write_notes(struct buf *out, const struct policy *policy, const struct policy *asked,
                        uint32_t assertion, bool json)
{
    struct buf room[NOTES_MOST];
    for (size_t i = 0; i < NOTES_MOST; i++) {
        buf_init(&room[i], 64u << 10);
    }
    size_t count = find_notes(policy, asked, assertion, room);
    for (size_t i = 0; i < count; i++) {
        buf_text(out, !json ? "  note: " : i ? "," : ",\"notes\":[");
        (json ? json_write_bytes : buf_slice)(out, buf_slice_of(&room[i]));
        buf_text(out, !json ? "\n" : i + 1 == count ? "]" : "");
    }
    for (size_t i = 0; i < NOTES_MOST; i++) {
        buf_finish(&room[i]);
    }
}

/* ---- Answers ---- */

static void write_json(struct buf *out, struct slice name, enum assertion_result result,
                       const struct policy *policy, const struct refutation *refutation,
                       const struct buf *call)
{
    buf_text(out, "{\"name\":");
    json_write_bytes(out, name);
    buf_printf(out, ",\"result\":\"%s\"", result_name(result));
    if (result == ASSERTION_REFUTED) {
        buf_text(out, ",\"call\":");
        buf_slice(out, buf_slice_of(call));
    }
    if (result == ASSERTION_REFUTED || result == ASSERTION_UNCONFIRMED) {
        buf_printf(out, ",\"kind\":\"%s\",\"rule\":", decision_kind_name(refutation->kind));
        if (refutation->rule != NULL) {
            json_write_bytes(out, policy_text(policy, refutation->rule->id));
        } else {
            buf_text(out, "null");
        }
    }
}

static void write_text(struct buf *out, struct slice name, enum assertion_result result,
                       const struct policy *policy, const struct refutation *refutation,
                       const struct buf *call)
{
    utf8_append_printable(out, name);
    buf_printf(out, ": %s\n", result_name(result));
    if (result != ASSERTION_REFUTED && result != ASSERTION_UNCONFIRMED) {
        return;
    }
    if (result == ASSERTION_REFUTED) {
        buf_text(out, "  ");
        utf8_append_printable(out, buf_slice_of(call));
        buf_byte(out, '\n');
    }
    buf_printf(out, "  %s", decision_kind_name(refutation->kind));
    if (refutation->rule != NULL) {
        buf_text(out, " by rule '");
        utf8_append_printable(out, policy_text(policy, refutation->rule->id));
        buf_text(out, "' at ");
        utf8_append_printable(out, policy->files[refutation->rule->file].name);
        buf_printf(out, ":%u", refutation->rule->line);
    } else {
        buf_text(out, refutation->kind == DECISION_DENY ? " by default" : ": no rule matches");
    }
    buf_text(out, result == ASSERTION_UNCONFIRMED
                      ? " stands against it, but no call could be made that shows it: the arguments "
                        "that the match and its rules name are several paths, or too many rules meet\n"
                      : "\n");
}

static int prove_all(const struct policy *policy, const struct policy *asked, const struct options *options)
{
    struct buf out, call;
    struct analysis *analysis = analysis_create(policy, asked->assertion_space, asked->assertions,
                                                asked->assertion_count, &options->base);
    int code = EXIT_YES;
    buf_init(&out, (size_t)1 << 30);
    buf_init(&call, (size_t)64 << 20);
    for (uint32_t i = 0; analysis != NULL && i < asked->assertion_count; i++) {
        struct refutation refutation = {0};
        buf_reset(&call);
        enum assertion_result result = assertion_prove(analysis, i, &refutation, &call);
        struct slice name = policy_text(asked->assertion_space, asked->assertions[i].name);
        (options->json ? write_json : write_text)(&out, name, result, policy, &refutation, &call);
        if (result == ASSERTION_PROVED) {
            write_notes(&out, policy, asked, i, options->json);
        }
        if (options->json) {
            buf_text(&out, "}\n");
        }
        if (result == ASSERTION_FAILED) {
            code = EXIT_UNABLE;
        } else if (result != ASSERTION_PROVED && code == EXIT_YES) {
            code = EXIT_NO;
        }
    }
    if (analysis == NULL) {
        say("no memory");
        code = EXIT_UNABLE;
    }
    analysis_destroy(analysis);
    if (print(&out) != EXIT_YES) {
        code = EXIT_UNABLE;
    }
    buf_finish(&out);
    buf_finish(&call);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_assert, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_FORMAT,
                            NULL, 0);
    if (code != -1) {
        return code;
    }
    struct policy *policy = NULL, *asked = NULL;
    code = EXIT_UNABLE;
    if (options.argc != 1) {
        code = usage_error(&command_assert, "name a file of assertions");
    } else if ((policy = options_load_policy(&command_assert, &options)) != NULL &&
               (asked = load_assertions(options.argv[0], &options.base)) != NULL) {
        code = asked->assertion_count ? prove_all(policy, asked, &options) : EXIT_YES;
    }
    policy_destroy(policy);
    policy_destroy(asked);
    options_finish(&options);
    return code;
}

const struct cli_command command_assert = {"assert", "prove or refute sentences about a policy", usage, run};
