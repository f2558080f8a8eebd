/* A gate whose door is elsewhere, and the servers that a policy names, which its clients ask for. */
#include "gate/door.h"

#include <stdlib.h>
#include <string.h>

#include "gate/internal.h"

struct gate *gate_of_door(const struct gate_door *door, void *self)
{
    struct gate *gate = calloc(1, sizeof(*gate));
    if (gate != NULL) {
        gate->door = door;
        gate->door_self = self;
    }
    return gate;
}

bool gate_is_movable(const struct gate *gate)
{
    return !gate->policy->prefixes->relative;
}

/* ---- Servers ---- */

struct names {
    struct arena *arena;
    struct slice *list;
    size_t count, cap;
};

static bool add(struct names *names, struct slice name)
{
    if (names->count > 0 && slice_eq(names->list[names->count - 1], name)) {
        return true;
    }
    if (names->count == names->cap) {
        size_t cap = names->cap == 0 ? 8 : names->cap * 2;
        struct slice *larger = arena_array(names->arena, cap, sizeof(*larger));
        if (larger == NULL) {
            return false;
        }
        if (names->count > 0) {
            memcpy(larger, names->list, names->count * sizeof(*larger));
        }
        names->list = larger;
        names->cap = cap;
    }
    names->list[names->count++] = name;
    return true;
}

/* Every server that an entry `SERVER/TOOL` of the documents' lists may name; a server's name may hold a `/`. */
static bool add_of_entry(struct names *names, struct slice entry)
{
    for (size_t at = 1; at < entry.len; at++) {
        if (entry.ptr[at] == '/' && !add(names, (struct slice){entry.ptr, at})) {
            return false;
        }
    }
    return true;
}

static bool add_of_policy(struct names *names, const struct policy *policy)
{
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        uint32_t server = policy->rules[i].match.server;
        if (server != 0 && !add(names, policy_text(policy, server))) {
            return false;
        }
    }
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        const struct policy_entry *entry = &policy->entries[i];
        uint32_t symbol = entry->list == LIST_REQUIRED ? entry->name : entry->key;
        if (!add_of_entry(names, policy_text(policy, symbol))) {
            return false;
        }
    }
    return true;
}

bool gate_servers(struct gate *gate, struct arena *arena, struct slice **ret_names, size_t *ret_count)
{
    struct names names = {.arena = arena};
    if (gate->door != NULL) {
        return gate->door->servers(gate->door_self, arena, ret_names, ret_count);
    }
    if (!add_of_policy(&names, gate->policy)) {
        return false;
    }
    *ret_names = names.list;
    *ret_count = names.count;
    return true;
}
