/* Commands: a text as a shell's text, as words, and as a pattern. What is read can be read again from its own text,
 * every walk ends, and no text of the longest kind takes long. */
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "command/pattern.h"
#include "fuzz.h"

static struct command_reader *reader, *again;
static struct arena arena;
static struct buf buf, other;
static uint64_t runs;

static void set_up(void)
{
    reader = command_reader_create();
    again = command_reader_create();
    FUZZ_CHECK(reader != NULL && again != NULL);
    arena_init(&arena, 0);
    buf_init(&buf, 1u << 24);
    buf_init(&other, 1u << 24);
}

static void check_walks(const struct command *command)
{
    struct command_places places;
    struct command_place place;
    struct command_trees trees;
    size_t limit = 16, count = 0;
    for (uint32_t i = 0; i < command->count; i++) {
        const struct command_word *word = command_word_at(command, i);
        limit += 2 * word->text.len + 4;
        FUZZ_CHECK(i >= command->known || (word->flags & COMMAND_WORD_OPAQUE) == 0);
    }
    for (int opaque = 0; opaque < 2; opaque++) {
        if (opaque == 0) {
            command_places_start(&places, command);
        } else {
            command_guesses_start(&places, command);
        }
        for (; command_places_next(&places, &place); count++) {
            FUZZ_CHECK(place.text.len > 0 && place.opaque == (opaque == 1) && count < 2 * limit);
        }
        FUZZ_CHECK(!command_places_next(&places, &place));
    }
    command_trees_of(command, &trees);
    FUZZ_CHECK(!trees.here || trees.names);
    (void)command_has_unknown_place(command);
    (void)command_runs_anything(command);
}

/* A command's own text is this command. */
static void check_again(const struct command *command)
{
    struct command_list list;
    buf_reset(&buf);
    command_append_text(&buf, command);
    if (command->known != command->count || (command->flags & (COMMAND_OPEN | COMMAND_REDIRECTION)) != 0 ||
        buf.len > COMMAND_TEXT_BYTES) {
        return;
    }
    FUZZ_CHECK(buf_ok(&buf) && command_read_text(again, buf_slice_of(&buf), NULL, &list));
    FUZZ_CHECK(list.count == 1 && list.commands[0].count == command->count);
    for (uint32_t i = 0; i < command->count; i++) {
        const struct command_word *one = command_word_at(command, i),
                                  *two = command_word_at(&list.commands[0], i);
        FUZZ_CHECK(slice_eq(one->text, two->text) && ((one->flags ^ two->flags) & COMMAND_WORD_HOME) == 0);
    }
}

static void check_list(const struct command_list *list, bool text)
{
    FUZZ_CHECK(list->inner_count <= COMMAND_INNER + COMMAND_TEXT_BYTES);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct command *command = &list->commands[i];
        if ((command->flags & COMMAND_UNREADABLE) != 0) {
            FUZZ_CHECK(list->count == 1 && command->reason != NULL && command->count == 0);
            continue;
        }
        FUZZ_CHECK(command->count > 0 && command_equal(command, command));
        check_walks(command);
        if (text && i < 64) {
            check_again(command);
        }
    }
    for (uint32_t i = 0; i < list->inner_count && i < 64; i++) {
        FUZZ_CHECK(list->inner[i].owner < list->count);
        check_walks(&list->inner[i]);
    }
}

static void check_runs(struct slice text)
{
    char room[COMMAND_RUN_BYTES];
    struct slice run;
    for (size_t at = 0; command_run_next(text, &at, room, &run);) {
        FUZZ_CHECK(run.len > 0 && run.len <= sizeof(room) && at <= text.len);
    }
    for (size_t at = 0; command_host_run_next(text, &at, &run);) {
        FUZZ_CHECK(run.len > 0 && at <= text.len);
    }
}

static void check_pattern(struct slice text, bool exact, bool loose)
{
    struct command_pattern pattern, same, meet;
    const char *why;
    uint32_t at;
    if (command_pattern_compile(reader, &arena, text, exact, loose, &pattern, &why, &at) !=
        COMMAND_PATTERN_OK) {
        return;
    }
    buf_reset(&buf);
    command_pattern_append(&buf, &pattern);
    FUZZ_CHECK(command_pattern_compile(reader, &arena, buf_slice_of(&buf), exact, loose, &same, &why, &at) ==
               COMMAND_PATTERN_OK);
    FUZZ_CHECK(command_pattern_equal(&pattern, &same) && command_pattern_subset(&pattern, &same));
    FUZZ_CHECK(command_pattern_meet(&arena, &pattern, &same, &meet) == COMMAND_YES);
    FUZZ_CHECK(command_pattern_equal(&pattern, &meet));
}

static void check_word(struct slice text)
{
    struct command_word_pattern pattern, same;
    const char *why;
    uint32_t at;
    if (command_word_compile(reader, &arena, text, &pattern, &why, &at) != COMMAND_PATTERN_OK) {
        return;
    }
    buf_reset(&buf);
    command_word_append(&buf, &pattern);
    FUZZ_CHECK(command_word_compile(reader, &arena, buf_slice_of(&buf), &same, &why, &at) ==
               COMMAND_PATTERN_OK);
    FUZZ_CHECK(command_word_equal(&pattern, &same) && command_word_meets(&pattern, pattern.text));
}

/* The text again and again, as long as one can be: what is not linear is then slow beyond doubt. */
static void check_time(struct slice text)
{
    struct command_list list;
    buf_reset(&other);
    while (text.len > 0 && other.len + text.len <= COMMAND_TEXT_BYTES) {
        buf_slice(&other, text);
    }
    clock_t begin = clock();
    FUZZ_CHECK(command_read_text(reader, buf_slice_of(&other), NULL, &list) &&
               command_read_inner(reader, &list));
    check_runs(buf_slice_of(&other));
    FUZZ_CHECK(clock() - begin < 3 * CLOCKS_PER_SEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size}, halves[2];
    struct command_list list;
    if (reader == NULL) {
        set_up();
    }
    command_reader_reset(reader);
    command_reader_reset(again);
    arena_reset(&arena);
    FUZZ_CHECK(command_read_text(reader, text, NULL, &list) && command_read_inner(reader, &list));
    check_list(&list, true);
    halves[0] = (struct slice){text.ptr, size / 2};
    halves[1] = slice_from(text, size / 2);
    const struct command_args args = {.words = halves, .count = 2, .open = size % 2 == 1};
    FUZZ_CHECK(command_read_text(reader, halves[0], &args, &list) && command_read_inner(reader, &list));
    check_list(&list, false);
    FUZZ_CHECK(command_read_words(reader, halves, 2, NULL, &list) && command_read_inner(reader, &list));
    check_list(&list, false);
    check_runs(text);
    check_pattern(text, size % 3 == 0, size % 2 == 0);
    check_word(text);
    if (runs++ % 64 == 0) {
        check_time(text);
    }
    return 0;
}
