/* What a command names: its places, its trees, and what is known of its program by name. */
#include <string.h>

#include "command/internal.h"

static uint32_t base_flags(const struct command *command)
{
    if (command->count == 0 || (command->first->flags & COMMAND_WORD_OPAQUE) != 0) {
        return 0;
    }
    return name_flags(name_base(command->first->text));
}

/* The letters of a search program's options that have no value of their own, so that the first other word is
 * what is searched for. */
static bool is_search_option(struct slice word)
{
    static const struct slice letters = {"cHhiLlnoqRrsvwxzEFGPUu", 22};
    for (size_t i = 1; i < word.len; i++) {
        if (memchr(letters.ptr, word.ptr[i], letters.len) == NULL) {
            return false;
        }
    }
    return word.len > 1;
}

/* The index of the word that a search program searches for, which is no place; 0 when none is known to be. */
static uint32_t searched_word(const struct command *command)
{
    if (command->count == 0 || (name_flags(command->first->text) & NAME_SEARCH) == 0 ||
        (command->first->flags & COMMAND_WORD_OPAQUE) != 0) {
        return 0;
    }
    for (uint32_t i = 1; i < command->count; i++) {
        const struct command_word *word = command_word_at(command, i);
        if (!begins_with_dash(word)) {
            return i;
        }
        if ((word->flags & COMMAND_WORD_OPAQUE) != 0 || !is_search_option(word->text)) {
            return 0;
        }
    }
    return 0;
}

void command_places_start(struct command_places *places, const struct command *command)
{
    *places = (struct command_places){.command = command, .skipped = searched_word(command)};
    places->split.step = UINT8_MAX;
}

void command_guesses_start(struct command_places *places, const struct command *command)
{
    command_places_start(places, command);
    places->opaque = true;
}

/* Whether a word is walked for places: the first only where it is a path. What is searched for is none, unless it is
 * opaque: it may become several words, of which the second is a file. */
static bool is_walked(const struct command_places *places, uint32_t index, const struct command_word *word)
{
    bool opaque = (word->flags & COMMAND_WORD_OPAQUE) != 0;
    bool searched = index > 0 && index == places->skipped && !opaque;
    if (opaque != places->opaque || word->text.len == 0 || searched) {
        return false;
    }
    return index > 0 || memchr(word->text.ptr, '/', word->text.len) != NULL;
}

/* `cd` leads home when nothing follows: also where it is not known whether something does. */
static bool is_cd_home(const struct command_places *places)
{
    const struct command *command = places->command;
    return !places->opaque && command->count == 1 && slice_is(command->first->text, "cd");
}

bool command_places_next(struct command_places *places, struct command_place *ret_place)
{
    const struct command *command = places->command;
    for (;;) {
        if (places->begun && command_split_next(&places->split, ret_place)) {
            const struct command_word *word = command_word_at(command, places->index - 1);
            ret_place->opaque = places->opaque;
            ret_place->glob = (word->flags & COMMAND_WORD_GLOB) != 0;
            return true;
        }
        if (places->index == command->count) {
            bool home = !places->begun && command->count > 0 && is_cd_home(places);
            places->begun = places->begun || home;
            if (home) {
                places->split.step = UINT8_MAX;
                *ret_place = (struct command_place){.text = SLICE("~"), .home = true};
            }
            return home;
        }
        uint32_t index = places->index++;
        const struct command_word *word = command_word_at(command, index);
        if (is_walked(places, index, word)) {
            places->begun = true;
            command_split_start(&places->split, word->text, (word->flags & COMMAND_WORD_HOME) != 0);
        }
    }
}

bool command_has_unknown_place(const struct command *command)
{
    if (command->count == 0 || (command->first->flags & COMMAND_WORD_OPAQUE) != 0 ||
        (name_flags(command->first->text) & NAME_CD) == 0) {
        return false;
    }
    unsigned places = 0;
    for (uint32_t i = 1; i < command->count; i++) {
        places += !begins_with_dash(command_word_at(command, i));
    }
    return places > 1;
}

bool command_runs_anything(const struct command *command)
{
    return (base_flags(command) & NAME_RUNS) != 0;
}

bool command_name_runs_anything(struct slice name)
{
    return (name_flags(name_base(name)) & NAME_RUNS) != 0;
}

static bool has_text(struct slice word, struct slice text)
{
    return memmem(word.ptr, word.len, text.ptr, text.len) != NULL;
}

/* An option of rg and its like that has them look below names that begin with `.`. */
static bool is_hidden_option(struct slice word)
{
    if (has_text(word, SLICE("hidden")) || has_text(word, SLICE("unrestricted"))) {
        return true;
    }
    bool hidden = false;
    for (size_t i = 1; i < word.len; i++) {
        if (!is_ascii_letter(word.ptr[i]) && word.ptr[i] != '.') {
            return false;
        }
        hidden = hidden || word.ptr[i] == 'u' || word.ptr[i] == '.';
    }
    return hidden;
}

static bool is_recursive_option(struct slice word)
{
    return slice_is(word, "--recursive") ||
           (is_letter_option(word) &&
            (memchr(word.ptr, 'r', word.len) != NULL || memchr(word.ptr, 'R', word.len) != NULL));
}

/* Whether rg is told to search for nothing. */
static bool lists_files(const struct command *command)
{
    for (uint32_t i = 1; i < command->count; i++) {
        if (slice_is(command_word_at(command, i)->text, "--files")) {
            return true;
        }
    }
    return false;
}

void command_trees_of(const struct command *command, struct command_trees *ret_trees)
{
    uint32_t flags = base_flags(command);
    struct command_trees trees = {.names = (flags & NAME_TREE) != 0};
    if (!trees.names) {
        *ret_trees = trees;
        return;
    }
    uint32_t first = 0; /* the first that is no option: a search's may be what is searched for */
    bool searches = (flags & (NAME_GREP | NAME_TREE_HIDING)) != 0 && !lists_files(command);
    trees.entries = (flags & NAME_TREE_NAMES) == 0;
    trees.hidden = (flags & NAME_TREE_HIDING) == 0;
    trees.here = (flags & NAME_TREE_HERE) != 0;
    for (uint32_t i = 1; i < command->count; i++) {
        const struct command_word *word = command_word_at(command, i);
        bool opaque = is_opaque(word), dash = begins_with_dash(word);
        first = first == 0 && (opaque || !dash) ? i : first;
        if ((opaque || !dash) && !(searches && i == first)) {
            trees.last = word->text;
            trees.last_home = (word->flags & COMMAND_WORD_HOME) != 0;
            trees.last_opaque = opaque;
        }
        trees.hidden = trees.hidden || (dash && is_hidden_option(word->text));
        trees.here = trees.here || (dash && (flags & NAME_GREP) != 0 && is_recursive_option(word->text));
    }
    *ret_trees = trees;
}
