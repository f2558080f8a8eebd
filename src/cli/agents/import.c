/* callgate import: makes rules of another program's permission file. */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate import claude-settings|codex|gemini|opencode [--report FILE] [--project DIR] FILE...\n\n"
    "Prints a policy document made from another program's permission lists, and on standard error a report: "
    "for each entry,\n"
    "whether it was kept, made stricter or narrower, or left out, and why. Nothing becomes wider,\n"
    "but for a * inside a deny or an ask of Claude Code, which there reaches over && and ; and here does "
    "not.\n\n"
    "  claude-settings       Claude Code's settings files: deny, ask, allow, additionalDirectories. Name all "
    "files that count\n"
    "                        together: a deny of one goes before an allow of another.\n"
    "  codex                 Codex's rules for commands (.rules) and the approvals of its config.toml\n"
    "  gemini                Gemini CLI's policy files (.toml)\n"
    "  opencode              the permission block of one opencode.json\n\n"
    "  --report FILE         write the report to a file\n"
    "  --project DIR         where the project lies (default: the folder above .claude; of opencode the "
    "working directory)\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
    "Exit: 0 all was kept, or made stricter or narrower; 1 something was left out; 2 could not be done.\n";

static const struct importer_kind {
    const char *name;
    bool (*import)(const struct import_file *files, size_t count, const struct import_options *options,
                   struct import_result *ret_result, struct buf *ret_error);
} kinds[] = {
    {"claude-settings", import_claude_settings},
    {"codex", import_codex},
    {"gemini", import_gemini},
    {"opencode", import_opencode},
};

struct inputs {
    struct text_file *texts;
    struct import_file *files;
    size_t count;
};

static bool read_inputs(struct inputs *inputs, char **names, size_t count)
{
    struct buf error;
    bool good = true;
    inputs->texts = calloc(count, sizeof(*inputs->texts));
    inputs->files = calloc(count, sizeof(*inputs->files));
    if (inputs->texts == NULL || inputs->files == NULL) {
        say("no memory");
        return false;
    }
    buf_init(&error, 64u << 10);
    for (size_t i = 0; good && i < count; i++) {
        struct text_file *text = &inputs->texts[i];
        good = text_file_read(text, names[i], LIMIT_MESSAGE_BYTES, &error);
        if (good && !text->existed) {
            buf_printf(&error, "%s: there is no such file", names[i]);
        }
        inputs->count += good;
        good = good && text->existed;
        if (!good) {
            say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        }
    }
    buf_finish(&error);
    return good;
}

/* Where a file lies: by the name that was given, as Claude Code finds it, not where a link leads. */
static bool find_dirs(struct inputs *inputs, char **names, char *dirs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        char parent[PATH_MAX], *dir = dirs + i * PATH_MAX;
        const char *slash = strrchr(names[i], '/');
        int len = slash == names[i] ? 1 : slash != NULL ? (int)(slash - names[i]) : 1;
        snprintf(parent, sizeof(parent), "%.*s", len, slash != NULL ? names[i] : ".");
        if (realpath(parent, dir) == NULL) {
            say("%s: where it lies cannot be told: %s", names[i], strerror(errno));
            return false;
        }
        inputs->files[i] = (struct import_file){
            .name = slice_of(names[i]),
            .dir = slice_of(dir),
            .text = buf_slice_of(&inputs->texts[i].text),
        };
    }
    return true;
}

static bool write_report(const char *path, struct slice report)
{
    FILE *to = path != NULL ? fopen(path, "we") : stderr;
    bool good = to != NULL && (report.len == 0 || fwrite(report.ptr, 1, report.len, to) == report.len);
    if (path != NULL && to != NULL && fclose(to) != 0) {
        good = false;
    }
    if (!good) {
        say("the report cannot be written%s%s", path != NULL ? ": " : "", path != NULL ? path : "");
    }
    return good;
}

static int import(const struct inputs *inputs, const struct importer_kind *kind,
                  const struct import_options *options, const char *report)
{
    struct import_result result;
    struct buf error;
    int code = EXIT_UNABLE;
    import_result_init(&result);
    buf_init(&error, 64u << 10);
    if (!kind->import(inputs->files, inputs->count, options, &result, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (write_report(report, buf_slice_of(&result.report)) && print(&result.document) == EXIT_YES) {
        code = result.left_out > 0 || result.settings > 0 ? EXIT_NO : EXIT_YES;
    }
    import_result_finish(&result);
    buf_finish(&error);
    return code;
}

static int read_and_import(const struct options *options, const struct importer_kind *kind,
                           const char *project, const char *report)
{
    struct inputs inputs = {0};
    struct import_options import_options = {.base = &options->base};
    char **names = options->argv + 1, root[PATH_MAX];
    size_t count = (size_t)options->argc - 1;
    char *dirs = calloc(count, PATH_MAX);
    int code = EXIT_UNABLE;
    if (project != NULL && realpath(project, root) == NULL) {
        say("%s: %s", project, strerror(errno));
    } else if (dirs != NULL && read_inputs(&inputs, names, count) && find_dirs(&inputs, names, dirs)) {
        import_options.project = project != NULL ? slice_of(root) : (struct slice){0};
        code = import(&inputs, kind, &import_options, report);
    }
    for (size_t i = 0; i < inputs.count; i++) {
        text_file_finish(&inputs.texts[i]);
    }
    free(inputs.texts);
    free(inputs.files);
    free(dirs);
    return code;
}

static const struct importer_kind *kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *project = NULL, *report = NULL;
    const struct option_spec own[] = {
        {"project", OPTION_VALUE, &project},
        {"report", OPTION_VALUE, &report},
    };
    int code = options_read(&options, &command_import, argc, argv, TAKES_PATHS, own, 2);
    if (code != -1) {
        return code;
    }
    const struct importer_kind *kind = options.argc > 0 ? kind_named(options.argv[0]) : NULL;
    if (kind == NULL) {
        code =
            usage_error(&command_import, "name what to import: claude-settings, codex, gemini or opencode");
    } else if (options.argc < 2) {
        code = usage_error(&command_import, "name the files");
    } else {
        code = read_and_import(&options, kind, project, report);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_import = {"import", "make a policy of an agent's own permission lists",
                                           usage, run};
