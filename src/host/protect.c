/* Rules that keep an agent from writing what judges it: policy, settings, state. */
#include "host/internal.h"

/* How tools of MCP servers that write files begin, by habit. */
static const char *const write_prefixes[] = {
    "append_", "copy_",   "create_", "delete_",  "edit_",   "insert_", "move_",
    "patch_",  "remove_", "rename_", "replace_", "update_", "write_",
};

struct protection {
    struct buf *buf;
    const char *name; /* of the rules, before their number */
    unsigned count;
};

static void write_rule(struct protection *p, const char *field, const char *tool, const char *where,
                       const char *what)
{
    buf_text(p->buf, p->count > 0 ? ",\n    " : "\n    ");
    buf_printf(p->buf, "{\"id\": \"%s-%u\", \"effect\": \"deny\", \"match\": {\"%s\": ", p->name, ++p->count,
               field);
    json_write_string(p->buf, slice_of(tool));
    buf_printf(p->buf, ", \"%s\": ", where);
    json_write_string(p->buf, slice_of(what));
    buf_text(p->buf,
             ", \"tier\": \"admin\"}, \"reason\": \"what judges the agent is not the agent's to write\"}");
}

static void write_rules(struct protection *p, const struct host *host, const char *where, const char *what)
{
    for (const char *const *tool = host->shape->write_tools; *tool != NULL; tool++) {
        write_rule(p, "tool", *tool, where, what);
    }
    for (size_t j = 0; j < sizeof(write_prefixes) / sizeof(*write_prefixes); j++) {
        write_rule(p, "toolPrefix", write_prefixes[j], where, what);
    }
}

void host_write_protection(struct buf *buf, const struct host *host, const char *name,
                           const char *const *paths, size_t count)
{
    struct protection p = {.buf = buf, .name = name};
    buf_text(buf, "{\n  \"rules\": [");
    for (size_t i = 0; i < count; i++) {
        write_rules(&p, host, "pathPrefix", paths[i]);
    }
    if (host->steering->anywhere != NULL) {
        write_rules(&p, host, "pathComponent", host->steering->anywhere);
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
