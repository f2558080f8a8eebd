#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate fmt [--check] [TIER=]FILE...\n\n"
    "Prints policy documents in the one layout that all of them can have: members in one order, a short rule "
    "on one line,\n"
    "ids and effects in columns. Every member is kept, comments and the order of the rules too, so that what "
    "it prints\n"
    "loads to the same policy. A document that does not load is refused, its errors told.\n\n"
    "  --check               print nothing but the names of files that have another layout\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
    "Exit: 0 done, 1 a file has another layout (--check), 2 could not be done.\n";

/* Whether two documents hold the same: members in any order, numbers by value, strings by code points. */
static bool same_values(struct slice a, struct slice b)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = UINT32_MAX};
    const struct slice texts[2] = {a, b};
    struct buf canonical[2];
    bool good = true;
    for (size_t i = 0; i < 2; i++) {
        struct json_doc doc;
        struct json_error error;
        json_init(&doc);
        buf_init(&canonical[i], (size_t)4 << 30);
        good = good && json_parse(&doc, texts[i], &options, &error);
        if (good)
            json_write_canonical(&canonical[i], &doc, json_root(&doc), JSON_NUMBER_EXACT);
        good = good && buf_ok(&canonical[i]);
        json_finish(&doc);
    }
    good = good && slice_eq(buf_slice_of(&canonical[0]), buf_slice_of(&canonical[1]));
    buf_finish(&canonical[0]);
    buf_finish(&canonical[1]);
    return good;
}

/* The text of a document that loads; false after telling its errors. */
static bool load_text(const struct options *options, const char *argument, struct source_texts *ret_texts)
{
    struct sources sources;
    struct findings errors;
    struct buf lines;
    findings_init(&errors);
    buf_init(&lines, (size_t)64 << 20);
    bool loaded = sources_init(&sources) && sources_add(&sources, argument, &lines);
    if (loaded) {
        struct policy *policy = sources_load(&sources, &options->base, ret_texts, &errors);
        /* A workspace file with errors is only left out: that is no success here. */
        loaded = policy && errors.count == 0 && !errors.failed && ret_texts->count == 1;
        policy_destroy(policy);
        sources_write_errors(&lines, &errors);
    } else {
        buf_byte(&lines, '\n');
    }
    fwrite(lines.ptr, 1, lines.len, stderr);
    buf_finish(&lines);
    findings_finish(&errors);
    sources_finish(&sources);
    return loaded;
}

static int format_file(const struct options *options, const char *argument, bool check)
{
    struct source_texts texts = {0};
    struct buf out;
    int code = EXIT_UNABLE;
    buf_init(&out, (size_t)4 << 30);
    if (load_text(options, argument, &texts)) {
        struct slice text = buf_slice_of(&texts.list[0]);
        if (!policy_write_layout(&out, text) || !same_values(text, buf_slice_of(&out)))
            say("%s: no layout that holds the same can be made; nothing is printed", argument);
        else if (!check)
            code = print(&out);
        else if (slice_eq(text, buf_slice_of(&out)))
            code = EXIT_YES;
        else
            code = printf("%s\n", argument) > 0 && fflush(stdout) == 0 ? EXIT_NO : EXIT_UNABLE;
    }
    buf_finish(&out);
    source_texts_finish(&texts);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    bool check = false;
    const struct option_spec own[] = {{"check", OPTION_FLAG, &check}};
    int code = options_read(&options, &command_fmt, argc, argv, TAKES_PATHS, own, 1);
    if (code != -1)
        return code;
    code = EXIT_YES;
    if (options.argc == 0)
        code = usage_error(&command_fmt, "name the files to lay out");
    for (int i = 0; i < options.argc; i++) {
        int one = format_file(&options, options.argv[i], check);
        code = one > code ? one : code;
    }
    options_finish(&options);
    return code;
}

const struct command command_fmt = {"fmt", "print policy documents in their one layout", usage, run};
