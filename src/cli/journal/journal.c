/* callgate journal: shows, verifies and rotates what was recorded. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/calls/approvals.h"
#include "cli/commands.h"
#include "cli/journal/journal_show.h"
#include "cli/journal/journals.h"
#include "cli/journal/times.h"
#include "cli/options.h"
#include "journal/journal.h"

#define TAIL_MOST 100000

static const char usage[] =
    "usage: callgate journal show [--decisions] [--denied] [--calls] [--session CHANNEL[/THREAD]]\n"
    "                             [--since TIME] [--until TIME] [--tail N] [--follow] [--format text|json]\n"
    "                             [--state DIR] [FILE...]\n"
    "       callgate journal verify [--head FILE] [--state DIR] [FILE...]\n"
    "       callgate journal head [--state DIR] [FILE]\n"
    "       callgate journal rotate [--state DIR]\n\n"
    "show    prints the events for a person, one a line, in local time; of an input its beginning\n"
    "verify  checks that nobody changed, removed, added or moved an event; several files are one chain, in "
    "order\n"
    "head    prints the hash and number of the last event: keep it elsewhere, and verify --head tells a "
    "journal\n"
    "        whose end was cut off\n"
    "rotate  ends the file and begins a new one, which names the last event of it; gates that run go over to "
    "it\n\n"
    "  --decisions           only what was decided\n"
    "  --denied              only what was denied, without the probes of callgate doctor\n"
    "  --calls               the calls themselves as JSON, one a line, as `callgate explain` reads them\n"
    "  --session CHANNEL[/THREAD]  only what belongs to this session\n"
    "  --since, --until TIME from then on, before then: 2026-11-30, 2026-11-30T12:30 (local; with Z: UTC), "
    "15m, 2h, 7d\n"
    "  --tail N              only the last N\n"
    "  --follow              and then what comes, until it is interrupted\n"
    "  --format json         the events as they stand in the journal, in UTC\n\n"
    "Without FILE, the journal of the state directory with all of its parts (default: "
    "~/.local/state/callgate).\n\n"
    "Exit: 0 shown, verified or rotated, 1 a fault, 2 could not be done.\n";

static void tell_fault(const struct journal_fault *fault)
{
    struct buf file;
    buf_init(&file, 64u << 10);
    utf8_append_printable(&file, fault->file);
    fprintf(stderr, "FAIL: %.*s: line %llu, seq %llu: %s\n  expected: %s\n  actual:   %s\n",
            SLICE_FMT(buf_slice_of(&file)), (unsigned long long)fault->line, (unsigned long long)fault->seq,
            fault->reason, fault->expected, fault->actual);
    buf_finish(&file);
}

static int verify(const char *const *files, size_t count, const char *head_file)
{
    struct buf head, error, out;
    struct journal_report report = {0};
    int code = EXIT_UNABLE;
    buf_init(&head, 4096);
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&out, 1u << 20);
    if (head_file != NULL && !read_file(head_file, 64u << 10, &head)) {
        code = EXIT_UNABLE;
    } else if (!journal_verify(files, count, buf_slice_of(&head), &report, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (report.fault.reason != NULL) {
        tell_fault(&report.fault);
        code = EXIT_NO;
    } else {
        buf_printf(&out, "OK: %llu event(s) verified in ", (unsigned long long)report.events);
        for (size_t i = 0; i < count; i++) {
            buf_text(&out, i ? ", " : "");
            utf8_append_printable(&out, slice_of(files[i]));
        }
        buf_byte(&out, '\n');
        code = print(&out);
        if (report.continues > 0) {
            say("the first of them is a part that follows event %llu, which no file before it holds",
                (unsigned long long)report.continues);
        }
    }
    buf_finish(&head);
    buf_finish(&error);
    buf_finish(&out);
    return code;
}

/* Tells what is missing of the journal of a state directory. EXIT_NO for a gap. */
static int tell_gap(const char *dir)
{
    struct journal_place missing = {0};
    struct buf error;
    int code = EXIT_YES;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!gate_find_gap(dir, &missing, &error)) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
        code = EXIT_UNABLE;
    } else if (missing.seq > 0) {
        fprintf(stderr,
                "FAIL: event %llu (hash %s) was written and is not in the journal of this state directory: "
                "it was deleted, "
                "exchanged or cut. If you know why, 'callgate acknowledge --gap'\n",
                (unsigned long long)missing.seq, missing.hash);
        code = EXIT_NO;
    }
    buf_finish(&error);
    return code;
}

static int verify_own(const struct journals *journals, const char *head_file)
{
    int code = verify(journals->files, journals->count, head_file);
    int gap = tell_gap(journals->dir);
    return code > gap ? code : gap;
}

static int head(const char *file)
{
    struct buf out, error;
    int code = EXIT_UNABLE;
    buf_init(&out, 4096);
    buf_init_message(&error, MESSAGE_BYTES);
    if (journal_head(file, &out, &error)) {
        buf_byte(&out, '\n');
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&out);
    buf_finish(&error);
    return code;
}

static int rotate(const char *state)
{
    struct buf dir, error;
    int code = EXIT_UNABLE;
    buf_init(&dir, 64u << 10);
    buf_init_message(&error, MESSAGE_BYTES);
    bool known = state != NULL || gate_default_state_dir(&dir);
    buf_byte(&dir, '\0');
    if (!known || !buf_ok(&dir)) {
        say("the home directory cannot be told; name a state directory");
    } else if (gate_rotate_journal(state != NULL ? state : dir.ptr, &error)) {
        code = EXIT_YES;
    } else {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&dir);
    buf_finish(&error);
    return code;
}

enum verb {
    VERB_NONE = -1,
    VERB_SHOW,
    VERB_VERIFY,
    VERB_HEAD,
    VERB_ROTATE,
    VERB_COUNT,
};

static enum verb verb_named(const char *name)
{
    static const char *const names[VERB_COUNT] = {"show", "verify", "head", "rotate"};
    for (int i = 0; i < VERB_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum verb)i;
        }
    }
    return VERB_NONE;
}

struct own {
    struct shown shown;
    const char *state, *head_file, *since, *until, *tail;
    char since_ts[CLOCK_ISO_SIZE], until_ts[CLOCK_ISO_SIZE];
};

static bool read_time(const char *text, int64_t now, char ts[CLOCK_ISO_SIZE], const char **ret_time)
{
    if (text != NULL && !times_read(text, now, ts)) {
        return false;
    }
    *ret_time = text != NULL ? ts : NULL;
    return true;
}

/* -1, or an exit code after saying what is wrong. */
static int check_own(struct own *own, enum verb verb, const struct options *options, size_t count)
{
    struct journal_filter *filter = &own->shown.filter;
    const struct cli_command *command = &command_journal;
    int64_t now = clock_wall_ms(), tail = 0;
    own->shown.json = options->json;
    bool narrows = filter->denied || filter->decisions || own->shown.calls || filter->session != NULL ||
                   own->since != NULL || own->until != NULL || own->tail != NULL || own->shown.follow;
    if (verb == VERB_NONE || (verb == VERB_HEAD && count > 1) || (verb == VERB_ROTATE && count > 0)) {
        return usage_error(command, "say 'show [FILE...]', 'verify [FILE...]', 'head [FILE]' or 'rotate'");
    }
    if ((own->head_file != NULL && verb != VERB_VERIFY) ||
        ((narrows || options->json) && verb != VERB_SHOW)) {
        return usage_error(command, "'%s' does not take this option", options->argv[0]);
    }
    if (!read_time(own->since, now, own->since_ts, &filter->since) ||
        !read_time(own->until, now, own->until_ts, &filter->until)) {
        return usage_error(command,
                           "a time is 2026-11-30, 2026-11-30T12:30, with Z for UTC, or 15m, 2h, 7d ago");
    }
    if (own->tail != NULL && !option_number(own->tail, 1, TAIL_MOST, &tail)) {
        return usage_error(command, "--tail takes a number from 1 to %d", TAIL_MOST);
    }
    own->shown.tail = (size_t)tail;
    return -1;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct own own = {0};
    struct journal_filter *filter = &own.shown.filter;
    const struct option_spec specs[] = {
        {"head", OPTION_VALUE, &own.head_file},      {"denied", OPTION_FLAG, &filter->denied},
        {"session", OPTION_VALUE, &filter->session}, {"decisions", OPTION_FLAG, &filter->decisions},
        {"calls", OPTION_FLAG, &own.shown.calls},    {"since", OPTION_VALUE, &own.since},
        {"until", OPTION_VALUE, &own.until},         {"tail", OPTION_VALUE, &own.tail},
        {"follow", OPTION_FLAG, &own.shown.follow},  {"state", OPTION_VALUE, &own.state},
    };
    int code = options_read(&options, &command_journal, argc, argv, TAKES_FORMAT, specs,
                            sizeof(specs) / sizeof(*specs));
    if (code != -1) {
        return code;
    }
    enum verb verb = options.argc > 0 ? verb_named(options.argv[0]) : VERB_NONE;
    size_t count = options.argc > 0 ? (size_t)options.argc - 1 : 0;
    struct journals journals = {0};
    code = check_own(&own, verb, &options, count);
    if (code == -1) {
        code = journals_find(&journals, &command_journal, (const char *const *)options.argv + 1, count,
                             own.state);
    }
    if (code == -1) {
        code = verb == VERB_VERIFY && count == 0 ? verify_own(&journals, own.head_file)
               : verb == VERB_VERIFY             ? verify(journals.files, journals.count, own.head_file)
               : verb == VERB_SHOW               ? journal_show(journals.files, journals.count, &own.shown)
               : verb == VERB_ROTATE             ? rotate(own.state)
                                                 : head(journals.files[journals.count - 1]);
    }
    journals_finish(&journals);
    options_finish(&options);
    return code;
}

const struct cli_command command_journal = {"journal", "show, verify or rotate a journal, or print its head",
                                            usage, run};
