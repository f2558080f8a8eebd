/* `wrap` and `unwrap`: a gate in front of the servers of MCP configurations. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "install/install.h"
#include "install/wrap.h"

#define USAGE_TEXT                                                                                           \
    "Puts 'callgate run' before every server that an MCP configuration starts, or takes it away again.\n"    \
    "Name, environment and arguments of a server stay; so does every other byte of the file. Doing it\n"     \
    "twice is doing it once. Without FILE: the configurations of Claude Code, Claude Desktop, Cursor,\n"     \
    "VS Code, Gemini CLI, Codex, opencode and Windsurf in the home directory, and those of the project\n"    \
    "in the working directory.\n\n"                                                                          \
    "  --client NAME         only the files of this program\n"                                               \
    "  --server NAME         only this server\n"                                                             \
    "  --policy [TIER=]FILE  a policy for the gates (default: the standard places). Repeatable\n"            \
    "  --state DIR           where the gates keep journal and approvals\n"                                   \
    "  --observe             the gates deny and hold nothing, and journal what they would ('callgate\n"      \
    "                        enforce' ends it)\n"                                                            \
    "  --dry-run             only say what would be done\n"                                                  \
    "  --cwd DIR, --home DIR where the project is, and whose files\n\n"                                      \
    "A server with a URL is named, with the command that bridges it: it is not covered until then.\n"        \
    "Exit: 0 done, 1 nothing was there to be done, 2 could not be done.\n"

static const char wrap_usage[] =
    "usage: callgate wrap [FILE...] [OPTION...]\n       callgate unwrap [FILE...] [OPTION...]\n\n" USAGE_TEXT;
static const char unwrap_usage[] =
    "usage: callgate unwrap [FILE...] [OPTION...]\n       callgate wrap [FILE...] [OPTION...]\n\n" USAGE_TEXT;

struct wrapping {
    struct options options;
    const char *client, *server;
    bool dry_run, taking_away, observe;
    const char *words[512];
    size_t word_count;
    struct wrap_result sum;
    size_t files; /* that are there */
};

static bool add_word(struct wrapping *w, const char *word)
{
    if (word == NULL || w->word_count == sizeof(w->words) / sizeof(*w->words)) {
        return false;
    }
    w->words[w->word_count++] = word;
    return true;
}

static const char *copied(struct wrapping *w, const char *text)
{
    return arena_copy(&w->options.arena, slice_of(text)).ptr;
}

/* `[TIER=]FILE` with the file's real name, so that the gate finds it wherever it starts. */
static bool add_policy(struct wrapping *w, const struct source_file *file)
{
    char real[PATH_MAX], word[PATH_MAX + 32];
    if (realpath(file->path, real) == NULL) {
        say("%s cannot be found", file->path);
        return false;
    }
    snprintf(word, sizeof(word), "%s%s%s", file->at_tier ? tier_name(file->tier) : "",
             file->at_tier ? "=" : "", real);
    return add_word(w, "--policy") && add_word(w, copied(w, word));
}

static bool write_words(struct wrapping *w)
{
    struct buf path;
    char real[PATH_MAX];
    buf_init(&path, PATH_MAX + 32);
    bool ok = install_program_path(&path) && add_word(w, copied(w, path.ptr)) && add_word(w, "run");
    buf_finish(&path);
    ok = ok && add_word(w, "--tools") && add_word(w, "pin") && (!w->observe || add_word(w, "--observe"));
    for (size_t i = 0; i < w->options.sources.count && ok; i++) {
        ok = add_policy(w, &w->options.sources.files[i]);
    }
    if (ok && w->options.state != NULL) {
        const char *dir = w->options.state;
        if (dir[0] != '/' && getcwd(real, sizeof(real)) != NULL) {
            char absolute[2 * PATH_MAX];
            snprintf(absolute, sizeof(absolute), "%s/%s", real, dir);
            dir = absolute;
            ok = add_word(w, "--state") && add_word(w, copied(w, dir));
        } else {
            ok = add_word(w, "--state") && add_word(w, dir);
        }
    }
    return ok;
}

static bool change_file(struct wrapping *w, const char *file)
{
    struct wrap_options options = {
        .file = file,
        .state_dir = w->options.state_dir,
        .words = w->words,
        .word_count = w->word_count,
        .only = w->server,
        .dry_run = w->dry_run,
    };
    struct wrap_result result = {0};
    struct buf report, error;
    buf_init(&report, 64u << 20);
    buf_init_message(&error, 1u << 16);
    w->files += access(file, F_OK) == 0;
    bool ok = w->taking_away ? unwrap_file(&options, &result, &report, &error)
                             : wrap_file(&options, &result, &report, &error);
    print_lines(&report);
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    w->sum.changed += result.changed;
    w->sum.already += result.already;
    w->sum.by_url += result.by_url;
    w->sum.not_read += result.not_read;
    buf_finish(&report);
    buf_finish(&error);
    return ok;
}

static bool change_known_files(struct wrapping *w)
{
    bool ok = true;
    for (size_t i = 0; i < mcp_config_count; i++) {
        const struct mcp_config *config = &mcp_configs[i];
        struct slice dir = config->of_project ? w->options.base.cwd : w->options.base.home;
        char path[PATH_MAX + 64];
        bool same = config->of_project && slice_eq(w->options.base.cwd, w->options.base.home);
        if (same || (w->client != NULL && strcmp(w->client, config->client) != 0)) {
            continue;
        }
        snprintf(path, sizeof(path), "%.*s%s%s", SLICE_FMT(dir),
                 dir.len > 0 && dir.ptr[dir.len - 1] == '/' ? "" : "/", config->file);
        ok = change_file(w, path) && ok;
    }
    return ok;
}

static int carry_out(struct wrapping *w)
{
    bool ok = true;
    if (!w->taking_away && !write_words(w)) {
        return EXIT_UNABLE;
    }
    for (int i = 0; i < w->options.argc; i++) {
        char real[PATH_MAX];
        bool there = realpath(w->options.argv[i], real) != NULL;
        if (!there) {
            say("%s cannot be found", w->options.argv[i]);
        }
        ok = there && change_file(w, real) && ok;
    }
    if (w->options.argc == 0) {
        ok = change_known_files(w);
    }
    printf("%zu server(s) %s, %zu %s, %zu reached by a URL\n", w->sum.changed,
           w->taking_away ? (w->dry_run ? "would be unwrapped" : "unwrapped")
                          : (w->dry_run ? "would be wrapped" : "wrapped"),
           w->sum.already, w->taking_away ? "not behind a gate" : "already behind a gate", w->sum.by_url);
    if (fflush(stdout) != 0 || !ok) {
        return EXIT_UNABLE;
    }
    return w->sum.changed + w->sum.already > 0 ? EXIT_YES : EXIT_NO;
}

static int run(const struct cli_command *command, bool taking_away, int argc, char **argv)
{
    struct wrapping w = {.taking_away = taking_away};
    const struct option_spec own[] = {
        {"client", OPTION_VALUE, &w.client},
        {"server", OPTION_VALUE, &w.server},
        {"dry-run", OPTION_FLAG, &w.dry_run},
        {"observe", OPTION_FLAG, &w.observe},
    };
    int code = options_read(&w.options, command, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE, own,
                            sizeof(own) / sizeof(*own));
    if (code != -1) {
        return code;
    }
    bool known = w.client == NULL;
    for (size_t i = 0; i < mcp_config_count; i++) {
        known = known || strcmp(w.client, mcp_configs[i].client) == 0;
    }
    code = known ? carry_out(&w) : usage_error(command, "--client: %s is not known here", w.client);
    options_finish(&w.options);
    return code;
}

static int run_wrap(int argc, char **argv)
{
    return run(&command_wrap, false, argc, argv);
}

static int run_unwrap(int argc, char **argv)
{
    return run(&command_unwrap, true, argc, argv);
}

const struct cli_command command_wrap = {"wrap", "put a gate before the servers of MCP configurations",
                                         wrap_usage, run_wrap};
const struct cli_command command_unwrap = {"unwrap", "take these gates away again", unwrap_usage, run_unwrap};
