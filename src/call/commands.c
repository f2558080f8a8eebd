/* The commands that a call names: which arguments are commands, each command once, and those inside others that are
 * read aside. What they act on is in acts.c. */
#include <stdlib.h>
#include <string.h>

#include "call/commands_internal.h"

struct command_state *commands_create(void)
{
    struct command_state *state = calloc(1, sizeof(*state));
    if (state != NULL) {
        state->guesses.aside = state->guessed_hosts.aside = true;
        buf_init(&state->joined, LIMIT_MESSAGE_BYTES);
    }
    return state;
}

void commands_destroy(struct command_state *state)
{
    if (state == NULL) {
        return;
    }
    sink_finish(&state->places);
    sink_finish(&state->guesses);
    sink_finish(&state->hosts);
    sink_finish(&state->guessed_hosts);
    sink_finish(&state->staged);
    sink_finish(&state->looked);
    set_finish(&state->runs);
    set_finish(&state->counted);
    starts_finish(&state->starts);
    free(state->lists);
    free(state->words);
    buf_finish(&state->joined);
    free(state);
}

void commands_begin(struct scratch *scratch)
{
    struct command_state *state = scratch->command_state;
    scratch->command_count = scratch->own_commands = 0;
    state->list_count = 0;
    state->common = 0;
    state->staged.count = 0;
    set_clear(&state->counted);
}

/* ---- Each command once ---- */

static size_t index_of(const struct scratch *scratch, const struct command *command)
{
    size_t i = 0;
    while (i < scratch->command_count && !command_equal(scratch->commands[i]->command, command)) {
        i++;
    }
    return i;
}

static bool add_command(struct scratch *scratch, const struct command *command, uint32_t list, size_t most)
{
    struct command_state *state = scratch->command_state;
    size_t known = index_of(scratch, command);
    bool fewer = (command->flags & COMMAND_FEWER) != 0;
    if (known < scratch->command_count) {
        state->fewer_options[known] = state->fewer_options[known] && fewer;
        return true;
    }
    if (scratch->command_count == most) {
        return call_over_limit(scratch, "256 commands");
    }
    struct reading_command *added = arena_alloc(&scratch->out->arena, sizeof(*added));
    if (added == NULL) {
        return call_no_memory(scratch);
    }
    added->command = command;
    state->list_of[scratch->command_count] = list;
    state->fewer_options[scratch->command_count] = fewer;
    scratch->commands[scratch->command_count++] = added;
    return true;
}

static bool keep_list(struct scratch *scratch, const struct command_list *list, uint32_t value)
{
    struct command_state *state = scratch->command_state;
    void *lists = state->lists;
    if (!call_grow(&lists, state->list_count, &state->list_cap, sizeof(*state->lists), SIZE_MAX / 1024)) {
        return call_no_memory(scratch);
    }
    state->lists = lists;
    state->lists[state->list_count] = (struct taken_list){*list, value};
    uint32_t index = (uint32_t)state->list_count++;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!add_command(scratch, &list->commands[i], index, LIMIT_CALL_COMMANDS)) {
            return false;
        }
    }
    scratch->own_commands = scratch->command_count;
    return true;
}

/* ---- Command arguments ---- */

static bool keep_word(struct scratch *scratch, size_t *count, struct slice word)
{
    struct command_state *state = scratch->command_state;
    void *words = state->words;
    if (!call_grow(&words, *count, &state->word_cap, sizeof(*state->words), SIZE_MAX / 64)) {
        return call_no_memory(scratch);
    }
    state->words = words;
    state->words[(*count)++] = word;
    return true;
}

/* Appends the words of an array of strings; *ret_all is false when something else is among them. */
static bool keep_words(struct scratch *scratch, const struct json_doc *doc, const struct json_value *array,
                       size_t *count, bool *ret_all)
{
    const struct json_value *v;
    *ret_all = true;
    for (v = json_first(doc, array); v != NULL; v = json_right(doc, array, v)) {
        if (v->type != JSON_STRING) {
            *ret_all = false;
            return true;
        }
        if (!keep_word(scratch, count, json_str(v))) {
            return false;
        }
    }
    return true;
}

static bool is_empty(const struct json_value *value)
{
    return value->type == JSON_NULL ||
           ((value->type == JSON_ARRAY || value->type == JSON_OBJECT) && value->count == 0) ||
           (value->type == JSON_STRING && value->str_len == 0);
}

/* What stands under `args` and `arguments` beside a command: words from `from` on. */
static bool find_args(struct scratch *scratch, const struct walked *walked, size_t *count,
                      struct command_args *ret_args)
{
    const struct json_doc *doc = walked->doc;
    const struct json_value *key;
    const size_t before = *count;
    unsigned found = 0;
    bool all = true;
    for (key = json_first(doc, walked->object); key != NULL; key = json_right(doc, walked->object, key)) {
        const struct json_value *value = json_member_value(key);
        if ((name_classes(&scratch->names, json_str(key)) & NAME_ARGS) == 0 || key == walked->key ||
            is_empty(value)) {
            continue;
        }
        found++;
        if (value->type != JSON_ARRAY) {
            all = false;
        } else if (!keep_words(scratch, doc, value, count, &all)) {
            return false;
        }
        if (!all) {
            break;
        }
    }
    ret_args->open = !all || found > 1;
    *count = ret_args->open ? before
                            : *count; /* which of them the command gets, and in what order, is not known */
    return true;
}

static bool take_text(struct scratch *scratch, struct slice text, const struct command_args *args,
                      uint32_t value)
{
    struct command_list list;
    return command_read_text(scratch->reader, text, args, &list) ? keep_list(scratch, &list, value)
                                                                 : call_no_memory(scratch);
}

/* The words from `from` on of state->words, the arguments before them. */
static bool take_words(struct scratch *scratch, size_t from, size_t count, const struct command_args *args,
                       uint32_t value)
{
    struct command_list list;
    struct slice *words = arena_array(&scratch->out->arena, count - from, sizeof(*words));
    if (words == NULL) {
        return call_no_memory(scratch);
    }
    memcpy(words, scratch->command_state->words + from, (count - from) * sizeof(*words));
    return command_read_words(scratch->reader, words, count - from, args, &list)
               ? keep_list(scratch, &list, value)
               : call_no_memory(scratch);
}

static bool take_nothing(struct scratch *scratch, uint32_t value)
{
    struct command_list list;
    return command_read_nothing(scratch->reader, "no text and no list of words", &list)
               ? keep_list(scratch, &list, value)
               : call_no_memory(scratch);
}

/* A text that is that of an array of strings is those words, too. */
static bool take_array_text(struct scratch *scratch, struct slice text, const struct command_args *args,
                            size_t from, bool texts, uint32_t value)
{
    const struct json_doc *doc;
    struct slice copy = {NULL, 0};
    bool all;
    if (!walk_looks_like(text, '[', ']')) {
        return true;
    }
    /* Commands borrow their words, and the document of an array's text is used again. */
    copy = arena_copy(&scratch->out->arena, text);
    if (copy.ptr == NULL) {
        return call_no_memory(scratch);
    }
    if (!walk_array_text(scratch, copy, 0, &doc) || doc == NULL) {
        return scratch->fault == READINGS_OK;
    }
    size_t count = from;
    if (!keep_words(scratch, doc, json_root(doc), &count, &all)) {
        return false;
    }
    for (size_t i = from; i < count; i++) {
        struct slice *word = &scratch->command_state->words[i];
        *word = arena_copy(&scratch->out->arena, *word);
        if (word->ptr == NULL) {
            return call_no_memory(scratch);
        }
        if (texts && !take_text(scratch, *word, i + 1 == count ? args : NULL, value)) {
            return false;
        }
    }
    return texts || take_words(scratch, from, count, args, value);
}

static bool take_array(struct scratch *scratch, const struct walked *walked, const struct command_args *args,
                       size_t from, uint32_t value)
{
    const struct json_doc *doc = walked->doc;
    const struct json_value *v;
    size_t count = from;
    bool all;
    if (!keep_words(scratch, doc, walked->value, &count, &all)) {
        return false;
    }
    if (!all || count == from) {
        return take_nothing(scratch, value);
    }
    if ((walked->context & CONTEXT_COMMAND_LIST) == 0) {
        return take_words(scratch, from, count, args, value);
    }
    for (v = json_first(doc, walked->value); v != NULL; v = json_right(doc, walked->value, v)) {
        bool last = json_right(doc, walked->value, v) == NULL;
        if (!take_text(scratch, json_str(v), last ? args : NULL, value)) {
            return false;
        }
    }
    return true;
}

bool commands_take(struct scratch *scratch, const struct walked *walked)
{
    struct command_args args = {.words = NULL};
    uint32_t value = (uint32_t)(walked->value - walked->doc->values);
    size_t from = 0;
    if (walked->value->type == JSON_NULL) {
        return true;
    }
    scratch->sure_commands = scratch->sure_commands || (walked->context & CONTEXT_SURE_COMMAND) != 0;
    if (!find_args(scratch, walked, &from, &args)) {
        return false;
    }
    if (from > 0) {
        struct slice *words = arena_array(&scratch->out->arena, from, sizeof(*words));
        if (words == NULL) {
            return call_no_memory(scratch);
        }
        memcpy(words, scratch->command_state->words, from * sizeof(*words));
        args.words = words;
        args.count = from;
    }
    const struct command_args *beside = from > 0 || args.open ? &args : NULL;
    switch (walked->value->type) {
    case JSON_STRING:
        return take_text(scratch, json_str(walked->value), beside, value) &&
               take_array_text(scratch, json_str(walked->value), beside, from,
                               (walked->context & CONTEXT_COMMAND_LIST) != 0, value);
    case JSON_ARRAY:
        return take_array(scratch, walked, beside, from, value);
    default:
        return take_nothing(scratch, value);
    }
}

/* ---- Commands inside others ---- */

static bool is_program(struct slice name, struct slice program)
{
    const char *slash = name.len == 0 ? NULL : memrchr(name.ptr, '/', name.len);
    return slice_eq(name, program) ||
           (slash != NULL && slice_eq(slice_from(name, (size_t)(slash - name.ptr) + 1), program));
}

/* Whether an inner command may act on what the one in whose words it stands does not: one of the text of `sh -c`, and
 * one of which more is read than the places in its words. */
static bool acts_on_more(const struct command *inner)
{
    struct command_trees trees;
    command_trees_of(inner, &trees);
    return (inner->flags & COMMAND_OF_TEXT) != 0 || trees.names || command_runs_anything(inner) ||
           slice_eq(inner->first->text, SLICE("cd"));
}

/* Whether some rule could look at a command that is read aside. */
static bool is_of_interest(const struct scratch *scratch, const struct command *command)
{
    const struct reading_interest *interest = scratch->interest;
    bool acts = scratch->needs.inner_acts && (command->flags & COMMAND_FEWER) == 0;
    if ((command->flags & COMMAND_UNREADABLE) != 0 ||
        (acts && (scratch->needs.inner_likes || acts_on_more(command)))) {
        return true;
    }
    if (interest->programs == NULL) {
        return scratch->needs.inner_alone;
    }
    for (size_t i = 0; i < interest->program_count && scratch->needs.inner_alone; i++) {
        if (is_program(command->first->text, interest->programs[i])) {
            return true;
        }
    }
    return false;
}

static bool add_inner(struct scratch *scratch, uint32_t index)
{
    struct command_list *list = &scratch->command_state->lists[index].list;
    if (!command_read_inner(scratch->reader, list)) {
        return call_no_memory(scratch);
    }
    if (list->inner_over) {
        return call_over_limit(scratch, "commands inside commands");
    }
    for (uint32_t i = 0; i < list->inner_count; i++) {
        const struct command *inner = &list->inner[i];
        if (is_of_interest(scratch, inner) && !add_command(scratch, inner, index, COMMANDS_MOST)) {
            return false;
        }
    }
    return true;
}

bool commands_resolve(struct scratch *scratch)
{
    struct command_state *state = scratch->command_state;
    for (uint32_t i = 0; i < state->list_count && scratch->needs.inner_commands; i++) {
        if (!add_inner(scratch, i)) {
            return false;
        }
    }
    for (size_t i = 0; i < scratch->command_count; i++) {
        if (!acts_resolve(scratch, i)) {
            return false;
        }
    }
    return true;
}

bool commands_append_aside(struct scratch *scratch)
{
    const struct sink *staged = &scratch->command_state->staged;
    for (size_t i = 0; i < staged->count; i++) {
        if (!readings_append(scratch, staged->list[i])) {
            return false;
        }
    }
    return true;
}
