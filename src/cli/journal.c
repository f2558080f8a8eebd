#include <stdio.h>

#include "base/utf8.h"
#include "cli/approvals.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "gate/state.h"

static const char usage[] = "usage: callgate journal verify [--head FILE] [--state DIR] [FILE...]\n"
                            "       callgate journal head [--state DIR] [FILE]\n\n"
                            "verify  checks that nobody changed, removed, added or moved an event; several "
                            "files are one chain, in order\n"
                            "head    prints the hash and number of the last event: keep it elsewhere, and "
                            "verify --head tells a journal\n"
                            "        whose end was cut off\n\n"
                            "Without FILE, the journal of the state directory (default: "
                            "~/.local/state/callgate).\n\n"
                            "Exit: 0 verified, 1 a fault, 2 could not be done.\n";

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
    buf_init(&error, 4096);
    buf_init(&out, 1u << 20);
    if (head_file && !read_file(head_file, 64u << 10, &head)) {
        code = EXIT_UNABLE;
    } else if (!journal_verify(files, count, buf_slice_of(&head), &report, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (report.fault.reason) {
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
    buf_init(&error, 4096);
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

/* The journal of the state directory, which --state names or else is this user's own. */
static bool default_journal(const char *state, struct buf *ret_file)
{
    if (state)
        buf_text(ret_file, state);
    else if (!gate_default_state_dir(ret_file))
        return false;
    buf_text(ret_file, "/" STATE_JOURNAL);
    buf_byte(ret_file, '\0');
    return buf_ok(ret_file);
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *head_file = NULL, *state = NULL;
    const struct option_spec own[] = {{"head", OPTION_VALUE, &head_file}, {"state", OPTION_VALUE, &state}};
    int code = options_read(&options, &command_journal, argc, argv, 0, own, 2);
    if (code != -1)
        return code;
    struct buf file;
    buf_init(&file, 64u << 10);
    const char *verb = options.argc > 0 ? options.argv[0] : "";
    const char *const *files = (const char *const *)options.argv + 1;
    size_t count = options.argc > 0 ? (size_t)options.argc - 1 : 0;
    if (strcmp(verb, "verify") != 0 && (strcmp(verb, "head") != 0 || head_file || count > 1)) {
        code = usage_error(&command_journal, "say 'verify [FILE...]' or 'head [FILE]'");
    } else if (count > 0 && state) {
        code = usage_error(&command_journal, "name files, or a state directory, not both");
    } else if (count == 0 && !default_journal(state, &file)) {
        code = usage_error(&command_journal, "the home directory cannot be told; name a journal");
    } else {
        const char *only = file.ptr;
        if (count == 0) {
            files = &only;
            count = 1;
        }
        code = strcmp(verb, "verify") == 0 ? verify(files, count, head_file) : head(files[0]);
    }
    buf_finish(&file);
    options_finish(&options);
    return code;
}

const struct command command_journal = {"journal", "verify a journal, or print its head", usage, run};
