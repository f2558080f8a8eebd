/* Patterns: what compiles, what matches, and how patterns stand to one another as sets. */
#include "base/buffer.h"
#include "command/pattern.h"

#include "check.h"

static struct command_reader *reader;
static struct arena arena;

static struct command_pattern compile(const char *text, bool exact, bool loose)
{
    struct command_pattern pattern = {.count = 0};
    const char *why = "";
    uint32_t at;
    enum command_pattern_result result =
        command_pattern_compile(reader, &arena, slice_of(text), exact, loose, &pattern, &why, &at);
    if (result != COMMAND_PATTERN_OK) {
        printf("%s: %s\n", text, why);
    }
    CHECK(result == COMMAND_PATTERN_OK);
    return pattern;
}

static void bad(const char *text)
{
    struct command_pattern pattern;
    const char *why = NULL;
    uint32_t at;
    CHECK(command_pattern_compile(reader, &arena, slice_of(text), false, false, &pattern, &why, &at) ==
          COMMAND_PATTERN_BAD);
    CHECK(why != NULL && at <= strlen(text));
}

static void test_compile(void)
{
    static const char *const texts[] = {"",        " ",       "git log | cat", "git $X", "git *.c", "* x",
                                        "X=1 git", "git > x", "`x`",           "if",     "a\nb",    "-x",
                                        "a;",      "(a)",     "a '",           ">x",     ">> x",    "a <<E",
                                        "a *''",   "a \"*\"*"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        bad(texts[i]);
    }
    bad("x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x");
    CHECK(compile("x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x", true, false).count ==
          32);
    struct command_pattern pattern = compile(" npm run 'a b' * '*'", false, true);
    CHECK(pattern.count == 5 && pattern.loose && !pattern.exact && pattern.words[3].any &&
          !pattern.words[4].any);
    CHECK(!compile("/bin/rm", false, true).loose);
    struct buf buf;
    buf_init(&buf, 4096);
    command_pattern_append(&buf, &pattern);
    CHECK_BYTES(buf.ptr, buf.len, "npm run 'a b' * '*'");
    buf_finish(&buf);
    CHECK(compile("> x", false, false).count == 2 && compile("<", false, false).count == 1);
}

static void match(const char *text, bool exact, bool loose, const char *command, enum command_answer want)
{
    struct command_pattern pattern = compile(text, exact, loose);
    struct command_list list;
    CHECK(command_read_text(reader, slice_of(command), NULL, &list) && list.count == 1);
    if (command_pattern_match(&pattern, &list.commands[0]) != want) {
        printf("%s against %s\n", text, command);
    }
    CHECK(command_pattern_match(&pattern, &list.commands[0]) == want);
}

static void test_match(void)
{
    match("git log", true, false, "git log", COMMAND_YES);
    match("git log", true, false, "git log -1", COMMAND_NO);
    match("git log", true, false, "git", COMMAND_NO);
    match("git log", true, false, "git $X", COMMAND_UNKNOWN);
    match("git log", true, false, "git log $X", COMMAND_UNKNOWN);
    match("git log", true, false, "git log x $X", COMMAND_NO);
    match("git log", true, false, "git x $X", COMMAND_NO);
    match("git log", false, false, "git log -1", COMMAND_YES);
    match("git log", false, false, "git log $X", COMMAND_YES);
    match("git log", false, false, "git", COMMAND_NO);
    match("git log", false, false, "git $X", COMMAND_UNKNOWN);
    match("git log", false, false, "if", COMMAND_UNKNOWN);
    match("rm", false, true, "/bin/rm x", COMMAND_YES);
    match("rm", false, false, "/bin/rm x", COMMAND_NO);
    match("/bin/rm", false, true, "rm x", COMMAND_NO);
    match("kubectl -n * get", false, false, "kubectl -n prod get pods", COMMAND_YES);
    match("kubectl -n * get", false, false, "kubectl -n a b get", COMMAND_NO);
    match("kubectl -n * get", false, false, "kubectl -n get pods", COMMAND_NO);
}

static void subset(const char *part, bool part_exact, bool part_loose, const char *whole, bool whole_exact,
                   bool whole_loose, bool want)
{
    struct command_pattern one = compile(part, part_exact, part_loose),
                           all = compile(whole, whole_exact, whole_loose);
    if (command_pattern_subset(&one, &all) != want) {
        printf("%s in %s\n", part, whole);
    }
    CHECK(command_pattern_subset(&one, &all) == want);
}

static void test_subset(void)
{
    subset("git log", false, false, "git", false, false, true);
    subset("git", false, false, "git log", false, false, false);
    subset("git log", true, false, "git log", false, false, true);
    subset("git log", false, false, "git log", true, false, false);
    subset("git log", true, false, "git log", true, false, true);
    subset("a x c", true, false, "a * c", true, false, true);
    subset("a * c", true, false, "a x c", true, false, false);
    subset("a * c", false, false, "a *", false, false, true);
    subset("/bin/rm x", true, false, "rm", false, true, true);
    subset("rm", false, true, "rm", false, false, false);
    subset("rm", false, false, "rm", false, true, true);
    subset("/bin/rm", false, true, "rm", false, true, true);
    subset("rm", false, true, "/bin/rm", false, true, false);
}

static void test_meet(void)
{
    struct command_pattern a = compile("/bin/rm * x", false, false), b = compile("rm -f", false, true), meet;
    CHECK(command_pattern_meet(&arena, &a, &b, &meet) == COMMAND_YES);
    struct buf buf;
    buf_init(&buf, 4096);
    command_pattern_append(&buf, &meet);
    CHECK_BYTES(buf.ptr, buf.len, "/bin/rm -f x");
    buf_finish(&buf);
    CHECK(!meet.loose && !meet.exact && command_pattern_subset(&meet, &a) &&
          command_pattern_subset(&meet, &b));
    struct command_pattern exact = compile("rm -f", true, true);
    CHECK(command_pattern_meet(&arena, &a, &exact, &meet) == COMMAND_NO);
    CHECK(command_pattern_meet(&arena, &b, &exact, &meet) == COMMAND_YES && meet.exact && meet.loose);
    struct command_pattern other = compile("ls", false, true);
    CHECK(command_pattern_meet(NULL, &b, &other, NULL) == COMMAND_NO);
}

/* Over all patterns and commands of a small alphabet: a subset has each of the commands, and what is no subset
 * has a command that shows it; a meet has just those of both. */
#define SETS 150

static struct command_pattern sets[SETS];
static unsigned set_count;
static const char *const firsts[] = {"a", "/a", "b"}, *const laters[] = {"x", "y", "*"};

static void make_sets(void)
{
    char text[32];
    for (unsigned i = 0; i < 3 * 13 * 4; i++) {
        unsigned first = i % 3, words = i / 3 % 13, kind = i / 39;
        int len = snprintf(text, sizeof(text), "%s", firsts[first]);
        if (words > 0) {
            unsigned one = (words - 1) % 3, two = (words - 1) / 3;
            len += snprintf(text + len, sizeof(text) - (size_t)len, " %s", laters[one]);
            if (two > 0) {
                (void)snprintf(text + len, sizeof(text) - (size_t)len, " %s", laters[two - 1]);
            }
        }
        if (set_count < SETS) {
            sets[set_count++] = compile(text, kind % 2 == 0, kind / 2 == 0);
        }
    }
}

static void test_sets(void)
{
    static struct command_list commands[5 * 40];
    unsigned count = 0;
    char text[64];
    static const char *const names[] = {"a", "/a", "q/a", "b", "q/b"}, *const words[] = {"", " x", " y",
                                                                                         " z"};
    for (unsigned i = 0; i < 5 * 64 && count < sizeof(commands) / sizeof(*commands); i++) {
        unsigned one = i / 5 % 4, two = i / 20 % 4, three = i / 80 % 4;
        if ((one == 0 && two != 0) || (two == 0 && three != 0) || three == 3) {
            continue;
        }
        char *keep = arena_alloc(&arena, sizeof(text));
        (void)snprintf(keep, sizeof(text), "%s%s%s%s", names[i % 5], words[one], words[two], words[three]);
        CHECK(command_read_text(reader, slice_of(keep), NULL, &commands[count]) &&
              commands[count].count == 1);
        count++;
    }
    make_sets();
    unsigned wrong = 0;
    for (unsigned i = 0; i < set_count * set_count; i++) {
        const struct command_pattern *a = &sets[i / set_count], *b = &sets[i % set_count];
        struct command_pattern meet;
        bool meets = command_pattern_meet(&arena, a, b, &meet) == COMMAND_YES, all = true, some = false;
        for (unsigned j = 0; j < count; j++) {
            const struct command *command = &commands[j].commands[0];
            bool in_a = command_pattern_match(a, command) == COMMAND_YES;
            bool in_b = command_pattern_match(b, command) == COMMAND_YES;
            all = all && (!in_a || in_b);
            some = some || (in_a && in_b);
            wrong += meets && (command_pattern_match(&meet, command) == COMMAND_YES) != (in_a && in_b);
        }
        wrong += all != command_pattern_subset(a, b);
        wrong += some != meets;
    }
    CHECK(wrong == 0);
}

static struct command_word_pattern word(const char *text)
{
    struct command_word_pattern pattern = {.letter = 0};
    const char *why = "";
    uint32_t at;
    CHECK(command_word_compile(reader, &arena, slice_of(text), &pattern, &why, &at) == COMMAND_PATTERN_OK);
    return pattern;
}

static void word_match(const char *text, const char *command, enum command_answer want)
{
    struct command_word_pattern pattern = word(text);
    struct command_list list;
    CHECK(command_read_text(reader, slice_of(command), NULL, &list) && list.count == 1);
    CHECK(command_word_match(&pattern, &list.commands[0]) == want);
}

static void test_word(void)
{
    static const char *const texts[] = {"",   "*",  "**", "*a*", "a*b", "a b",
                                        "$X", "a?", "'",  "''",  "a;b", "*''"};
    struct command_word_pattern unused;
    const char *why;
    uint32_t at;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        CHECK(command_word_compile(reader, &arena, slice_of(texts[i]), &unused, &why, &at) ==
              COMMAND_PATTERN_BAD);
    }
    word_match("--force", "git push --force", COMMAND_YES);
    word_match("--force", "git push --follow", COMMAND_NO);
    word_match("git", "git push", COMMAND_NO);
    word_match("-f", "git push -uf", COMMAND_YES);
    word_match("-f", "git push -u", COMMAND_NO);
    word_match("-f", "git push --f", COMMAND_NO);
    word_match("-f", "git push -f1", COMMAND_NO);
    word_match("-exec*", "find . -execdir", COMMAND_YES);
    word_match("*.pem", "cat x.pem", COMMAND_YES);
    word_match("*.pem", "cat x.pem2", COMMAND_NO);
    word_match("x", "a $Y", COMMAND_UNKNOWN);
    word_match("x", "a $Y x", COMMAND_UNKNOWN);
    word_match("x", "a x $Y", COMMAND_YES);
    word_match("x", "if", COMMAND_UNKNOWN);
    word_match("'a b'", "x 'a b'", COMMAND_YES);
    struct command_word_pattern f = word("-f"), dashes = word("-*"), longer = word("-fo*"),
                                pem = word("*.pem"), name = word("a.pem"), rest = word("*pem"),
                                minus = word("-fx");
    CHECK(command_word_subset(&f, &f) && command_word_subset(&f, &dashes) &&
          !command_word_subset(&f, &longer));
    CHECK(command_word_subset(&longer, &dashes) && !command_word_subset(&dashes, &longer));
    CHECK(command_word_subset(&name, &pem) && command_word_subset(&pem, &rest) &&
          !command_word_subset(&rest, &pem));
    CHECK(command_word_subset(&minus, &f) && !command_word_subset(&f, &minus));
    struct buf buf;
    buf_init(&buf, 4096);
    command_word_append(&buf, &pem);
    buf_byte(&buf, ' ');
    command_word_append(&buf, &longer);
    CHECK_BYTES(buf.ptr, buf.len, "*.pem -fo*");
    buf_finish(&buf);
}

int main(void)
{
    reader = command_reader_create();
    arena_init(&arena, 0);
    CHECK(reader != NULL);
    test_compile();
    test_match();
    test_subset();
    test_meet();
    test_sets();
    test_word();
    arena_finish(&arena);
    command_reader_destroy(reader);
    return check_done();
}
