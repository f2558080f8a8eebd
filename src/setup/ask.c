/* A server started for a moment, as its client would, and asked for its tools. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "setup/setup.h"
#include "json/json.h"

extern char **environ;

#define PAGES_MOST 50
#define TOOLS_MOST 4096u

static const char hello[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"callgate-init\",\"version\":\"" CALLGATE_VERSION
    "\"}}}\n";
static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

struct asking {
    struct found *found;
    struct found_server *server;
    int in, out; /* the server's */
    pid_t pid;
    uint64_t until_ns;
    struct buf text; /* what came and is not yet read */
    struct buf cursor;
};

/* ---- The process ---- */

static bool is_gate(const struct server_entry *entry, size_t first)
{
    const char *slash = memrchr(entry->program.ptr, '/', entry->program.len);
    struct slice name =
        slash != NULL ? slice_from(entry->program, (size_t)(slash - entry->program.ptr) + 1) : entry->program;
    return slice_starts_with(name, SLICE("callgate")) && entry->word_count > first &&
           slice_is(entry->decoded[first], "run");
}

/* The server's own command line, without a gate that stands before it. NULL when memory ran out. */
static char **words_of(struct arena *arena, const struct server_entry *entry)
{
    char **words = arena_array(arena, entry->word_count + 2, sizeof(*words));
    size_t n = 0, first = entry->command_is_list ? 1 : 0;
    if (words == NULL) {
        return NULL;
    }
    if (is_gate(entry, first)) {
        while (first < entry->word_count && !slice_is(entry->decoded[first], "--")) {
            first++;
        }
        first++;
    } else {
        words[n++] = (char *)arena_copy(arena, entry->program).ptr;
    }
    for (size_t i = first; i < entry->word_count; i++) {
        struct slice word = entry->decoded[i].ptr != NULL ? entry->decoded[i] : SLICE("");
        words[n++] = (char *)arena_copy(arena, word).ptr;
    }
    for (size_t i = 0; i < n; i++) {
        if (words[i] == NULL) {
            return NULL;
        }
    }
    return n > 0 ? words : NULL;
}

/* This process's environment with the entry's in front. */
static char **environment_of(struct arena *arena, const struct server_entry *entry)
{
    size_t count = 0, n = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **list = arena_array(arena, count + entry->env_count + 1, sizeof(*list));
    for (size_t i = 0; list != NULL && i < entry->env_count; i++) {
        list[n++] = (char *)entry->env[i].ptr;
    }
    for (size_t i = 0; list != NULL && i < count; i++) {
        bool replaced = false;
        for (size_t j = 0; j < entry->env_count; j++) {
            const char *equals = memchr(entry->env[j].ptr, '=', entry->env[j].len);
            size_t len = equals != NULL ? (size_t)(equals - entry->env[j].ptr) + 1 : entry->env[j].len;
            replaced = replaced || strncmp(environ[i], entry->env[j].ptr, len) == 0;
        }
        if (!replaced) {
            list[n++] = environ[i];
        }
    }
    return list;
}

static int start(struct asking *a, char *const *words, char *const *environment, const char *dir)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0) {
        return errno != 0 ? errno : ENOMEM;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* so that its children end with it */
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, dir);
    int result = posix_spawnp(&a->pid, words[0], &actions, &attributes, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(in[0]);
    close(out[1]);
    a->in = in[1];
    a->out = out[0];
    (void)!fcntl(a->in, F_SETFL, O_NONBLOCK);
    return result;
}

static void end(struct asking *a)
{
    close(a->in);
    close(a->out);
    if (a->pid > 0) {
        kill(-a->pid, SIGKILL);
        waitpid(a->pid, NULL, 0);
    }
}

/* ---- The conversation ---- */

static int left_ms(const struct asking *a)
{
    uint64_t now = clock_mono_ns();
    return now >= a->until_ns ? 0 : (int)((a->until_ns - now) / 1000000) + 1;
}

static bool send_text(struct asking *a, struct slice text)
{
    while (text.len > 0) {
        ssize_t n = write(a->in, text.ptr, text.len);
        struct pollfd room = {.fd = a->in, .events = POLLOUT};
        if (n > 0) {
            text = slice_from(text, (size_t)n);
        } else if (n < 0 && errno != EINTR && (errno != EAGAIN || poll(&room, 1, left_ms(a)) <= 0)) {
            return false;
        }
    }
    return true;
}

/* Reads more of what the server says. False at its end or when the time is over. */
static bool read_more(struct asking *a)
{
    struct pollfd readable = {.fd = a->out, .events = POLLIN};
    size_t size;
    int left = left_ms(a);
    char *room = buf_room(&a->text, &size);
    if (room == NULL || left == 0 || poll(&readable, 1, left) <= 0) {
        return false;
    }
    ssize_t n = read(a->out, room, size);
    if (n > 0) {
        buf_added(&a->text, (size_t)n);
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

/* The answer with a number, as a document of its own; lines that are something else are passed over. */
static bool wait_for(struct asking *a, int64_t id, struct json_doc *doc)
{
    static const struct json_options options = {
        .max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES, .keep_duplicates = true};
    for (;;) {
        const char *lf = a->text.len > 0 ? memchr(a->text.ptr, '\n', a->text.len) : NULL;
        if (lf == NULL) {
            if (!read_more(a)) {
                return false;
            }
            continue;
        }
        size_t len = (size_t)(lf - a->text.ptr);
        struct slice line = arena_copy(a->found->arena, (struct slice){a->text.ptr, len});
        memmove(a->text.ptr, lf + 1, a->text.len - len - 1);
        a->text.len -= len + 1;
        struct json_error error;
        int64_t got;
        if (line.ptr == NULL || !json_parse(doc, line, &options, &error)) {
            continue;
        }
        const struct json_value *number = json_get(doc, json_root(doc), "id");
        if (json_is(number, JSON_NUMBER) && json_number_int(json_str(number), &got) == JSON_INT_OK &&
            got == id && json_get(doc, json_root(doc), "result") != NULL) {
            return true;
        }
    }
}

/* ---- Tools ---- */

/* Whether an argument of a schema is a path, by the names that are paths for every tool. */
static bool takes_path(const struct json_doc *doc, const struct json_value *tool)
{
    static const char *const names[] = {
        "path", "paths",     "file", "files",       "file_path", "filePath",  "filename", "source",   "src",
        "dst",  "directory", "dir",  "destination", "folder",    "repo_path", "old_path", "new_path", "uri"};
    const struct json_value *schema = json_get(doc, tool, "inputSchema"),
                            *properties = json_get(doc, schema, "properties");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (json_is(properties, JSON_OBJECT) && json_get(doc, properties, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool take_tools(struct asking *a, const struct json_doc *doc)
{
    const struct json_value *result = json_get(doc, json_root(doc), "result"),
                            *tools = json_get(doc, result, "tools"),
                            *cursor = json_get(doc, result, "nextCursor");
    struct found_server *server = a->server;
    buf_reset(&a->cursor);
    if (json_is(cursor, JSON_STRING)) {
        buf_slice(&a->cursor, json_text_of(doc, cursor));
    }
    for (const struct json_value *tool = json_is(tools, JSON_ARRAY) ? json_first(doc, tools) : NULL;
         tool != NULL; tool = json_right(doc, tools, tool)) {
        const struct json_value *name = json_get(doc, tool, "name"),
                                *hint = json_get(doc, json_get(doc, tool, "annotations"), "readOnlyHint");
        if (!json_is(name, JSON_STRING) || name->str_len == 0 || server->tool_count == TOOLS_MOST) {
            continue;
        }
        struct offered_tool *one = &server->tools[server->tool_count];
        *one = (struct offered_tool){.name = arena_copy(a->found->arena, json_str(name)),
                                     .kind = setup_tool_kind(json_str(name)),
                                     .says_read_only = json_is(hint, JSON_TRUE),
                                     .takes_path = takes_path(doc, tool)};
        if (one->name.ptr == NULL) {
            return false;
        }
        server->tool_count++;
    }
    return true;
}

/* What went wrong, for people; NULL when all is well. */
static const char *converse(struct asking *a)
{
    struct json_doc doc;
    const char *why = NULL;
    json_init(&doc);
    if (!send_text(a, slice_of(hello)) || !wait_for(a, 1, &doc)) {
        why = "it did not answer as an MCP server";
    } else if (!send_text(a, slice_of(ready))) {
        why = "it ended by itself";
    }
    for (int64_t id = 2; why == NULL && id < PAGES_MOST; id++) {
        struct buf request;
        buf_init(&request, 1u << 20);
        buf_printf(&request, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/list\",\"params\":{",
                   (long long)id);
        if (a->cursor.len > 0) {
            buf_text(&request, "\"cursor\":");
            buf_slice(&request, buf_slice_of(&a->cursor));
        }
        buf_text(&request, "}}\n");
        bool sent = buf_ok(&request) && send_text(a, buf_slice_of(&request));
        buf_finish(&request);
        if (!sent || !wait_for(a, id, &doc) || !take_tools(a, &doc)) {
            why = "it did not tell its tools";
        } else if (a->cursor.len == 0) {
            break;
        }
    }
    json_finish(&doc);
    return why;
}

bool setup_ask_server(struct found *found, struct found_server *server, const char *dir, uint32_t limit_ms)
{
    struct asking a = {.found = found,
                       .server = server,
                       .in = -1,
                       .out = -1,
                       .until_ns = clock_mono_ns() + (uint64_t)limit_ms * 1000000};
    char **words = words_of(found->arena, &server->entry),
         **environment = environment_of(found->arena, &server->entry);
    server->tools = arena_array(found->arena, TOOLS_MOST, sizeof(*server->tools));
    if (words == NULL || environment == NULL || server->tools == NULL) {
        server->why_not = "it has no command";
        return words == NULL && environment != NULL && server->tools != NULL;
    }
    buf_init(&a.text, 2 * (size_t)LIMIT_MESSAGE_BYTES);
    buf_init(&a.cursor, 1u << 20);
    int failed = start(&a, words, environment, dir);
    if (failed != 0) {
        server->why_not = "its program cannot be started";
    } else {
        server->why_not = converse(&a);
    }
    server->asked = server->why_not == NULL;
    end(&a);
    buf_finish(&a.text);
    buf_finish(&a.cursor);
    return true;
}
