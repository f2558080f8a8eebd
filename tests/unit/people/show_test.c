/* The layout of what an approver sees: whole, harmless, and an edit as a difference. */
#include "people/show.h"

#include <stdlib.h>

#include "tests/check.h"

static void shows(const char *json, const char *want)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    CHECK(show_input_text(&out, slice_of(json), 0));
    CHECK_BYTES(out.ptr, out.len, want);
    buf_finish(&out);
}

static void test_layout(void)
{
    shows("{}", "{}\n");
    shows("{\"a\":1,\"b\":\"x y\",\"c\":\"\",\"d\":[],\"e\":null}",
          "a: 1\nb: x y\nc: \"\"\nd: []\ne: null\n");
    shows("{\"a\":[\"x\",{\"b\":true}]}", "a: \n  1. x\n  2. \n    b: true\n");
    shows("{\"text\":\"one\\ntwo\\n\"}", "text: |\n  one\n  two\n");
    shows("{\"text\":\"one\\n\\ntwo\"}", "text: |\n  one\n  \n  two\n  (no line end)\n");
}

static void test_hostile(void)
{
    shows("{\"a\":\"\\u001b[2J\\u202e\\u0000\"}", "a: \\u{001B}[2J\\u{202E}\\u{0000}\n");
    shows("{\"\\u001b]0;x\":1}", "\\u{001B}]0;x: 1\n");
    shows("{\"a\":\"x\\ry\"}", "a: x\\u{000D}y\n");
}

static void test_edits(void)
{
    shows("{\"path\":\"f\",\"old_string\":\"a\\nb\\nc\\n\",\"new_string\":\"a\\nB\\nc\\nd\\n\"}",
          "path: f\nold_string -> new_string:\n    a\n  - b\n  + B\n    c\n  + d\n");
    shows("{\"edits\":[{\"oldText\":\"x\",\"newText\":\"y\"}]}",
          "edits: \n  1. \n    oldText -> newText:\n      - x\n      + y\n");
    shows("{\"old\":\"x\\n\",\"new\":\"x\"}", "old -> new:\n    x\n  (no line end at the end)\n");
    shows("{\"old\":1,\"new\":\"x\"}", "old: 1\nnew: x\n");
}

static void test_commands(void)
{
    shows("{\"command\":\"ls -l\"}", "command: ls -l\n");
    shows("{\"command\":\"cd /x && r\\\\m -r \\\"a b\\\" >out\"}",
          "command: cd /x && r\\m -r \"a b\" >out\n  runs: cd /x\n  runs: rm -r 'a b'\n  file: > out\n");
    shows("{\"command\":\"eval x\"}",
          "command: eval x\n  cannot be read at 0: a builtin that runs what it is told\n");
}

static void count(void *context, enum show_kind kind, struct slice text)
{
    size_t *counts = context;
    counts[kind]++;
    counts[5] += text.len > 6 && memcmp(text.ptr + text.len - 7, "payload", 7) == 0;
}

static void test_whole(void)
{
    size_t counts[6] = {0};
    const struct show_lines lines = {count, counts};
    struct buf json;
    buf_init(&json, 8 << 20);
    buf_text(&json, "{\"content\":\"");
    for (int i = 0; i < 100000; i++) {
        buf_text(&json, "a long line\\n");
    }
    buf_text(&json, "payload\"}");
    CHECK(show_input(buf_slice_of(&json), &lines));
    CHECK(counts[SHOW_PLAIN] == 100001 && counts[5] == 1);
    buf_reset(&json);
    buf_text(&json, "{\"old\":\"");
    for (int i = 0; i < 5000; i++) {
        buf_printf(&json, "%d\\n", i);
    }
    buf_text(&json, "\",\"new\":\"");
    for (int i = 0; i < 5000; i++) {
        buf_printf(&json, "%d\\n", i * 2);
    }
    buf_text(&json, "payload\"}");
    memset(counts, 0, sizeof(counts));
    CHECK(show_input(buf_slice_of(&json), &lines));
    CHECK(counts[SHOW_REMOVED] == 4999 && counts[SHOW_ADDED] == 5000 && counts[5] == 1);
    CHECK(!show_input(SLICE("{\"cut\":"), &lines));
    buf_finish(&json);
}

int main(void)
{
    test_layout();
    test_hostile();
    test_edits();
    test_commands();
    test_whole();
    return check_done();
}
