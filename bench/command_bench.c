/* How fast commands are read: bytes in a second by kind of text, and what a command of five words takes with its
 * places. The best of several rounds; no test. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "command/command.h"

#define ROUNDS   15
#define ROUND_NS 20000000u

static struct command_reader *reader;

static void need(bool done, const char *what)
{
    if (!done) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void read_once(struct slice text)
{
    struct command_list list;
    command_reader_reset(reader);
    need(command_read_text(reader, text, NULL, &list) && list.count > 0, "memory");
    need((list.commands[0].flags & COMMAND_UNREADABLE) == 0, "a text that is not read");
}

static void read_and_walk(struct slice text)
{
    struct command_list list;
    struct command_places places;
    struct command_place place;
    struct command_trees trees;
    command_reader_reset(reader);
    need(command_read_text(reader, text, NULL, &list) && command_read_inner(reader, &list), "memory");
    for (uint32_t i = 0; i < list.count; i++) {
        command_trees_of(&list.commands[i], &trees);
        command_places_start(&places, &list.commands[i]);
        while (command_places_next(&places, &place)) {
        }
    }
}

static double measure(void (*work)(struct slice text), struct slice text)
{
    double best = 1e18;
    work(text);
    uint64_t begin = clock_mono_ns();
    work(text);
    unsigned long runs = 1 + ROUND_NS / (clock_mono_ns() - begin + 1);
    for (int round = 0; round < ROUNDS; round++) {
        begin = clock_mono_ns();
        for (unsigned long i = 0; i < runs; i++) {
            work(text);
        }
        double each = (double)(clock_mono_ns() - begin) / (double)runs;
        best = each < best ? each : best;
    }
    return best;
}

static void report(const char *name, const char *piece)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    size_t len = slice_of(piece).len;
    while (buf.len + len <= 60000) {
        buf_text(&buf, piece);
    }
    double large = measure(read_once, buf_slice_of(&buf));
    double small = measure(read_once, slice_of(piece));
    printf("%-20s %6.0f MB/s in a text of 60 kB, %6.0f MB/s in one of %zu bytes\n", name,
           (double)buf.len * 1000 / large, (double)len * 1000 / small, len);
    buf_finish(&buf);
}

int main(void)
{
    reader = command_reader_create();
    need(reader != NULL, "memory");
    report("short words", "git log -5 && ls -l src; a b c | d\n");
    report("a build",
           "cd build && cmake -DCMAKE_BUILD_TYPE=Release -DWITH_TESTS=ON .. && make -j4 check 2>&1\n");
    report("quotes", "git commit -m 'Say what it is' -m \"and why it is so, in more words\" -- src/a.c\n");
    report(
        "a long quote",
        "python3 -c 'import os, sys; print(sys.argv, os.getcwd(), [line for line in open(sys.argv[1])])'\n");
    report(
        "here-documents",
        "cat <<'EOF' > notes\nSome lines of text, of which there are many,\nand some more of them.\nEOF\n");
    report("expansions", "echo \"$HOME/x\" ${NAME:-value} $(git rev-parse HEAD) *.c\n");
    static const char five[] = "git log --oneline -5 src/main.c";
    printf("%-20s %6.0f ns read, %6.0f ns with its places\n", "a command of five words",
           measure(read_once, slice_of(five)), measure(read_and_walk, slice_of(five)));
    command_reader_destroy(reader);
    return 0;
}
