/* Points: some patterns cover a set of commands together exactly when they have each of its points. Held to all
 * commands of a small alphabet, for sets and patterns taken at random. */
#include "command/points.h"

#include "check.h"

#define LATER_WORDS 4u
#define COMMANDS    34000u
#define SETS        400u
#define ROUNDS      4000u

static struct command_reader *reader;
static struct arena arena;
static struct command_word texts[COMMANDS][LATER_WORDS + 1];
static struct command commands[COMMANDS];
static uint32_t command_count;
static struct command_set sets[SETS];
static uint32_t set_count;
static uint64_t state = 1;

static uint32_t below(uint32_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(state * 0x2545F4914F6CDD1Du >> 33) % limit;
}

/* Every command of up to four later words; `q` and `n` are in no pattern, and of each
 * later word there is one that no other has. */
static void make_commands(void)
{
    static const char *const firsts[] = {"a", "/b/a", "n"}, *const words[] = {"x",   "q",   "-f", "-hfh",
                                                                              "-h1", "-g1", "1f", "x1",
                                                                              "x1f", "-g1f"};
    uint32_t counts[LATER_WORDS + 1] = {1, 10, 100, 1000, 10000};
    for (uint32_t later = 0; later <= LATER_WORDS; later++) {
        for (uint32_t i = 0; i < 3 * counts[later]; i++) {
            struct command_word *line = texts[command_count];
            line[0].text = slice_of(firsts[i % 3]);
            for (uint32_t j = 0, rest = i / 3; j < later; j++, rest /= 10) {
                line[j + 1].text = slice_of(words[rest % 10]);
            }
            commands[command_count++] =
                (struct command){.first = line, .rest = line + 1, .count = later + 1, .known = later + 1};
        }
    }
}

static const struct command_pattern *pattern(const char *text, bool exact, bool loose)
{
    struct command_pattern *made = arena_alloc(&arena, sizeof(*made));
    const char *why;
    uint32_t at;
    CHECK(command_pattern_compile(reader, &arena, slice_of(text), exact, loose, made, &why, &at) ==
          COMMAND_PATTERN_OK);
    return made;
}

static const struct command_word_pattern *later(const char *text)
{
    struct command_word_pattern *made = arena_alloc(&arena, sizeof(*made));
    const char *why;
    uint32_t at;
    CHECK(command_word_compile(reader, &arena, slice_of(text), made, &why, &at) == COMMAND_PATTERN_OK);
    return made;
}

static void make_sets(void)
{
    static const char *const laters[] = {"x", "-f", "-g*", "*f", "x*", "-*"};
    static const char *const words[] = {"x", "-f", "*"};
    for (uint32_t i = 0; i < SETS; i++) {
        char text[32] = "a";
        uint32_t count = below(2);
        for (uint32_t j = 0; j < count; j++) {
            strcat(text, " ");
            strcat(text, words[below(3)]);
        }
        struct command_set set = {.pattern = pattern(text, below(3) == 0, below(2) == 0)};
        if (below(2) == 0) {
            set.later[0] = later(laters[below(6)]);
        }
        sets[set_count++] = set;
    }
    sets[0] = (struct command_set){.pattern = NULL};
    sets[1] = (struct command_set){.later = {later("x"), NULL}};
}

static bool has(const struct command_set *set, const struct command *command)
{
    return (set->pattern == NULL || command_pattern_match(set->pattern, command) == COMMAND_YES) &&
           (set->later[0] == NULL || command_word_match(set->later[0], command) == COMMAND_YES) &&
           (set->later[1] == NULL || command_word_match(set->later[1], command) == COMMAND_YES);
}

struct question {
    struct command_set set;
    const struct command_set *by[4];
    uint32_t count, points;
};

static bool is_covered(const struct question *question, const struct command *command)
{
    bool covered = false;
    for (uint32_t i = 0; i < question->count && !covered; i++) {
        covered = has(question->by[i], command);
    }
    return covered;
}

/* A point must be of the set; enough is seen at the first that nothing covers. */
static bool visit(void *context, const struct command_point *point)
{
    struct question *question = context;
    struct command_word words[COMMAND_POINT_WORDS] = {{.at = 0}};
    for (uint32_t i = 0; i < point->count; i++) {
        words[i].text = point->words[i];
    }
    const struct command command = {
        .first = words, .rest = words + 1, .count = point->count, .known = point->count};
    CHECK(has(&question->set, &command));
    question->points++;
    return !is_covered(question, &command);
}

static bool ask_all(const struct question *question)
{
    for (uint32_t i = 0; i < command_count; i++) {
        if (has(&question->set, &commands[i]) && !is_covered(question, &commands[i])) {
            return false;
        }
    }
    return true;
}

/* A set is one of the sets, or what two of them have in common. */
static bool make_question(struct question *question)
{
    const struct command_set *a = &sets[below(set_count)], *b = &sets[below(set_count)];
    *question = (struct question){.set = *a, .count = 1 + below(4)};
    if (below(2) == 0 && a->pattern != NULL && b->pattern != NULL) {
        struct command_pattern *meet = arena_alloc(&arena, sizeof(*meet));
        if (command_pattern_meet(&arena, a->pattern, b->pattern, meet) != COMMAND_YES) {
            return false;
        }
        question->set.pattern = meet;
        question->set.later[1] = b->later[0];
    }
    for (uint32_t i = 0; i < question->count; i++) {
        question->by[i] = &sets[2 + below(set_count - 2)];
    }
    return true;
}

int main(void)
{
    struct command_world world;
    uint32_t asked = 0, covered = 0, wrong = 0, failed = 0;
    reader = command_reader_create();
    arena_init(&arena, 0);
    CHECK(reader != NULL);
    make_commands();
    make_sets();
    command_world_init(&world);
    for (uint32_t i = 0; i < set_count; i++) {
        if (sets[i].pattern != NULL) {
            command_world_add(&world, sets[i].pattern);
        }
        if (sets[i].later[0] != NULL) {
            command_world_add_word(&world, sets[i].later[0]);
        }
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct question question;
        if (!make_question(&question)) {
            continue;
        }
        enum command_points_result result = command_points_visit(&world, &question.set, visit, &question);
        bool all = ask_all(&question);
        asked++;
        covered += all;
        failed += result == COMMAND_POINTS_FAILED;
        wrong += all != (result == COMMAND_POINTS_ALL);
    }
    printf("%u asked, %u covered, %u wrong, %u not answered\n", asked, covered, wrong, failed);
    CHECK(asked > 1000 && covered > 100 && wrong == 0 && failed == 0);
    command_world_finish(&world);
    arena_finish(&arena);
    command_reader_destroy(reader);
    return check_done();
}
