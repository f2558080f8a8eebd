/* Which arguments are paths, whole trees, commands and URLs: what documents change of the built-in lists, which
 * names.c has.
 *
 * The changes under one key of one list are a group. Within a group the last change of a name stands; between
 * the groups that fit a call the one that is applied last: SERVER/TOOL before the tool's before that of the
 * server's before that of `*`. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/fold.h"
#include "call/arguments_inside_internal.h"

static const struct slice tree_tools[] = {
    {"directory_tree", 14}, {"search_files", 12}, {"Grep", 4}, {"Glob", 4}};
#define BUILT_IN_TREE SLICE("path")

/* Tools that list names only, whatever the case of theirs: no entries are looked for below their trees. */
static const struct slice listing_tools[] = {
    {"glob", 4},
    {"ls", 2},
    {"search_files", 12},
    {"list_files", 10},
    {"directory_tree", 14},
    {"list_directory_tree", 19},
    {"find_files", 10},
    {"find_path", 9},
};

/* Tools that do not go below a directory that they are given, whatever the case of their names. */
static const struct slice shallow_tools[] = {
    {"ls", 2},
    {"list_files", 10},
    {"list_directory", 14},
    {"list_directory_with_sizes", 25},
    {"list_dir", 8},
    {"create_directory", 16},
    {"make_directory", 14},
    {"mkdir", 5},
    {"get_file_info", 13},
    {"file_info", 9},
    {"stat", 4},
};

/* Tools whose `pattern` is what is searched for. */
static const struct slice grep_tools[] = {{"Grep", 4}, {"grep_search", 11}, {"search_file_content", 19}};

struct group {
    uint32_t hash;
    enum argument_list list;
    struct slice key;
    uint32_t first, last; /* of its changes */
};

/* What the operator's own documents say of a name, whatever workspace files add. */
enum operators_word {
    OPERATORS_SILENT = 0,
    OPERATORS_ADDED,
    OPERATORS_TAKEN,
};

struct change {
    uint32_t hash;
    uint32_t group;
    uint32_t next; /* in its group; 0 at the end */
    bool added;    /* or taken away */
    enum operators_word operators;
    struct slice name;
};

/* Open addressing over numbers that count from 1; 0 is free. */
struct table {
    uint32_t *slots;
    uint32_t mask;
};

struct argument_lists {
    struct arena arena; /* the texts */
    struct group *groups;
    uint32_t group_count, group_cap;
    struct change *changes;
    uint32_t change_count, change_cap;
    struct table by_key, by_name;
};

struct argument_lists *argument_lists_create(void)
{
    struct argument_lists *arguments = calloc(1, sizeof(*arguments));
    if (arguments != NULL) {
        arena_init(&arguments->arena, 0);
    }
    return arguments;
}

void argument_lists_destroy(struct argument_lists *arguments)
{
    if (arguments == NULL) {
        return;
    }
    free(arguments->groups);
    free(arguments->changes);
    free(arguments->by_key.slots);
    free(arguments->by_name.slots);
    arena_finish(&arguments->arena);
    free(arguments);
}

/* ---- Hashes: FNV-1a; the strings in the tables are the operator's ---- */

static uint32_t hash_byte(uint32_t hash, unsigned char byte)
{
    return (hash ^ byte) * 16777619u;
}

static uint32_t hash_text(uint32_t hash, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        hash = hash_byte(hash, (unsigned char)text.ptr[i]);
    }
    return hash;
}

#define HASH_SEED 2166136261u

/* ---- A key that need not stand in one piece: SERVER, `/` and TOOL, or a tool alone ---- */

struct key {
    struct slice server; /* ptr NULL: none */
    struct slice tool;
};

static uint32_t hash_key(enum argument_list list, const struct key *key)
{
    uint32_t hash = hash_byte(HASH_SEED, (unsigned char)list);
    if (key->server.ptr != NULL) {
        hash = hash_byte(hash_text(hash, key->server), '/');
    }
    return hash_text(hash, key->tool);
}

static bool key_is(const struct key *key, struct slice text)
{
    if (key->server.ptr == NULL) {
        return slice_eq(key->tool, text);
    }
    size_t slash = key->server.len;
    return text.len == slash + 1 + key->tool.len && text.ptr[slash] == '/' &&
           slice_starts_with(text, key->server) && slice_ends_with(text, key->tool);
}

static uint32_t find_group(const struct argument_lists *arguments, enum argument_list list,
                           const struct key *key)
{
    const struct table *table = &arguments->by_key;
    if (table->slots == NULL) {
        return 0;
    }
    uint32_t hash = hash_key(list, key);
    for (uint32_t at = hash & table->mask; table->slots[at] != 0; at = (at + 1) & table->mask) {
        const struct group *group = &arguments->groups[table->slots[at] - 1];
        if (group->hash == hash && group->list == list && key_is(key, group->key)) {
            return table->slots[at];
        }
    }
    return 0;
}

static uint32_t hash_name(uint32_t group, struct slice name)
{
    return fold_hash(name) ^ (group * 2654435761u);
}

static uint32_t find_change(const struct argument_lists *arguments, uint32_t group, struct slice name)
{
    const struct table *table = &arguments->by_name;
    if (group == 0 || table->slots == NULL) {
        return 0;
    }
    uint32_t hash = hash_name(group, name);
    for (uint32_t at = hash & table->mask; table->slots[at] != 0; at = (at + 1) & table->mask) {
        const struct change *change = &arguments->changes[table->slots[at] - 1];
        if (change->hash == hash && change->group == group && fold_eq(change->name, name)) {
            return table->slots[at];
        }
    }
    return 0;
}

/* ---- Adding ---- */

static void *grow(void *array, uint32_t count, uint32_t *cap, size_t size)
{
    if (count < *cap) {
        return array;
    }
    uint32_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = more > UINT32_MAX / 4 ? NULL : realloc(array, more * size);
    if (grown != NULL) {
        *cap = more;
    }
    return grown;
}

static void table_put(struct table *table, uint32_t hash, uint32_t number)
{
    uint32_t at = hash & table->mask;
    while (table->slots[at] != 0) {
        at = (at + 1) & table->mask;
    }
    table->slots[at] = number;
}

/* Room for one more than `count`; an empty table when it had to grow, to be filled again. */
static bool table_room(struct table *table, uint32_t count, bool *ret_emptied)
{
    uint32_t size = table->slots == NULL ? 0 : table->mask + 1;
    *ret_emptied = false;
    if (count < size / 2) {
        return true;
    }
    uint32_t more = size == 0 ? 32 : size * 2;
    uint32_t *slots = calloc(more, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    free(table->slots);
    *table = (struct table){slots, more - 1};
    *ret_emptied = true;
    return true;
}

static uint32_t add_group(struct argument_lists *arguments, enum argument_list list, struct slice key)
{
    struct group *groups =
        grow(arguments->groups, arguments->group_count, &arguments->group_cap, sizeof(*groups));
    struct slice copy = arena_copy(&arguments->arena, key);
    bool emptied;
    if (groups != NULL) {
        arguments->groups = groups;
    }
    if (groups == NULL || copy.ptr == NULL ||
        !table_room(&arguments->by_key, arguments->group_count, &emptied)) {
        return 0;
    }
    uint32_t hash = hash_key(list, &(struct key){.tool = copy});
    groups[arguments->group_count++] = (struct group){.hash = hash, .list = list, .key = copy};
    for (uint32_t i = emptied ? 0 : arguments->group_count - 1; i < arguments->group_count; i++) {
        table_put(&arguments->by_key, groups[i].hash, i + 1);
    }
    return arguments->group_count;
}

static uint32_t add_change(struct argument_lists *arguments, uint32_t group, struct slice name)
{
    struct change *changes =
        grow(arguments->changes, arguments->change_count, &arguments->change_cap, sizeof(*changes));
    struct slice copy = arena_copy(&arguments->arena, name);
    bool emptied;
    if (changes != NULL) {
        arguments->changes = changes;
    }
    if (changes == NULL || copy.ptr == NULL ||
        !table_room(&arguments->by_name, arguments->change_count, &emptied)) {
        return 0;
    }
    changes[arguments->change_count++] =
        (struct change){.hash = hash_name(group, copy), .group = group, .name = copy};
    for (uint32_t i = emptied ? 0 : arguments->change_count - 1; i < arguments->change_count; i++) {
        table_put(&arguments->by_name, changes[i].hash, i + 1);
    }
    struct group *owner = &arguments->groups[group - 1];
    if (owner->first == 0) {
        owner->first = arguments->change_count;
    } else {
        changes[owner->last - 1].next = arguments->change_count;
    }
    owner->last = arguments->change_count;
    return arguments->change_count;
}

bool argument_lists_change(struct argument_lists *arguments, enum argument_list list, struct slice key,
                           struct slice name, enum argument_source source)
{
    bool added = name.len == 0 || name.ptr[0] != '-';
    if (!added) {
        name = slice_from(name, 1);
    }
    uint32_t group = find_group(arguments, list, &(struct key){.tool = key});
    if (group == 0) {
        group = add_group(arguments, list, key);
    }
    uint32_t change = group == 0 ? 0 : find_change(arguments, group, name);
    if (group != 0 && change == 0) {
        change = add_change(arguments, group, name);
    }
    if (change == 0) {
        return false;
    }
    arguments->changes[change - 1].added = added;
    if (source == ARGUMENT_SOURCE_OPERATOR) {
        arguments->changes[change - 1].operators = added ? OPERATORS_ADDED : OPERATORS_TAKEN;
    }
    return true;
}

/* ---- Asking ---- */

static bool is_one_of(struct slice tool, const struct slice *tools, size_t count, bool folded)
{
    for (size_t i = 0; i < count; i++) {
        if (folded ? slice_eq_ascii_case(tool, tools[i]) : slice_eq(tool, tools[i])) {
            return true;
        }
    }
    return false;
}

#define IS_ONE_OF(tool, tools, folded) is_one_of(tool, tools, sizeof(tools) / sizeof(*(tools)), folded)

struct argument_view argument_view_of(const struct argument_lists *arguments, const struct call_name *name)
{
    struct argument_view view = {.arguments = arguments};
    const struct slice none = {NULL, 0};
    const struct key keys[ARGUMENT_KEYS] = {
        [ARGUMENT_KEY_SERVER_TOOL] = {name->has_server ? name->server : none, name->tool},
        [ARGUMENT_KEY_TOOL] = {none, name->tool},
        [ARGUMENT_KEY_SERVER] = {name->has_server ? name->server : none, SLICE("*")},
        [ARGUMENT_KEY_ANY] = {none, SLICE("*")},
    };
    for (int key = 0; key < ARGUMENT_KEYS && arguments->group_count != 0; key++) {
        bool servers = key == ARGUMENT_KEY_SERVER_TOOL || key == ARGUMENT_KEY_SERVER;
        if (servers && !name->has_server) {
            continue;
        }
        for (int list = 0; list < ARGUMENT_LISTS; list++) {
            view.groups[list][key] = find_group(arguments, (enum argument_list)list, &keys[key]);
            view.changed = view.changed || view.groups[list][key] != 0;
        }
    }
    view.built_in_tree = IS_ONE_OF(name->tool, tree_tools, false);
    view.names_only = IS_ONE_OF(name->tool, listing_tools, true);
    view.no_trees = IS_ONE_OF(name->tool, shallow_tools, true);
    view.greps = IS_ONE_OF(name->tool, grep_tools, false);
    return view;
}

/* Without any workspace file. */
static bool listed_by_operator(const struct argument_view *view, enum argument_list list,
                               struct slice argument, bool built_in)
{
    for (int key = 0; key < ARGUMENT_KEYS; key++) {
        uint32_t change = find_change(view->arguments, view->groups[list][key], argument);
        enum operators_word word =
            change == 0 ? OPERATORS_SILENT : view->arguments->changes[change - 1].operators;
        if (word != OPERATORS_SILENT) {
            return word == OPERATORS_ADDED;
        }
    }
    return built_in;
}

enum argument_claim argument_is(const struct argument_view *view, enum argument_list list,
                                struct slice argument, bool built_in)
{
    bool is = built_in, changed = false;
    if (!view->changed) {
        return built_in ? ARGUMENT_CLAIM_SURE : ARGUMENT_CLAIM_NONE;
    }
    for (int key = 0; key < ARGUMENT_KEYS && !changed; key++) {
        uint32_t change = find_change(view->arguments, view->groups[list][key], argument);
        changed = change != 0;
        is = changed ? view->arguments->changes[change - 1].added : is;
    }
    if (!is) {
        return changed ? ARGUMENT_CLAIM_TAKEN : ARGUMENT_CLAIM_NONE;
    }
    return !changed || listed_by_operator(view, list, argument, built_in) ? ARGUMENT_CLAIM_SURE
                                                                          : ARGUMENT_CLAIM_WORKSPACE;
}

static bool is_built_in_tree(const struct argument_view *view, struct slice argument)
{
    return view->built_in_tree && fold_eq(argument, BUILT_IN_TREE);
}

enum argument_claim argument_is_tree(const struct argument_view *view, struct slice argument)
{
    return argument_is(view, ARGUMENT_TREES, argument, is_built_in_tree(view, argument));
}

static bool is_tree(const struct argument_view *view, struct slice argument)
{
    return argument_is_tree(view, argument) >= ARGUMENT_CLAIM_WORKSPACE;
}

/* Whether the walk came by this name before it reaches the group of this stage. */
static bool walked(const struct argument_view *view, unsigned stage, struct slice argument)
{
    bool found = is_built_in_tree(view, argument);
    for (unsigned earlier = 1; earlier < stage; earlier++) {
        found = found || find_change(view->arguments, view->groups[ARGUMENT_TREES][ARGUMENT_KEYS - earlier],
                                     argument) != 0;
    }
    return found;
}

bool argument_next_tree(const struct argument_view *view, struct tree_position *position,
                        struct slice *ret_argument)
{
    /* Stage 0 is the built-in name, then come the groups in the order in which they are applied. */
    if (position->stage == 0) {
        *position = (struct tree_position){1, 0};
        if (view->built_in_tree && is_tree(view, BUILT_IN_TREE)) {
            *ret_argument = BUILT_IN_TREE;
            return true;
        }
    }
    while (position->stage <= ARGUMENT_KEYS) {
        uint32_t group = view->groups[ARGUMENT_TREES][ARGUMENT_KEYS - position->stage];
        uint32_t next = group == 0              ? 0
                        : position->change == 0 ? view->arguments->groups[group - 1].first
                                                : view->arguments->changes[position->change - 1].next;
        position->change = next;
        if (next == 0) {
            position->stage++;
            continue;
        }
        struct slice name = view->arguments->changes[next - 1].name;
        if (!walked(view, position->stage, name) && is_tree(view, name)) {
            *ret_argument = name;
            return true;
        }
    }
    return false;
}

bool argument_views_alike(const struct argument_view *a, const struct argument_view *b)
{
    bool alike = a->built_in_tree == b->built_in_tree && a->names_only == b->names_only &&
                 a->no_trees == b->no_trees && a->greps == b->greps;
    for (int list = 0; list < ARGUMENT_LISTS; list++) {
        for (int key = 0; key < ARGUMENT_KEYS; key++) {
            alike = alike && a->groups[list][key] == b->groups[list][key];
        }
    }
    return alike;
}
