/* What the reader accepts and refuses, and where it says so. Argument: rfc8259.txt. */
#include <stdlib.h>

#include "../../check.h"
#include "table.h"
#include "json/json.h"

static const struct json_options options = {.max_depth = 64, .max_bytes = 16u << 20};

static const char *const code_names[] = {
    [JSON_OK] = "ok",
    [JSON_ERROR_SYNTAX] = "syntax",
    [JSON_ERROR_UTF8] = "utf8",
    [JSON_ERROR_BOM] = "bom",
    [JSON_ERROR_SURROGATE] = "surrogate",
    [JSON_ERROR_DUPLICATE] = "duplicate",
    [JSON_ERROR_DEPTH] = "depth",
    [JSON_ERROR_SIZE] = "size",
    [JSON_ERROR_MEMORY] = "memory",
};

/* Parses a copy that ends where its memory does, so that a sanitizer sees each byte read too many. */
static struct json_error parse_copy(struct slice text, const struct json_options *how)
{
    char *copy = malloc(text.len == 0 ? 1 : text.len);
    char *from = copy + (text.len == 0);
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    if (text.len > 0) {
        memcpy(from, text.ptr, text.len);
    }
    bool ok = json_parse(&doc, (struct slice){from, text.len}, how, &error);
    CHECK(ok == (error.code == JSON_OK) && ok == (json_root(&doc) != NULL));
    CHECK(ok || (error.offset <= text.len && error.detail[0] != 0));
    json_finish(&doc);
    free(copy);
    return error;
}

/* An accepted container cut short is refused, at the end of what is left (or at the character that is cut).
 */
static void check_prefixes(struct slice text)
{
    size_t end = text.len;
    while (end > 0 && text.ptr[end - 1] != ']' && text.ptr[end - 1] != '}') {
        end--;
    }
    for (size_t len = 0; len < end; len++) {
        struct json_error error = parse_copy((struct slice){text.ptr, len}, &options);
        CHECK((error.code == JSON_ERROR_SYNTAX && error.offset == len) ||
              (error.code == JSON_ERROR_UTF8 && error.offset < len && len - error.offset < 4));
    }
}

static void run_line(const struct table_line *line)
{
    if (line->count != 3) {
        printf("line %d: has %d fields\n", line->number, line->count);
        CHECK(line->count == 3);
        return;
    }
    struct slice text = table_field(line, 2);
    struct json_error error = parse_copy(text, &options);
    char got[64];
    (void)snprintf(got, sizeof(got), error.code == JSON_OK ? "%s" : "%s@%u", code_names[error.code],
                   error.offset);
    if (strcmp(got, line->fields[0]) != 0) {
        printf("line %d: %s: want %s, got %s\n", line->number, line->fields[1], line->fields[0], got);
    }
    CHECK(strcmp(got, line->fields[0]) == 0);
    if (error.code == JSON_OK) {
        check_prefixes(text);
    }
}

static void check_error(struct slice text, const struct json_options *how, enum json_error_code code,
                        uint32_t offset)
{
    struct json_error error = parse_copy(text, how);
    CHECK(error.code == code && error.offset == offset);
}

static void test_limits(void)
{
    struct json_options how = {.max_depth = 3, .max_bytes = 20};
    check_error(SLICE("[[[]]]"), &how, JSON_OK, 0);
    check_error(SLICE("[[[[]]]]"), &how, JSON_ERROR_DEPTH, 3);
    check_error(SLICE("[[{\"a\":{}}]]"), &how, JSON_ERROR_DEPTH, 7);
    check_error(SLICE("[[[]],[[]]]"), &how, JSON_OK, 0);
    check_error(SLICE("12345678901234567890"), &how, JSON_OK, 0);
    check_error(SLICE("123456789012345678901"), &how, JSON_ERROR_SIZE, 20);
    check_error(SLICE("\xEF\xBB\xBF                  "), &how, JSON_ERROR_SIZE, 20);
    how.max_depth = 0;
    check_error(SLICE("1"), &how, JSON_OK, 0);
    check_error(SLICE(" []"), &how, JSON_ERROR_DEPTH, 1);

    /* No recursion: a million brackets are only a million brackets. */
    size_t deep = 1000000;
    char *brackets = malloc(2 * deep);
    memset(brackets, '[', deep);
    memset(brackets + deep, ']', deep);
    check_error((struct slice){brackets, 2 * deep}, &options, JSON_ERROR_DEPTH, 64);
    struct json_options any = {.max_depth = UINT32_MAX, .max_bytes = UINT32_MAX};
    check_error((struct slice){brackets, 2 * deep}, &any, JSON_OK, 0);
    check_error((struct slice){brackets, 2 * deep - 1}, &any, JSON_ERROR_SYNTAX, (uint32_t)(2 * deep - 1));
    free(brackets);
    check_error((struct slice){NULL, 0}, &options, JSON_ERROR_SYNTAX, 0);
}

/* Every byte at every place of a string that is read eight bytes at a time. */
static void test_every_byte(void)
{
    for (size_t len = 1; len < 20; len++) {
        for (size_t at = 0; at < len; at++) {
            for (int byte = 0; byte < 256; byte++) {
                char text[24];
                memset(text, 'a', sizeof(text));
                text[0] = text[len + 1] = '"';
                text[at + 1] = (char)byte;
                enum json_error_code want = byte < 0x20 ? JSON_ERROR_SYNTAX : JSON_OK;
                uint32_t offset = (uint32_t)at + 1;
                if (byte >= 0x80) {
                    want = JSON_ERROR_UTF8;
                } else if (byte == '"' || byte == '\\') {
                    want = JSON_ERROR_SYNTAX; /* "aa"aa", "aa\aa", or the closing quote escaped */
                    bool escapes_end = byte == '\\' && at + 1 == len;
                    offset = (uint32_t)(escapes_end ? at + 3 : at + 2);
                }
                struct json_error error = parse_copy((struct slice){text, len + 2}, &options);
                CHECK(error.code == want && (want == JSON_OK || error.offset == offset));
            }
        }
    }
}

static void test_decoding(void)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    struct slice text = SLICE(
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u0000x\", \"\\u00e4\\u20AC\\ud83d\\uDe00\", \"a\\u007f\\u0080"
        "\\u07ff\\u0800\\uffff\\udbff\\udfff\\ud800\\udc00z\", \"plain\"]");
    CHECK(json_parse(&doc, text, &options, &error));
    const struct json_value *root = json_root(&doc);
    const struct json_value *v = json_first(&doc, root);
    CHECK(slice_eq(json_str(v), SLICE("\"\\/\b\f\n\r\t")));
    v = json_right(&doc, root, v);
    CHECK(slice_eq(json_str(v), SLICE("\0x")));
    v = json_right(&doc, root, v);
    CHECK(slice_eq(json_str(v), SLICE("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")));
    v = json_right(&doc, root, v);
    CHECK(slice_eq(json_str(v),
                   SLICE("a\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF4\x8F\xBF\xBF\xF0\x90\x80\x80z")));
    v = json_right(&doc, root, v);
    CHECK(v->str > text.ptr && v->str < text.ptr + text.len); /* nothing decoded, nothing copied */
    json_finish(&doc);
}

static void test_keep_duplicates(void)
{
    struct json_options keep = {.max_depth = 64, .max_bytes = 16u << 20, .keep_duplicates = true};
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    CHECK(json_parse(&doc, SLICE("{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"\\u0061\":3,\"a\":4}"), &keep, &error));
    CHECK(doc.duplicates == 3);
    const struct json_value *root = json_root(&doc);
    int marked = 0;
    for (uint32_t i = 0; i < doc.count; i++) {
        marked += doc.values[i].duplicate;
    }
    CHECK(marked == 3);
    const struct json_value *key = json_first(&doc, root);
    CHECK(!key->duplicate);
    key = json_right(&doc, root, key);
    CHECK(!key->duplicate && json_first(&doc, key + 1)->duplicate == 0);
    key = json_right(&doc, root, key);
    CHECK(key->duplicate);
    key = json_right(&doc, root, key);
    CHECK(key->duplicate && json_right(&doc, root, key) == NULL);
    CHECK(slice_is(json_str(json_get(&doc, root, "a")), "1")); /* the first */
    CHECK(!json_parse(&doc, SLICE("{\"a\":1,\"a\":2,}"), &keep, &error) && error.code == JSON_ERROR_SYNTAX);
    CHECK(json_parse(&doc, SLICE("{\"a\":1}"), &keep, &error) && doc.duplicates == 0);
    json_finish(&doc);
}

/* Objects of every size around the change from comparing to hashing, with one repeat at every pair of places.
 */
static void test_object_sizes(void)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    for (int count = 2; count < 40; count++) {
        for (int repeat = 0; repeat < count; repeat++) {
            int of = repeat == 0 ? -1 : (repeat * 7 + count) % repeat;
            uint32_t offset = 0;
            buf_reset(&buf);
            for (int i = 0; i < count; i++) {
                buf_byte(&buf, i == 0 ? '{' : ',');
                if (i == repeat) {
                    offset = (uint32_t)buf.len;
                }
                buf_printf(&buf, "\"key%d\":[]", i == repeat && of >= 0 ? of : i);
            }
            buf_byte(&buf, '}');
            if (of < 0) {
                check_error(buf_slice_of(&buf), &options, JSON_OK, 0);
            } else {
                check_error(buf_slice_of(&buf), &options, JSON_ERROR_DUPLICATE, offset);
            }
        }
    }
    buf_reset(&buf);
    for (int i = 0; i < 50000; i++) {
        buf_printf(&buf, "%c\"%x\":0", i == 0 ? '{' : ',', i * 40503 & 0xFFFF);
    }
    buf_byte(&buf, '}');
    check_error(buf_slice_of(&buf), &options, JSON_OK, 0);
    buf.len--;
    uint32_t offset = (uint32_t)buf.len + 1;
    buf_text(&buf, ",\"0\":0,\"1\":0}");
    check_error(buf_slice_of(&buf), &options, JSON_ERROR_DUPLICATE, offset);
    buf_finish(&buf);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 && table_run(argv[1], run_line) > 350);
    test_limits();
    test_every_byte();
    test_decoding();
    test_keep_duplicates();
    test_object_sizes();
    return check_done();
}
