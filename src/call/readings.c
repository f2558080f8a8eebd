/* The readings of a call, put together from what it names: each name with each command, path and host, then what is
 * read aside. */
#include "call/readings.h"

#include <stdlib.h>

#include "base/random.h"
#include "call/internal.h"

/* What a large call took beyond this is given back before the next. */
#define KEPT_BYTES      ((size_t)1 << 20)
#define KEPT_READINGS   ((size_t)1 << 11)
#define READINGS_MEMORY ((size_t)1 << 30)

/* ---- For a process ---- */

static bool make_parts(struct scratch *scratch)
{
    scratch->workspace = calloc(1, sizeof(*scratch->workspace));
    scratch->files = path_files_create();
    scratch->unicode = path_unicode_create();
    scratch->walker = path_walker_create();
    scratch->globber = path_globber_create(scratch->walker);
    scratch->reader = command_reader_create();
    scratch->command_state = commands_create();
    buf_init(&scratch->uri, LIMIT_MESSAGE_BYTES);
    buf_init(&scratch->text, LIMIT_MESSAGE_BYTES);
    buf_init(&scratch->user, LIMIT_MESSAGE_BYTES);
    json_init(&scratch->inner);
    scratch->aside.aside = true;
    return scratch->workspace != NULL && scratch->files != NULL && scratch->unicode != NULL &&
           scratch->walker != NULL && scratch->globber != NULL && scratch->reader != NULL &&
           scratch->command_state != NULL && random_bytes(&scratch->seed, sizeof(scratch->seed));
}

bool readings_init(struct readings *readings)
{
    *readings = (struct readings){.list = NULL};
    arena_init(&readings->arena, READINGS_MEMORY);
    readings->scratch = calloc(1, sizeof(*readings->scratch));
    if (readings->scratch == NULL || !make_parts(readings->scratch)) {
        readings_finish(readings);
        return false;
    }
    readings->scratch->out = readings;
    return true;
}

static void finish_scratch(struct scratch *scratch)
{
    for (unsigned i = 0; i < scratch->texts_made; i++) {
        json_finish(&scratch->texts[i]);
    }
    json_finish(&scratch->inner);
    sink_finish(&scratch->paths);
    sink_finish(&scratch->hosts);
    sink_finish(&scratch->aside);
    starts_finish(&scratch->starts);
    starts_finish(&scratch->directories);
    path_names_destroy(scratch->components);
    path_globber_destroy(scratch->globber);
    path_walker_destroy(scratch->walker);
    path_unicode_destroy(scratch->unicode);
    path_files_destroy(scratch->files);
    command_reader_destroy(scratch->reader);
    commands_destroy(scratch->command_state);
    buf_finish(&scratch->uri);
    buf_finish(&scratch->text);
    buf_finish(&scratch->user);
    free(scratch->items);
    free(scratch->ids);
    free(scratch->workspace);
    free(scratch);
}

void readings_finish(struct readings *readings)
{
    if (readings->scratch != NULL) {
        finish_scratch(readings->scratch);
    }
    free(readings->list);
    arena_finish(&readings->arena);
    *readings = (struct readings){.list = NULL};
}

/* ---- What all files count ---- */

bool call_no_memory(struct scratch *scratch)
{
    scratch->fault = READINGS_NO_MEMORY;
    return false;
}

bool call_over_limit(struct scratch *scratch, const char *limit)
{
    scratch->out->limit = limit;
    scratch->fault = READINGS_OVER_LIMIT;
    return false;
}

bool call_spend(struct scratch *scratch, size_t work)
{
    scratch->work += work;
    return scratch->work <= LIMIT_CALL_WORK || call_over_limit(scratch, "1000000 components of paths");
}

bool call_count_string(struct scratch *scratch)
{
    scratch->strings++;
    return scratch->strings <= LIMIT_CALL_PATHS || call_over_limit(scratch, "4096 strings read as paths");
}

bool call_grow(void **array, size_t count, size_t *cap, size_t size, size_t most)
{
    if (count < *cap) {
        return true;
    }
    size_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = count >= most ? NULL : realloc(*array, more * size);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *cap = more;
    return true;
}

/* ---- What the rules can look at ---- */

/* Whether some rule has all of `with` and none of `without`. */
static bool some_rule(uint32_t classes, unsigned with, unsigned without)
{
    for (unsigned class = 0; class < READING_FIELD_CLASSES; class ++) {
        if ((classes >> class & 1) != 0 && (class & with) == with && (class & without) == 0) {
            return true;
        }
    }
    return false;
}

/* A rule with command fields asks the command for its places, so what a command acts on is read aside for the others.
 * A rule by path or host in front of a deny by command takes only that which it names, so that the deny meets the
 * command with any other place or host: so then, too, both of them. */
static struct needs find_needs(const struct reading_interest *interest, unsigned flags)
{
    const unsigned path = READING_FIELD_PATH, command = READING_FIELD_COMMAND, host = READING_FIELD_HOST,
                   strict = READING_FIELD_STRICT;
    struct needs needs = {.paths = (flags & READINGS_NO_RESOLVE) == 0};
    if (interest != NULL) {
        uint32_t classes = interest->classes;
        bool bare = some_rule(classes, READING_FIELD_BARE, 0),
             denies = some_rule(classes, strict | command, 0);
        needs.paths = needs.paths && (bare || some_rule(classes, path, 0));
        needs.commands = bare || some_rule(classes, command, 0);
        needs.hosts = bare || some_rule(classes, host, 0);
        bool narrow = some_rule(classes, path, command) || some_rule(classes, host, command);
        needs.aside_paths = some_rule(classes, strict | path, command | host);
        needs.aside_hosts = some_rule(classes, strict | host, command | path);
        needs.command_paths = needs.aside_paths || (denies && narrow);
        needs.command_hosts = needs.aside_hosts || (denies && narrow);
        needs.command_places = some_rule(classes, path | command, 0);
        needs.command_urls = some_rule(classes, host | command, 0);
        needs.inner_alone = denies;
        needs.inner_acts = needs.command_paths || needs.command_hosts;
        /* The places of an inner command that has its owner's words are its owner's: they matter where rules tell the
         * two commands apart. */
        needs.inner_likes = needs.inner_acts && some_rule(classes, command, 0);
        needs.inner_commands = denies || needs.inner_acts;
        needs.commands = needs.commands || needs.command_paths || needs.command_hosts;
    }
    if ((flags & READINGS_REMOTE) != 0) {
        needs.paths = needs.aside_paths = needs.command_paths = false;
    }
    if ((flags & READINGS_NO_RESOLVE) != 0) {
        needs.aside_paths = needs.command_paths = false;
    }
    return needs;
}

static bool needs_any(const struct scratch *scratch)
{
    const struct needs *needs = &scratch->needs;
    return scratch->interest == NULL || needs->paths || needs->commands || needs->hosts ||
           needs->aside_paths || needs->aside_hosts;
}

/* ---- For a call, a name ---- */

static void begin_call(struct scratch *scratch)
{
    struct readings *out = scratch->out;
    if (out->arena.total > KEPT_BYTES) {
        arena_finish(&out->arena);
        arena_init(&out->arena, READINGS_MEMORY);
    }
    arena_reset(&out->arena);
    if (out->cap > KEPT_READINGS) {
        free(out->list);
        out->list = NULL;
        out->cap = 0;
    }
    out->count = 0;
    out->strings = 0;
    scratch->top = scratch->home = scratch->server_home = (struct path_start){.usable = false};
    scratch->starts_made = false;
    scratch->work = 0;
    for (size_t i = 0; i < 3; i++) {
        scratch->entries_left[i] = LIMIT_TREE_ENTRIES;
    }
    scratch->fault = READINGS_OK;
    path_names_destroy(scratch->components);
    scratch->components = NULL;
    if (scratch->needs.commands) {
        command_reader_reset(scratch->reader);
    }
}

static void begin_name(struct scratch *scratch, size_t name)
{
    scratch->name = (uint16_t)name;
    scratch->strings = 0;
    scratch->sure_paths = scratch->sure_commands = scratch->sure_hosts = false;
    scratch->item_count = 0;
    scratch->aside_split = 0;
    sink_clear(&scratch->paths);
    sink_clear(&scratch->hosts);
    sink_clear(&scratch->aside);
    starts_clear(&scratch->directories);
    commands_begin(scratch);
}

/* ---- Readings ---- */

bool readings_append(struct scratch *scratch, struct reading reading)
{
    struct readings *out = scratch->out;
    void *list = out->list;
    reading.name = scratch->name;
    if (out->count == LIMIT_READINGS) {
        return call_over_limit(scratch, "16384 readings");
    }
    if (!call_grow(&list, out->count, &out->cap, sizeof(reading), LIMIT_READINGS)) {
        return call_no_memory(scratch);
    }
    out->list = list;
    out->list[out->count++] = reading;
    return true;
}

/* One command, or none, with each path and each host. */
static bool append_with(struct scratch *scratch, const struct reading_command *command)
{
    const struct sink *paths = &scratch->paths, *hosts = &scratch->hosts;
    for (size_t i = 0; i < paths->count; i++) {
        for (size_t j = 0; j < hosts->count; j++) {
            struct reading reading = paths->list[i];
            reading.command = command;
            reading.host_kind = hosts->list[j].host_kind;
            reading.host = hosts->list[j].host;
            reading.host_value = hosts->list[j].host_value;
            if (!readings_append(scratch, reading)) {
                return false;
            }
        }
    }
    return true;
}

/* What the call names in each combination; where it may name none, none is one more. */
static bool append_own(struct scratch *scratch)
{
    const struct reading no_path = {.kind = READING_NO_PATH}, no_host = {.host_kind = READING_NO_HOST};
    if ((!(scratch->sure_paths && scratch->needs.paths) && !sink_append(scratch, &scratch->paths, no_path)) ||
        (!scratch->sure_hosts && !sink_append(scratch, &scratch->hosts, no_host))) {
        return false;
    }
    for (size_t i = 0; i < scratch->own_commands; i++) {
        if (!append_with(scratch, scratch->commands[i])) {
            return false;
        }
    }
    bool none = !scratch->sure_commands || scratch->own_commands == 0;
    return !none || append_with(scratch, NULL);
}

static uint32_t string_of(const struct reading *reading)
{
    return reading->host_kind != READING_NO_HOST ? reading->host_value : reading->value;
}

/* What path arguments mean besides was found first, then what other strings may name; both stand in the order of the
 * strings. A string that is read aside says nothing new where the call itself names the same alone. */
static bool append_aside(struct scratch *scratch)
{
    const struct sink *aside = &scratch->aside;
    bool alone = scratch->own_commands == 0;
    size_t split = scratch->aside_split, first = 0, second = split;
    while (first < split || second < aside->count) {
        bool one = first < split && (second == aside->count ||
                                     string_of(&aside->list[first]) <= string_of(&aside->list[second]));
        struct reading reading = aside->list[one ? first++ : second++];
        bool host = reading.host_kind != READING_NO_HOST;
        if (!host && reading.kind == READING_NO_PATH) { /* an earlier string names it as well */
            continue;
        }
        if (alone && !host && scratch->hosts.set.used == 0 && !scratch->hosts.unreadable &&
            set_find(&scratch->paths.set, scratch->seed, reading.path) != NULL) {
            continue;
        }
        reading.kind = host ? READING_NO_PATH : reading.kind;
        reading.aside = true;
        if (!readings_append(scratch, reading)) {
            return false;
        }
    }
    return true;
}

static bool make_for_name(struct scratch *scratch)
{
    return walk_input(scratch) && commands_resolve(scratch) && aside_read(scratch) && append_own(scratch) &&
           commands_append_aside(scratch) && append_aside(scratch);
}

/* Most names of one call have the same arguments; the files are not looked at again for them. */
static bool copy_for_name(struct scratch *scratch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!readings_append(scratch, scratch->out->list[i])) {
            return false;
        }
    }
    return true;
}

/* One reading without anything for each name: no rule could look at more, or there is no input to look at. */
static bool make_bare(struct scratch *scratch)
{
    const struct reading none = {.kind = READING_NO_PATH};
    scratch->out->count = 0;
    scratch->out->strings = 0;
    for (size_t i = 0; i < scratch->call->name_count; i++) {
        scratch->name = (uint16_t)i;
        if (i > UINT16_MAX) {
            return call_over_limit(scratch, "65535 names of the tool");
        }
        if (!readings_append(scratch, none)) {
            return false;
        }
    }
    return true;
}

static bool make_all(struct scratch *scratch)
{
    const struct call *call = scratch->call;
    struct argument_view first = {.arguments = scratch->arguments};
    size_t first_count = 0;
    if (call->name_count > UINT16_MAX) {
        return call_over_limit(scratch, "65535 names of the tool");
    }
    for (size_t i = 0; i < call->name_count; i++) {
        begin_name(scratch, i);
        scratch->view = argument_view_of(scratch->arguments, &call->names[i]);
        bool alike = i > 0 && argument_views_alike(&first, &scratch->view);
        if (alike ? !copy_for_name(scratch, first_count) : !make_for_name(scratch)) {
            return false;
        }
        if (scratch->strings > scratch->out->strings) {
            scratch->out->strings = scratch->strings;
        }
        if (i == 0) {
            first = scratch->view;
            first_count = scratch->out->count;
        }
    }
    return true;
}

enum readings_result readings_make(struct readings *readings, const struct call *call,
                                   const struct path_base *base, const struct argument_lists *arguments,
                                   const struct path_prefixes *prefixes,
                                   const struct reading_interest *interest, unsigned flags)
{
    struct scratch *scratch = readings->scratch;
    scratch->call = call;
    scratch->base = base;
    scratch->arguments = arguments;
    scratch->prefixes = prefixes;
    scratch->interest = interest;
    scratch->flags = flags;
    scratch->fault = READINGS_OK;
    /* They are the same for all calls of a policy. */
    uint32_t classes = interest == NULL ? 0 : interest->classes;
    if (!scratch->needs_made || scratch->needs_classes != classes || scratch->needs_flags != flags ||
        scratch->needs_open != (interest == NULL)) {
        scratch->needs = find_needs(interest, flags);
        scratch->needs_made = true;
        scratch->needs_classes = classes;
        scratch->needs_flags = flags;
        scratch->needs_open = interest == NULL;
    }
    bool bare = call->input == NULL || !needs_any(scratch), good = true;
    if (prefixes->count > 0 || !bare) {
        good = path_files_look(scratch->files, prefixes, (flags & READINGS_STILL) != 0) ||
               call_no_memory(scratch);
    }
    if (good && !bare) {
        begin_call(scratch);
    }
    if (!good || !(bare ? make_bare(scratch) : make_all(scratch))) {
        readings->count = 0;
        return scratch->fault;
    }
    return READINGS_OK;
}
