/* Reads the options of a command from its table and the common ones. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/standard.h"
#include "base/utf8.h"
#include "document/schema.h"

#define OWN_OPTIONS_MOST 24
#define HELP_OPTION      1
#define FIRST_OPTION     1000

/* Of a program that must go on whatever becomes of its messages. */
static bool messages_never_wait;
static uint64_t messages_lost;

void say_without_waiting(void)
{
    messages_never_wait = true;
}

/* Gives a text that may be shown to standard error. */
static void deliver(struct slice text)
{
    if (!messages_never_wait) {
        fwrite(text.ptr, 1, text.len, stderr);
        return;
    }
    if (messages_lost > 0) {
        char line[96];
        snprintf(line, sizeof(line), "callgate: %llu message(s) were lost: nobody read standard error\n",
                 (unsigned long long)messages_lost);
        if (!standard_error_offer(slice_of(line))) {
            messages_lost++;
            return;
        }
        messages_lost = 0;
    }
    if (!standard_error_offer(text)) {
        messages_lost++;
    }
}

/* Names of files and arguments may hold anything: a terminal is shown what it may be shown. */
static void write_message(const char *before, const char *format, va_list args, const char *after)
{
    char *text = NULL;
    struct buf out;
    int len = vasprintf(&text, format, args);
    struct slice rest = {text, len > 0 ? (size_t)len : 0};
    buf_init(&out, (size_t)1 << 30);
    buf_text(&out, before);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t line = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
        utf8_append_printable(&out, (struct slice){rest.ptr, line});
        if (end != NULL) {
            buf_byte(&out, '\n');
        }
        rest = slice_from(rest, end != NULL ? line + 1 : line);
    }
    buf_text(&out, after);
    if (len >= 0 && buf_ok(&out)) {
        say_lines(&out);
    } else {
        deliver(SLICE("callgate: no memory to say what is wrong\n"));
    }
    buf_finish(&out);
    free(text);
}

int usage_error(const struct cli_command *command, const char *format, ...)
{
    va_list args;
    char before[64], after[96];
    snprintf(before, sizeof(before), "callgate %s: ", command->name);
    snprintf(after, sizeof(after), "\nTry 'callgate %s --help'.\n", command->name);
    va_start(args, format);
    write_message(before, format, args, after);
    va_end(args);
    return EXIT_UNABLE;
}

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_message("callgate: ", format, args, "\n");
    va_end(args);
}

void say_lines(const struct buf *lines)
{
    if (lines->len > 0) {
        deliver((struct slice){lines->ptr, lines->len});
    }
}

void print_lines(const struct buf *lines)
{
    if (lines->len > 0) {
        fwrite(lines->ptr, 1, lines->len, stdout);
    }
}

int print(const struct buf *buf)
{
    if (buf_ok(buf) && buf->len == 0) {
        return EXIT_YES;
    }
    if (buf_ok(buf) && fwrite(buf->ptr, 1, buf->len, stdout) == buf->len && fflush(stdout) == 0) {
        return EXIT_YES;
    }
    say("the answer cannot be written to standard output");
    return EXIT_UNABLE;
}

bool option_number(const char *text, int64_t least, int64_t most, int64_t *ret_number)
{
    char *end;
    if (!((text[0] >= '0' && text[0] <= '9') || (text[0] == '-' && text[1] >= '0' && text[1] <= '9'))) {
        return false;
    }
    long long value = strtoll(text, &end, 10);
    if (*end != '\0' || value < least || value > most) {
        return false;
    }
    *ret_number = value;
    return true;
}

bool option_size(const char *text, uint64_t least, uint64_t *ret_size)
{
    char digits[16];
    size_t len = strspn(text, "0123456789");
    const char *unit = len > 0 && text[len] != '\0' ? strchr("KMG", text[len]) : "";
    int64_t number = 0;
    if (len >= sizeof(digits) || unit == NULL || (text[len] != '\0' && text[len + 1] != '\0')) {
        return false;
    }
    memcpy(digits, text, len);
    digits[len] = '\0';
    unsigned shift = text[len] == 'K' ? 10 : text[len] == 'M' ? 20 : text[len] == 'G' ? 30 : 0;
    if (!option_number(digits, 1, INT64_MAX >> 30, &number) || (uint64_t)number << shift < least) {
        return false;
    }
    *ret_size = (uint64_t)number << shift;
    return true;
}

static bool list_add(struct option_list *list, const char *item)
{
    const char **items = realloc(list->items, (list->count + 1) * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    items[list->count++] = item;
    list->items = items;
    return true;
}

static size_t common_specs(struct options *options, unsigned groups, struct option_spec *specs)
{
    size_t n = 0;
    if (groups & TAKES_POLICY) {
        specs[n++] = (struct option_spec){"policy", OPTION_LIST, &options->policies};
    }
    if (groups & TAKES_PATHS) {
        specs[n++] = (struct option_spec){"cwd", OPTION_VALUE, &options->cwd};
        specs[n++] = (struct option_spec){"home", OPTION_VALUE, &options->home};
        specs[n++] = (struct option_spec){"root", OPTION_LIST, &options->roots};
    }
    if (groups & TAKES_STATE) {
        specs[n++] = (struct option_spec){"state", OPTION_VALUE, &options->state};
    }
    if (groups & TAKES_FORMAT) {
        specs[n++] = (struct option_spec){"format", OPTION_VALUE, &options->format};
        specs[n++] = (struct option_spec){"json", OPTION_FLAG, &options->json_asked};
    }
    return n;
}

static int unknown_option(const struct cli_command *command, const char *given,
                          const struct option_spec *specs, size_t count)
{
    struct choice choices[OWN_OPTIONS_MOST + 8] = {{0}};
    for (size_t i = 0; i < count; i++) {
        choices[i].name = specs[i].name;
    }
    const char *near =
        strncmp(given, "--", 2) == 0 ? schema_advise_choice(choices, slice_of(given + 2)) : NULL;
    return near != NULL ? usage_error(command, "unknown option %s: did you mean --%s?", given, near)
                        : usage_error(command, "unknown option %s", given);
}

static int parse(struct options *options, const struct cli_command *command, int argc, char **argv,
                 const struct option_spec *specs, size_t count)
{
    struct option longs[OWN_OPTIONS_MOST + 8] = {{"help", no_argument, NULL, HELP_OPTION}};
    for (size_t i = 0; i < count; i++) {
        longs[i + 1] = (struct option){specs[i].name,
                                       specs[i].kind == OPTION_FLAG    ? no_argument
                                       : specs[i].kind == OPTION_MAYBE ? optional_argument
                                                                       : required_argument,
                                       NULL, FIRST_OPTION + (int)i};
    }
    optind = 1;
    opterr = 0;
    int c;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == HELP_OPTION || c == 'h') {
            fputs(command->usage, stdout);
            return fflush(stdout) == 0 ? EXIT_YES : EXIT_UNABLE;
        }
        if (c == ':') {
            return usage_error(command, "%s needs a value", argv[optind - 1]);
        }
        if (c < FIRST_OPTION) {
            return unknown_option(command, argv[optind - 1], specs, count);
        }
        const struct option_spec *spec = &specs[c - FIRST_OPTION];
        if (spec->kind == OPTION_FLAG) {
            *(bool *)spec->target = true;
        } else if (spec->kind == OPTION_MAYBE) {
            *(const char **)spec->target = optarg != NULL ? optarg : "";
        } else if (spec->kind == OPTION_VALUE) {
            *(const char **)spec->target = optarg;
        } else if (!list_add(spec->target, optarg)) {
            return usage_error(command, "no memory");
        }
    }
    options->argc = argc - optind;
    options->argv = argv + optind;
    return -1;
}

/* Makes a directory's name absolute, as text: links in it stay for the readings to see. */
static bool absolute(struct options *options, const char *cwd, const char *dir, struct slice *ret)
{
    struct buf text;
    buf_init(&text, 2 * PATH_MAX);
    if (dir[0] != '/') {
        buf_text(&text, cwd);
        if (dir[0] != '\0') {
            buf_byte(&text, '/');
        }
    }
    buf_text(&text, dir);
    bool ok = buf_ok(&text);
    if (ok) {
        *ret = arena_copy(&options->arena, buf_slice_of(&text));
        ok = ret->ptr != NULL;
    }
    buf_finish(&text);
    return ok;
}

static bool find_home(struct options *options, const char *cwd)
{
    struct buf home;
    buf_init(&home, PATH_MAX);
    bool ok = options->home != NULL ? absolute(options, cwd, options->home, &options->base.home)
                                    : gate_home_dir(&home);
    if (ok && options->home == NULL) {
        options->base.home = arena_copy(&options->arena, buf_slice_of(&home));
        ok = options->base.home.ptr != NULL;
    }
    buf_finish(&home);
    return ok;
}

static int find_base(struct options *options, const struct cli_command *command)
{
    char cwd[PATH_MAX];
    if (getcwd(cwd, sizeof(cwd)) == NULL) {
        return usage_error(command, "the working directory cannot be told; name one with --cwd");
    }
    if (!absolute(options, cwd, options->cwd != NULL ? options->cwd : "", &options->base.cwd)) {
        return usage_error(command, "--cwd: no usable name");
    }
    if (!find_home(options, cwd)) {
        return usage_error(command, "the home directory cannot be told; name one with --home");
    }
    struct slice *roots = arena_array(&options->arena, options->roots.count + 1, sizeof(*roots));
    for (size_t i = 0; roots != NULL && i < options->roots.count; i++) {
        if (!absolute(options, cwd, options->roots.items[i], &roots[i])) {
            return usage_error(command, "--root: no usable name");
        }
    }
    options->base.roots = roots;
    options->base.root_count = roots != NULL ? options->roots.count : 0;
    return roots != NULL ? -1 : usage_error(command, "no memory");
}

static int find_state(struct options *options, const struct cli_command *command, unsigned groups)
{
    if (options->state != NULL) {
        if ((groups & STATE_IS_THERE) && access(options->state, F_OK) != 0 && errno == ENOENT) {
            return usage_error(command, "there is no state directory %s", options->state);
        }
        options->state_dir = options->state;
        return -1;
    }
    struct buf dir;
    buf_init(&dir, PATH_MAX);
    struct slice copy = {0};
    if (gate_default_state_dir(&dir)) {
        copy = arena_copy(&options->arena, buf_slice_of(&dir));
    }
    buf_finish(&dir);
    options->state_dir = copy.ptr;
    return copy.ptr != NULL
               ? -1
               : usage_error(command,
                             "the home directory cannot be told; name a state directory with --state");
}

static int settle(struct options *options, const struct cli_command *command, unsigned groups)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    int code = -1;
    for (size_t i = 0; i < options->policies.count && code == -1; i++) {
        if (!sources_add(&options->sources, options->policies.items[i], &error)) {
            code = usage_error(command, "%.*s", SLICE_FMT(buf_slice_of(&error)));
        }
    }
    buf_finish(&error);
    if (code == -1 && options->format != NULL) {
        options->json = strcmp(options->format, "json") == 0;
        if (!options->json && strcmp(options->format, "text") != 0) {
            code = usage_error(command, "--format is text or json");
        }
    }
    options->json = options->json || options->json_asked;
    if (code == -1 && (groups & (TAKES_PATHS | TAKES_POLICY))) {
        code = find_base(options, command);
    }
    if (code == -1 && (groups & TAKES_STATE)) {
        code = find_state(options, command, groups);
    }
    return code;
}

int options_read(struct options *ret_options, const struct cli_command *command, int argc, char **argv,
                 unsigned groups, const struct option_spec *own, size_t own_count)
{
    struct option_spec specs[OWN_OPTIONS_MOST + 8];
    *ret_options = (struct options){0};
    arena_init(&ret_options->arena, 1u << 20);
    if (own_count > OWN_OPTIONS_MOST || !sources_init(&ret_options->sources)) {
        return usage_error(command, "no memory");
    }
    size_t count = common_specs(ret_options, groups, specs);
    for (size_t i = 0; i < own_count; i++) {
        specs[count++] = own[i];
    }
    int code = parse(ret_options, command, argc, argv, specs, count);
    if (code == -1 && (groups & TAKES_NO_WORDS) && ret_options->argc > 0) {
        code = usage_error(command, "unexpected argument '%s'", ret_options->argv[0]);
    }
    if (code == -1) {
        code = settle(ret_options, command, groups);
    }
    if (code != -1) {
        options_finish(ret_options);
    }
    return code;
}

void options_finish(struct options *options)
{
    sources_finish(&options->sources);
    free(options->roots.items);
    free(options->policies.items);
    arena_finish(&options->arena);
    *options = (struct options){0};
}

static bool add_all_places(const struct cli_command *command, struct options *options)
{
    if (sources_add_places(&options->sources, &options->base, true)) {
        return true;
    }
    usage_error(command, "no memory");
    return false;
}

static bool is_there(const struct source_file *file)
{
    return access(file->path, F_OK) == 0;
}

bool options_standard_places(const struct cli_command *command, struct options *options)
{
    if (options->sources.count > 0) {
        return true;
    }
    if (!add_all_places(command, options)) {
        return false;
    }
    const struct source_file *places = options->sources.files;
    if (is_there(&places[0]) || is_there(&places[1]) || is_there(&places[2])) {
        return true;
    }
    usage_error(command, "there is no policy: name one with --policy FILE, or write one of\n  %s\n  %s\n  %s",
                places[0].path, places[1].path, places[2].path);
    return false;
}

bool options_surface_places(const struct cli_command *command, struct options *options)
{
    if (options->sources.count == 0) {
        if (!add_all_places(command, options)) {
            return false;
        }
        options->sources.authored = true;
        const struct source_file *places = options->sources.files;
        if (is_there(&places[0]) || is_there(&places[1])) {
            return true;
        }
        usage_error(command, "there is no policy%s: name one with --policy FILE, or write one of\n  %s\n  %s",
                    is_there(&places[2]) ? " but the workspace's, which can only add to one" : "",
                    places[0].path, places[1].path);
        return false;
    }
    if (sources_add_places(&options->sources, &options->base, false)) {
        return true;
    }
    usage_error(command, "no memory");
    return false;
}

bool options_state_is_absent(const struct options *options)
{
    if (access(options->state_dir, F_OK) == 0 || errno != ENOENT) {
        return false;
    }
    if (options->state != NULL) {
        say("there is no state directory %s yet", options->state);
    }
    return true;
}

struct policy *options_load_policy(const struct cli_command *command, struct options *options)
{
    if (!options_standard_places(command, options)) {
        return NULL;
    }
    struct findings errors;
    struct buf lines;
    findings_init(&errors);
    buf_init(&lines, 64u << 20);
    struct policy *policy = sources_load(&options->sources, &options->base, NULL, &errors);
    sources_write_errors(&lines, &errors);
    say_lines(&lines);
    buf_finish(&lines);
    findings_finish(&errors);
    return policy;
}
