#include "relay/relay.h"

bool relay_split(struct slice name, struct arena *arena, struct call_name **ret_names, size_t *ret_count)
{
    static const struct slice prefix = {"mcp__", 5};
    size_t count = 0;
    struct call_name *names = arena_array(arena, name.len + 1, sizeof *names);
    if (!names)
        return false;
    struct slice rest = slice_starts_with(name, prefix) ? slice_from(name, prefix.len) : (struct slice){0};
    /* "a___b" splits as "a" and "_b", and as "a_" and "b". */
    for (size_t i = 1; i + 2 < rest.len; i++)
        if (rest.ptr[i] == '_' && rest.ptr[i + 1] == '_')
            names[count++] = (struct call_name){
                .server = {rest.ptr, i}, .has_server = true, .tool = slice_from(rest, i + 2)};
    if (count == 0)
        names[count++] = (struct call_name){.tool = name};
    *ret_names = names;
    *ret_count = count;
    return true;
}
