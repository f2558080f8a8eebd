/* Settings edited as text: where things go and how they look. */
#include "host/jsonc.h"
#include "install/internal.h"
#include "install/settings.h"
#include "tests/check.h"

static void add(const char *text, const char *element, const char *want)
{
    static const char *const path[] = {"hooks", "Pre", NULL};
    struct settings settings;
    struct buf error, inserted;
    buf_init(&error, 4096);
    buf_init(&inserted, 1u << 16);
    CHECK(settings_init(&settings, "x", slice_of(text), &error));
    if (want != NULL) {
        CHECK(settings_add(&settings, path, slice_of(element), &inserted, &error));
        CHECK_BYTES(settings.text.ptr, settings.text.len, want);
        CHECK(settings_take_out(&settings, buf_slice_of(&inserted)));
    } else {
        CHECK(!settings_add(&settings, path, slice_of(element), &inserted, &error) && error.len > 0);
    }
    CHECK_BYTES(settings.text.ptr, settings.text.len, *text ? text : "{}\n");
    settings_finish(&settings);
    buf_finish(&error);
    buf_finish(&inserted);
}

static void test_add(void)
{
    add("{}", "1", "{\n  \"hooks\": {\"Pre\":[1]}\n}");
    add("", "1", "{\n  \"hooks\": {\"Pre\":[1]}\n}\n");
    add("{\"a\":1}", "1", "{\"hooks\":{\"Pre\":[1]},\"a\":1}");
    add("{ \"a\": 1 }", "1", "{ \"hooks\":{\"Pre\":[1]}, \"a\": 1 }");
    add("{\n\t\"a\": 1\n}\n", "1", "{\n\t\"hooks\": {\"Pre\":[1]},\n\t\"a\": 1\n}\n");
    add("{\r\n \"a\": 1\r\n}", "1", "{\r\n \"hooks\": {\"Pre\":[1]},\r\n \"a\": 1\r\n}");
    add("{\n  \"hooks\": {\n    \"Pre\": [\n      2\n    ]\n  }\n}", "1",
        "{\n  \"hooks\": {\n    \"Pre\": [\n      1,\n      2\n    ]\n  }\n}");
    add("{\n  \"hooks\": {\n    \"Pre\": []\n  }\n}", "1",
        "{\n  \"hooks\": {\n    \"Pre\": [\n      1\n    ]\n  }\n}");
    add("{\"hooks\":{\"Pre\":[2,]}}", "1", "{\"hooks\":{\"Pre\":[1,2,]}}");
    add("{\"hooks\":{\"Pre\":[/*[*/ 2]}}", "1", "{\"hooks\":{\"Pre\":[1,/*[*/ 2]}}");
    add("{\n  \"hooks\": 1\n}", "1", NULL);
    add("{\"hooks\":{\"Pre\":{}}}", "1", NULL);
    add("{}", "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"}",
        "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": "
        "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"\n      }\n    ]\n  }\n}");
}

static void refuse(const char *text, const char *want)
{
    struct settings settings;
    struct buf error;
    buf_init(&error, 4096);
    CHECK(!settings_init(&settings, "x", slice_of(text), &error));
    CHECK_BYTES(error.ptr, error.len, want);
    buf_finish(&error);
}

static void test_refuse(void)
{
    refuse("[]", "x:1:1: it is no JSON object; mend it first, nothing was changed");
    refuse("{\"a\":1,\n \"a\":2}", "x:2:2: a key is repeated; mend it first, nothing was changed");
    refuse("{ // never\n", "x:2:1: expected a key in double quotes; mend it first, nothing was changed");
}

static void test_remove(void)
{
    static const struct {
        const char *text;
        uint32_t which;
        const char *want;
    } cases[] = {
        {"{\"a\":[1]}", 0, "{\"a\":[]}"},
        {"{\"a\":[1,2]}", 0, "{\"a\":[2]}"},
        {"{\"a\":[1,2]}", 1, "{\"a\":[1]}"},
        {"{\"a\":[1, 2, 3]}", 1, "{\"a\":[1, 3]}"},
        {"{\"a\":[\n  1,\n  2\n]}", 0, "{\"a\":[\n  2\n]}"},
        {"{\"a\":[\n  1,\n  2\n]}", 1, "{\"a\":[\n  1\n]}"},
        {"{\"a\":[\n  1, // one\n  2, // two\n]}", 1, "{\"a\":[\n  1, // one // two\n]}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct settings settings;
        struct buf error;
        buf_init(&error, 4096);
        CHECK(settings_init(&settings, "x", slice_of(cases[i].text), &error));
        const struct json_value *list = json_get(&settings.doc, settings.root, "a"),
                                *v = json_first(&settings.doc, list);
        for (uint32_t n = 0; n < cases[i].which; n++) {
            v = json_right(&settings.doc, list, v);
        }
        CHECK(settings_remove(&settings, list, v));
        CHECK_BYTES(settings.text.ptr, settings.text.len, cases[i].want);
        settings_finish(&settings);
        buf_finish(&error);
    }
}

static void words(const char *line, const char *want, bool want_plain)
{
    struct arena arena;
    struct buf got;
    size_t count = 0;
    bool plain = !want_plain;
    arena_init(&arena, 0);
    buf_init(&got, 4096);
    char **list = split_words(&arena, slice_of(line), &count, &plain);
    CHECK(list != NULL);
    CHECK(plain == want_plain);
    for (size_t i = 0; list != NULL && i < count; i++) {
        buf_printf(&got, "[%s]", list[i]);
    }
    CHECK_BYTES(got.ptr, got.len, want);
    CHECK(list && list[count] == NULL);
    buf_finish(&got);
    arena_finish(&arena);
}

static void test_words(void)
{
    words("a b  c", "[a][b][c]", true);
    words("  'a b' \"c d\" e\\ f ", "[a b][c d][e f]", true);
    words("'it'\\''s'", "[it's]", true);
    words("'a$(b)&{c}'", "[a$(b)&{c}]", true);
    words("a''", "[a]", true);
    words("''", "[]", true);
    words("", "", true);
    words("a; rm", "", false);
    words("a $(b)", "[a]", false);
    words("a #b", "[a]", false);
    words("a\nb", "[a][b]", false);
    words("\"\\/a\" b", "[/a][b]", false); /* a shell leaves the backslash */
    words("\"$a\"", "[$a]", false);
    words("{a,b}", "[{a,b}]", false);
}

static void test_jsonc(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[1,]", "[1 ]"},
        {"[1,/**/]", "[1     ]"},
        {"[1,,]", "[1, ]"},
        {"{\"a,]\":1}", "{\"a,]\":1}"},
        {"// a\n1", "    \n1"},
        {"/* a\n */1", "    \n   1"},
        {"\"// no\"", "\"// no\""},
        {"/* never", "/* never"},
        {"\"\\\"//\"", "\"\\\"//\""},
        {"/", "/"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[64];
        size_t len = strlen(cases[i].text);
        memcpy(text, cases[i].text, len);
        jsonc_blank(text, len);
        CHECK_BYTES(text, len, cases[i].want);
    }
}

int main(void)
{
    test_add();
    test_refuse();
    test_remove();
    test_words();
    test_jsonc();
    return check_done();
}
