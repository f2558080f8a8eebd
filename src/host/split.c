/* Where the flattened name of an MCP tool splits into server and tool. */
#include "host/internal.h"

#include <string.h>

/* More ways than this to understand one name is no name. */
#define SPLITS_MOST CALL_SPLITS_MOST

static bool plain(char c, const char *others)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || (others != NULL && c && strchr(others, c) != NULL);
}

struct slice spelled_name(struct arena *arena, struct slice name, const char *others)
{
    /* A character is one `_`, however many bytes it has; astral ones, that some hosts see as two, are two. */
    char *text = arena_alloc(arena, 2 * name.len + 1);
    size_t len = 0;
    if (text == NULL) {
        return (struct slice){0};
    }
    for (size_t i = 0; i < name.len; i++) {
        unsigned char byte = (unsigned char)name.ptr[i];
        if (byte >= 0x80 && byte < 0xc0) {
            continue; /* inside a character */
        }
        text[len++] = plain(name.ptr[i], others) ? name.ptr[i] : '_';
        if (byte >= 0xf0) {
            text[len++] = '_';
        }
    }
    return (struct slice){text, len};
}

static bool add(struct host_message *message, struct slice server, bool has_server, struct slice tool)
{
    for (size_t i = 0; i < message->name_count; i++) {
        const struct call_name *name = &message->names[i];
        if (name->has_server == has_server && slice_eq(name->server, server) && slice_eq(name->tool, tool)) {
            return true;
        }
    }
    if (message->name_count == SPLITS_MOST) {
        message->over_limit = true;
        return false;
    }
    message->names[message->name_count++] =
        (struct call_name){.server = server, .has_server = has_server, .tool = tool};
    return true;
}

/* The pairs with servers that the host knows: under the name it was configured with, and as spelled here.
 * *ret_known: one of them stands in the user's own configuration. A project's is a file that an agent can
 * write: it adds pairs, and takes none away. */
static bool add_known(struct host_message *message, struct slice flat, struct slice separator,
                      const struct host_servers *servers, bool *ret_known)
{
    *ret_known = false;
    for (size_t i = 0; i < servers->count; i++) {
        struct slice spelled = servers->list[i].spelled;
        if (spelled.len == 0 || flat.len <= spelled.len + separator.len ||
            !slice_starts_with(flat, spelled) ||
            !slice_starts_with(slice_from(flat, spelled.len), separator)) {
            continue;
        }
        struct slice tool = slice_from(flat, spelled.len + separator.len);
        if (!add(message, servers->list[i].name, true, tool) || !add(message, spelled, true, tool)) {
            return false;
        }
        *ret_known = *ret_known || !servers->list[i].of_project;
    }
    return true;
}

static bool add_every(struct host_message *message, struct slice flat, struct slice separator)
{
    struct call_name name;
    for (size_t at = 0; call_split_next(flat, separator, &at, &name);) {
        if (!add(message, name.server, true, name.tool)) {
            return false;
        }
    }
    return true;
}

bool split_name(struct host_message *message, struct slice flat, struct slice separator,
                const struct host_servers *servers, struct slice whole, bool whole_too)
{
    message->names = arena_array(&message->arena, SPLITS_MOST, sizeof(*message->names));
    message->name_count = 0;
    bool known;
    if (message->names == NULL || !add_known(message, flat, separator, servers, &known)) {
        return false;
    }
    if ((!known || servers->partial) && !add_every(message, flat, separator)) {
        return false;
    }
    if (message->name_count == 0 || (whole_too && !known)) {
        return add(message, (struct slice){0}, false, whole);
    }
    return true;
}

/* ---- Any server ---- */

static bool add_for_tools(struct host_message *message, const struct call_name *tools, size_t count,
                          struct slice server, bool has_server)
{
    for (size_t i = 0; i < count; i++) {
        if (!add(message, server, has_server, tools[i].tool)) {
            return false;
        }
    }
    return true;
}

bool names_of_every_server(struct host_message *message, const struct slice *servers, size_t server_count)
{
    const struct call_name *tools = message->names;
    size_t count = message->name_count;
    message->names = arena_array(&message->arena, SPLITS_MOST, sizeof(*message->names));
    message->name_count = 0;
    if (message->names == NULL) {
        return false;
    }
    for (size_t i = 0; i < server_count; i++) {
        if (!add_for_tools(message, tools, count, servers[i], true)) {
            return false;
        }
    }
    return add_for_tools(message, tools, count, (struct slice){0}, false);
}

bool message_take_mcp_name(struct host_message *message, const struct host *host,
                           const struct host_places *places)
{
    static const struct slice prefix = {"mcp__", 5}, separator = {"__", 2};
    struct host_servers servers = {0};
    struct slice tool;
    if (!message_text(message, "tool_name", "'tool_name' is not a non-empty string", &tool)) {
        return false;
    }
    if (!slice_starts_with(tool, prefix)) {
        return message_take_name(message, tool);
    }
    return host->servers(message, places, &servers) &&
           split_name(message, slice_from(tool, prefix.len), separator, &servers, tool, false);
}
