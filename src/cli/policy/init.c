/* `init`: a first policy out of what is found on this machine. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "document/document.h"
#include "host/host.h"
#include "setup/setup.h"

#define ANSWER_BYTES 4096
#define ASK_MS       60000u /* npx may have to fetch the server */

static const char usage[] =
    "usage: callgate init [--yes] [--template NAME] [--print] [OPTION...]\n\n"
    "Writes a first policy: finds the MCP servers of this user's agents and of the project in the working\n"
    "directory, starts each for a moment to read its tools, asks three questions at most, and writes one\n"
    "policy that a person can read.\n\n"
    "  --yes             ask nothing: every server of the user's own configurations, template balanced,\n"
    "                    the working directory\n"
    "  --template NAME   strict: what is not allowed is denied; balanced: it is asked about; observe:\n"
    "                    only credentials and secret files are denied, and nobody is asked\n"
    "  --folder DIR      a folder where work is; repeatable (default: the working directory)\n"
    "  --server NAME     a server to start, also of the project's own .mcp.json; repeatable\n"
    "  --no-servers      start none\n"
    "  --output FILE     where the policy goes (default: ~/.config/callgate/policy.json)\n"
    "  --print           print the policy, and change nothing\n"
    "  --force           replace a policy that is there\n"
    "  --cwd DIR, --home DIR  where the project is, and whose configurations\n\n"
    "The servers of a project's own configuration may be a stranger's: they are started only when they are\n"
    "named, never by --yes. What a server says of itself decides nothing.\n";

struct init {
    struct options options;
    bool yes, print_only, force, no_servers;
    const char *template_name, *output;
    struct option_list folders, servers;
    struct arena arena; /* of what is found */
    struct found found;
    struct slice *work;
    size_t work_count;
};

/* ---- Questions ---- */

/* Reads a line; an empty one, or the end, leaves the default. */
static void ask(const struct init *in, const char *question, char ret_answer[ANSWER_BYTES])
{
    ret_answer[0] = '\0';
    if (in->yes) {
        return;
    }
    fprintf(stderr, "%s ", question);
    if (fgets(ret_answer, ANSWER_BYTES, stdin) == NULL) {
        ret_answer[0] = '\0';
        fputc('\n', stderr);
    }
    ret_answer[strcspn(ret_answer, "\r\n")] = '\0';
}

static bool is_named(const struct option_list *list, struct slice name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (slice_is(name, list->items[i])) {
            return true;
        }
    }
    return false;
}

/* Whether one of the words of an answer, parted by blanks and commas, is a name. */
static bool has_name(const char *answer, struct slice name)
{
    while (*answer != '\0') {
        size_t len = strcspn(answer, " ,\t");
        if (slice_eq((struct slice){answer, len}, name)) {
            return true;
        }
        answer += len + strspn(answer + len, " ,\t");
    }
    return false;
}

static void print_found(const struct init *in)
{
    fputs(in->found.count > 0 ? "Servers that were found:\n" : "No MCP servers were found.\n", stderr);
    for (size_t i = 0; i < in->found.count; i++) {
        const struct found_server *server = &in->found.list[i];
        say("  %.*s (%s, %s)%s%s", SLICE_FMT(server->entry.name), server->client, server->file,
            server->entry.program.len == 0 ? ": reached by a URL" : "",
            server->of_project ? ": of the project, started only when named" : "");
    }
}

/* Starts the servers that were chosen. */
static bool ask_servers(struct init *in)
{
    char answer[ANSWER_BYTES], dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%.*s", SLICE_FMT(in->options.base.cwd));
    if (in->no_servers || in->found.count == 0) {
        return true;
    }
    answer[0] = '\0';
    if (in->servers.count == 0) {
        ask(in, "Start which of them to read their tools? [Enter: all but the project's; or names; none]",
            answer);
    }
    for (size_t i = 0; i < in->found.count; i++) {
        struct found_server *server = &in->found.list[i];
        bool named = is_named(&in->servers, server->entry.name) || has_name(answer, server->entry.name);
        bool by_default = in->servers.count == 0 && answer[0] == '\0' && !server->of_project;
        if (server->entry.program.len == 0 || !(named || by_default)) {
            continue;
        }
        if (!setup_ask_server(&in->found, server, dir, ASK_MS)) {
            return false;
        }
        if (server->asked) {
            say("  %.*s: %zu tool(s)", SLICE_FMT(server->entry.name), server->tool_count);
        } else {
            say("  %.*s: %s: calls to it are decided by the last rule", SLICE_FMT(server->entry.name),
                server->why_not);
        }
    }
    return true;
}

static bool choose_template(struct init *in)
{
    char answer[ANSWER_BYTES];
    if (in->template_name == NULL) {
        ask(in, "Template: strict, balanced or observe? [balanced]", answer);
        in->template_name =
            answer[0] != '\0' ? arena_copy(&in->options.arena, slice_of(answer)).ptr : "balanced";
    }
    for (size_t i = 0; in->template_name != NULL && setup_templates[i] != NULL; i++) {
        if (strcmp(in->template_name, setup_templates[i]) == 0) {
            return true;
        }
    }
    usage_error(&command_init, "--template is strict, balanced or observe");
    return false;
}

static bool add_folder(struct init *in, const char *name)
{
    char real[PATH_MAX];
    if (realpath(name, real) == NULL) {
        say("the folder %s cannot be found", name);
        return false;
    }
    if (strcmp(real, "/") == 0) {
        say("work in / is everything: name the folders where work is, with --folder DIR");
        return false;
    }
    struct slice copy = arena_copy(&in->options.arena, slice_of(real));
    in->work[in->work_count++] = copy;
    return copy.ptr != NULL;
}

static bool choose_folders(struct init *in)
{
    char answer[ANSWER_BYTES] = "", cwd[PATH_MAX];
    snprintf(cwd, sizeof(cwd), "%.*s", SLICE_FMT(in->options.base.cwd));
    in->work = arena_array(&in->options.arena, in->folders.count + ANSWER_BYTES, sizeof(*in->work));
    bool ok = in->work != NULL;
    for (size_t i = 0; i < in->folders.count && ok; i++) {
        ok = add_folder(in, in->folders.items[i]);
    }
    if (ok && in->folders.count == 0) {
        ask(in, "Folders where work is? [the working directory]", answer);
        for (char *save = NULL, *word = strtok_r(answer, " ,\t", &save); word != NULL && ok;
             word = strtok_r(NULL, " ,\t", &save)) {
            ok = add_folder(in, word);
        }
    }
    return ok && (in->work_count > 0 || add_folder(in, cwd));
}

/* ---- The policy ---- */

/* A policy that does not load would deny everything: it is never written. */
static bool loads(const struct init *in, const char *name, struct slice text)
{
    struct findings errors;
    struct policy_source source = {.name = slice_of(name), .tier = TIER_USER, .at_tier = true, .text = text};
    struct buf lines;
    findings_init(&errors);
    buf_init(&lines, 64u << 20);
    struct policy *policy = policy_load(&source, 1, &in->options.base, &errors);
    sources_write_errors(&lines, &errors);
    say_lines(&lines);
    bool good = policy != NULL && errors.count == 0;
    policy_destroy(policy);
    findings_finish(&errors);
    buf_finish(&lines);
    return good;
}

static const char *output_of(struct init *in)
{
    struct buf path;
    buf_init(&path, PATH_MAX);
    if (in->output != NULL) {
        return in->output;
    }
    buf_slice(&path, in->options.base.home);
    buf_text(&path, "/.config/callgate/policy.json");
    const char *copy = buf_ok(&path) ? arena_copy(&in->options.arena, buf_slice_of(&path)).ptr : NULL;
    buf_finish(&path);
    return copy;
}

static bool is_there(struct init *in, const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.*s/%s", SLICE_FMT(in->options.base.home), dir);
    return access(path, F_OK) == 0;
}

static void print_next_steps(struct init *in, const char *file)
{
    static const struct {
        const char *host, *dir;
    } agents[] = {{"claude-code", ".claude"},
                  {"gemini", ".gemini"},
                  {"codex", ".codex"},
                  {"cursor", ".cursor"},
                  {"opencode", ".config/opencode"}};
    bool standard = in->output == NULL;
    say("wrote %s: read it, it is yours to change", file);
    say("next: callgate wrap%s%s", standard ? "" : " --policy ", standard ? "" : file);
    for (size_t i = 0; i < sizeof(agents) / sizeof(*agents); i++) {
        if (is_there(in, agents[i].dir)) {
            say("      callgate hook install %s%s%s", agents[i].host, standard ? "" : " --policy ",
                standard ? "" : file);
        }
    }
    if (strcmp(in->template_name, "observe") == 0) {
        say("      with --observe behind each of these not even secrets are denied, only journalled");
    }
}

static int write_policy(struct init *in, const char *file, struct slice text)
{
    struct text_file old;
    struct buf error;
    buf_init_message(&error, 1u << 16);
    bool read = text_file_read(&old, file, LIMIT_MESSAGE_BYTES, &error), ok = false;
    if (read && old.existed && !in->force) {
        say("%s is there: --force replaces it, --print shows what would be written", file);
    } else {
        ok = read && text_file_replace(&old, text, 0600, &error);
        if (!ok) {
            say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        }
    }
    if (read) {
        text_file_finish(&old);
    }
    buf_finish(&error);
    if (ok) {
        print_next_steps(in, file);
    }
    return ok ? EXIT_YES : EXIT_UNABLE;
}

static int make_policy(struct init *in)
{
    struct setup_options options = {.template_name = in->template_name,
                                    .found = &in->found,
                                    .folders = in->work,
                                    .folder_count = in->work_count};
    struct buf text, laid_out;
    int code = EXIT_UNABLE;
    const char *file = output_of(in);
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    buf_init(&laid_out, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    setup_write_policy(&text, &options);
    if (file == NULL || !buf_ok(&text) || !policy_write_layout(&laid_out, buf_slice_of(&text))) {
        say("no memory for the policy");
    } else if (!loads(in, file, buf_slice_of(&laid_out))) {
        say("the policy that was made does not load: nothing was written");
    } else {
        code = in->print_only ? print(&laid_out) : write_policy(in, file, buf_slice_of(&laid_out));
    }
    buf_finish(&text);
    buf_finish(&laid_out);
    return code;
}

static int carry_out(struct init *in)
{
    struct buf report;
    arena_init(&in->arena, 512u << 20);
    in->found.arena = &in->arena;
    buf_init(&report, 1u << 20);
    bool ok = setup_find_servers(&in->found, in->options.base.home, in->options.base.cwd, &report);
    say_lines(&report);
    buf_finish(&report);
    print_found(in);
    ok = ok && ask_servers(in) && choose_template(in) && choose_folders(in);
    int code = ok ? make_policy(in) : EXIT_UNABLE;
    arena_finish(&in->arena);
    return code;
}

static int run(int argc, char **argv)
{
    struct init in = {0};
    const struct option_spec own[] = {
        {"yes", OPTION_FLAG, &in.yes},          {"template", OPTION_VALUE, &in.template_name},
        {"print", OPTION_FLAG, &in.print_only}, {"output", OPTION_VALUE, &in.output},
        {"force", OPTION_FLAG, &in.force},      {"folder", OPTION_LIST, &in.folders},
        {"server", OPTION_LIST, &in.servers},   {"no-servers", OPTION_FLAG, &in.no_servers},
    };
    int code = options_read(&in.options, &command_init, argc, argv, TAKES_PATHS | TAKES_NO_WORDS, own,
                            sizeof(own) / sizeof(*own));
    if (code != -1) {
        return code;
    }
    code = carry_out(&in);
    free(in.folders.items);
    free(in.servers.items);
    options_finish(&in.options);
    return code;
}

const struct cli_command command_init = {"init", "write a first policy for what is on this machine", usage,
                                         run};
