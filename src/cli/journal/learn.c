/* `learn`: rules out of the calls of a journal, as a document to review. */
#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/intern.h"
#include "base/utf8.h"
#include "cli/calls/calls.h"
#include "cli/commands.h"
#include "cli/journal/journals.h"
#include "cli/options.h"
#include "document/document.h"
#include "journal/journal.h"
#include "setup/learn.h"

#define LISTED_MOST 20u
#define PATHS_MOST  4096u

static const char usage[] =
    "usage: callgate learn [--output FILE] [--policy [TIER=]FILE...] [--session CHANNEL[/THREAD]] "
    "[JOURNAL...]\n\n"
    "Writes a policy out of the calls that a journal saw run: grouped by server, tool, place, command and\n"
    "host, each rule with how often it was seen. Nothing is wider than what was seen unless the rule's\n"
    "comment says so. Calls that people refused are left out, and so are those of which the journal kept\n"
    "only a part. It is a document to review, and nothing uses it until somebody says so.\n\n"
    "  --output FILE         where the document goes (default: standard output)\n"
    "  --policy [TIER=]FILE  with --output: the running policy; the difference is shown\n"
    "  --session C[/T]       only the calls of a session\n"
    "  --state DIR           without JOURNAL: the one of this state directory, or else of this user's own\n"
    "  --cwd DIR, --home DIR, --root DIR  what relative paths and ~ start from\n\n"
    "Exit: 0 done, 1 no call could be learned, 2 could not be done.\n";

struct learning {
    struct options *options;
    struct journals journals;
    const char *output, *session;
    struct arena arena;
    struct intern refused; /* hashes of calls */
    struct learner *learner;
    struct judge judge;
    struct buf call, report;
    size_t seen, learned, left_refused, not_exact, listed, still;
};

/* ---- Events ---- */

typedef bool each_event(struct learning *l, const struct journal_event *event);

/* Gives each event of the journals to a function. False after saying why not. */
static bool read_events(struct learning *l, each_event *each)
{
    struct journal_filter filter = {.session = l->session};
    struct buf error;
    const struct journal_event *event;
    buf_init_message(&error, 1u << 16);
    struct journal_reader *reader =
        journal_reader_open(l->journals.files, l->journals.count, &filter, &error);
    enum journal_read result = reader != NULL ? JOURNAL_READ_EVENT : JOURNAL_READ_FAILED;
    while (result == JOURNAL_READ_EVENT) {
        result = journal_reader_next(reader, &event, &error);
        if (result == JOURNAL_READ_EVENT && !each(l, event)) {
            buf_text(&error, "no memory");
            result = JOURNAL_READ_FAILED;
        }
    }
    if (result == JOURNAL_READ_FAILED) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    journal_reader_close(reader);
    buf_finish(&error);
    return result == JOURNAL_READ_END;
}

static bool note_refused(struct learning *l, const struct journal_event *event)
{
    return !slice_is(event->kind, "approval.refused") || event->call_hash.len == 0 ||
           intern_add(&l->refused, event->call_hash) != 0;
}

/* Whether the call of an event ran and may be learned from: it was allowed, or an observing gate only noted that it
 * would have asked, or that no rule spoke for it. What a rule denies is not learned from. */
static bool ran(const struct journal_event *event)
{
    return slice_is(event->kind, "policy.allow") || slice_is(event->kind, "policy.would-require") ||
           (slice_is(event->kind, "policy.would-deny") && slice_is(event->rule, "default"));
}

/* Whether the call that was put together again is the one that was judged: else some of it was redacted or cut. */
static bool is_exact(struct learning *l, const struct journal_event *event)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    buf_reset(&l->call);
    journal_event_call(&l->call, event);
    if (!buf_ok(&l->call)) {
        return false;
    }
    (void)judge_text(&l->judge, buf_slice_of(&l->call));
    if (!l->judge.read || !decide_hash(&l->judge.decider, &l->judge.reader.call, hash)) {
        return false;
    }
    hash_to_hex(hash, hex);
    return slice_is(event->call_hash, hex);
}

static void list_event(struct learning *l, const struct journal_event *event, const char *why)
{
    if (l->listed++ < LISTED_MOST) {
        buf_printf(&l->report, "  %s: event %llu, ", why, (unsigned long long)event->seq);
        utf8_append_printable(&l->report, event->tool);
        buf_byte(&l->report, '\n');
    }
}

static bool learn_event(struct learning *l, const struct journal_event *event)
{
    if (!ran(event)) {
        return true;
    }
    l->seen++;
    if (intern_find(&l->refused, event->call_hash) != 0) {
        l->left_refused++;
        return true;
    }
    if (!is_exact(l, event)) {
        l->not_exact++;
        list_event(l, event, "not learnable, redacted or cut in the journal");
        return true;
    }
    struct slice paths[PATHS_MOST];
    const struct json_value *list = json_get(&event->doc, json_root(&event->doc), "paths"), *v;
    struct learned_call call = {.server = event->server,
                                .tool = event->tool,
                                .doc = &event->doc,
                                .input = event->input,
                                .paths = paths};
    for (v = json_is(list, JSON_ARRAY) ? json_first(&event->doc, list) : NULL; v != NULL;
         v = json_right(&event->doc, list, v)) {
        if (json_is(v, JSON_STRING) && call.path_count < PATHS_MOST) {
            paths[call.path_count++] = json_str(v);
        }
    }
    if (event->input == NULL) {
        return true;
    }
    l->learned++;
    return learner_add(l->learner, &call);
}

/* What the learned policy says of a call that it was made of. */
static bool try_event(struct learning *l, const struct journal_event *event)
{
    if (!ran(event) || intern_find(&l->refused, event->call_hash) != 0) {
        return true;
    }
    buf_reset(&l->call);
    journal_event_call(&l->call, event);
    if (buf_ok(&l->call) && judge_text(&l->judge, buf_slice_of(&l->call)).kind != DECISION_ALLOW) {
        l->still++;
        list_event(l, event, "would still be denied");
    }
    return true;
}

/* ---- The document ---- */

static struct policy *load(const struct learning *l, struct slice text)
{
    struct findings errors;
    struct buf lines;
    struct policy_source source = {.name = SLICE("what was learned"), .tier = TIER_DEFAULT, .text = text};
    findings_init(&errors);
    buf_init(&lines, 16u << 20);
    struct policy *policy = policy_load(&source, 1, &l->options->base, &errors);
    sources_write_errors(&lines, &errors);
    say_lines(&lines);
    buf_finish(&lines);
    findings_finish(&errors);
    return policy;
}

/* Reads the journals again, by a policy of this text. */
static bool judge_by(struct learning *l, struct slice text, each_event *each)
{
    struct policy *policy = load(l, text);
    bool ok = policy != NULL && judge_init(&l->judge, policy, &l->options->base);
    if (ok) {
        ok = read_events(l, each);
        judge_finish(&l->judge);
    }
    policy_destroy(policy);
    return ok;
}

static int show_difference(const struct learning *l)
{
    struct options *o = l->options;
    if (o->policies.count == 0) {
        say("compare it: callgate diff RUNNING %s", l->output);
        return EXIT_YES;
    }
    const char **argv = arena_array(&o->arena, 2 * o->policies.count + 6, sizeof(*argv));
    int argc = 0;
    if (argv == NULL) {
        return EXIT_UNABLE;
    }
    argv[argc++] = "diff";
    for (size_t i = 0; i < o->policies.count; i++) {
        argv[argc++] = "--old";
        argv[argc++] = o->policies.items[i];
    }
    argv[argc++] = "--new";
    argv[argc++] = l->output;
    fputs("The difference against the running policy:\n", stdout);
    return command_diff.run(argc, (char **)argv) == EXIT_UNABLE ? EXIT_UNABLE : EXIT_YES;
}

static int hand_over(struct learning *l, struct slice text)
{
    struct text_file file;
    struct buf error, out = {0};
    if (l->output == NULL) {
        buf_init(&out, (size_t)1 << 30);
        buf_slice(&out, text);
        int code = print(&out);
        buf_finish(&out);
        return code;
    }
    buf_init_message(&error, 1u << 16);
    bool ok = text_file_read(&file, l->output, LIMIT_POLICY_BYTES, &error);
    if (ok) {
        ok = text_file_replace(&file, text, 0600, &error);
        text_file_finish(&file);
    }
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return ok ? show_difference(l) : EXIT_UNABLE;
}

static void write_report(struct learning *l, size_t rules)
{
    buf_printf(
        &l->report,
        "%zu rule(s) out of %zu call(s) that ran: %zu learned, %zu refused by people and left out, %zu "
        "not learnable, %zu would still be denied\n",
        rules, l->seen, l->learned, l->left_refused, l->not_exact, l->still);
    if (l->listed > LISTED_MOST) {
        buf_printf(&l->report, "  and %zu more are not listed\n", l->listed - LISTED_MOST);
    }
    say_lines(&l->report);
}

static int learn(struct learning *l)
{
    struct buf text, laid_out;
    size_t rules = 0;
    int code = EXIT_UNABLE;
    buf_init(&text, LIMIT_POLICY_BYTES);
    buf_init(&laid_out, LIMIT_POLICY_BYTES);
    if (read_events(l, note_refused) && judge_by(l, SLICE("[]"), learn_event)) {
        learner_write(l->learner, &text, &rules);
        if (!buf_ok(&text) || !policy_write_layout(&laid_out, buf_slice_of(&text))) {
            say("no memory for the document");
        } else if (judge_by(l, buf_slice_of(&laid_out), try_event)) {
            write_report(l, rules);
            code = rules > 0 ? hand_over(l, buf_slice_of(&laid_out)) : EXIT_NO;
        }
    }
    buf_finish(&text);
    buf_finish(&laid_out);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct learning l = {.options = &options};
    const struct option_spec own[] = {{"output", OPTION_VALUE, &l.output},
                                      {"session", OPTION_VALUE, &l.session}};
    int code =
        options_read(&options, &command_learn, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE, own, 2);
    if (code != -1) {
        return code;
    }
    arena_init(&l.arena, 256u << 20);
    intern_init(&l.refused, &l.arena);
    buf_init(&l.call, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    buf_init(&l.report, 64u << 20);
    l.learner = learner_create();
    code = journals_find(&l.journals, &command_learn, (const char *const *)options.argv, (size_t)options.argc,
                         options.state);
    if (code == -1) {
        code = l.learner != NULL ? learn(&l) : EXIT_UNABLE;
    }
    journals_finish(&l.journals);
    learner_destroy(l.learner);
    buf_finish(&l.call);
    buf_finish(&l.report);
    intern_finish(&l.refused);
    arena_finish(&l.arena);
    options_finish(&options);
    return code;
}

const struct cli_command command_learn = {"learn", "write rules out of the calls of a journal", usage, run};
