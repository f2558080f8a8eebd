/* Without memory nothing is read, nothing is lost, and it is told. */
#include "command/pattern.h"

#include "torture.h"

static bool read_all(void)
{
    static const char text[] =
        "X=1 a 'b c' \"$(d 'e f' > 'g' <<E\nx\nE\n)\" > 'h'; sudo find -exec sh -c 'cd x; i' ';'";
    static const struct slice words[] = {{"bash", 4}, {"-lc", 3}, {"git 'x y'", 9}, {"z", 1}};
    const struct command_args args = {.words = words, .count = 4};
    struct command_list list;
    struct command_reader *reader = command_reader_create();
    if (reader == NULL) {
        return false;
    }
    bool ok = command_read_text(reader, slice_of(text), &args, &list) && command_read_inner(reader, &list) &&
              command_read_words(reader, words, 3, NULL, &list) &&
              command_read_words(reader, words, 4, NULL, &list) &&
              command_read_nothing(reader, "nothing", &list);
    command_reader_destroy(reader);
    return ok;
}

static bool compile_all(void)
{
    struct command_reader *reader = command_reader_create();
    struct arena arena;
    struct command_pattern one, other, meet;
    struct command_word_pattern word;
    const char *why;
    uint32_t at;
    arena_init(&arena, 0);
    bool ok = reader != NULL &&
              command_pattern_compile(reader, &arena, SLICE("> 'a b'"), false, true, &one, &why, &at) ==
                  COMMAND_PATTERN_OK &&
              command_pattern_compile(reader, &arena, SLICE("> *"), true, true, &other, &why, &at) ==
                  COMMAND_PATTERN_OK &&
              command_pattern_meet(&arena, &one, &other, &meet) == COMMAND_YES &&
              command_word_compile(reader, &arena, SLICE("'a b'*"), &word, &why, &at) == COMMAND_PATTERN_OK;
    arena_finish(&arena);
    command_reader_destroy(reader);
    return ok;
}

int main(void)
{
    torture("reading", read_all);
    torture("compiling", compile_all);
    return check_done();
}
