/* What was seen of calls, kept by server and tool. */
#include "setup/learn.h"

#include <stdlib.h>

#include "base/array.h"
#include "command/command.h"
#include "setup/learn_internal.h"
#include "url/url.h"

/* Programs whose second word says what they do. */
static const char *const two_words[] = {"git",     "npm",  "pnpm",   "yarn", "cargo",     "go",  "docker",
                                        "kubectl", "gh",   "pip",    "uv",   "systemctl", "aws", "terraform",
                                        "poetry",  "helm", "dotnet", "brew", "apt-get",   "apt", NULL};

struct learner *learner_create(void)
{
    struct learner *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        return NULL;
    }
    arena_init(&l->arena, (size_t)1 << 30);
    intern_init(&l->texts, &l->arena);
    l->reader = command_reader_create();
    if (l->reader == NULL) {
        learner_destroy(l);
        return NULL;
    }
    return l;
}

void learner_destroy(struct learner *l)
{
    if (l == NULL) {
        return;
    }
    for (size_t i = 0; i < l->count; i++) {
        for (size_t k = 0; k < LEARN_KINDS; k++) {
            free(l->groups[i].sets[k].list);
        }
    }
    free(l->groups);
    intern_finish(&l->texts);
    command_reader_destroy(l->reader);
    arena_finish(&l->arena);
    free(l);
}

/* The group of a server and tool; it is made when it is new. NULL when memory ran out. */
static struct learn_group *group_of(struct learner *l, const struct learned_call *call)
{
    uint32_t server = call->server.ptr != NULL ? intern_add(&l->texts, call->server) : 0;
    uint32_t tool = intern_add(&l->texts, call->tool);
    for (size_t i = 0; i < l->count; i++) {
        if (l->groups[i].server == server && l->groups[i].tool == tool) {
            return &l->groups[i];
        }
    }
    struct learn_group *groups = array_grow(l->groups, &l->cap, l->count + 1, sizeof(*groups));
    if (groups == NULL || tool == 0) {
        return NULL;
    }
    l->groups = groups;
    l->groups[l->count] = (struct learn_group){.server = server, .tool = tool};
    return &l->groups[l->count++];
}

/* Counts a text in one of a group's sets; `under` is what it belongs to, or 0. */
static bool count(struct learner *l, struct learn_group *group, enum learn_kind kind, struct slice text,
                  uint32_t under)
{
    struct learn_set *set = &group->sets[kind];
    uint32_t id = intern_add(&l->texts, text);
    for (size_t i = 0; i < set->count; i++) {
        if (set->list[i].text == id && set->list[i].under == under) {
            set->list[i].times++;
            return true;
        }
    }
    struct learn_item *list = array_grow(set->list, &set->cap, set->count + 1, sizeof(*list));
    if (list == NULL || id == 0) {
        return false;
    }
    set->list = list;
    set->list[set->count++] = (struct learn_item){.text = id, .under = under, .times = 1};
    return true;
}

/* ---- Commands ---- */

static const struct json_value *command_of(const struct learned_call *call, struct slice *ret_key)
{
    for (const struct json_value *key = json_first(call->doc, call->input); key != NULL;
         key = json_right(call->doc, call->input, key)) {
        struct slice name = json_str(key);
        if (slice_eq_ascii_case(name, SLICE("command")) || slice_eq_ascii_case(name, SLICE("cmd"))) {
            *ret_key = name;
            return json_member_value(key);
        }
    }
    return NULL;
}

/* Whether each of the commands is known whole, so that a pattern can be written of it. */
static bool are_plain(const struct command_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct command *c = &list->commands[i];
        if (c->count == 0 || c->count > 24 || c->known != c->count ||
            (c->flags & (COMMAND_UNREADABLE | COMMAND_OPEN | COMMAND_ASSIGNED | COMMAND_LOST)) != 0) {
            return false;
        }
    }
    return list->count > 0;
}

static bool has_two_words(const struct command *c)
{
    struct slice program = command_word_at(c, 0)->text;
    if (c->count < 2) {
        return false;
    }
    struct slice second = command_word_at(c, 1)->text;
    for (const char *const *name = two_words; *name != NULL; name++) {
        if (slice_is(program, *name)) {
            return second.len > 0 && second.ptr[0] != '-';
        }
    }
    return false;
}

static bool add_command(struct learner *l, struct learn_group *group, const struct command *c)
{
    struct buf text, prefix;
    buf_init(&text, 1u << 20);
    buf_init(&prefix, 1u << 20);
    command_append_text(&text, c);
    bool redirection = (c->flags & COMMAND_REDIRECTION) != 0;
    if (!redirection) {
        command_append_word(&prefix, command_word_at(c, 0)->text);
        if (has_two_words(c)) {
            buf_byte(&prefix, ' ');
            command_append_word(&prefix, command_word_at(c, 1)->text);
        }
    }
    uint32_t under = buf_ok(&prefix) && !redirection ? intern_add(&l->texts, buf_slice_of(&prefix)) : 0;
    bool ok = buf_ok(&text) && buf_ok(&prefix) && count(l, group, LEARN_COMMANDS, buf_slice_of(&text), under);
    buf_finish(&text);
    buf_finish(&prefix);
    return ok;
}

/* False only when memory ran out; *ret_done: the call is learned. */
static bool add_commands(struct learner *l, struct learn_group *group, const struct learned_call *call,
                         bool *ret_done)
{
    struct command_list list;
    struct slice key = {"", 0};
    const struct json_value *value = command_of(call, &key);
    *ret_done = false;
    if (!json_is(value, JSON_STRING) || json_get(call->doc, call->input, "args") != NULL) {
        return true;
    }
    command_reader_reset(l->reader);
    if (!command_read_text(l->reader, json_str(value), NULL, &list)) {
        return false;
    }
    if (!are_plain(&list)) {
        uint32_t name = intern_add(&l->texts, key);
        *ret_done = true;
        return name != 0 && count(l, group, LEARN_TEXTS, json_text_of(call->doc, value), name);
    }
    *ret_done = true;
    for (uint32_t i = 0; i < list.count; i++) {
        if (!add_command(l, group, &list.commands[i])) {
            return false;
        }
    }
    return true;
}

/* ---- The rest ---- */

static bool add_host(struct learner *l, struct learn_group *group, const struct learned_call *call,
                     bool *ret_done)
{
    static const char *const keys[] = {"url", "uri", "href"};
    struct url_host host;
    *ret_done = false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct json_value *value = json_get(call->doc, call->input, keys[i]);
        if (json_is(value, JSON_STRING) && url_read(json_str(value), &host) == URL_HOST) {
            *ret_done = true;
            return count(l, group, LEARN_HOSTS, url_host_text(&host), 0);
        }
    }
    return true;
}

bool learner_add(struct learner *l, const struct learned_call *call)
{
    struct learn_group *group = group_of(l, call);
    struct slice key;
    bool done = false;
    if (group == NULL) {
        return false;
    }
    group->calls++;
    if (command_of(call, &key) != NULL) {
        if (!add_commands(l, group, call, &done)) {
            return false;
        }
        if (done) {
            return true;
        }
    }
    if (call->path_count == 0) {
        if (!add_host(l, group, call, &done)) {
            return false;
        }
        return done || count(l, group, LEARN_INPUTS, json_text_of(call->doc, call->input), 0);
    }
    for (size_t i = 0; i < call->path_count; i++) {
        if (!count(l, group, LEARN_PATHS, call->paths[i], 0)) {
            return false;
        }
    }
    return true;
}
