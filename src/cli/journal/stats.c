/* callgate stats: how often each rule decided. */
#include <stdlib.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/journal/counted.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate stats [--format text|json] [--state DIR]\n\n"
    "Tells how often each rule decided, and when last, from the journal of the state directory.\n"
    "`callgate check --stats` lists the rules of a policy that never did.\n";

static void write_one(struct buf *out, bool json, struct slice rule, const struct journal_count *count)
{
    if (json) {
        buf_text(out, "{\"rule\":");
        json_write_bytes(out, rule);
        buf_printf(out, ",\"allow\":%llu,\"deny\":%llu,\"require\":%llu,\"last\":\"%s\"}",
                   (unsigned long long)count->allow, (unsigned long long)count->deny,
                   (unsigned long long)count->require, count->last);
        return;
    }
    buf_printf(out, "%10llu %10llu %10llu  %-24s  ", (unsigned long long)count->allow,
               (unsigned long long)count->deny, (unsigned long long)count->require, count->last);
    utf8_append_printable(out, rule);
    buf_byte(out, '\n');
}

static int run(int argc, char **argv)
{
    struct options options;
    struct journal_counts counts;
    struct buf out;
    int code = options_read(&options, &command_stats, argc, argv,
                            TAKES_STATE | STATE_IS_THERE | TAKES_FORMAT | TAKES_NO_WORDS, NULL, 0);
    if (code != -1) {
        return code;
    }
    buf_init(&out, (size_t)1 << 30);
    code = EXIT_UNABLE;
    if (counted_read(&counts, options.state_dir)) {
        if (options.json) {
            buf_byte(&out, '[');
        } else {
            buf_text(&out, "     allow       deny    require  last                      rule\n");
        }
        for (uint32_t id = 1; id <= counts.rules.count; id++) {
            if (options.json && id > 1) {
                buf_byte(&out, ',');
            }
            write_one(&out, options.json, intern_text(&counts.rules, id), &counts.list[id - 1]);
        }
        if (options.json) {
            buf_text(&out, "]\n");
        }
        code = print(&out);
    }
    journal_counts_finish(&counts);
    buf_finish(&out);
    options_finish(&options);
    return code;
}

const struct cli_command command_stats = {"stats", "tell how often each rule decided", usage, run};
