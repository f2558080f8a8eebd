#include <stdio.h>

#include "base/utf8.h"
#include "cli/calls/approvals.h"
#include "cli/commands.h"
#include "cli/journal/journal_show.h"
#include "cli/journal/journals.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate journal show [--decisions] [--denied] [--calls] [--session CHANNEL[/THREAD]]\n"
    "                             [--state DIR] [FILE...]\n"
    "       callgate journal verify [--head FILE] [--state DIR] [FILE...]\n"
    "       callgate journal head [--state DIR] [FILE]\n\n"
    "show    prints the events for a person, one a line; of an input its beginning\n"
    "verify  checks that nobody changed, removed, added or moved an event; several files are one chain, in "
    "order\n"
    "head    prints the hash and number of the last event: keep it elsewhere, and verify --head tells a "
    "journal\n"
    "        whose end was cut off\n\n"
    "  --decisions           only what was decided\n"
    "  --denied              only what was denied\n"
    "  --calls               the calls themselves as JSON, one a line, as `callgate explain` reads them\n"
    "  --session CHANNEL[/THREAD]  only what belongs to this session\n\n"
    "Without FILE, the journal of the state directory (default: ~/.local/state/callgate).\n\n"
    "Exit: 0 shown or verified, 1 a fault, 2 could not be done.\n";

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
    }
    buf_finish(&head);
    buf_finish(&error);
    buf_finish(&out);
    return code;
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

static int run(int argc, char **argv)
{
    struct options options;
    struct shown shown = {0};
    const char *head_file = NULL, *state = NULL;
    const struct option_spec own[] = {
        {"head", OPTION_VALUE, &head_file},           {"state", OPTION_VALUE, &state},
        {"denied", OPTION_FLAG, &shown.denied},       {"session", OPTION_VALUE, &shown.session},
        {"decisions", OPTION_FLAG, &shown.decisions}, {"calls", OPTION_FLAG, &shown.calls},
    };
    int code = options_read(&options, &command_journal, argc, argv, 0, own, 6);
    if (code != -1) {
        return code;
    }
    const char *verb = options.argc > 0 ? options.argv[0] : "";
    size_t count = options.argc > 0 ? (size_t)options.argc - 1 : 0;
    bool is_verify = strcmp(verb, "verify") == 0, is_head = strcmp(verb, "head") == 0,
         is_show = strcmp(verb, "show") == 0,
         narrows = shown.denied || shown.decisions || shown.calls || shown.session != NULL;
    struct journals journals = {0};
    if ((!is_verify && !is_head && !is_show) || (is_head && count > 1)) {
        code = usage_error(&command_journal, "say 'show [FILE...]', 'verify [FILE...]' or 'head [FILE]'");
    } else if ((head_file != NULL && !is_verify) || (narrows && !is_show)) {
        code = usage_error(&command_journal, "'%s' does not take this option", verb);
    } else {
        code =
            journals_find(&journals, &command_journal, (const char *const *)options.argv + 1, count, state);
    }
    if (code == -1) {
        code = is_verify ? verify(journals.files, journals.count, head_file)
               : is_show ? journal_show(journals.files, journals.count, &shown)
                         : head(journals.files[0]);
    }
    journals_finish(&journals);
    options_finish(&options);
    return code;
}

const struct command command_journal = {"journal", "show or verify a journal, or print its head", usage, run};
