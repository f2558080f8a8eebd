/* callgate replay: what another policy would have decided of the journalled calls. */
#include <stdlib.h>

#include "base/utf8.h"
#include "cli/calls/calls.h"
#include "cli/commands.h"
#include "cli/journal/journals.h"
#include "cli/options.h"
#include "journal/journal.h"
#include "journal/reader.h"

static const char usage[] =
    "usage: callgate replay --policy [TIER=]NEW... [OPTION...] [JOURNAL...]\n\n"
    "Judges the journalled calls by another policy and lists the decisions that would have been different. "
    "Paths are\n"
    "resolved as they are now. A call whose input was redacted or shortened in the journal is judged by what "
    "is left,\n"
    "and marked so.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --format json         one JSON object a line: "
    "{\"seq\",\"ts\",\"tool\",\"from\",\"to\",\"weaker\",\"exact\"}\n"
    "  --state DIR           without JOURNAL: the one of this state directory, or else of this user's own\n"
    "  --cwd DIR, --home DIR, --root DIR  what relative paths and ~ start from\n\n"
    "Exit: 0 nothing would have been different, 1 something would, 2 could not be done.\n";

struct replay {
    struct judge judge;
    struct buf call, out;
    bool json;
    size_t events, flips, weaker, inexact;
};

/* Whether the call that was put together again is the one that was judged. */
static bool is_exact(struct replay *replay, const struct journal_event *event)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    if (!replay->judge.read || !decide_hash(&replay->judge.decider, &replay->judge.reader.call, hash)) {
        return false;
    }
    hash_to_hex(hash, hex);
    return slice_is(event->call_hash, hex);
}

static uint32_t kind_of(struct slice outcome)
{
    if (slice_is(outcome, "allow")) {
        return DECISION_ALLOW;
    }
    bool asks = slice_is(outcome, "require") || slice_is(outcome, "would-require");
    return asks ? DECISION_REQUIRE : DECISION_DENY;
}

static void write_side(struct buf *out, bool json, const char *kind, struct slice rule)
{
    if (json) {
        buf_printf(out, "{\"kind\":\"%s\",\"rule\":", kind);
        if (rule.len) {
            json_write_bytes(out, rule);
        } else {
            buf_text(out, "null");
        }
        buf_byte(out, '}');
    } else {
        buf_text(out, kind);
        if (rule.len) {
            buf_text(out, " ('");
            utf8_append_printable(out, rule);
            buf_text(out, "')");
        }
    }
}

static void write_flip(struct replay *replay, const struct journal_event *event, bool weaker, bool exact)
{
    struct buf *out = &replay->out;
    const struct decision *decision = &replay->judge.decision;
    struct slice rule = {0};
    if (decision->rule != NULL && decision->cause == CAUSE_NONE) {
        rule = policy_text(replay->judge.policy, decision->rule->id);
    } else if (decision->kind == DECISION_DENY) {
        rule = SLICE("default");
    }
    if (replay->json) {
        buf_printf(out, "{\"seq\":%llu,\"ts\":", (unsigned long long)event->seq);
        json_write_bytes(out, event->ts);
        buf_text(out, ",\"tool\":");
        json_write_bytes(out, event->tool);
        buf_text(out, ",\"from\":");
    } else {
        buf_printf(out, "seq %llu  ", (unsigned long long)event->seq);
        utf8_append_printable(out, event->ts);
        buf_text(out, "  ");
        utf8_append_printable(out, event->tool);
        buf_text(out, ": ");
    }
    write_side(out, replay->json, decision_kind_name(kind_of(event->outcome)), event->rule);
    buf_text(out, replay->json ? ",\"to\":" : " -> ");
    write_side(out, replay->json, decision_kind_name(decision->kind), rule);
    if (replay->json) {
        buf_printf(out, ",\"weaker\":%s,\"exact\":%s}\n", weaker ? "true" : "false",
                   exact ? "true" : "false");
    } else {
        buf_printf(out, "%s%s\n", weaker ? "  WEAKER" : "  stricter",
                   exact ? "" : "  (its input was redacted or shortened in the journal)");
    }
}

/* A call that people approved was `require` before they did: it flips only when the new policy does not ask.
 */
static bool same(const struct replay *replay, const struct journal_event *event)
{
    const struct decision *decision = &replay->judge.decision;
    uint32_t was = kind_of(event->outcome);
    if (decision->kind == was) {
        return true;
    }
    return was == DECISION_ALLOW && decision->kind == DECISION_REQUIRE && decision->rule != NULL &&
           event->rule.len && slice_eq(policy_text(replay->judge.policy, decision->rule->id), event->rule);
}

static void one_event(struct replay *replay, const struct journal_event *event)
{
    buf_reset(&replay->call);
    journal_event_call(&replay->call, event);
    judge_text(&replay->judge, buf_slice_of(&replay->call));
    bool exact = is_exact(replay, event);
    replay->events++;
    replay->inexact += !exact;
    if (same(replay, event)) {
        return;
    }
    bool weaker = decision_rank(replay->judge.decision.kind) < decision_rank(kind_of(event->outcome));
    replay->flips++;
    replay->weaker += weaker;
    write_flip(replay, event, weaker, exact);
}

static int replay_files(struct replay *replay, const char *const *files, size_t count)
{
    const struct journal_filter filter = {.decisions = true};
    const struct journal_event *event;
    struct buf error;
    enum journal_read result = JOURNAL_READ_FAILED;
    buf_init_message(&error, MESSAGE_BYTES);
    struct journal_reader *reader = journal_reader_open(files, count, &filter, &error);
    while (reader != NULL && (result = journal_reader_next(reader, &event, &error)) == JOURNAL_READ_EVENT) {
        if (event->call_hash.len > 0) { /* a call that could not even be read has none */
            one_event(replay, event);
        }
    }
    journal_reader_close(reader);
    if (result != JOURNAL_READ_END) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    if (result != JOURNAL_READ_END) {
        return EXIT_UNABLE;
    }
    if (!replay->json) {
        buf_printf(&replay->out,
                   "%zu decision(s), %zu would have been different, %zu of them weaker; %zu judged by "
                   "what the journal kept of their input\n",
                   replay->events, replay->flips, replay->weaker, replay->inexact);
    }
    if (print(&replay->out) != EXIT_YES) {
        return EXIT_UNABLE;
    }
    return replay->flips ? EXIT_NO : EXIT_YES;
}

static int run(int argc, char **argv)
{
    static struct replay replay;
    struct options options;
    struct policy *policy = NULL;
    struct journals journals;
    const char *state = NULL;
    const struct option_spec own[] = {{"state", OPTION_VALUE, &state}};
    int code = options_read(&options, &command_replay, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_FORMAT,
                            own, 1);
    if (code != -1) {
        return code;
    }
    code = journals_find(&journals, &command_replay, (const char *const *)options.argv, (size_t)options.argc,
                         state);
    if (code == -1) {
        code = EXIT_UNABLE;
        if ((policy = options_load_policy(&command_replay, &options)) != NULL &&
            judge_init(&replay.judge, policy, &options.base)) {
            replay.json = options.json;
            buf_init(&replay.call, (size_t)2 * LIMIT_MESSAGE_BYTES);
            buf_init(&replay.out, (size_t)1 << 30);
            code = replay_files(&replay, journals.files, journals.count);
            buf_finish(&replay.call);
            buf_finish(&replay.out);
            judge_finish(&replay.judge);
        }
    }
    journals_finish(&journals);
    policy_destroy(policy);
    options_finish(&options);
    return code;
}

const struct cli_command command_replay = {"replay", "tell what another policy would have decided", usage,
                                           run};
