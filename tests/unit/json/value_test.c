/* Walking a document: values, neighbours, members, places. */
#include "../../check.h"
#include "json/json.h"

static const struct json_options options = {.max_depth = 64, .max_bytes = 1u << 20};

static void test_walk(void)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    CHECK(json_root(&doc) == NULL);
    struct slice text = SLICE(" {\"a\": [1, {}, [], \"x\\n\"], \"\\u0062\": {\"c\": -2.50}, \"\": null} ");
    CHECK(json_parse(&doc, text, &options, &error));
    const struct json_value *root = json_root(&doc);
    CHECK(json_is(root, JSON_OBJECT) && root->count == 3 && root->offset == 1);
    CHECK(root->length == text.len - 2 && root->next == doc.count);

    const struct json_value *key = json_first(&doc, root);
    CHECK(key != NULL && slice_is(json_str(key), "a") && !key->duplicate);
    const struct json_value *array = json_member_value(key);
    CHECK(json_is(array, JSON_ARRAY) && array->count == 4);
    CHECK(slice_is(json_text_of(&doc, array), "[1, {}, [], \"x\\n\"]"));

    const struct json_value *v = json_first(&doc, array);
    CHECK(json_is(v, JSON_NUMBER) && slice_is(json_str(v), "1"));
    v = json_right(&doc, array, v);
    CHECK(json_is(v, JSON_OBJECT) && v->count == 0 && json_first(&doc, v) == NULL);
    v = json_right(&doc, array, v);
    CHECK(json_is(v, JSON_ARRAY) && v->count == 0 && json_first(&doc, v) == NULL);
    v = json_right(&doc, array, v);
    CHECK(json_is(v, JSON_STRING) && slice_is(json_str(v), "x\n") && v->length == 5);
    CHECK(json_first(&doc, v) == NULL);
    CHECK(json_right(&doc, array, v) == NULL);

    key = json_right(&doc, root, key);
    CHECK(key != NULL && slice_is(json_str(key), "b") && key->length == 8);
    v = json_get(&doc, json_member_value(key), "c");
    CHECK(json_is(v, JSON_NUMBER) && slice_is(json_str(v), "-2.50"));
    key = json_right(&doc, root, key);
    CHECK(key != NULL && key->str_len == 0 && json_is(json_member_value(key), JSON_NULL));
    CHECK(json_right(&doc, root, key) == NULL);

    CHECK(json_get(&doc, root, "b") != NULL && json_get(&doc, root, "c") == NULL);
    CHECK(json_is(json_get_slice(&doc, root, SLICE("")), JSON_NULL));
    CHECK(json_get(&doc, array, "a") == NULL && json_get(&doc, NULL, "a") == NULL);
    CHECK(!json_is(NULL, JSON_NULL));
    json_finish(&doc);
    json_finish(&doc);
    json_finish(NULL);
}

/* A document that is used again settles on its memory, and forgets what it held. */
static void test_reuse(void)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    CHECK(json_parse(&doc, SLICE("[\"\\n\", 1, {\"a\": {\"b\": []}}]"), &options, &error));
    const struct json_value *values = doc.values;
    size_t total = doc.strings.total;
    for (int i = 0; i < 100; i++) {
        CHECK(json_parse(&doc, SLICE("[\"\\t\", 2, {\"a\": {\"b\": [0]}}]"), &options, &error));
        CHECK(doc.values == values && doc.strings.total == total);
    }
    CHECK(!json_parse(&doc, SLICE("["), &options, &error));
    CHECK(json_root(&doc) == NULL && error.code == JSON_ERROR_SYNTAX);
    CHECK(json_parse(&doc, SLICE("7"), &options, &error) && doc.count == 1 && error.code == JSON_OK);
    json_finish(&doc);
}

/* What a large text needed is given back when a small one follows. */
static void test_give_back(void)
{
    struct json_doc doc;
    struct json_error error;
    struct buf buf;
    buf_init(&buf, 8u << 20);
    json_init(&doc);
    for (int i = 0; i < 200000; i++) {
        buf_printf(&buf, "%c\"k%d\":\"0123456789\\n\"", i == 0 ? '{' : ',', i);
    }
    buf_byte(&buf, '}');
    struct json_options large = {.max_depth = 64, .max_bytes = 8u << 20};
    CHECK(json_parse(&doc, buf_slice_of(&buf), &large, &error));
    size_t cap = doc.cap, scratch = doc.scratch_cap, strings = doc.strings.total;
    CHECK(cap > 200000 && scratch > 1u << 20 && strings > 1u << 20);
    CHECK(json_parse(&doc, buf_slice_of(&buf), &large, &error));
    CHECK(doc.cap == cap && doc.scratch_cap == scratch); /* the next large one uses it */
    CHECK(json_parse(&doc, SLICE("[\"\\n\"]"), &large, &error));
    CHECK(doc.cap < 1000 && doc.scratch_cap == 0 && doc.strings.total < 100000);
    CHECK(slice_is(json_str(json_first(&doc, json_root(&doc))), "\n"));
    json_finish(&doc);
    buf_finish(&buf);
}

static void check_place(const char *text, uint32_t offset, uint32_t want_line, uint32_t want_column)
{
    uint32_t line = 0, column = 0;
    json_place(slice_of(text), offset, &line, &column);
    CHECK(line == want_line && column == want_column);
    struct json_lines lines;
    CHECK(json_lines_init(&lines, slice_of(text)));
    json_lines_place(&lines, offset, &line, &column);
    CHECK(line == want_line && column == want_column);
    json_lines_finish(&lines);
}

static void test_place(void)
{
    check_place("", 0, 1, 1);
    check_place("", 9, 1, 1);
    check_place("abc", 2, 1, 3);
    check_place("abc", 3, 1, 4);
    check_place("a\nbc", 1, 1, 2);
    check_place("a\nbc", 2, 2, 1);
    check_place("a\r\nbc", 3, 2, 1);
    check_place("a\r\n\r\nbc", 6, 3, 2);
    check_place("\t\tx", 2, 1, 3);
    check_place("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80x", 9, 1, 4);
}

/* json_lines and json_place agree wherever the marks fall. */
static void test_lines(void)
{
    static char text[40000];
    for (size_t i = 0; i < sizeof(text); i++) {
        static const char pattern[] = "abc\n\xE2\x82\xAC,\r\n\xC3\xA4\xF0\x9F\x98\x80 ";
        text[i] = pattern[i % (sizeof(pattern) - 1)];
    }
    struct slice s = {text, sizeof(text)};
    struct json_lines lines;
    CHECK(json_lines_init(&lines, s));
    int wrong = 0;
    for (uint32_t offset = 0; offset < 40010; offset += offset % 4096 > 4000 || offset % 4096 < 20 ? 1 : 61) {
        uint32_t line, column, want_line, want_column;
        json_place(s, offset, &want_line, &want_column);
        json_lines_place(&lines, offset, &line, &column);
        wrong += line != want_line || column != want_column;
    }
    CHECK(wrong == 0);
    json_lines_finish(&lines);
    uint32_t line, column;
    json_lines_place(&lines, 5, &line, &column);
    CHECK(line == 2 && column == 2); /* slow, not wrong, without its marks */
    json_lines_finish(&lines);
}

static void check_depth(const char *text, uint32_t depth)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    CHECK(json_parse(&doc, slice_of(text), &options, &error));
    CHECK(json_within_depth(&doc, json_root(&doc), depth));
    CHECK(depth == 0 || !json_within_depth(&doc, json_root(&doc), depth - 1));
    CHECK(!json_within_depth(&doc, json_root(&doc), LIMIT_JSON_DEPTH + 1));
    json_finish(&doc);
}

static void test_depth(void)
{
    check_depth("1", 0);
    check_depth("[]", 1);
    check_depth("[1,2,{}]", 2);
    check_depth("[[],[],[]]", 2);
    check_depth("{\"a\":[[]],\"b\":[]}", 3);
    check_depth("[[[[1]]],[[[[[]]]]],[]]", 6);
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    CHECK(json_parse(&doc, SLICE("{\"a\":[[[]]],\"b\":{\"c\":[]}}"), &options, &error));
    CHECK(json_within_depth(&doc, json_get(&doc, json_root(&doc), "b"), 2));
    CHECK(!json_within_depth(&doc, json_get(&doc, json_root(&doc), "b"), 1));
    json_finish(&doc);
}

static void test_type_names(void)
{
    CHECK(strcmp(json_type_name(JSON_NULL), "null") == 0);
    CHECK(strcmp(json_type_name(JSON_TRUE), "a boolean") == 0);
    CHECK(strcmp(json_type_name(JSON_FALSE), "a boolean") == 0);
    CHECK(strcmp(json_type_name(JSON_NUMBER), "a number") == 0);
    CHECK(strcmp(json_type_name(JSON_STRING), "a string") == 0);
    CHECK(strcmp(json_type_name(JSON_ARRAY), "an array") == 0);
    CHECK(strcmp(json_type_name(JSON_OBJECT), "an object") == 0);
}

int main(void)
{
    test_walk();
    test_reuse();
    test_give_back();
    test_place();
    test_lines();
    test_depth();
    test_type_names();
    return check_done();
}
