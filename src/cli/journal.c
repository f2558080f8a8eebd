#include <stdio.h>

#include "base/utf8.h"
#include "cli/approvals.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "gate/state.h"

static const char usage[] = "usage: callgate journal verify [--head FILE] FILE...\n"
                            "       callgate journal head FILE\n\n"
                            "verify  checks that nobody changed, removed, added or moved an event; several "
                            "files are one chain, in order\n"
                            "head    prints the hash and number of the last event: keep it elsewhere, and "
                            "verify --head tells a journal\n"
                            "        whose end was cut off\n\n"
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

static int verify(const struct options *options, const char *head_file)
{
    struct buf head, error, out;
    struct journal_report report = {0};
    int code = EXIT_UNABLE;
    buf_init(&head, 4096);
    buf_init(&error, 4096);
    buf_init(&out, 1u << 20);
    const char *const *files = (const char *const *)options->argv + 1;
    size_t count = (size_t)options->argc - 1;
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

static int run(int argc, char **argv)
{
    struct options options;
    const char *head_file = NULL;
    const struct option_spec own[] = {{"head", OPTION_VALUE, &head_file}};
    int code = options_read(&options, &command_journal, argc, argv, 0, own, 1);
    if (code != -1)
        return code;
    if (options.argc >= 2 && strcmp(options.argv[0], "verify") == 0)
        code = verify(&options, head_file);
    else if (options.argc == 2 && strcmp(options.argv[0], "head") == 0 && !head_file)
        code = head(options.argv[1]);
    else
        code = usage_error(&command_journal, "say 'verify FILE...' or 'head FILE'");
    options_finish(&options);
    return code;
}

const struct command command_journal = {"journal", "verify a journal, or print its head", usage, run};
