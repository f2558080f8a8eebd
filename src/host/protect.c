/* Rules that keep an agent from writing what judges it: policy, settings, state. */
#include "host/internal.h"

/* How tools of MCP servers that write files begin, by habit. */
static const char *const write_prefixes[] = {
    "append_", "copy_",   "create_", "delete_",  "edit_",   "insert_", "move_",
    "patch_",  "remove_", "rename_", "replace_", "update_", "write_",
};

/* Programs of a shell that write files where their words say, by habit; `>` is a redirection. */
static const char *const write_commands[] = {
    ">",  "tee",      "cp",    "mv",    "rm",    "ln",    "sed",   "install",
    "dd", "truncate", "touch", "chmod", "chown", "rsync", "patch",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* So many paths and programs are fewer than the 4,096 arms that a rule may have. */
#define PATHS_IN_RULE 200u

struct protection {
    struct buf *buf;
    const char *name; /* of the rules, before their number */
    unsigned count;
};

static void write_list(struct buf *buf, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_text(buf, i > 0 ? ", " : "[");
        json_write_bytes(buf, slice_of(list[i]));
    }
    buf_byte(buf, ']');
}

static void write_rule(struct protection *p, const char *field, const char *const *who, size_t who_count,
                       const char *where, const char *const *what, size_t what_count)
{
    buf_text(p->buf, p->count > 0 ? ",\n    " : "\n    ");
    buf_printf(p->buf, "{\"id\": \"%s-%u\", \"effect\": \"deny\", \"match\": {\"%s\": ", p->name, ++p->count,
               field);
    write_list(p->buf, who, who_count);
    buf_printf(p->buf, ", \"%s\": ", where);
    write_list(p->buf, what, what_count);
    buf_text(p->buf,
             ", \"tier\": \"admin\"}, \"reason\": \"what judges the agent is not the agent's to write\"}");
}

static void write_rules(struct protection *p, const struct host *host, const char *where,
                        const char *const *what, size_t count)
{
    const char *const *tools = host->shape->write_tools;
    size_t tool_count = 0;
    while (tools[tool_count] != NULL) {
        tool_count++;
    }
    write_rule(p, "tool", tools, tool_count, where, what, count);
    write_rule(p, "toolPrefix", write_prefixes, COUNT(write_prefixes), where, what, count);
    write_rule(p, "commandPrefix", write_commands, COUNT(write_commands), where, what, count);
}

void host_write_protection(struct buf *buf, const struct host *host, const char *name,
                           const char *const *paths, size_t count)
{
    struct protection p = {.buf = buf, .name = name};
    buf_text(buf, "{\n  \"rules\": [");
    for (size_t at = 0; at < count; at += PATHS_IN_RULE) {
        write_rules(&p, host, "pathPrefix", paths + at,
                    at + PATHS_IN_RULE < count ? PATHS_IN_RULE : count - at);
    }
    if (host->steering->anywhere != NULL) {
        write_rules(&p, host, "pathComponent", &host->steering->anywhere, 1);
    }
    buf_text(buf, "\n  ]\n}\n");
}

bool host_project_protection(struct arena *arena, const struct host *host, struct slice project,
                             struct slice *ret_text)
{
    struct steering_paths paths = {.arena = arena};
    struct buf text;
    bool ok = steering_add_project(&paths, host, project);
    const char **names = ok ? arena_array(arena, paths.count + 1, sizeof(*names)) : NULL;
    if (names == NULL) {
        return false;
    }
    for (size_t i = 0; i < paths.count; i++) {
        names[i] = paths.list[i].path;
    }
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    host_write_protection(&text, host, "callgate-protect-project", names, paths.count);
    buf_byte(&text, '\0');
    struct slice copy = buf_ok(&text) ? arena_copy(arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    if (copy.ptr != NULL) {
        *ret_text = copy;
    }
    return copy.ptr != NULL;
}

bool host_steering_places(struct arena *arena, const struct host *host, struct slice home,
                          struct slice **ret_places, size_t *ret_count)
{
    struct steering_paths paths = {.arena = arena};
    struct buf hooks;
    if (!steering_add_all(&paths, host, home, (struct slice){0})) {
        return false;
    }
    struct slice *places = arena_array(arena, paths.count + 1, sizeof(*places));
    buf_init(&hooks, (size_t)64 << 10);
    buf_slice(&hooks, home);
    buf_byte(&hooks, '/');
    buf_text(&hooks, host->shape->user);
    bool ok = places != NULL && buf_ok(&hooks);
    for (size_t i = 0; ok && i < paths.count; i++) {
        places[i] = slice_of(paths.list[i].path);
    }
    if (ok) {
        places[paths.count] = arena_copy(arena, buf_slice_of(&hooks));
        ok = places[paths.count].ptr != NULL;
    }
    buf_finish(&hooks);
    *ret_places = ok ? places : NULL;
    *ret_count = ok ? paths.count + 1 : 0;
    return ok;
}
