/* `tools`: what servers offer, what of it changed, and accepting it. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "tools/tools.h"

static const char usage[] =
    "usage: callgate tools [SERVER [TOOL]] [--format text|json] [--state DIR]\n"
    "       callgate tools accept SERVER [TOOL...] [--state DIR]\n"
    "       callgate tools forget SERVER [--state DIR]\n\n"
    "Shows what servers behind 'callgate run' offer: each tool, and whether it is as it was accepted. With "
    "a\n"
    "server, its tools; with a tool, its definition as it is offered and as it was accepted.\n"
    "'accept' accepts a server's tools as they are offered now, all or those that are named; with\n"
    "'run --tools pin' others are denied. 'forget' drops all that is known of a server: it is accepted anew "
    "as\n"
    "it then is. A server without a name (run --server) is called command- and a digest of its command.\n\n"
    "Exit: 0 done (for a list: all is as it was accepted), 1 something is new, changed or gone, or there is "
    "no\n"
    "such server or tool, 2 could not be done.\n";

#define OUT_BYTES ((size_t)512 << 20)

static struct slice name_of(const struct tool *tool)
{
    return (struct slice){tool->name, tool->name_len};
}

/* ---- Showing ---- */

static void write_tool_json(struct buf *out, const struct tool *tool)
{
    buf_text(out, "{\"tool\":");
    json_write_bytes(out, name_of(tool));
    buf_printf(out, ",\"state\":\"%s\"", tool_state_name(tool_state(tool)));
    buf_printf(out, ",\"digest\":\"%s\",\"accepted\":\"%s\"}", tool->seen.digest, tool->accepted.digest);
}

static void write_tool_line(struct buf *out, const struct tool *tool)
{
    buf_printf(out, "  %-9s", tool_state_name(tool_state(tool)));
    utf8_append_printable(out, name_of(tool));
    buf_byte(out, '\n');
}

/* The tools of a server. True when all are as they were accepted. */
static bool write_book(struct buf *out, const struct tool_book *book, struct slice key, bool json)
{
    size_t count;
    bool whole = true;
    const struct tool *tools = tool_book_tools(book, &count);
    if (json) {
        buf_text(out, "{\"server\":");
        json_write_bytes(out, key);
        buf_text(out, ",\"tools\":[");
    } else {
        utf8_append_printable(out, key);
        buf_printf(out, ": %zu tool(s)\n", count);
    }
    for (size_t i = 0; i < count; i++) {
        whole = whole && tool_state(&tools[i]) == TOOL_ACCEPTED;
        if (json) {
            buf_text(out, i > 0 ? "," : "");
            write_tool_json(out, &tools[i]);
        } else {
            write_tool_line(out, &tools[i]);
        }
    }
    buf_text(out, json ? "]}" : "");
    return whole;
}

static void write_definition(struct buf *out, const char *what, const struct tool_definition *definition)
{
    buf_printf(out, "%s:\n  ", what);
    if (definition->text == NULL) {
        buf_text(out, "(none)");
    } else {
        utf8_append_printable(out, (struct slice){definition->text, definition->len});
    }
    buf_byte(out, '\n');
}

static int show_tool(struct buf *out, const struct tool_book *book, struct slice name)
{
    const struct tool *tool = tool_book_find(book, name);
    if (tool == NULL) {
        say("the server has no tool '%.*s'", SLICE_FMT(name));
        return EXIT_NO;
    }
    write_tool_line(out, tool);
    write_definition(out, "offered", &tool->seen);
    if (tool_state(tool) != TOOL_ACCEPTED) {
        write_definition(out, "accepted", &tool->accepted);
    }
    return tool_state(tool) == TOOL_ACCEPTED ? EXIT_YES : EXIT_NO;
}

/* ---- The ways of the command ---- */

/* The book of a server, which must be there. NULL after saying why not; *ret_code is then the exit code. */
static struct tool_book *open_book(const struct options *options, struct slice key, int *ret_code)
{
    struct buf error;
    buf_init(&error, (size_t)64 << 10);
    struct tool_book *book = tool_book_open(options->state_dir, key, &error);
    *ret_code = EXIT_UNABLE;
    if (book == NULL) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (tool_book_is_fresh(book)) {
        say("no server '%.*s' was seen yet; 'callgate tools' lists those that were", SLICE_FMT(key));
        tool_book_close(book);
        book = NULL;
        *ret_code = EXIT_NO;
    }
    buf_finish(&error);
    return book;
}

static int list_all(const struct options *options, bool json)
{
    struct buf keys, error, out;
    int code = EXIT_YES;
    buf_init(&keys, (size_t)16 << 20);
    buf_init(&error, (size_t)64 << 10);
    buf_init(&out, OUT_BYTES);
    if (!tool_books_list(options->state_dir, &keys, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        code = EXIT_UNABLE;
    }
    buf_text(&out, json ? "[" : "");
    struct slice rest = buf_slice_of(&keys);
    for (bool first = true; rest.len > 0 && code != EXIT_UNABLE; first = false) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        struct slice key = {rest.ptr, (size_t)(end - rest.ptr)};
        rest = slice_from(rest, key.len + 1);
        int failed;
        struct tool_book *book = open_book(options, key, &failed);
        if (book == NULL) {
            code = failed;
            continue;
        }
        buf_text(&out, json && !first ? "," : "");
        code = write_book(&out, book, key, json) ? code : EXIT_NO;
        tool_book_close(book);
    }
    buf_text(&out, json ? "]\n" : "");
    if (code != EXIT_UNABLE && !json && out.len == 0) {
        buf_text(&out, "No server was seen yet: 'callgate run' keeps what its server offers.\n");
    }
    code = code != EXIT_UNABLE && print(&out) != EXIT_YES ? EXIT_UNABLE : code;
    buf_finish(&out);
    buf_finish(&error);
    buf_finish(&keys);
    return code;
}

static int show(const struct options *options, bool json)
{
    int code;
    struct buf out;
    struct slice key = slice_of(options->argv[0]);
    struct tool_book *book = open_book(options, key, &code);
    if (book == NULL) {
        return code;
    }
    buf_init(&out, OUT_BYTES);
    if (options->argc > 1) {
        code = show_tool(&out, book, slice_of(options->argv[1]));
    } else {
        code = write_book(&out, book, key, json) ? EXIT_YES : EXIT_NO;
        buf_text(&out, json ? "\n" : "");
    }
    code = print(&out) == EXIT_YES ? code : EXIT_UNABLE;
    buf_finish(&out);
    tool_book_close(book);
    return code;
}

static int accept(const struct options *options)
{
    int code;
    struct buf error;
    struct tool_book *book = open_book(options, slice_of(options->argv[1]), &code);
    if (book == NULL) {
        return code;
    }
    code = EXIT_YES;
    for (int i = 2; i < options->argc; i++) {
        if (!tool_book_accept(book, slice_of(options->argv[i]))) {
            say("the server offers no tool '%s'", options->argv[i]);
            code = EXIT_NO;
        }
    }
    if (options->argc == 2) {
        tool_book_accept_all(book);
    }
    buf_init(&error, (size_t)64 << 10);
    if (code == EXIT_YES && !tool_book_save(book, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        code = EXIT_UNABLE;
    }
    buf_finish(&error);
    tool_book_close(book);
    return code;
}

static int forget(const struct options *options)
{
    int code;
    struct buf error;
    struct tool_book *book = open_book(options, slice_of(options->argv[1]), &code);
    if (book == NULL) {
        return code;
    }
    buf_init(&error, (size_t)64 << 10);
    code = tool_book_forget(book, &error) ? EXIT_YES : EXIT_UNABLE;
    if (code != EXIT_YES) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    tool_book_close(book);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    const char *format = NULL;
    const struct option_spec own[] = {{"format", OPTION_VALUE, &format}};
    int code = options_read(&options, &command_tools, argc, argv, TAKES_STATE, own, 1);
    if (code != -1) {
        return code;
    }
    const char *first = options.argc > 0 ? options.argv[0] : "";
    bool json = format != NULL && strcmp(format, "json") == 0;
    if (format != NULL && !json && strcmp(format, "text") != 0) {
        code = usage_error(&command_tools, "--format is text or json");
    } else if (strcmp(first, "accept") == 0 && options.argc >= 2) {
        code = accept(&options);
    } else if (strcmp(first, "forget") == 0 && options.argc == 2) {
        code = forget(&options);
    } else if (strcmp(first, "accept") == 0 || strcmp(first, "forget") == 0) {
        code = usage_error(&command_tools, "name the server");
    } else if (options.argc > 2) {
        code = usage_error(&command_tools, "a server and one of its tools at most");
    } else {
        code = options.argc == 0 ? list_all(&options, json) : show(&options, json);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_tools = {"tools", "show and accept what servers offer", usage, run};
