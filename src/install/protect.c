/* Rules that keep an agent from writing what judges it: policy, settings, state. */
#include "install/internal.h"

/* How tools of MCP servers that write files begin, by habit. */
static const char *const write_prefixes[] = {
    "append_", "copy_",   "create_", "delete_",  "edit_",   "insert_", "move_",
    "patch_",  "remove_", "rename_", "replace_", "update_", "write_",
};

struct protection {
    struct buf *buf;
    unsigned count;
};

static void write_rule(struct protection *p, const char *field, const char *tool, const char *where,
                       const char *what)
{
    buf_text(p->buf, p->count ? ",\n    " : "\n    ");
    buf_printf(p->buf,
               "{\"id\": \"callgate-protect-%u\", \"effect\": \"deny\", \"match\": {\"%s\": ", ++p->count,
               field);
    json_write_string(p->buf, slice_of(tool));
    buf_printf(p->buf, ", \"%s\": ", where);
    json_write_string(p->buf, slice_of(what));
    buf_text(p->buf, "}, \"reason\": \"what judges the agent is not the agent's to write\"}");
}

static void write_rules(struct protection *p, const struct host *host, const char *where, const char *what)
{
    for (const char *const *tool = host->shape->write_tools; *tool != NULL; tool++) {
        write_rule(p, "tool", *tool, where, what);
    }
    for (size_t i = 0; i < sizeof(write_prefixes) / sizeof(*write_prefixes); i++) {
        write_rule(p, "toolPrefix", write_prefixes[i], where, what);
    }
}

void write_protection(struct buf *buf, const struct host *host, const char *const *paths, size_t count)
{
    struct protection p = {.buf = buf};
    buf_text(buf, "{\n  \"rules\": [");
    for (size_t i = 0; i < count; i++) {
        write_rules(&p, host, "pathPrefix", paths[i]);
    }
    if (host->shape->protect_component != NULL) {
        write_rules(&p, host, "pathComponent", host->shape->protect_component);
    }
    buf_text(buf, "\n  ]\n}\n");
}
