/* callgate fmt: lays policy documents out. */
#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate fmt [--check|--write] [TIER=]FILE...\n\n"
    "Prints policy documents in the one layout that all of them can have: members in one order, a short rule "
    "on one line,\n"
    "ids and effects in columns. Every member is kept, comments and the order of the rules too, so that what "
    "it prints\n"
    "loads to the same policy. A document that does not load is refused, its errors told.\n\n"
    "  --check               print nothing but the names of files that have another layout\n"
    "  --write               change the files instead: each whole or not at all, mode and owner kept\n"
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
        if (good) {
            json_write_canonical(&canonical[i], &doc, json_root(&doc), JSON_NUMBER_EXACT);
        }
        good = good && buf_ok(&canonical[i]);
        json_finish(&doc);
    }
    good = good && slice_eq(buf_slice_of(&canonical[0]), buf_slice_of(&canonical[1]));
    buf_finish(&canonical[0]);
    buf_finish(&canonical[1]);
    return good;
}

struct task {
    const struct options *options;
    bool check, write;
};

/* The text of a document that loads; false after telling its errors. */
static bool load_text(const struct task *task, const struct sources *sources, struct source_texts *ret_texts)
{
    struct findings errors;
    struct buf lines;
    findings_init(&errors);
    buf_init(&lines, (size_t)64 << 20);
    struct policy *policy = sources_load(sources, &task->options->base, ret_texts, &errors);
    /* A workspace file with errors is only left out: that is no success here. */
    bool loaded = policy != NULL && errors.count == 0 && !errors.failed && ret_texts->count == 1;
    policy_destroy(policy);
    sources_write_errors(&lines, &errors);
    say_lines(&lines);
    buf_finish(&lines);
    findings_finish(&errors);
    return loaded;
}

static int replace(const char *path, struct slice old, struct slice new)
{
    struct text_file file;
    struct buf error;
    buf_init(&error, 64u << 10);
    bool done = text_file_read(&file, path, LIMIT_POLICY_BYTES, &error);
    if (done) {
        done = slice_eq(buf_slice_of(&file.text), old);
        if (!done) {
            buf_printf(&error, "%s was changed by somebody else meanwhile: try again", path);
        }
        done = done && text_file_replace(&file, new, 0600, &error);
        text_file_finish(&file);
    }
    if (!done) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    return done ? EXIT_YES : EXIT_UNABLE;
}

static int finish_file(const struct task *task, const char *path, const char *argument, struct slice old,
                       struct slice new, const struct buf *out)
{
    if (!task->check && !task->write) {
        return print(out);
    }
    if (slice_eq(old, new)) {
        return EXIT_YES;
    }
    if (task->write) {
        return replace(path, old, new);
    }
    return printf("%s\n", argument) > 0 && fflush(stdout) == 0 ? EXIT_NO : EXIT_UNABLE;
}

static int format_file(const struct task *task, const char *argument)
{
    struct sources sources;
    struct source_texts texts = {0};
    struct buf out, error;
    int code = EXIT_UNABLE;
    buf_init(&out, (size_t)4 << 30);
    buf_init(&error, 64u << 10);
    if (!sources_init(&sources) || !sources_add(&sources, argument, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (load_text(task, &sources, &texts)) {
        struct slice text = buf_slice_of(&texts.list[0]);
        if (policy_write_layout(&out, text) && same_values(text, buf_slice_of(&out))) {
            code = finish_file(task, sources.files[0].path, argument, text, buf_slice_of(&out), &out);
        } else {
            say("%s: no layout that holds the same can be made; nothing is printed", argument);
        }
    }
    buf_finish(&out);
    buf_finish(&error);
    source_texts_finish(&texts);
    sources_finish(&sources);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct task task = {.options = &options};
    const struct option_spec own[] = {{"check", OPTION_FLAG, &task.check},
                                      {"write", OPTION_FLAG, &task.write}};
    int code = options_read(&options, &command_fmt, argc, argv, TAKES_PATHS, own, 2);
    if (code != -1) {
        return code;
    }
    code = EXIT_YES;
    if (options.argc == 0) {
        code = usage_error(&command_fmt, "name the files to lay out");
    } else if (task.check && task.write) {
        code = usage_error(&command_fmt, "--check and --write do not go together");
    }
    if (code != EXIT_YES) {
        options.argc = 0;
    }
    for (int i = 0; i < options.argc; i++) {
        int one = format_file(&task, options.argv[i]);
        code = one > code ? one : code;
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_fmt = {"fmt", "lay policy documents out in the one way", usage, run};
