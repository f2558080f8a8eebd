/* The host's configuration: which MCP servers it names. It only tells where a flattened name splits. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/internal.h"
#include "host/jsonc.h"
#include "host/toml.h"

static const struct json_options config_options = {
    .max_depth = LIMIT_JSON_DEPTH,
    .max_bytes = LIMIT_MESSAGE_BYTES,
    .keep_duplicates = true,
};

bool config_read(struct buf *text, struct slice dir, const char *file)
{
    struct buf path;
    struct stat st;
    buf_init(&path, 4 * LIMIT_PATH_BYTES);
    buf_slice(&path, dir);
    buf_byte(&path, '/');
    buf_bytes(&path, file, strlen(file) + 1);
    int fd = buf_ok(&path) ? open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    buf_finish(&path);
    if (fd < 0) {
        return false;
    }
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= (off_t)LIMIT_MESSAGE_BYTES;
    while (ok) {
        size_t size;
        char *room = buf_room(text, &size);
        ssize_t n = room != NULL ? read(fd, room, size) : -1;
        if (n > 0) {
            buf_added(text, (size_t)n);
        }
        ok = n >= 0;
        if (n <= 0) {
            break;
        }
    }
    close(fd);
    return ok;
}

void config_open(struct config_file *ret_config, struct slice dir, const char *file)
{
    struct json_error error;
    *ret_config = (struct config_file){0};
    buf_init(&ret_config->text, LIMIT_MESSAGE_BYTES + (128u << 10));
    json_init(&ret_config->doc);
    if (!config_read(&ret_config->text, dir, file)) {
        return;
    }
    jsonc_blank(ret_config->text.ptr, ret_config->text.len);
    if (json_parse(&ret_config->doc, buf_slice_of(&ret_config->text), &config_options, &error)) {
        ret_config->root = json_root(&ret_config->doc);
    }
}

void config_close(struct config_file *config)
{
    buf_finish(&config->text);
    json_finish(&config->doc);
    *config = (struct config_file){0};
}

static bool add(struct host_message *message, struct host_servers *servers, struct slice name,
                struct slice launched)
{
    if (servers->count == servers->cap) {
        size_t cap = servers->cap ? 2 * servers->cap : 32;
        struct host_server *list = arena_array(&message->arena, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        if (servers->count) {
            memcpy(list, servers->list, servers->count * sizeof(*list));
        }
        servers->list = list;
        servers->cap = cap;
    }
    struct host_server *server = &servers->list[servers->count];
    server->name = arena_copy(&message->arena, name);
    server->spelled = spelled_name(&message->arena, name, servers->others);
    server->launched = arena_copy(&message->arena, launched);
    server->of_project = servers->in_project;
    if (server->name.ptr == NULL || server->spelled.ptr == NULL || server->launched.ptr == NULL) {
        return false;
    }
    servers->count++;
    return true;
}

/* The URL, or the command with its arguments, a space between each. Some hosts hold both in one list. */
static void write_launched(struct buf *buf, const struct json_doc *doc, const struct json_value *server)
{
    const struct json_value *url = json_get(doc, server, "url"), *command = json_get(doc, server, "command"),
                            *args = json_is(command, JSON_ARRAY) ? command : json_get(doc, server, "args"),
                            *arg;
    buf_reset(buf);
    if (json_is(url, JSON_STRING)) {
        buf_slice(buf, json_str(url));
        return;
    }
    if (json_is(command, JSON_STRING)) {
        buf_slice(buf, json_str(command));
    }
    for (arg = json_is(args, JSON_ARRAY) ? json_first(doc, args) : NULL; arg != NULL;
         arg = json_right(doc, args, arg)) {
        buf_text(buf, buf->len ? " " : "");
        if (json_is(arg, JSON_STRING)) {
            buf_slice(buf, json_str(arg));
        }
    }
}

bool servers_add(struct host_message *message, struct host_servers *servers, const struct config_file *config,
                 const struct json_value *object)
{
    const struct json_doc *doc = &config->doc;
    struct buf launched;
    bool ok = true;
    if (!json_is(object, JSON_OBJECT)) {
        return true;
    }
    buf_init(&launched, LIMIT_MESSAGE_BYTES);
    for (const struct json_value *key = json_first(doc, object); key != NULL && ok;
         key = json_right(doc, object, key)) {
        if (key->str_len == 0) {
            continue;
        }
        write_launched(&launched, doc, json_member_value(key));
        ok = buf_ok(&launched) && add(message, servers, json_str(key), buf_slice_of(&launched));
    }
    buf_finish(&launched);
    return ok;
}

struct slice directory_above(struct slice dir)
{
    while (dir.len > 0 && dir.ptr[dir.len - 1] == '/') {
        dir.len--;
    }
    if (dir.len == 0) {
        return (struct slice){0};
    }
    while (dir.len > 0 && dir.ptr[dir.len - 1] != '/') {
        dir.len--;
    }
    return dir;
}

bool servers_add_above(struct host_message *message, struct host_servers *servers, struct slice dir,
                       const char *file, const char *key)
{
    bool ok = true;
    servers->in_project = true;
    for (; dir.ptr != NULL && ok; dir = directory_above(dir)) {
        struct config_file config;
        config_open(&config, dir, file);
        ok = servers_add(message, servers, &config, json_get(&config.doc, config.root, key));
        config_close(&config);
    }
    servers->in_project = false;
    return ok;
}

/* ---- TOML ---- */

static bool mentions(struct slice line, struct slice word)
{
    const char *found = line.len ? memmem(line.ptr, line.len, word.ptr, word.len) : NULL;
    return found != NULL && line.ptr[0] != '#';
}

/* The first quoted text of a line `KEY = …` of this key, or an empty one. */
static struct slice first_quoted(struct slice line, struct slice key)
{
    if (!slice_starts_with(line, key)) {
        return (struct slice){0};
    }
    line = toml_trimmed(slice_from(line, key.len));
    if (line.len == 0 || line.ptr[0] != '=') {
        return (struct slice){0};
    }
    size_t at = 0;
    while (at < line.len && line.ptr[at] != '"' && line.ptr[at] != '\'') {
        at++;
    }
    if (at == line.len) {
        return (struct slice){0};
    }
    struct slice text = slice_from(line, at + 1);
    const char *end = memchr(text.ptr, line.ptr[at], text.len);
    return end != NULL ? (struct slice){text.ptr, (size_t)(end - text.ptr)} : (struct slice){0};
}

/* The command and its first argument: enough to see whether a gate stands in front of the server. */
static bool add_launched(struct host_message *message, struct host_server *server, struct slice line)
{
    struct slice command = first_quoted(line, SLICE("command")), argument = first_quoted(line, SLICE("args"));
    struct slice first = command.len ? command : server->launched, second = argument;
    if (command.len == 0 && argument.len == 0) {
        return true;
    }
    char *text = arena_alloc(&message->arena, first.len + second.len + 2);
    if (text == NULL) {
        return false;
    }
    if (first.len) {
        memcpy(text, first.ptr, first.len);
    }
    size_t len = first.len;
    if (second.len) {
        text[len++] = ' ';
        memcpy(text + len, second.ptr, second.len);
        len += second.len;
    }
    server->launched = (struct slice){text, len};
    return true;
}

bool servers_add_toml(struct host_message *message, struct host_servers *servers, struct slice dir,
                      const char *file, struct slice table)
{
    struct buf text;
    bool ok = true, inside = false;
    buf_init(&text, LIMIT_MESSAGE_BYTES + (128u << 10));
    struct slice rest = config_read(&text, dir, file) ? buf_slice_of(&text) : (struct slice){0};
    while (rest.len && ok) {
        const char *lf = memchr(rest.ptr, '\n', rest.len);
        size_t len = lf != NULL ? (size_t)(lf - rest.ptr) : rest.len;
        struct slice line = toml_trimmed((struct slice){rest.ptr, len}), name = toml_table_name(line, table);
        rest = slice_from(rest, lf != NULL ? len + 1 : len);
        if (name.len == 0 && mentions(line, table)) {
            servers->partial = true;
        }
        if (name.len) {
            ok = add(message, servers, name, (struct slice){"", 0});
        }
        if (line.len && line.ptr[0] == '[') {
            inside = name.len > 0;
        } else if (inside) {
            ok = add_launched(message, &servers->list[servers->count - 1], line);
        }
    }
    buf_finish(&text);
    return ok;
}

bool host_server_is_wrapped(struct slice launched)
{
    const char *space = memchr(launched.ptr, ' ', launched.len);
    struct slice program = {launched.ptr, space != NULL ? (size_t)(space - launched.ptr) : launched.len};
    const char *slash = memrchr(program.ptr, '/', program.len);
    if (space == NULL) {
        return false;
    }
    if (slash != NULL) {
        program = slice_from(program, (size_t)(slash - program.ptr) + 1);
    }
    struct slice rest = slice_from(launched, (size_t)(space - launched.ptr) + 1);
    return slice_starts_with(program, SLICE("callgate")) &&
           (slice_is(rest, "run") || slice_starts_with(rest, SLICE("run ")));
}
