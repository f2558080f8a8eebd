/* A policy's side of reading calls, for tests: what its rules could look at, and the readings as one text. `#` stands
 * for the temporary directory. */
#ifndef TESTS_CALL_WORLD_H
#define TESTS_CALL_WORLD_H

#include <stdlib.h>

#include "call/readings.h"
#include "check.h"
#include "command/command.h"
#include "tree.h"
#include "url/url.h"

static struct readings readings;
static struct json_doc doc;
static struct argument_lists *arguments;
static struct path_prefixes *prefixes;
static struct reading_interest interest;
static struct path_base base;
static struct slice components[8];
static struct url_pattern hosts[8];
static struct call_name names[3] = {{.tool = {"t", 1}}};
static size_t name_count = 1;
static char home[PATH_MAX];

static inline const char *world_text(const char *text)
{
    static char texts[8][1 << 16];
    static unsigned turn;
    char *out = texts[turn++ % 8], *at = out;
    for (; *text != '\0'; text++) {
        if (*text == '#') {
            at = stpcpy(at, tree_root);
        } else {
            *at++ = *text;
        }
    }
    *at = '\0';
    return out;
}

static inline void world_class(unsigned fields)
{
    interest.classes |= 1u << fields;
}

static inline void world_policy(const char *tool)
{
    argument_lists_destroy(arguments);
    path_prefixes_destroy(prefixes);
    arguments = argument_lists_create();
    prefixes = path_prefixes_create();
    tree_need(arguments != NULL && prefixes != NULL, "policy");
    interest = (struct reading_interest){.components = components, .hosts = hosts};
    names[0] = (struct call_name){.tool = slice_of(tool)};
    name_count = 1;
    base.root_count = 0;
    base.server_home = (struct slice){NULL, 0};
}

static inline void world_prefix(const char *text)
{
    uint32_t id;
    CHECK(path_prefixes_add(prefixes, &base, slice_of(world_text(text)), &id, NULL) == PATH_PREFIX_OK);
}

static inline void world_component(const char *text)
{
    components[interest.component_count++] = slice_of(text);
}

static inline void world_host(const char *text)
{
    CHECK(url_pattern_read(slice_of(text), &hosts[interest.host_count++]) == NULL);
    qsort(hosts, interest.host_count, sizeof(*hosts), url_pattern_order);
}

static inline void world_change(enum argument_list list, const char *key, const char *name)
{
    CHECK(argument_lists_change(arguments, list, slice_of(key), slice_of(name), ARGUMENT_SOURCE_OPERATOR));
}

static inline enum readings_result world_make(const char *input, unsigned flags)
{
    const struct json_options options = {.max_depth = 100, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    bool parsed = json_parse(&doc, slice_of(input), &options, &error);
    CHECK(parsed);
    struct call call = {.names = names, .name_count = name_count, .doc = &doc, .input = json_root(&doc)};
    return parsed ? readings_make(&readings, &call, &base, arguments, prefixes, &interest, flags)
                  : READINGS_NO_MEMORY;
}

static inline void world_append_path(struct buf *text, struct slice path)
{
    bool inside = path_is_under(path, slice_of(tree_root));
    buf_text(text, inside ? "#" : "");
    buf_slice(text, inside ? slice_from(path, strlen(tree_root)) : path);
}

static inline void world_append_command(struct buf *text, const struct command *command)
{
    if ((command->flags & COMMAND_UNREADABLE) != 0) {
        buf_text(text, "{?}");
        return;
    }
    for (uint32_t i = 0; i < command->count; i++) {
        buf_text(text, i == 0 ? "{" : " ");
        buf_slice(text, command_word_at(command, i)->text);
    }
    buf_text(text, "}");
}

/* As PATH{COMMAND}@HOST, `?` for unreadable, `-` for none of these; ` |` before what is read aside. */
static inline void world_append(struct buf *text, const struct reading *reading)
{
    static const char *const vias[] = {"", "=", "<", "<<", "@@"};
    size_t before = text->len;
    if (reading->kind == READING_PATH) {
        buf_text(text, vias[reading->via]);
        world_append_path(text, reading->path);
    } else if (reading->kind == READING_UNREADABLE) {
        buf_text(text, "?");
    }
    if (reading->command != NULL) {
        world_append_command(text, reading->command->command);
    }
    if (reading->host_kind != READING_NO_HOST) {
        buf_text(text, "@");
        buf_slice(text, reading->host_kind == READING_HOST ? reading->host : SLICE("?"));
    }
    buf_text(text, before == text->len ? "-" : "");
}

static inline void world_check(int line, const char *input, const char *want)
{
    struct buf got;
    buf_init(&got, 1 << 20);
    enum readings_result result = world_make(world_text(input), 0);
    for (size_t i = 0; i < readings.count; i++) {
        bool first = readings.list[i].aside && (i == 0 || !readings.list[i - 1].aside);
        buf_text(&got, first ? (i == 0 ? "| " : " | ") : i == 0 ? "" : " ");
        world_append(&got, &readings.list[i]);
    }
    bool same = result == READINGS_OK && slice_is(buf_slice_of(&got), want);
    if (!same) {
        printf("line %d: %s\n    want %s\n    got  %.*s (%d)\n", line, input, want, (int)got.len, got.ptr,
               result);
    }
    CHECK(same);
    buf_finish(&got);
}
#define READ(input, want) world_check(__LINE__, input, want)

static inline void world_begin(void)
{
    tree_begin();
    (void)snprintf(home, sizeof(home), "%s", world_text("#/home"));
    base = (struct path_base){.cwd = slice_of(tree_root), .home = slice_of(home)};
    json_init(&doc);
    tree_need(readings_init(&readings), "readings_init");
}

static inline int world_end(void)
{
    readings_finish(&readings);
    json_finish(&doc);
    argument_lists_destroy(arguments);
    path_prefixes_destroy(prefixes);
    tree_end();
    return check_done();
}

#endif
